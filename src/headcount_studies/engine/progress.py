"""Progress of a study on a terminal: tasks done, runs per second, time left."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Sequence
from time import perf_counter

from headcount_studies.engine.execute import Outcome
from headcount_studies.engine.task import Task

__all__ = ["Pace", "track_tasks"]


class Pace:
    """Time left, estimated from the expected costs of the tasks that are done.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks of the run.

    Examples
    --------
    >>> from headcount_studies import Task
    >>> pace = Pace([Task("a", "wine", cost=1.0), Task("b", "wine", cost=3.0)])
    >>> pace.finish("a")
    >>> pace.seconds_left(elapsed=2.0)
    6.0
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._costs = {task.name: task.cost for task in tasks}
        self.total = sum(self._costs.values())
        self.done = 0.0

    def finish(self, name: str) -> None:
        """Record that a task is done."""
        self.done += self._costs[name]

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimate the time left; None before the first task is done."""
        if self.done <= 0:
            return None
        return max(0.0, elapsed * (self.total - self.done) / self.done)


def track_tasks(
    outcomes: Iterable[Outcome], tasks: Sequence[Task], *, show: bool | None = None
) -> Generator[Outcome]:
    """Pass on outcomes, with a bar and the time left on standard error.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Outcomes in the order in which tasks finish.
    tasks : sequence of Task
        All tasks of the run.
    show : bool, default=None
        None shows the bar if standard error is a terminal.

    Yields
    ------
    Outcome
    """
    if not (sys.stderr.isatty() if show is None else show) or not tasks:
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    pace, start = Pace(tasks), perf_counter()
    count = runs = failed = 0
    by_name = {task.name: task for task in tasks}
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(f"0 of {len(tasks)} tasks", total=pace.total)
        for outcome in outcomes:
            yield outcome
            pace.finish(outcome.key)
            count += 1
            failed += outcome.reason is not None
            runs += by_name[outcome.key].runs if outcome.reason is None else 0
            elapsed = perf_counter() - start
            parts = [f"{count} of {len(tasks)} tasks", f"{runs / elapsed:,.0f} runs per second"]
            parts += [f"{failed} failed"] if failed else []
            parts += [_left(pace.seconds_left(elapsed))]
            bar.update(line, completed=pace.done, description=", ".join(parts))


def _left(seconds: float | None) -> str:
    if seconds is None:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left"
