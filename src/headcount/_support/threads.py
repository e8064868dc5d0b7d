"""Compiled loops over a range of independent items on several threads.

Kernels release the interpreter lock and write each item's result to its own place, so
the result does not depend on the number of threads. Plain Python threads have advantages
over those of numba: no threading layer to choose, safe to call from other threads and after
a fork, and several times less to compile.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from headcount.errors import HeadcountError

Result = TypeVar("Result")

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
