"""A folder of results: one file per finished task, written once and never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headcount._files import clear_parts, locked, write_bytes
from headcount.errors import HeadcountError
from headcount.study.journal import Entry, Journal
from headcount.study.plan import Part
from headcount.study.spec import Spec, parse_spec
from headcount.study.status import Failure, Status, dataset_status
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

    from headcount.evaluation.evaluation import Evaluation

__all__ = ["Store"]

_SPEC, _PLAN, _RESULTS, _JOURNAL, _DATA, _LOCK = (
    "spec.toml",
    "plan.jsonl",
    "results",
    "journal.jsonl",
    "data.json",
    "lock",
)
# Fields of the spec that may differ between two runs that share a store.
_FREE = ("datasets", "methods", "data", "title", "paper")


class Store:
    """Results of a study, in a folder.

    ``spec.toml`` has the study, ``plan.jsonl`` its tasks, ``results`` one Parquet file per
    finished task, ``journal.jsonl`` durations, failures and versions, and ``data.json`` the
    checksums of the data. A store may be read while a run writes to it.

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
        """The study, with the datasets and methods of the runs so far."""
        self._check_exists()
        path = self.folder / _SPEC
        return parse_spec(path.read_text(encoding="utf-8"), where=str(path))

    @property
    def tasks(self) -> list[Task]:
        """Tasks of the plan, finished or not."""
        self._check_exists()
        lines = (self.folder / _PLAN).read_text(encoding="utf-8").splitlines()
        return [Task.from_json(line) for line in lines]

    @property
    def data(self) -> dict[str, dict[str, str]]:
        """SHA-256 of the files of each dataset; empty if the kind of study names none."""
        path = self.folder / _DATA
        known = path.read_text(encoding="utf-8") if path.is_file() else "{}"
        return dict(json.loads(known))

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
        there = self._names()
        return [task for task in self.tasks if task.name in there]

    def _names(self) -> set[str]:
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

    def evaluations(self) -> dict[str, Evaluation]:
        """Results as evaluations, by dataset, for further metrics, tests, tables and plots.

        Returns
        -------
        dict of str to Evaluation
            To be passed to `headcount.Evaluations` if no method failed. Only kinds of study
            whose results have true and estimated shares can be read in this way.
        """
        from headcount.study.shares import evaluation_of

        results, seconds = self.results(), self.method_seconds()
        classes = {task.dataset: task.settings.get("classes", []) for task in self.finished()}
        metrics = self.spec.metrics
        return {
            str(name): evaluation_of(part, classes[str(name)], metrics, seconds[str(name)])
            for (name,), part in results.group_by("dataset", maintain_order=True)
        }

    def method_seconds(self) -> dict[str, dict[str, float]]:
        """Seconds that each method took on each dataset, as far as they were measured.

        Returns
        -------
        dict of str to dict of str to float
        """
        last = {entry.task: entry for _, entries in self.journal.runs() for entry in entries}
        sums: dict[str, dict[str, float]] = {}
        for task in self.finished():
            own = sums.setdefault(task.dataset, {})
            for name, seconds in last[task.name].methods.items() if task.name in last else ():
                own[name] = own.get(name, 0.0) + seconds
        return sums

    def _file(self, task: Task) -> Path:
        return self.folder / _RESULTS / f"{task.name}.parquet"

    def status(self) -> Status:
        """Status of the study.

        Returns
        -------
        Status
        """
        tasks, there, runs = self.tasks, self._names(), self.journal.runs()
        last = {entry.task: entry for _, entries in runs for entry in entries}
        reasons = {
            task.name: last[task.name].reason or "unknown"
            for task in tasks
            if task.name in last and last[task.name].reason and task.name not in there
        }
        by_dataset: dict[str, list[Task]] = {}
        for task in tasks:
            by_dataset.setdefault(task.dataset, []).append(task)
        datasets = (
            dataset_status(name, part, there, reasons, last)
            for name, part in by_dataset.items()
        )
        whole = [
            Failure(task.dataset, None, task.name, task.runs, reasons[task.name])
            for task in tasks
            if task.name in reasons
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
            hint = ", or add metrics by study report --metric" * (field.name == "metrics")
            raise HeadcountError(
                f"The store {str(self.folder)!r} was made by a spec with another "
                f"{field.name!r}: choose another folder{hint}."
            )
        before = {method.name: method for method in there.methods}
        changed = [each for each in spec.methods if before.get(each.name, each) != each]
        if changed:
            raise HeadcountError(
                f"The store {str(self.folder)!r} has results of {changed[0].name!r} with other "
                "settings: give the new method another name, or choose another folder."
            )
        for name, table in spec.data.items():
            if there.data.get(name, table) != table:
                raise HeadcountError(
                    f"The store {str(self.folder)!r} was made with another [data.{name}]: give "
                    "the new dataset another name, or choose another folder."
                )

    def merged(self, spec: Spec, full: Spec) -> Spec:
        """Spec with the datasets and methods of the store as well.

        Parameters
        ----------
        spec : Spec
            Study, restricted to the datasets and methods of a run.
        full : Spec
            Study without this restriction, for the order.

        Returns
        -------
        Spec
        """
        if not self.exists:
            return spec
        there = self.spec
        methods = {each.name: each for each in (*there.methods, *spec.methods)}
        order = _ordered(methods, [each.name for each in full.methods])
        datasets = dict.fromkeys([*spec.datasets, *there.datasets])
        return replace(
            spec,
            datasets=tuple(_ordered(datasets, full.datasets)),
            methods=tuple(methods[name] for name in order),
            data=there.data | spec.data,
        )

    def _check_free(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise HeadcountError(f"{str(self.folder)!r} is a file: name a folder.")
        ours = {_PLAN, _RESULTS, _JOURNAL, _DATA, _LOCK}
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

    def begin(self, spec: Spec, tasks: Sequence[Task], parts: Sequence[Part]) -> None:
        """Add the tasks of a run to those of other datasets and methods in the store.

        Parameters
        ----------
        spec : Spec
            Study with the datasets and methods of this run and of the store.
        tasks : sequence of Task
            Plan of this run.
        parts : sequence of Part
            Datasets and methods that were planned.
        """
        kept = self.tasks if self.exists else []
        planned = {(part.dataset, part.batch) for part in parts}
        again: list[Task] = []
        others: list[Task] = []
        for task in kept:
            (again if (task.dataset, task.batch) in planned else others).append(task)
        self._check_same(again, tasks)
        place = {name: i for i, name in enumerate(spec.datasets)}
        both = sorted([*tasks, *others], key=lambda task: (place[task.dataset], task.batch))
        for folder in (self.folder, self.folder / _RESULTS):
            clear_parts(folder)
        lines = "".join(f"{task.to_json()}\n" for task in both)
        # The plan comes first: a folder is a store from the moment it has a spec.
        self._write(_PLAN, lines)
        self._write(_SPEC, spec.to_toml() + "\n")

    def _check_same(self, kept: Sequence[Task], tasks: Sequence[Task]) -> None:
        before = {task.name: task for task in kept}
        known = {(task.dataset, task.batch) for task in kept}
        now = {task.name: task for task in tasks if (task.dataset, task.batch) in known}
        for name in before | now:
            if before.get(name) != now.get(name):
                raise HeadcountError(
                    f"The store {str(self.folder)!r} was planned with other data, or by "
                    f"another version of headcount (task {name!r} differs): choose another "
                    "folder."
                )

    def record_data(self, sums: Mapping[str, dict[str, str]]) -> None:
        """Keep checksums of the data; refuse data that are not those of earlier runs.

        Parameters
        ----------
        sums : mapping of str to dict
            SHA-256 of the files of each dataset.
        """
        before = self.data
        for dataset, files in sums.items():
            if before.get(dataset, files) != files:
                raise HeadcountError(
                    f"The data of {dataset!r} have changed since the store "
                    f"{str(self.folder)!r} was begun: restore them, or choose another folder."
                )
        if sums:
            self._write(_DATA, json.dumps(before | dict(sums), indent=1, sort_keys=True))

    def _write(self, name: str, text: str) -> None:
        content = text.encode("utf-8")
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)

    def unfinished(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks without results, among given ones."""
        there = self._names()
        return [task for task in tasks if task.name not in there]

    def keep(self, task: Task, content: bytes | None, entry: Entry) -> None:
        """Write the results of a task, if it has any, and its journal entry."""
        if content is not None and not self._file(task).exists():
            write_bytes(self._file(task), content)
        self.journal.note(entry)


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    known = list(names)
    return [name for name in order if name in known] + [
        name for name in known if name not in order
    ]


def _read(files: list[Path], columns: pl.Expr) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.scan_parquet(files).select(columns).collect()
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        # Tasks of several protocols may have different columns; this way is slower.
        frames = [pl.read_parquet(file).select(columns) for file in files]
        return pl.concat(frames, how="diagonal_relaxed")
