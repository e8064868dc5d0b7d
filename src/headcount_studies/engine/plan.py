"""Plan of a run: tasks for the datasets and methods that a store has, and for new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headcount.errors import HeadcountError, warn
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Experiment, Task

__all__ = ["Part", "make_plan", "parts_of"]


@dataclass(frozen=True)
class Part:
    """Methods that are run together on a dataset.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    batch : int
        0 for the methods that the dataset was first run with, 1 for those added next.
    methods : tuple of str
        Names of the methods.
    """

    dataset: str
    batch: int
    methods: tuple[str, ...]


def parts_of(spec: Spec, there: Sequence[Task]) -> list[Part]:
    """Parts that a run consists of.

    Methods that a dataset was not run with become a part of their own, so that the tasks of
    the others stay as they are.

    Parameters
    ----------
    spec : Spec
        Study, restricted to the datasets and methods of this run.
    there : sequence of Task
        Tasks of the store.

    Returns
    -------
    list of Part

    Examples
    --------
    >>> from headcount_studies import MethodSpec, Spec, Task
    >>> spec = Spec("s", "k", ["wine"], [MethodSpec("CC"), MethodSpec("SLD")], ["ae"])
    >>> parts_of(spec, [Task("wine-0", "wine", methods=["CC"])])[1]
    Part(dataset='wine', batch=1, methods=('SLD',))
    """
    wanted = [method.name for method in spec.methods]
    parts = []
    for dataset in spec.datasets:
        tasks = [task for task in there if task.dataset == dataset]
        old = dict.fromkeys(Part(dataset, task.batch, task.methods) for task in tasks)
        known = {name for part in old for name in part.methods}
        parts += [part for part in old if set(part.methods) & set(wanted)]
        new = tuple(name for name in wanted if name not in known)
        if new:
            batch = 1 + max((part.batch for part in old), default=-1)
            parts.append(Part(dataset, batch, new))
    return parts


def make_plan(
    experiment: Experiment, spec: Spec, parts: Sequence[Part], data: Path
) -> list[Task]:
    """Tasks of all parts.

    Parameters
    ----------
    experiment : Experiment
        Kind of study.
    spec : Spec
        Study with all datasets and methods of the parts.
    parts : sequence of Part
        Parts of the run.
    data : Path
        Folder of the datasets.

    Returns
    -------
    list of Task
    """
    together: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for part in parts:
        together.setdefault((part.batch, part.methods), []).append(part.dataset)
    tasks: list[Task] = []
    for (batch, methods), datasets in together.items():
        own = spec.restricted(datasets=datasets).with_methods(methods)
        found = experiment.plan(own, data)
        tasks += [replace(task, batch=batch, methods=methods) for task in found]
    _check(tasks, spec, {part.dataset for part in parts})
    return tasks


def _check(tasks: Sequence[Task], spec: Spec, wanted: set[str]) -> None:
    seen: set[str] = set()
    for task in tasks:
        folded = task.name.lower()  # some file systems take both for one
        if folded in seen:
            raise HeadcountError(f"The plan of {spec.name!r} has task {task.name!r} twice.")
        if task.dataset not in wanted:
            raise HeadcountError(
                f"Task {task.name!r} is about {task.dataset!r}, which is not a dataset of "
                f"{spec.name!r}."
            )
        seen.add(folded)
    planned = {task.dataset for task in tasks}
    if not planned:
        raise HeadcountError(
            f"Nothing can be run: the folder of datasets has none of those of {spec.name!r}."
        )
    lacking = [name for name in spec.datasets if name in wanted - planned]
    if lacking:
        warn(f"There is nothing to run on {', '.join(lacking)}: the data may be missing.")
