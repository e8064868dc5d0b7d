"""Execution of computations: random streams, threads, progress, versions of packages."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from platform import python_version
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.draws import GOLDEN, mix
from headcount._support.arrays import Floats, Ints
from headcount._support.parameters import check_random_state
from headcount.errors import HeadcountError

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def base_seeds(random_state: RandomState, n: int) -> list[int]:
    """Turn a ``random_state`` into ``n`` independent 64-bit seeds; None is a fixed seed."""
    return [int(seed) for seed in _seed_sequence(random_state).generate_state(n, np.uint64)]


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    check_random_state(random_state)
    if random_state is None:  # the same answer on every run, unless asked otherwise
        return np.random.SeedSequence(0)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**63 - 1, dtype=np.int64)))
    return np.random.SeedSequence(int(random_state))


def stream_seeds(base: int, numbers: Ints) -> NDArray[np.uint64]:
    """Seeds of the streams with these numbers, all different for one base."""
    return _words(np.uint64(base), numbers.astype(np.uint64))


def uniforms(base: int, numbers: Ints, n: int) -> Floats:
    """First ``n`` uniforms of each numbered stream, strictly between 0 and 1."""
    words = _words(stream_seeds(base, numbers)[:, None], np.arange(n, dtype=np.uint64))
    # 52 bits and a half, which a double holds exactly: neither end is reached.
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _words(
    seeds: np.uint64 | NDArray[np.uint64], numbers: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    return mix(seeds + (numbers + np.uint64(1)) * GOLDEN)


Result = TypeVar("Result")

# True if threads of Polars are running at a fork, and true in the process that lacks them.
_has_workers = _lost_workers = False


def check_fork() -> None:
    """Refuse to use Polars where it waits forever, for threads that a fork has not copied."""
    if _lost_workers:
        raise HeadcountError(
            "This process was forked from one that had used Polars, whose threads it lacks: "
            "start processes by multiprocessing.get_context('spawn'), or 'forkserver'."
        )


def _note_workers() -> None:
    global _has_workers
    try:
        threads = [file.read_text() for file in Path("/proc/self/task").glob("*/comm")]
    except OSError:  # one has ended meanwhile, or the system does not list them
        return
    _has_workers = any(re.match(r"polars-\d", name) for name in threads)


def _note_loss() -> None:
    global _lost_workers
    _lost_workers = _lost_workers or _has_workers


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_workers, after_in_child=_note_loss)

_ENVIRONMENT = "HEADCOUNT_NUM_THREADS"
# Tasks that run at once, each of which may hold a batch of a table in memory.
_MOST_TASKS = 8


class _Task(threading.local):
    """State of a thread: while it runs a task, loops inside the task use no other thread."""

    running = False


_task = _Task()


def thread_count() -> int:
    """Return ``HEADCOUNT_NUM_THREADS``, or the number of cores this process may run on."""
    setting = os.environ.get(_ENVIRONMENT)
    if setting is not None:
        if not setting.isdigit() or int(setting) < 1:
            raise HeadcountError(
                f"{_ENVIRONMENT} is {setting!r}; it must be a whole number of at least 1: "
                "set it so, or unset it to use every core."
            )
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each_range(work: Callable[[int, int], None], n: int, *, grain: int = 1) -> None:
    """Call ``work(start, stop)`` on ranges that together cover ``range(n)``."""
    threads = 1 if _task.running else min(thread_count(), max(1, n // max(1, grain)))
    if threads == 1:
        work(0, n)
        return
    # Several ranges per thread, so that the other threads do not wait for one slow range.
    n_ranges = min(threads * 4, max(threads, n // max(1, grain)))
    edges = [n * number // n_ranges for number in range(n_ranges + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, edges[:-1], edges[1:]):
            pass


def results_in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Results of tasks, in their order, several of which run at once."""
    threads = min(thread_count(), _MOST_TASKS)
    if threads == 1:
        yield from (task() for task in tasks)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, initializer=_begin_task) as pool:
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _begin_task() -> None:
    _task.running = True


_Item = TypeVar("_Item")


def track(
    items: Iterable[_Item], total: int, what: str, *, show: bool | None = None
) -> Generator[_Item, None, None]:
    """Yield the items, with a progress bar and the remaining time on standard error."""
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(items, what, total=total, console=Console(stderr=True), transient=True)


# Versions of the packages that results depend on.

_PACKAGES = ("headcount", "numpy", "scipy", "scikit-learn", "numba", "polars")


def versions(*modules: str) -> dict[str, str]:
    """Versions of Python and of the packages, by name."""
    by_name = {name: _version(name) for name in _PACKAGES} | {"python": python_version()}
    packages = packages_distributions() if modules else {}
    for module in modules:
        names = packages.get(module.partition(".")[0], [])
        by_name |= (
            {name: _version(name) for name in names} if names else {module: _file(module)}
        )
    return by_name


def _file(module: str) -> str:
    """Checksum of the file of a module."""
    try:
        module_spec = importlib.util.find_spec(module)
        origin = "" if module_spec is None or module_spec.origin is None else module_spec.origin
        with open(origin, "rb") as file:
            return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except (ImportError, OSError, ValueError):  # it is not a file
        return "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
