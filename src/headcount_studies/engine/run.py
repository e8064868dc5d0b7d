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

from headcount._dask import SchedulerLostError
from headcount._parameters import check_count
from headcount.errors import HeadcountError, warn
from headcount_studies.engine.cluster import connected, run_on_cluster
from headcount_studies.engine.execute import Outcome
from headcount_studies.engine.journal import Entry
from headcount_studies.engine.kinds import find_experiment
from headcount_studies.engine.local import run_here, run_in_processes
from headcount_studies.engine.plan import make_plan, parts_of
from headcount_studies.engine.progress import track_tasks
from headcount_studies.engine.provenance import checksums, code_versions
from headcount_studies.engine.spec import Spec, read_spec
from headcount_studies.engine.status import Failure
from headcount_studies.engine.store import Store
from headcount_studies.engine.task import Experiment, Task
from headcount_studies.files.folder import data_folder

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
    methods: Sequence[str] | None = None,
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
        Folder of the datasets; ``HEADCOUNT_DATA`` by default. For a spec that names files
        of its own, the folder of the spec.
    workers : int, default=None
        Number of processes, one per core by default; 1 runs everything in this process.
    scheduler : str, default=None
        Address of a Dask cluster to run on instead.
    resume : bool, default=False
        Continue a study that is in the store.
    datasets, methods : sequence of str, default=None
        Datasets and methods to run; others may follow with ``resume=True``.
    progress : bool, default=None
        Show a bar with the time left; by default on a terminal only.

    Returns
    -------
    StudyRun
    """
    folder = Path() if isinstance(spec, Spec) else Path(spec).parent
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    store = store if isinstance(store, Store) else Store(store)
    if workers is not None and scheduler is not None:
        raise HeadcountError("workers and scheduler were both given: give one of them.")
    n_workers = _cores() if workers is None else check_count("workers", workers)
    experiment = find_experiment(spec.kind)
    experiment.check(spec)
    wanted = spec.restricted(datasets=datasets, methods=methods)
    store.check(wanted, resume=resume)
    folder = data_folder(folder if spec.data and data is None else data).resolve()
    with ExitStack() as stack:
        client = None
        if scheduler is not None:
            client = stack.enter_context(connected(scheduler, folder, wanted))
        if store.exists:
            stack.enter_context(store.writing())
        whole = store.merged(wanted, spec)
        parts = parts_of(wanted, store.tasks if store.exists else [])
        tasks = make_plan(experiment, whole, parts, folder)
        if not store.exists:  # a plan that fails leaves no folder behind
            stack.enter_context(store.writing())
            store.check(wanted, resume=resume)
        left = _longest_first(store.unfinished(tasks))
        store.record_data(_data(experiment, whole, left, folder))
        store.begin(whole, tasks, parts)
        facts: dict[str, Any] = {"workers": n_workers}
        if client is not None:
            facts = {"scheduler": scheduler}
            outcomes = run_on_cluster(client, whole, left, folder)
        elif n_workers == 1:
            outcomes = run_here(whole, left, folder)
        else:
            outcomes = run_in_processes(whole, left, folder, n_workers)
        facts |= {"versions": code_versions(wanted)}
        return _collect(store, tasks, left, outcomes, facts=facts, progress=progress)


def _data(
    experiment: Experiment, spec: Spec, tasks: Sequence[Task], folder: Path
) -> dict[str, dict[str, str]]:
    """Checksums of the files that tasks read; empty if the kind of study names no files."""
    files = getattr(experiment, "files", None)
    if files is None:
        return {}
    names = dict.fromkeys(task.dataset for task in tasks)
    return {name: checksums(files(spec, name, folder), folder) for name in names}


def _collect(
    store: Store,
    tasks: Sequence[Task],
    left: Sequence[Task],
    outcomes: Generator[Outcome],
    *,
    facts: dict[str, Any],
    progress: bool | None,
) -> StudyRun:
    """Write the outcomes in the order in which tasks finish."""
    by_name = {task.name: task for task in left}
    failures: list[Failure] = []
    done = runs = failed_runs = 0
    start = perf_counter()
    if left:
        _record_start(store, facts)
    try:
        with closing(outcomes), closing(track_tasks(outcomes, left, show=progress)) as coming:
            for outcome in coming:
                task = by_name[outcome.key]
                store.keep(task, outcome.content, _entry(outcome, task, perf_counter() - start))
                if outcome.reason is not None:
                    failures.append(
                        Failure(task.dataset, None, task.name, task.runs, outcome.reason)
                    )
                    continue
                done, runs = done + 1, runs + task.runs
                failed_runs += outcome.failures
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(store, tasks)) from None
    except SchedulerLostError as lost:
        sentence = f"{str(lost).removesuffix('.')}, but {_kept(store, tasks)}"
        raise SchedulerLostError(sentence) from None
    return StudyRun(
        store, len(tasks), done, tuple(failures), failed_runs, runs, perf_counter() - start
    )


def _kept(store: Store, tasks: Sequence[Task]) -> str:
    kept = len(tasks) - len(store.unfinished(tasks))
    return (
        f"{kept} of {len(tasks)} tasks are done and kept in {str(store.folder)!r}: run it "
        "again with --resume (resume=True) to go on."
    )


def _entry(outcome: Outcome, task: Task, elapsed: float) -> Entry:
    return Entry(
        task=task.name,
        seconds=round(outcome.seconds, 4),
        elapsed=round(elapsed, 4),
        runs=task.runs if outcome.reason is None else 0,
        failures=outcome.failures,
        reason=outcome.reason,
        methods=outcome.methods,
    )


def _record_start(store: Store, facts: dict[str, Any]) -> None:
    now, earlier = facts["versions"], store.journal.runs()
    before = earlier[0][0].get("versions", {}) if earlier else {}
    if any(before[name] != now[name] for name in before.keys() & now.keys()):
        warn(
            f"The store {str(store.folder)!r} was begun with other versions of headcount or of "
            "what it uses: results from now on may differ in their last digits."
        )
    store.journal.begin({"at": datetime.now(UTC).isoformat(timespec="seconds")} | facts)


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
