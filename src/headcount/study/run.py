"""From a spec to a store: plan, execute the missing tasks, write their results."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from headcount._parameters import check_count
from headcount._versions import versions
from headcount.data.datasets.folder import data_folder
from headcount.errors import HeadcountError, warn
from headcount.study.cluster import connected, run_on_cluster
from headcount.study.execute import Outcome
from headcount.study.journal import Entry
from headcount.study.kinds import find_experiment
from headcount.study.local import run_here, run_in_processes
from headcount.study.progress import track_tasks
from headcount.study.spec import Spec, read_spec
from headcount.study.status import Failure
from headcount.study.store import Store
from headcount.study.task import Task

__all__ = ["StudyRun", "run_study"]


@dataclass(frozen=True)
class StudyRun:
    """Result of one call of `run_study`.

    Parameters
    ----------
    store : Store
        Store of the results.
    tasks : int
        Number of tasks of the plan.
    done : int
        Number of tasks that this call finished; others may have been finished before.
    failures : tuple of Failure
        Tasks that failed in this call, with reasons. `resume` executes them again.
    failed_runs : int
        Number of methods that failed on samples, in the tasks that this call finished.
    runs : int
        Number of results of this call: one per method and sample.
    seconds : float
        Duration.
    """

    store: Store
    tasks: int
    done: int
    failures: tuple[Failure, ...]
    failed_runs: int
    runs: int
    seconds: float


def run_study(
    spec: Spec | str | Path,
    store: Store | str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    datasets: Sequence[str] | None = None,
    progress: bool | None = None,
) -> StudyRun:
    """Execute the missing tasks of a study and write each result as soon as it is computed.

    The run can be killed at any moment: with ``resume=True`` it continues, and the results
    are the same to the last byte. They do not depend on the number of workers either.
    Processes are spawned, so a script must call this function below
    ``if __name__ == "__main__"``.

    Parameters
    ----------
    spec : Spec, str or Path
        A spec, the name of a built-in one, or a TOML file.
    store : Store, str or path
        Folder of the results; created if it is missing.
    data : str or path, default=None
        Folder of the datasets; ``HEADCOUNT_DATA`` by default.
    workers : int, default=None
        Number of processes, one per core by default; 1 runs everything in this process.
    scheduler : str, default=None
        Address of a Dask cluster to run on instead.
    resume : bool, default=False
        Continue a study that is in the store.
    datasets : sequence of str, default=None
        Datasets to run; others may follow with ``resume=True``.
    progress : bool, default=None
        Show a bar with the time left; by default on a terminal only.

    Returns
    -------
    StudyRun
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    store = store if isinstance(store, Store) else Store(store)
    if workers is not None and scheduler is not None:
        raise HeadcountError("workers and scheduler were both given: give one of them.")
    n_workers = _cores() if workers is None else check_count("workers", workers)
    experiment = find_experiment(spec.kind)
    experiment.check(spec)
    wanted = spec.restricted(datasets=datasets)
    store.check(wanted, resume=resume)
    folder = data_folder(data).resolve()
    with ExitStack() as stack:
        client = stack.enter_context(connected(scheduler, folder)) if scheduler else None
        if store.exists:
            stack.enter_context(store.writing())
            tasks = _planned(experiment.plan(wanted, folder), wanted)
        else:  # a plan that fails leaves no folder behind
            tasks = _planned(experiment.plan(wanted, folder), wanted)
            stack.enter_context(store.writing())
            store.check(wanted, resume=resume)
        store.begin(wanted, tasks, spec.datasets)
        left = _longest_first(store.unfinished(tasks))
        where: dict[str, Any] = {"workers": n_workers}
        if client is not None:
            where = {"scheduler": scheduler}
            outcomes = run_on_cluster(client, wanted, left, folder)
        elif n_workers == 1:
            outcomes = run_here(wanted, left, folder)
        else:
            outcomes = run_in_processes(wanted, left, folder, n_workers)
        return _collect(store, tasks, left, outcomes, where=where, progress=progress)


def _collect(
    store: Store,
    tasks: Sequence[Task],
    left: Sequence[Task],
    outcomes: Generator[Outcome],
    *,
    where: dict[str, Any],
    progress: bool | None,
) -> StudyRun:
    """Write the outcomes in the order in which tasks finish."""
    by_key = {task.key: task for task in left}
    failures: list[Failure] = []
    done = runs = failed_runs = 0
    start = perf_counter()
    if left:
        _record_start(store, where)
    try:
        with closing(outcomes), closing(track_tasks(outcomes, left, show=progress)) as coming:
            for outcome in coming:
                task = by_key[outcome.key]
                store.keep(task, outcome.content, _entry(outcome, task, perf_counter() - start))
                if outcome.reason is not None:
                    failures.append(
                        Failure(task.dataset, None, task.key, task.runs, outcome.reason)
                    )
                    continue
                done, runs = done + 1, runs + task.runs
                failed_runs += outcome.failures
    except KeyboardInterrupt:
        kept = len(tasks) - len(store.unfinished(tasks))
        raise KeyboardInterrupt(
            f"{kept} of {len(tasks)} tasks are done and kept in {str(store.folder)!r}: run it "
            "again with --resume (resume=True) to go on."
        ) from None
    return StudyRun(
        store, len(tasks), done, tuple(failures), failed_runs, runs, perf_counter() - start
    )


def _entry(outcome: Outcome, task: Task, elapsed: float) -> Entry:
    return Entry(
        task=task.key,
        seconds=round(outcome.seconds, 4),
        elapsed=round(elapsed, 4),
        runs=task.runs if outcome.reason is None else 0,
        failures=outcome.failures,
        reason=outcome.reason,
    )


def _record_start(store: Store, where: dict[str, Any]) -> None:
    earlier = store.journal.runs()
    facts: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
    facts |= where | {"versions": versions()}
    if earlier and earlier[0][0].get("versions") != facts["versions"]:
        warn(
            f"The store {str(store.folder)!r} was begun with other versions of headcount or of "
            "what it uses: results from now on may differ in their last digits."
        )
    store.journal.begin(facts)


def _planned(tasks: Sequence[Task], spec: Spec) -> list[Task]:
    """Check the plan and return it as a list."""
    seen: set[str] = set()
    for task in tasks:
        folded = task.key.lower()  # some file systems take both for one
        if folded in seen:
            raise HeadcountError(f"The plan of {spec.name!r} has task {task.key!r} twice.")
        if task.dataset not in spec.datasets:
            raise HeadcountError(
                f"Task {task.key!r} is about {task.dataset!r}, which is not a dataset of "
                f"{spec.name!r}."
            )
        seen.add(folded)
    planned = {task.dataset for task in tasks}
    lacking = [name for name in spec.datasets if name not in planned]
    if not planned:
        raise HeadcountError(
            f"Nothing can be run: the folder of datasets has none of those of {spec.name!r}."
        )
    if lacking:
        warn(f"There is nothing to run on {', '.join(lacking)}: the data may be missing.")
    return list(tasks)


def _longest_first(tasks: Sequence[Task]) -> list[Task]:
    """Sort tasks by dataset, those with the longest task first, then by cost.

    A long task at the end would leave other processes idle. Each process keeps the datasets
    it has read last in memory.
    """
    longest: dict[str, float] = {}
    for task in tasks:
        longest[task.dataset] = max(task.cost, longest.get(task.dataset, 0.0))
    return sorted(tasks, key=lambda task: (-longest[task.dataset], task.dataset, -task.cost))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
