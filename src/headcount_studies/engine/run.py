"""Runs of a study: its tasks executed here, in processes or on a cluster, into a store."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from secrets import token_hex
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from headcount._support.execution import thread_count
from headcount._support.parameters import check_count
from headcount.distributed import SchedulerLostError, dask_client
from headcount.errors import HeadcountError, warn
from headcount_studies.data.folder import FOLDER_VARIABLE, data_folder
from headcount_studies.engine.spec import Spec, built_in_specs, read_spec, reason
from headcount_studies.engine.store import (
    Entry,
    Failure,
    Store,
    checksums,
    code_commit,
    code_versions,
    make_plan,
    parquet_bytes,
    parts_of,
)
from headcount_studies.engine.task import (
    Experiment,
    Task,
    dataset_files,
    find_experiment,
    with_data,
)

if TYPE_CHECKING:
    from distributed import Client


# Most are read when a library is loaded: they reach new processes only.
_VARIABLES = (
    "HEADCOUNT_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)

_SECONDS = "seconds"


@dataclass(frozen=True)
class TaskOutcome:
    """Journal entry of a task, and its results; None if it failed."""

    entry: Entry
    content: bytes | None = None


def execute_task(spec: Spec, task: Task, data: Path) -> TaskOutcome:
    """Execute a task; an exception becomes the reason of its failure."""
    start, processor_start = perf_counter(), process_time()
    try:
        experiment = find_experiment(spec.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            task_spec = spec.with_methods(task.methods) if task.methods else spec
            frame = _checked(experiment.run(task_spec, task, data), spec, task)
            seconds, frame = _taken_out(frame)
    except Exception as error:
        return _failed(task, perf_counter() - start, reason(error))
    content = parquet_bytes(frame)
    entry = Entry(
        task.name,
        round(perf_counter() - start, 4),
        runs=task.runs,
        failures=frame.height - frame["failure"].null_count(),
        methods=seconds,
        processor=round(process_time() - processor_start, 4),
    )
    return TaskOutcome(entry, content)


def _failed(task: Task, seconds: float, why: str) -> TaskOutcome:
    return TaskOutcome(Entry(task.name, round(seconds, 4), reason=why))


def _checked(frame: pl.DataFrame, spec: Spec, task: Task) -> pl.DataFrame:
    """The same rows, in columns whose types do not depend on their values."""
    columns: dict[str, type[pl.DataType]] = dict.fromkeys(
        ("dataset", "method", "failure"), pl.String
    )
    columns |= dict.fromkeys(spec.metrics, pl.Float64)
    for name in columns:
        if name not in frame.columns:
            raise HeadcountError(f"The results of task {task.key!r} have no column {name!r}.")
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in columns.items())
    for name, kind in frame.schema.items():
        if kind == pl.Null:
            raise HeadcountError(
                f"Column {name!r} of the results of task {task.key!r} has no type: cast it."
            )
    return frame


def _taken_out(frame: pl.DataFrame) -> tuple[dict[str, float], pl.DataFrame]:
    """Seconds by method, and the frame without them."""
    if _SECONDS not in frame.columns:
        return {}, frame
    sums = frame.group_by("method", maintain_order=True).agg(pl.col(_SECONDS).sum().round(4))
    return dict(sums.iter_rows()), frame.drop(_SECONDS)


def use_one_thread() -> None:
    """Limit this process to one thread: rounding may depend on their number."""
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    _limits()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread within a context."""
    with one_thread_in_children(), _limits():
        yield


def _limits() -> AbstractContextManager[Any]:
    """Limit libraries that are loaded already: they no longer read the environment."""
    import sklearn.linear_model  # noqa: F401  (loads those that matter)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


