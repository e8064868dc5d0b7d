"""Compiled loops over a range of independent items on several threads.

Kernels release the interpreter lock and write each item's result to its own place, so
the result does not depend on the number of threads. Plain Python threads have advantages
over those of numba: no threading layer to choose, safe to call from other threads and after
a fork, and several times less to compile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from headcount.errors import HeadcountError

__all__ = ["each_range", "thread_count"]

_ENVIRONMENT = "HEADCOUNT_NUM_THREADS"


def thread_count() -> int:
    """Return ``HEADCOUNT_NUM_THREADS``, or the number of cores this process may run on."""
    wanted = os.environ.get(_ENVIRONMENT)
    if wanted is not None:
        if not wanted.isdigit() or int(wanted) < 1:
            raise HeadcountError(
                f"{_ENVIRONMENT} is {wanted!r}; it must be a whole number of at least 1: "
                "set it so, or unset it to use every core."
            )
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each_range(work: Callable[[int, int], None], n: int, *, grain: int = 1) -> None:
    """Call ``work(start, stop)`` on ranges that together cover ``range(n)``.

    Parameters
    ----------
    work : callable
        Function that releases the interpreter lock and treats items independently.
    n : int
        Number of items.
    grain : int, default=1
        Smallest number of items that justifies a thread.
    """
    threads = min(thread_count(), max(1, n // max(1, grain)))
    if threads == 1:
        work(0, n)
        return
    # Several ranges per thread, so that the other threads do not wait for one slow range.
    parts = min(threads * 4, max(threads, n // max(1, grain)))
    edges = [n * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, edges[:-1], edges[1:]):
            pass
