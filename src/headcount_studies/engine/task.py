"""Sections, tasks and experiments: what a kind of study consists of."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import entry_points
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast

from headcount._support.parameters import check_count, check_positive
from headcount._support.text import first_of
from headcount.errors import HeadcountError, warn
from headcount_studies.engine.spec import Spec, built_in_specs, check_known, import_object

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Section:
    """One section of a report: text, a table, a figure.

    Parameters
    ----------
    title : str
    text : str
        Plain paragraphs, separated by empty lines.
    table : polars.DataFrame, default=None
    figure : callable, default=None
        Function without arguments that returns a matplotlib figure.
    marks : mapping of (int, str) to str, default=None
        Marks of cells of the table, by row number and column name: ``"best"`` sets the cell
        in bold, any other text, such as a dagger, is appended to it.

    Examples
    --------
    >>> from headcount_studies import Section
    >>> Section("Experiments", "Two methods on three datasets.").table is None
    True
    """

    title: str
    text: str = ""
    table: pl.DataFrame | None = None
    figure: Callable[[], Figure] | None = None
    marks: Mapping[tuple[int, str], str] | None = None


_MOST_LETTERS = 100  # of the names of files in one sentence
_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class Task:
    """A part of a study that is executed at once and whose results make one file.

    Parameters
    ----------
    key : str
        Unique name, also that of its file: letters, digits, ``.``, ``_`` and ``-``.
    dataset : str
        Name of the dataset.
    settings : dict
        Settings of the task: texts, numbers, booleans, and lists of them.
    cost : float, default=1.0
        Expected duration, in any unit. The longest tasks are executed first.
    runs : int, default=1
        Number of results: one per method and sample.
    methods : tuple of str, default=()
        Methods of the task. Set by `run_study`.
    batch : int, default=0
        0 for the methods that a dataset was first run with, 1 for those that were added
        next, and so on. Set by `run_study`.

    Examples
    --------
    >>> from headcount_studies import Task
    >>> Task("wine-0", "wine", {"draw": 0}).runs
    1
    """

    key: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0
    runs: int = 1
    methods: tuple[str, ...] = ()
    batch: int = 0

    def __post_init__(self) -> None:
        key: Any = self.key
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise HeadcountError(
                f"key of a task is {key!r}; it must be made of letters, digits, '.', '_' "
                "and '-', 200 at most, and not begin with a dot."
            )
        check_positive(f"cost of task {self.key!r}", self.cost)
        check_count(f"runs of task {self.key!r}", self.runs, least=0)
        object.__setattr__(self, "methods", tuple(self.methods))

    @property
    def name(self) -> str:
        """Unique name in a store: the key, and a suffix for methods that were added later."""
        return f"{self.key}.added-{self.batch}" if self.batch else self.key

    def to_json(self) -> str:
        """Write the task as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Task:
        """Read a task from a line of JSON that `to_json` returned."""
        content: Mapping[str, Any] = json.loads(line)
        return cls(**content)


class Experiment(Protocol):
    """Interface of a kind of study. The object keeps no state between calls.

    It may also have ``files(spec, dataset, data)``, which lists the files of a dataset, for
    ``headcount study list`` and for checksums, and ``describe(spec, dataset, data)``, which
    returns facts about a dataset for the report, as rows of columns and values.
    """

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """Divide the study into tasks.

        The same spec and data give the same tasks. The tasks of a dataset do not depend on
        the other datasets.
        """

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Execute one task.

        The rows do not depend on the order, process or machine of the tasks, and those of a
        method not on the other methods, which may be run at another time. Columns:
        ``dataset``, ``method``, ``failure`` (the reason, or null), the metrics, and further
        ones of this kind of study. A column ``seconds`` goes to the journal, summed by
        method, as files of results are the same in every run.
        """

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """Sections of the report, compared with the published figures where they are given."""


def task_seed(seed: int, *names: object) -> int:
    """Derive a seed for one purpose from the seed of the study and from names.

    Parameters
    ----------
    seed : int
        Seed of the spec.
    *names : object
        Texts and numbers that identify the purpose.

    Examples
    --------
    >>> from headcount_studies import task_seed
    >>> task_seed(0, "wine", 3) == task_seed(0, "wine", 3) != task_seed(0, "wine", 4)
    True
    """
    text = json.dumps([seed, *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class Shared:
    """A computation that methods share: made on first use, with the time that others save."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        self._compute = compute
        self._values: dict[Any, tuple[Any, float]] = {}
        self.saved = 0.0

    def __call__(self, *key: Any) -> Any:
        """Value of the computation for a key."""
        if key in self._values:
            value, seconds = self._values[key]
            self.saved += seconds
            return value
        start = perf_counter()
        value = self._compute(*key)
        self._values[key] = value, perf_counter() - start
        return value