@contextmanager
def one_thread_in_children() -> Iterator[None]:
    """Limit processes that are started within the context to one thread."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def track_tasks(
    outcomes: Iterable[TaskOutcome], tasks: Sequence[Task], *, show: bool | None = None
) -> Generator[TaskOutcome]:
    """Pass on outcomes, with a bar and the time left, by expected costs, on standard error."""
    if not (sys.stderr.isatty() if show is None else show) or not tasks:
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import Progress

    costs, failed = {task.name: task.cost for task in tasks}, 0
    with Progress(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(f"0 of {len(tasks)} tasks", total=sum(costs.values()))
        for count, outcome in enumerate(outcomes, start=1):
            yield outcome
            failed += outcome.entry.reason is not None
            words = f"{count} of {len(tasks)} tasks" + f", {failed} failed" * bool(failed)
            bar.update(line, advance=costs[outcome.entry.task], description=words)


_READY = "ready"


def run_here(spec: Spec, tasks: Sequence[Task], data: Path) -> Generator[TaskOutcome]:
    """Execute tasks in this process, one after the other."""
    with one_thread():
        for task in tasks:
            yield execute_task(spec, task, data)


def run_in_processes(
    spec: Spec, tasks: Sequence[Task], data: Path, workers: int
) -> Generator[TaskOutcome]:
    """Execute tasks in several processes; each takes the next task when it is free.

    If a process dies, only its current task fails.
    """
    waiting = deque(tasks)
    crew: list[_Worker] = []
    try:
        for _ in range(min(workers, len(waiting))):
            crew.append(_Worker.start(spec, data))
        while any(worker.task for worker in crew) or waiting:
            ready = wait([worker.line for worker in crew])
            for worker in [worker for worker in crew if worker.line in ready]:
                outcome = worker.receive()
                if not worker.alive:
                    crew.remove(worker)
                    if waiting:
                        crew.append(_Worker.start(spec, data))
                elif waiting:
                    worker.give(waiting.popleft())
                if outcome is not None:
                    yield outcome
    finally:
        for worker in crew:
            worker.stop()


@dataclass
class _Worker:
    """A process, the connection to it, and its current task."""

    process: SpawnProcess
    line: Connection
    task: Task | None = None
    since: float = 0.0
    is_ready: bool = False
    alive: bool = True

    @classmethod
    def start(cls, spec: Spec, data: Path) -> _Worker:
        context = multiprocessing.get_context("spawn")
        own_end, worker_end = context.Pipe()
        process = context.Process(target=_work, args=(worker_end, spec, data), daemon=True)
        with one_thread_in_children(), _interrupts_held():
            process.start()
        worker_end.close()
        return cls(process, own_end)

    def give(self, task: Task) -> None:
        self.task, self.since = task, perf_counter()
        with suppress(OSError):  # it has died: `receive` notices
            self.line.send(task)

    def receive(self) -> TaskOutcome | None:
        """Outcome of its task; None if the message is only that it is ready."""
        try:
            message = self.line.recv()
        except (EOFError, OSError):
            return self._died()
        if message == _READY:
            self.is_ready = True
            return None
        self.task = None
        return cast("TaskOutcome", message)

    def _died(self) -> TaskOutcome | None:
        self.process.join(10.0)
        self.stop()
        self.alive = False
        if not self.is_ready:
            raise HeadcountError(
                "The processes of the study cannot start: call run_study below "
                "if __name__ == '__main__', or with workers=1."
            )
        task, self.task = self.task, None
        if task is None:
            return None
        why = f"the process that ran it ended {_manner(self.process.exitcode)}"
        return _failed(task, perf_counter() - self.since, why)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def _manner(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "by SIGKILL, often for want of memory: use fewer workers"
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"with exit code {code}"


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C for processes started within the context: their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(line: Connection, spec: Spec, data: Path) -> None:
    """Receive tasks and send outcomes until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_thread()
    line.send(_READY)
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        line.send(execute_task(spec, task, data))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


@contextmanager
def connected(scheduler: str, data: Path, spec: Spec) -> Iterator[Client]:
    """Connect to a cluster whose workers can execute the tasks of a study."""
    ours = code_versions(spec)
    with dask_client(scheduler) as client:
        seen = client.run(_inspect_worker, str(data), spec)
        for worker, (sees_data, versions_there) in seen.items():
            if not sees_data:
                raise HeadcountError(
                    f"The worker {worker} sees no folder {str(data)!r}: put the datasets where "
                    "all workers see them under the same path."
                )
            for name, number in ours.items():
                if versions_there[name] != number:
                    raise HeadcountError(
                        f"The worker {worker} has {name} {versions_there[name]} and this "
                        f"process has {number}, so results may differ: install the same."
                    )
        yield client


def _inspect_worker(data: str, spec: Spec) -> tuple[bool, dict[str, str]]:
    """Presence of the data folder on a worker, and its versions of the libraries."""
    return Path(data).is_dir(), code_versions(spec)


def run_on_cluster(
    client: Client, spec: Spec, tasks: Sequence[Task], data: Path
) -> Generator[TaskOutcome]:
    """Execute tasks on the workers of a cluster; tasks of a worker that dies are reassigned."""
    from distributed import CancelledError, as_completed

    nonce = token_hex(8)  # Dask takes two tasks of the same key for one
    futures: dict[Any, Task] = {}
    try:
        for place, task in enumerate(tasks):
            key = f"{task.name}-{nonce}"
            future = client.submit(
                _execute, spec, task, data, key=key, priority=-place, pure=False
            )
            futures[future] = task
        for future in as_completed(list(futures), loop=client.loop):
            task, error = futures.pop(future), future.exception()
            # Dask itself has already tried what failed on other workers.
            yield future.result() if error is None else _failed(task, 0.0, reason(error))
            future.release()
    except (CancelledError, OSError):
        raise SchedulerLostError("The connection to the scheduler was lost.") from None
    finally:
        with suppress(Exception):  # a scheduler that is lost has nothing to cancel
            client.cancel(list(futures))


def _execute(spec: Spec, task: Task, data: Path) -> TaskOutcome:
    use_one_thread()
    return execute_task(spec, task, data)


