"""Store of a study: plan, results and journal of its runs, in one folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.execution import versions
from headcount._support.files import clear_parts, locked, write_bytes
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError, warn
from headcount.evaluation.evaluation import Evaluation
from headcount.evaluation.measures import check_measure, errors_of_methods
from headcount.metrics import OF_INTERVALS
from headcount.samples.samples import Samples
from headcount_studies.data.folder import make_folder, sha256_of
from headcount_studies.engine.spec import Spec, module_of, parse_spec
from headcount_studies.engine.task import Experiment, Task, relative_name


@dataclass(frozen=True)
class Entry:
    """Record of one executed task."""

    task: str
    seconds: float
    elapsed: float = 0.0
    runs: int = 0
    failures: int = 0
    reason: str | None = None
    methods: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0


class Journal:
    """A file to which lines are appended. Incomplete lines of a killed run are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, facts: dict[str, Any]) -> None:
        """Record the start of a run, with facts about it."""
        self._add({"start": facts})

    def note(self, entry: Entry) -> None:
        """Record an executed task."""
        self._add(asdict(entry))

    def _add(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, ensure_ascii=False) + "\n"
        with open(self._path, "a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else "\n" + line
            file.write(line.encode("utf-8", "replace"))

    def runs(self) -> list[tuple[dict[str, Any], list[Entry]]]:
        """Facts and entries of each run so far."""
        runs: list[tuple[dict[str, Any], list[Entry]]] = []
        for content in self._lines():
            if "start" in content:
                runs.append((content["start"], []))
            elif runs:
                runs[-1][1].append(Entry(**content))
        return runs

    def last(self) -> dict[str, Entry]:
        """Last entry of each task; that of methods tried again is added to the one before."""
        entries: dict[str, Entry] = {}
        for entry in (entry for _, of_run in self.runs() for entry in of_run):
            before = entries.get(entry.task)
            if before is not None and before.reason is None and entry.reason is None:
                entries[entry.task] = replace(
                    entry,
                    seconds=before.seconds + entry.seconds,
                    methods=before.methods | entry.methods,
                    processor=before.processor + entry.processor,
                )
            else:
                entries[entry.task] = entry
        return entries

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        for line in self._path.read_bytes().splitlines():
            try:
                content = json.loads(line)
            except ValueError:
                continue
            if isinstance(content, dict):
                yield content


def checksums(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """SHA-256 of files, by their names in the folder of the datasets."""
    return {relative_name(path, folder): sha256_of(path) for path in files}


def code_versions(spec: Spec) -> dict[str, str]:
    """Versions of Python and of all packages that a study names."""
    return versions(*sorted(_modules(spec)))


def code_commit() -> str | None:
    """Git commit of the sources; None if they are not files of a checkout."""
    here = Path(__file__)
    try:
        tracked, commit = (
            subprocess.run(
                ["git", *arguments], cwd=here.parent, capture_output=True, text=True, check=True
            ).stdout.strip()
            for arguments in (
                ("ls-files", "--error-unmatch", here.name),
                ("describe", "--always", "--dirty", "--exclude", "*"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit if tracked else None


def _modules(spec: Spec) -> set[str]:
    return {module_of(path) for _, path in spec.import_paths()}


_SHARES = ("true", "estimated")
_SAMPLE = ["training_set", "sample"]


def share_columns(
    true: NDArray[np.float64], estimated: NDArray[np.float64] | None
) -> dict[str, pl.Series]:
    """Columns of the results that metrics can be computed from.

    >>> share_columns(np.array([[0.2, 0.8]]), None)["estimated"].to_list()
    [None]
    """
    lists = pl.List(pl.Float64)
    if estimated is None:
        shares = pl.Series([None] * len(true), dtype=lists)
    else:
        rows = [row.tolist() if np.isfinite(row).all() else None for row in estimated]
        shares = pl.Series(rows, dtype=lists)
    return {"true": pl.Series(true.tolist(), dtype=lists), "estimated": shares}


def sample_rows(
    spec: Spec,
    samples: Samples,
    estimated: NDArray[np.float64] | None,
    texts: Mapping[str, str | None],
    columns: Mapping[str, Any],
) -> pl.DataFrame:
    """Results of a method, one row per sample: texts, errors, other columns, shares.

    A column is an array, or one number for all rows.
    """
    true = samples.prevalence
    assert true is not None
    errors = {
        name: None if estimated is None else check_measure(name)(true, estimated, samples.sizes)
        for name in spec.metrics
        if name not in OF_INTERVALS
    }
    numbers = [
        pl.lit(values, None if isinstance(values, int) else pl.Float64).alias(name)
        if values is None or isinstance(values, int | float)
        else pl.Series(name, values)
        for name, values in (errors | dict(columns)).items()
    ]
    return (
        pl.DataFrame(share_columns(true, estimated))
        .select(
            *(pl.lit(text, pl.String).alias(name) for name, text in texts.items()),
            *numbers,
            pl.all(),
        )
        .with_columns(pl.col(*errors).fill_nan(None))
    )


def with_metrics(results: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Add metrics that are computed from the shares."""
    check_shares(results)
    measures = [check_measure(name) for name in metrics]
    numbered = results.with_row_index("row")
    answered = numbered.filter(pl.col("estimated").is_not_null())
    blocks = []
    for block in answered.with_columns(K=pl.col("true").list.len()).partition_by("K"):
        true, estimated = (_matrix(block[name]) for name in _SHARES)
        sizes = block["size"].to_numpy().astype(np.int64)
        added = {measure.name: measure(true, estimated, sizes) for measure in measures}
        blocks.append(
            block.select("row").with_columns(pl.Series(n, v) for n, v in added.items())
        )
    old = [name for name in metrics if name in results.columns]
    return numbered.drop(old).join(pl.concat(blocks), on="row", how="left").drop("row")


def check_shares(results: pl.DataFrame) -> None:
    """Refuse results that have no shares."""
    if any(results.schema.get(name) != pl.List(pl.Float64) for name in _SHARES):
        raise HeadcountError(
            "The results of this kind of study have no true and estimated shares, from which "
            "metrics could be computed: choose from the metrics of its spec."
        )


def evaluation_of(
    results: pl.DataFrame,
    classes: Sequence[Any],
    metrics: Iterable[str],
    seconds: Mapping[str, float],
) -> Evaluation:
    """Evaluation of the methods on one dataset."""
    check_shares(results)
    failed = results.filter(pl.col("failure").is_not_null())
    failures = dict(failed.select("method", "failure").unique("method").iter_rows())
    by_method = {
        str(name): rows.sort(_SAMPLE)
        for (name,), rows in results.group_by("method", maintain_order=True)
        if name not in failures
    }
    first = next(iter(by_method.values()), None)
    if first is None:
        raise HeadcountError(
            "All methods failed on this dataset: see the reasons by headcount study status."
        )
    for name, rows in by_method.items():
        if not rows.select(_SAMPLE).equals(first.select(_SAMPLE)):
            raise HeadcountError(
                f"method {name!r} has no results yet for some samples: finish the study first."
            )
    names = tuple(by_method)
    true, sizes = _matrix(first["true"]), first["size"].to_numpy().astype(np.int64)
    estimated = np.stack([_matrix(rows["estimated"]) for rows in by_method.values()])
    return Evaluation(
        names,
        np.asarray(classes),
        true,
        estimated,
        sizes,
        np.stack([_matrix(rows["prior"]) for rows in by_method.values()]),
        {
            metric: np.stack([rows[metric].to_numpy() for rows in by_method.values()])
            if metric in OF_INTERVALS
            else errors_of_methods(names, check_measure(metric), true, estimated, sizes)
            for metric in metrics
        },
        np.array([seconds.get(name, np.nan) for name in names]),
        {
            name: "; ".join(rows["parameters"].unique(maintain_order=True))
            for name, rows in by_method.items()
        },
        failures,
    )


def _matrix(shares: pl.Series) -> NDArray[np.float64]:
    width = int(shares.list.len()[0])
    return shares.list.to_array(width).to_numpy().astype(np.float64)


@dataclass(frozen=True)
class PlannedBatch:
    """Methods that are run together on a dataset."""

    dataset: str
    batch: int
    methods: tuple[str, ...]


def parts_of(spec: Spec, earlier: Sequence[Task]) -> list[PlannedBatch]:
    """Parts that a run consists of.

    Methods that a dataset was not run with become a part of their own, so that the tasks of
    the others stay as they are.

    >>> from headcount_studies import MethodSpec, Spec, Task
    >>> spec = Spec("s", "k", ["wine"], [MethodSpec("CC"), MethodSpec("SLD")], ["ae"])
    >>> parts_of(spec, [Task("wine-0", "wine", methods=["CC"])])[1]
    PlannedBatch(dataset='wine', batch=1, methods=('SLD',))
    """
    names = [method.name for method in spec.methods]
    batches = []
    for dataset in spec.datasets:
        tasks = [task for task in earlier if task.dataset == dataset]
        old = dict.fromkeys(PlannedBatch(dataset, task.batch, task.methods) for task in tasks)
        planned = {name for batch_part in old for name in batch_part.methods}
        batches += [batch_part for batch_part in old if set(batch_part.methods) & set(names)]
        new = tuple(name for name in names if name not in planned)
        if new:
            batch = 1 + max((batch_part.batch for batch_part in old), default=-1)
            batches.append(PlannedBatch(dataset, batch, new))
    return batches


def make_plan(
    experiment: Experiment, spec: Spec, planned_batches: Sequence[PlannedBatch], data: Path
) -> list[Task]:
    """Tasks of all parts."""
    together: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for batch_part in planned_batches:
        together.setdefault((batch_part.batch, batch_part.methods), []).append(
            batch_part.dataset
        )
    tasks: list[Task] = []
    for (batch, methods), datasets in together.items():
        restricted = spec.restricted(datasets=datasets).with_methods(methods)
        planned = experiment.plan(restricted, data)
        tasks += [replace(task, batch=batch, methods=methods) for task in planned]
    _check(tasks, spec, {batch_part.dataset for batch_part in planned_batches})
    return tasks


def _check(tasks: Sequence[Task], spec: Spec, wanted: set[str]) -> None:
    names: set[str] = set()
    for task in tasks:
        folded = task.name.lower()  # some file systems take both for one
        if folded in names:
            raise HeadcountError(f"The plan of {spec.name!r} has task {task.name!r} twice.")
        if task.dataset not in wanted:
            raise HeadcountError(
                f"Task {task.name!r} is about {task.dataset!r}, which is not a dataset of "
                f"{spec.name!r}."
            )
        names.add(folded)
    planned = {task.dataset for task in tasks}
    if not planned:
        raise HeadcountError(
            f"Nothing can be run: the folder of datasets has none of those of {spec.name!r}."
        )
    lacking = [name for name in spec.datasets if name in wanted - planned]
    if lacking:
        warn(f"There is nothing to run on {', '.join(lacking)}: the data may be missing.")


# Failures that notebooks show.
_MOST_FAILURES = 12


@dataclass(frozen=True)
class DatasetStatus:
    """Status of a study on one dataset: numbers of tasks, and of runs that are done."""

    dataset: str
    tasks: int
    done: int
    failed: int
    missing: int
    runs: int
    seconds: float
    processor: float = 0.0


@dataclass(frozen=True)
class Failure:
    """A failed task, or a method that failed on samples."""

    dataset: str
    method: str | None
    task: str | None
    runs: int
    reason: str


def _total(name: str, doc: str) -> Any:
    """Property with the sum of a number over the datasets."""
    return property(lambda self: sum(getattr(of, name) for of in self.datasets), doc=doc)


@dataclass(frozen=True)
class Status:
    """Status of a study.

    Parameters
    ----------
    datasets : tuple of DatasetStatus
        Status per dataset, in the order of the plan.
    failures : tuple of Failure
        Failed tasks first, then methods that failed on samples.
    seconds : float
        Wall-clock time of all runs together.
    """

    datasets: tuple[DatasetStatus, ...]
    failures: tuple[Failure, ...]
    seconds: float

    tasks = _total("tasks", "Number of tasks of the plan.")
    done = _total("done", "Number of tasks with results.")
    failed = _total("failed", "Number of tasks that failed; `resume` executes them again.")
    missing = _total("missing", "Number of tasks that are not finished.")
    runs = _total("runs", "Number of results: one per method and sample.")
    processor = _total("processor", "Processor time of the tasks with results, in seconds.")

    @property
    def runs_per_second(self) -> float | None:
        """Results per second of wall-clock time; None before the first run."""
        return self.runs / self.seconds if self.runs and self.seconds > 0 else None

    def _repr_html_(self) -> str:
        head = ["dataset", "tasks", "done", "failed", "missing", "runs"]
        rows = [
            [dataset.dataset, *(f"{vars(dataset)[name]:,}" for name in head[1:])]
            for dataset in self.datasets
        ]
        title = f"{self.done:,} of {self.tasks:,} tasks are done, {self.failed:,} failed"
        notes = [
            f"{failure.dataset}: {failure.reason}" for failure in self.failures[:_MOST_FAILURES]
        ]
        return html_result(title, [Table.of(head, rows)], notes)


_SPEC, _PLAN, _RESULTS, _JOURNAL, _DATA, _DATASETS, _LOCK = (
    "spec.toml",
    "plan.jsonl",
    "results",
    "journal.jsonl",
    "data.json",
    "datasets.json",
    "lock",
)
# Fields of the spec that may differ between two runs that share a store.
_FREE = ("datasets", "methods", "data", "title", "paper")


class Store:
    """Results of a study, in a folder.

    ``spec.toml`` has the study, ``plan.jsonl`` its tasks, ``results`` one Parquet file per
    finished task, ``journal.jsonl`` durations, failures and versions, ``data.json`` the
    checksums of the data, and ``datasets.json`` facts about the datasets. A store may be read
    while a run writes to it.

    Parameters
    ----------
    folder : str or path
        Folder of the store; `run_study` creates it.

    Examples
    --------
    >>> from headcount_studies import Store
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
        return self._read(_DATA)

    @property
    def descriptions(self) -> dict[str, list[dict[str, Any]]]:
        """Facts about each dataset, in rows; empty if the kind of study has none."""
        return self._read(_DATASETS)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        text = path.read_text(encoding="utf-8") if path.is_file() else "{}"
        return dict(json.loads(text))

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
        """Tasks that have results, in the order of the plan."""
        names = self._names()
        return [task for task in self.tasks if task.name in names]

    def _names(self) -> set[str]:
        folder = self.folder / _RESULTS
        if not folder.is_dir():
            return set()
        return {path.stem for path in folder.iterdir() if path.suffix == ".parquet"}

    def results(self) -> pl.DataFrame:
        """All results so far, one row per method and sample, in the order of the plan."""
        files = [self._file(task) for task in self.finished()]
        if not files:
            raise HeadcountError(
                f"The store {str(self.folder)!r} has no results yet: run the study first."
            )
        return _read(files, pl.all())

    def evaluations(self) -> dict[str, Evaluation]:
        """Results as evaluations, by dataset, for further metrics, tests, tables and plots.

        They can be passed to `headcount.evaluation.Evaluations` if no method failed. Only kinds
        of study whose results have true and estimated shares can be read in this way.
        """
        results, seconds = self.results(), self.method_seconds()
        classes = {task.dataset: task.settings.get("classes", []) for task in self.finished()}
        metrics = self.spec.metrics
        return {
            str(name): evaluation_of(rows, classes[str(name)], metrics, seconds[str(name)])
            for (name,), rows in results.group_by("dataset", maintain_order=True)
        }

    def method_seconds(self) -> dict[str, dict[str, float]]:
        """Seconds that each method took on each dataset, as far as they were measured."""
        last = self.journal.last()
        sums: dict[str, dict[str, float]] = {}
        for task in self.finished():
            by_method = sums.setdefault(task.dataset, {})
            for name, seconds in last[task.name].methods.items() if task.name in last else ():
                by_method[name] = by_method.get(name, 0.0) + seconds
        return sums

    def _file(self, task: Task) -> Path:
        return self.folder / _RESULTS / f"{task.name}.parquet"

    def status(self) -> Status:
        """Status of the study."""
        tasks, names, runs = self.tasks, self._names(), self.journal.runs()
        last = self.journal.last()
        reasons = {
            task.name: last[task.name].reason or "unknown"
            for task in tasks
            if task.name in last and last[task.name].reason and task.name not in names
        }
        by_dataset: dict[str, list[Task]] = {}
        for task in tasks:
            by_dataset.setdefault(task.dataset, []).append(task)
        datasets = []
        for name, of_dataset in by_dataset.items():
            done = [task for task in of_dataset if task.name in names]
            failed = sum(task.name in reasons for task in of_dataset)
            entries = [last[task.name] for task in done if task.name in last]
            datasets.append(
                DatasetStatus(
                    dataset=name,
                    tasks=len(of_dataset),
                    done=len(done),
                    failed=failed,
                    missing=len(of_dataset) - len(done) - failed,
                    runs=sum(task.runs for task in done),
                    seconds=sum(entry.seconds for entry in entries),
                    processor=sum(entry.processor for entry in entries),
                )
            )
        failed_tasks = [
            Failure(task.dataset, None, task.name, task.runs, reasons[task.name])
            for task in tasks
            if task.name in reasons
        ]
        return Status(
            datasets=tuple(datasets),
            failures=(*failed_tasks, *self._failed_runs()),
            seconds=sum(of_run[-1].elapsed for _, of_run in runs if of_run),
        )

    def _failed_runs(self) -> Iterable[Failure]:
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
        make_folder(self.folder / _RESULTS)
        return locked(self.folder / _LOCK)

    def check(self, spec: Spec, *, resume: bool) -> None:
        """Refuse a run that does not belong in this store; nothing is changed."""
        if not self.exists:
            self._check_free()
            return
        if not resume:
            raise HeadcountError(
                f"The store {str(self.folder)!r} already holds a study: add `resume` "
                "to go on with it, or choose another folder."
            )
        stored = self.spec
        for entry in fields(Spec):
            if entry.name in _FREE or getattr(stored, entry.name) == getattr(spec, entry.name):
                continue
            hint = ", or add metrics by study report --metric" * (entry.name == "metrics")
            raise HeadcountError(
                f"The store {str(self.folder)!r} was made by a spec with another "
                f"{entry.name!r}: choose another folder{hint}."
            )
        before = {method.name: method for method in stored.methods}
        changed = [
            method for method in spec.methods if before.get(method.name, method) != method
        ]
        if changed:
            raise HeadcountError(
                f"The store {str(self.folder)!r} has results of {changed[0].name!r} with other "
                "settings: give the new method another name, or choose another folder."
            )
        for name, table in spec.data.items():
            if stored.data.get(name, table) != table:
                raise HeadcountError(
                    f"The store {str(self.folder)!r} was made with another [data.{name}]: give "
                    "the new dataset another name, or choose another folder."
                )

    def merged(self, spec: Spec, full: Spec) -> Spec:
        """Spec of a run with the datasets and methods of the store, in the order of `full`."""
        if not self.exists:
            return spec
        stored = self.spec
        methods = {method.name: method for method in (*stored.methods, *spec.methods)}
        order = _ordered(methods, [method.name for method in full.methods])
        datasets = dict.fromkeys([*spec.datasets, *stored.datasets])
        return replace(
            spec,
            datasets=tuple(_ordered(datasets, full.datasets)),
            methods=tuple(methods[name] for name in order),
            data=stored.data | spec.data,
        )

    def _check_free(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise HeadcountError(f"{str(self.folder)!r} is a file: name a folder.")
        ours = {_PLAN, _RESULTS, _JOURNAL, _DATA, _DATASETS, _LOCK}
        strangers = [
            path.name
            for path in (self.folder.iterdir() if self.folder.exists() else ())
            if path.name not in ours and path.suffix != ".part"
        ]
        if strangers:
            raise HeadcountError(
                f"{str(self.folder)!r} has other files in it ({strangers[0]!r}): choose an "
                "empty folder, or one that is not there yet."
            )

    def begin(self, spec: Spec, tasks: Sequence[Task], batches: Sequence[PlannedBatch]) -> None:
        """Add the tasks of a run to those of other datasets and methods in the store."""
        stored = self.tasks if self.exists else []
        planned = {(batch_part.dataset, batch_part.batch) for batch_part in batches}
        again: list[Task] = []
        elsewhere: list[Task] = []
        for task in stored:
            (again if (task.dataset, task.batch) in planned else elsewhere).append(task)
        self._check_same(again, tasks)
        place = {name: i for i, name in enumerate(spec.datasets)}
        ordered = sorted(
            [*tasks, *elsewhere], key=lambda task: (place[task.dataset], task.batch)
        )
        for folder in (self.folder, self.folder / _RESULTS):
            clear_parts(folder)
        lines = "".join(f"{task.to_json()}\n" for task in ordered)
        # The plan comes first: a folder is a store from the moment it has a spec.
        self._write(_PLAN, lines)
        self._write(_SPEC, spec.to_toml() + "\n")

    def _check_same(self, stored: Sequence[Task], tasks: Sequence[Task]) -> None:
        before = {task.name: task for task in stored}
        batches = {(task.dataset, task.batch) for task in stored}
        now = {task.name: task for task in tasks if (task.dataset, task.batch) in batches}
        for name in before | now:
            if before.get(name) != now.get(name):
                raise HeadcountError(
                    f"The store {str(self.folder)!r} was planned with other data, or by "
                    f"another version of headcount (task {name!r} differs): choose another "
                    "folder."
                )

    def record_data(self, sums: Mapping[str, dict[str, str]]) -> None:
        """Keep checksums of the data; refuse data that are not those of earlier runs."""
        before = self.data
        for dataset, files in sums.items():
            if before.get(dataset, files) != files:
                raise HeadcountError(
                    f"The data of {dataset!r} have changed since the store "
                    f"{str(self.folder)!r} was begun: restore them, or choose another folder."
                )
        if sums:
            self._write(_DATA, json.dumps(before | dict(sums), indent=1, sort_keys=True))

    def record_descriptions(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """Keep facts about datasets, for the report."""
        if any(rows.values()):
            self._write(_DATASETS, json.dumps(self.descriptions | dict(rows), indent=1))

    def _write(self, name: str, text: str) -> None:
        content = text.encode("utf-8")
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)

    def unfinished(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks without results, among given ones."""
        names = self._names()
        return [task for task in tasks if task.name not in names]

    def failed(self, tasks: Iterable[Task], methods: Sequence[str]) -> list[Task]:
        """Finished tasks with failed methods, restricted to these, among given methods."""
        names = self._names()
        again = []
        for task in tasks:
            if task.name not in names:
                continue
            results = _read([self._file(task)], pl.col("method", "failure")).drop_nulls()
            failed = {name for name in results["method"] if name in methods}
            if failed:
                order = [name for name in task.methods or methods if name in failed]
                again.append(replace(task, methods=tuple(order)))
        return again

    def keep(self, task: Task, content: bytes | None, entry: Entry) -> None:
        """Write the results of a task, if it has any, and its journal entry."""
        if content is not None:
            path = self._file(task)
            write_bytes(path, _replaced(path, content) if path.exists() else content)
        self.journal.note(entry)


def _replaced(path: Path, content: bytes) -> bytes:
    """Results of a task with those of some methods replaced, in the order of a fresh run."""
    old, new = pl.read_parquet(path), pl.read_parquet(io.BytesIO(content))
    rows = old.with_row_index("_row")
    blocks = [rows.filter(~pl.col("method").is_in(new["method"].unique().to_list()))]
    for (name,), block in new.group_by("method", maintain_order=True):
        places = rows.filter(pl.col("method") == name)["_row"]
        if len(places) != block.height:
            raise HeadcountError(
                f"{name!r} now gives {block.height:,} results, where it failed on "
                f"{len(places):,}: choose another folder."
            )
        blocks.append(block.with_columns(places).select(rows.columns))
    return parquet_bytes(pl.concat(blocks).sort("_row").drop("_row"))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Results as the bytes of a file."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    unordered = list(names)
    return [name for name in order if name in unordered] + [
        name for name in unordered if name not in order
    ]


def _read(files: list[Path], columns: pl.Expr) -> pl.DataFrame:
    try:
        return pl.scan_parquet(files).select(columns).collect()
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        # Tasks of several protocols may have different columns; this way is slower.
        frames = [pl.read_parquet(file).select(columns) for file in files]
        return pl.concat(frames, how="diagonal_relaxed")
