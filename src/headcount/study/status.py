"""How far a study has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headcount.study.journal import Entry
    from headcount.study.task import Task

__all__ = ["DatasetStatus", "Failure", "Status", "dataset_status"]


@dataclass(frozen=True)
class DatasetStatus:
    """How far a study has come on one dataset: numbers of tasks, and runs that are done."""

    dataset: str
    tasks: int
    done: int
    failed: int
    missing: int
    runs: int
    seconds: float


@dataclass(frozen=True)
class Failure:
    """Something that failed, and why.

    Parameters
    ----------
    dataset : str
        Where.
    method : str or None
        Which method; None if it was a whole task.
    task : str or None
        Which task, if it was a whole one.
    runs : int
        How many results are lost to it.
    reason : str
        In a sentence.
    """

    dataset: str
    method: str | None
    task: str | None
    runs: int
    reason: str


@dataclass(frozen=True)
class Status:
    """How far a study has come.

    Parameters
    ----------
    datasets : tuple of DatasetStatus
        In the order of the plan.
    failures : tuple of Failure
        Whole tasks first, then methods on samples.
    seconds : float
        Time by the clock of all its runs together.
    """

    datasets: tuple[DatasetStatus, ...]
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def tasks(self) -> int:
        """Tasks of the plan."""
        return sum(each.tasks for each in self.datasets)

    @property
    def done(self) -> int:
        """Tasks whose results are there."""
        return sum(each.done for each in self.datasets)

    @property
    def failed(self) -> int:
        """Tasks that failed as a whole; `resume` tries them again."""
        return sum(each.failed for each in self.datasets)

    @property
    def missing(self) -> int:
        """Tasks that nobody has finished yet."""
        return sum(each.missing for each in self.datasets)

    @property
    def runs(self) -> int:
        """Results that are there, a method on a sample each."""
        return sum(each.runs for each in self.datasets)

    @property
    def runs_per_second(self) -> float | None:
        """By the clock, over all its runs; None before the first."""
        return self.runs / self.seconds if self.runs and self.seconds > 0 else None


def dataset_status(
    name: str,
    tasks: Sequence[Task],
    there: set[str],
    reasons: dict[str, str],
    last: dict[str, Entry],
) -> DatasetStatus:
    """Count the tasks of one dataset.

    Parameters
    ----------
    name : str
        The dataset.
    tasks : sequence of Task
        Those of the plan that are about it.
    there : set of str
        Keys of all tasks that have results.
    reasons : dict of str to str
        Why tasks failed that have none, by key.
    last : dict of str to Entry
        What the journal said last of each task.

    Returns
    -------
    DatasetStatus
    """
    done = [task for task in tasks if task.key in there]
    failed = sum(task.key in reasons for task in tasks)
    return DatasetStatus(
        dataset=name,
        tasks=len(tasks),
        done=len(done),
        failed=failed,
        missing=len(tasks) - len(done) - failed,
        runs=sum(task.runs for task in done),
        seconds=sum(last[task.key].seconds for task in done if task.key in last),
    )