def _delegated(module: str, name: str, doc: str) -> Any:
    """Method that calls a function of a module of the study."""

    def call(self: FolderStudy, *arguments: Any, **named: Any) -> Any:
        return getattr(self._module(module), name)(*arguments, **named)

    call.__doc__ = doc
    return call


class FolderStudy:
    """Experiment of one package: the modules ``study`` and ``report``, imported when needed.

    Parameters
    ----------
    package : str
    takes_files : bool, default=False
        True if a spec names its files and classifier, as ``[data]`` and ``[classifier]``.

    Examples
    --------
    >>> from headcount_studies.tweets import experiment
    >>> from headcount_studies import read_spec
    >>> len(experiment.plan(read_spec("tweets"), data=None))
    72
    """

    def __init__(self, package: str, *, takes_files: bool = False) -> None:
        self._package = package
        self._takes_files = takes_files

    def check(self, spec: Spec) -> None:
        """Refuse a spec that cannot be run."""
        tables = [name for name in ("data", "classifier") if getattr(spec, name)]
        if tables and not self._takes_files:
            raise HeadcountError(
                f"[{tables[0]}] is for studies of your own data: set kind = 'own-data', or "
                "leave it out."
            )
        self._module("study").check(spec)

    plan = _delegated("study", "plan", "Divide the study into tasks.")
    files = _delegated("study", "files", "Files that a dataset is read from, there or not.")
    run = _delegated("study", "run", "Execute one task.")
    sections = _delegated("report", "sections", "Sections of the report.")

    def describe(self, spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
        """Facts about a dataset, in rows; none if this kind of study has none."""
        describe = getattr(self._module("study"), "describe", None)
        return [] if describe is None else list(describe(spec, dataset, data))

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")


# Entry points of experiments, by the names of their kinds.
_GROUP = "headcount.studies"
_PARTS = ("check", "plan", "run", "sections")


def study_kinds() -> dict[str, str]:
    """Import paths of the experiments that are installed, by kind of study."""
    return {point.name: point.value for point in sorted(entry_points(group=_GROUP))}


def find_experiment(kind: str) -> Experiment:
    """Import the experiment of a kind of study."""
    if ":" not in kind:
        kinds = study_kinds()
        path = kinds[check_known("kind of study", kind, kinds)]
    else:
        path = kind
    experiment = import_object("kind of study", path)
    if lacking := [name for name in _PARTS if not callable(getattr(experiment, name, None))]:
        raise HeadcountError(
            f"The kind of study {kind!r} has no {lacking[0]}(): an experiment has "
            f"{', '.join(_PARTS)}."
        )
    return cast(Experiment, experiment)


def dataset_files(spec: Spec, data: Path) -> dict[str, list[Path]] | None:
    """Files of each dataset, there or not; None if the kind of study names none."""
    files = getattr(find_experiment(spec.kind), "files", None)
    return None if files is None else {name: files(spec, name, data) for name in spec.datasets}


def datasets_there(spec: Spec, data: Path) -> list[str] | None:
    """Datasets of a study that the folder has, without reading them; None if not known."""
    files = dataset_files(spec, data)
    if files is None:
        return None
    return [name for name, paths in files.items() if all(path.is_file() for path in paths)]


def relative_name(path: Path, folder: Path) -> str:
    """Name of a file within the folder of the datasets, or its path outside."""
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def with_data(spec: Spec, data: Path) -> Spec:
    """Study without the datasets whose files are missing; refuses one that has no files."""
    files = dataset_files(spec, data) or {}
    missing = {
        name: [relative_name(path, data) for path in paths if not path.is_file()]
        for name, paths in files.items()
    }
    lacking = [name for name in spec.datasets if missing.get(name)]
    if not lacking:
        return spec
    names = list(dict.fromkeys(name for name_list in missing.values() for name in name_list))
    lengths = accumulate(len(name) + 2 for name in names)
    n_named = max(1, sum(length <= _MOST_LETTERS for length in lengths))
    listed = first_of(names, n_named)
    is_ours = not spec.data or spec.name in built_in_specs()
    hint = f" (headcount study data {spec.name} says where they come from)" if is_ours else ""
    if len(lacking) == len(spec.datasets):
        raise HeadcountError(
            f"The folder {str(data)!r} has none of the datasets of {spec.name!r}: it lacks "
            f"{listed}{hint}."
        )
    warn(f"There are no files of {', '.join(lacking)}: {listed}{hint}.")
    return spec.restricted(datasets=[name for name in spec.datasets if name not in lacking])