@dataclass(frozen=True)
class StudyRun:
    """Result of one call of `run_study`.

    Parameters
    ----------
    store : Store
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
    quick: bool = False,
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
        Continue a study that is in the store. Methods that failed are tried again.
    quick : bool, default=False
        Run a small part of the study, as its ``[quick]`` says. Store and report name it so.
    datasets, methods : sequence of str, default=None
        Datasets and methods to run; others may follow with ``resume=True``.
    progress : bool, default=None
        Show a bar with the time left; by default on a terminal only.
    """
    named = isinstance(spec, Spec) or str(spec) in built_in_specs()
    folder = Path() if isinstance(spec, Spec) else Path(spec).parent
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    store = store if isinstance(store, Store) else Store(store)
    if workers is not None and scheduler is not None:
        raise HeadcountError("workers and scheduler were both given: give one of them.")
    n_workers = thread_count() if workers is None else check_count("workers", workers)
    spec = spec.quickened(datasets=datasets) if quick else spec
    experiment = find_experiment(spec.kind)
    experiment.check(spec)
    restricted = spec.restricted(datasets=datasets, methods=methods)
    store.check(restricted, resume=resume)
    beside = spec.data and data is None and not (named and os.environ.get(FOLDER_VARIABLE))
    folder = data_folder(folder if beside else data).resolve()
    restricted = with_data(restricted, folder)
    with ExitStack() as stack:
        client = None
        if scheduler is not None:
            client = stack.enter_context(connected(scheduler, folder, restricted))
        if store.exists:
            stack.enter_context(store.writing())
        merged = store.merged(restricted, spec)
        planned = parts_of(restricted, store.tasks if store.exists else [])
        tasks = make_plan(experiment, merged, planned, folder)
        if not store.exists:  # a plan that fails leaves no folder behind
            stack.enter_context(store.writing())
            store.check(restricted, resume=resume)
        names = [method.name for method in restricted.methods]
        unfinished = _longest_first([*store.unfinished(tasks), *store.failed(tasks, names)])
        store.record_data(_data(merged, unfinished, folder))
        store.record_descriptions(_descriptions(experiment, restricted, store, folder))
        store.begin(merged, tasks, planned)
        facts: dict[str, Any] = {"workers": n_workers}
        if client is not None:
            facts = {"scheduler": scheduler}
            outcomes = run_on_cluster(client, merged, unfinished, folder)
        elif n_workers == 1:
            outcomes = run_here(merged, unfinished, folder)
        else:
            outcomes = run_in_processes(merged, unfinished, folder, n_workers)
        facts |= {"versions": code_versions(restricted), "commit": code_commit()}
        return _collect(store, tasks, unfinished, outcomes, facts=facts, progress=progress)


def _descriptions(
    experiment: Experiment, spec: Spec, store: Store, folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """Facts about the datasets that the store has none of; empty if there are none."""
    describe = getattr(experiment, "describe", None)
    if describe is None:
        return {}
    lacking = [name for name in spec.datasets if name not in store.descriptions]
    return {name: describe(spec, name, folder) for name in lacking}


def _data(spec: Spec, tasks: Sequence[Task], folder: Path) -> dict[str, dict[str, str]]:
    """Checksums of the files that tasks read; empty if the kind of study names no files."""
    names, files = {task.dataset for task in tasks}, dataset_files(spec, folder) or {}
    return {name: checksums(files[name], folder) for name in files if name in names}


def _collect(
    store: Store,
    tasks: Sequence[Task],
    left: Sequence[Task],
    outcomes: Generator[TaskOutcome],
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
                entry = replace(outcome.entry, elapsed=round(perf_counter() - start, 4))
                task = by_name[entry.task]
                store.keep(task, outcome.content, entry)
                done, runs = done + (entry.reason is None), runs + entry.runs
                failed_runs += entry.failures
                if entry.reason is not None:
                    failures.append(
                        Failure(task.dataset, None, task.name, task.runs, entry.reason)
                    )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(store, tasks)) from None
    except SchedulerLostError as lost:
        sentence = f"{str(lost).removesuffix('.')}, but {_kept(store, tasks)}"
        raise SchedulerLostError(sentence) from None
    seconds = perf_counter() - start
    return StudyRun(store, len(tasks), done, tuple(failures), failed_runs, runs, seconds)


def _kept(store: Store, tasks: Sequence[Task]) -> str:
    n_done = len(tasks) - len(store.unfinished(tasks))
    return (
        f"{n_done} of {len(tasks)} tasks are done and kept in {str(store.folder)!r}: run it "
        "again with --resume (resume=True) to go on."
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
    """Sort tasks by dataset, those with the longest task first, then by cost."""
    longest: dict[str, float] = {}
    for task in tasks:
        longest[task.dataset] = max(task.cost, longest.get(task.dataset, 0.0))
    return sorted(tasks, key=lambda task: (-longest[task.dataset], task.dataset, -task.cost))
