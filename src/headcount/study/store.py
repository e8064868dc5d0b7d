"""A folder of results: one file per finished task, written once and never changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headcount._files import clear_parts, write_bytes
from headcount.errors import HeadcountError
from headcount.study.journal import Entry, Journal
from headcount.study.lock import locked
from headcount.study.spec import Spec, parse_spec
from headcount.study.status import Failure, Status, dataset_status
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Store"]

_SPEC, _PLAN, _RESULTS, _JOURNAL, _LOCK = (
    "spec.toml",
    "plan.jsonl",
    "results",
    "journal.jsonl",
    "lock",
)
# Fields of the spec that may differ between two runs that share a store.
_FREE = ("datasets", "title", "paper")


class Store:
    """Results of a study, in a folder.

    ``spec.toml`` has the study, ``plan.jsonl`` its tasks, ``results`` one Parquet file per
    finished task, and ``journal.jsonl`` durations and failures. A store may be read while a
    run writes to it.

    Parameters
    ----------
    folder : str or path
        Folder of the store; `run_study` creates it.

    Examples
    --------
    >>> from headcount.study import Store
    >>> Store("results-of-mine").exists
    False
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.journal = Journal(self.folder / _JOURNAL)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    @property
    def exists(self) -> bool:
        """True if a study was begun in the folder."""
        return (self.folder / _SPEC).is_file()

    @property
    def spec(self) -> Spec:
        """The study, with the datasets of the runs so far."""
        self._check_exists()
        path = self.folder / _SPEC
        return parse_spec(path.read_text(encoding="utf-8"), where=str(path))

    @property
    def tasks(self) -> list[Task]:
        """Tasks of the plan, finished or not."""
        self._check_exists()
        return self._plan()

    def _plan(self) -> list[Task]:
        lines = (self.folder / _PLAN).read_text(encoding="utf-8").splitlines()
        return [Task.from_json(line) for line in lines]

    def _check_exists(self) -> None:
        if not self.folder.is_dir():
            raise HeadcountError(
                f"There is no folder {str(self.folder)!r}: check its name, or make it with "
                "headcount study run."
            )
        if not self.exists:
            raise HeadcountError(
                f"{str(self.folder)!r} is not the store of a study (it has no {_SPEC}): name "
                "the folder that headcount study run wrote to."
            )

    def finished(self) -> list[Task]:
        """Tasks that have results, in the order of the plan.

        Returns
        -------
        list of Task
        """
        there = self._keys()
        return [task for task in self.tasks if task.key in there]

    def _keys(self) -> set[str]:
        folder = self.folder / _RESULTS
        if not folder.is_dir():
            return set()
        return {path.stem for path in folder.iterdir() if path.suffix == ".parquet"}

    def results(self) -> pl.DataFrame:
        """All results so far, in the order of the plan.

        Returns
        -------
        polars.DataFrame
            One row per method and sample.
        """
        import polars as pl

        files = [self._file(task) for task in self.finished()]
        if not files:
            raise HeadcountError(
                f"The store {str(self.folder)!r} has no results yet: run the study first."
            )
        return _read(files, pl.all())

    def _file(self, task: Task) -> Path:
        return self.folder / _RESULTS / f"{task.key}.parquet"

    def status(self) -> Status:
        """Status of the study.

        Returns
        -------
        Status
        """
        tasks, there, runs = self.tasks, self._keys(), self.journal.runs()
        last = {entry.task: entry for _, entries in runs for entry in entries}
        reasons = {
            task.key: last[task.key].reason or "unknown"
            for task in tasks
            if task.key in last and last[task.key].reason and task.key not in there
        }
        by_dataset: dict[str, list[Task]] = {}
        for task in tasks:
            by_dataset.setdefault(task.dataset, []).append(task)
        datasets = (
            dataset_status(name, part, there, reasons, last)
            for name, part in by_dataset.items()
        )
        whole = [
            Failure(task.dataset, None, task.key, task.runs, reasons[task.key])
            for task in tasks
            if task.key in reasons
        ]
        return Status(
            datasets=tuple(datasets),
            failures=(*whole, *self._failed_runs()),
            seconds=sum(entries[-1].elapsed for _, entries in runs if entries),
        )

    def _failed_runs(self) -> Iterable[Failure]:
        import polars as pl

        files = [self._file(task) for task in self.finished()]
        if not files:
            return
        by = pl.col("dataset", "method", "failure")
        failed = _read(files, by).drop_nulls("failure").group_by(by, maintain_order=True)
        for dataset, method, reason, runs in failed.agg(pl.len()).iter_rows():
            yield Failure(dataset, method, None, runs, reason)

    # The methods below write; only `run_study` calls them.

    def writing(self) -> AbstractContextManager[None]:
        """Lock the store for one writer; create the folder if it is missing."""
        try:
            (self.folder / _RESULTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HeadcountError(
                f"The store {str(self.folder)!r} cannot be made ({error.strerror}): choose "
                "another folder."
            ) from None
        return locked(self.folder / _LOCK)

    def check(self, spec: Spec, *, resume: bool) -> None:
        """Refuse a run that does not belong in this store; nothing is changed."""
        if not self.exists:
            self._check_free()
            return
        if not resume:
            raise HeadcountError(
                f"The store {str(self.folder)!r} already holds a study: add --resume "
                "(resume=True) to go on with it, or choose another folder."
            )
        there = self.spec
        for field in fields(Spec):
            if field.name in _FREE or getattr(there, field.name) == getattr(spec, field.name):
                continue
            hint = " (a store keeps one set of methods)" if field.name == "methods" else ""
            raise HeadcountError(
                f"The store {str(self.folder)!r} was made by a spec with another "
                f"{field.name!r}{hint}: choose another folder."
            )

    def _check_free(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise HeadcountError(f"{str(self.folder)!r} is a file: name a folder.")
        ours = {_PLAN, _RESULTS, _JOURNAL, _LOCK}
        others = [
            path.name
            for path in (self.folder.iterdir() if self.folder.exists() else ())
            if path.name not in ours and path.suffix != ".part"
        ]
        if others:
            raise HeadcountError(
                f"{str(self.folder)!r} has other files in it ({others[0]!r}): choose an empty "
                "folder, or one that is not there yet."
            )

    def begin(self, spec: Spec, tasks: Sequence[Task], order: Sequence[str]) -> None:
        """Add the tasks of a run to those of other datasets in the store.

        Parameters
        ----------
        spec : Spec
            Study, restricted to the datasets of this run.
        tasks : sequence of Task
            Plan of this run.
        order : sequence of str
            All datasets of the study, in their order.
        """
        kept = self._plan() if self.exists else []
        self._check_same(kept, tasks, spec)
        others = [task for task in kept if task.dataset not in spec.datasets]
        names = dict.fromkeys([*spec.datasets, *(task.dataset for task in others)])
        ordered = [name for name in order if name in names]
        ordered += [name for name in names if name not in ordered]
        both = sorted([*tasks, *others], key=lambda task: ordered.index(task.dataset))
        for folder in (self.folder, self.folder / _RESULTS):
            clear_parts(folder)
        lines = "".join(f"{task.to_json()}\n" for task in both)
        # The plan comes first: a folder is a store from the moment it has a spec.
        self._write(_PLAN, lines)
        self._write(_SPEC, replace(spec, datasets=tuple(ordered)).to_toml() + "\n")

    def _check_same(self, kept: Sequence[Task], tasks: Sequence[Task], spec: Spec) -> None:
        before = {task.key: task for task in kept if task.dataset in spec.datasets}
        now = {task.key: task for task in tasks}
        known = {task.dataset for task in before.values()}
        for key in [*before, *(task.key for task in tasks if task.dataset in known)]:
            if before.get(key) != now.get(key):
                raise HeadcountError(
                    f"The store {str(self.folder)!r} was planned with other data, or by "
                    f"another version of headcount (task {key!r} differs): choose another "
                    "folder."
                )

    def _write(self, name: str, text: str) -> None:
        content = text.encode("utf-8")
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)

    def unfinished(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks without results, among given ones."""
        there = self._keys()
        return [task for task in tasks if task.key not in there]

    def keep(self, task: Task, content: bytes | None, entry: Entry) -> None:
        """Write the results of a task, if it has any, and its journal entry."""
        if content is not None and not self._file(task).exists():
            write_bytes(self._file(task), content)
        self.journal.note(entry)


def _read(files: list[Path], columns: pl.Expr) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.scan_parquet(files).select(columns).collect()
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        # Tasks of several protocols may have different columns; this way is slower.
        frames = [pl.read_parquet(file).select(columns) for file in files]
        return pl.concat(frames, how="diagonal_relaxed")
