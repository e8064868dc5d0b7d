"""Timing, by one rule for both sides."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

__all__ = ["best_of_three", "timed"]


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def best_of_three(call: Callable[[], Any], *, long: float = 10.0) -> tuple[float, Any]:
    """Seconds of the fastest of three runs, or of one if it takes ``long`` seconds or more."""
    best, result = timed(call)
    if best < long:
        best = min(best, *(timed(call)[0] for _ in range(2)))
    return best, result
