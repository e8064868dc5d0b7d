"""Status of a study: tasks done, failed and missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount._text import Cell, Table, html_result

if TYPE_CHECKING:
    from headcount_studies.engine.journal import Entry
    from headcount_studies.engine.task import Task

__all__ = ["DatasetStatus", "Failure", "Status", "dataset_status"]

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


@dataclass(frozen=True)
class Failure:
    """A failed task, or a method that failed on samples.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    method : str or None
        Name of the method; None if a whole task failed.
    task : str or None
        Name of the task if it failed as a whole.
    runs : int
        Number of results that are lost.
    reason : str
        Reason, in one sentence.
    """

    dataset: str
    method: str | None
    task: str | None
    runs: int
    reason: str


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

    @property
    def tasks(self) -> int:
        """Number of tasks of the plan."""
        return sum(each.tasks for each in self.datasets)

    @property
    def done(self) -> int:
        """Number of tasks with results."""
        return sum(each.done for each in self.datasets)

    @property
    def failed(self) -> int:
        """Number of tasks that failed as a whole; `resume` executes them again."""
        return sum(each.failed for each in self.datasets)

    @property
    def missing(self) -> int:
        """Number of tasks that are not finished."""
        return sum(each.missing for each in self.datasets)

    @property
    def runs(self) -> int:
        """Number of results: one per method and sample."""
        return sum(each.runs for each in self.datasets)

    @property
    def runs_per_second(self) -> float | None:
        """Results per second of wall-clock time; None before the first run."""
        return self.runs / self.seconds if self.runs and self.seconds > 0 else None

    def _repr_html_(self) -> str:
        head = ["dataset", "tasks", "done", "failed", "missing", "runs"]
        rows = [
            [Cell(each.dataset), *(Cell(f"{vars(each)[name]:,}") for name in head[1:])]
            for each in self.datasets
        ]
        title = f"{self.done:,} of {self.tasks:,} tasks are done, {self.failed:,} failed"
        notes = [f"{each.dataset}: {each.reason}" for each in self.failures[:_MOST_FAILURES]]
        return html_result(title, [Table(head, rows, [False, *[True] * 5])], notes)


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
        Name of the dataset.
    tasks : sequence of Task
        Tasks of the plan on this dataset.
    there : set of str
        Names of all tasks that have results.
    reasons : dict of str to str
        Reasons of failed tasks, by name.
    last : dict of str to Entry
        Last entry of the journal for each task.

    Returns
    -------
    DatasetStatus
    """
    done = [task for task in tasks if task.name in there]
    failed = sum(task.name in reasons for task in tasks)
    return DatasetStatus(
        dataset=name,
        tasks=len(tasks),
        done=len(done),
        failed=failed,
        missing=len(tasks) - len(done) - failed,
        runs=sum(task.runs for task in done),
        seconds=sum(last[task.name].seconds for task in done if task.name in last),
    )
