"""Class distribution estimation as it is described: count, move the threshold, repeat."""

from __future__ import annotations

from collections.abc import Sequence


def iterate_threshold(
    scores: Sequence[float], prior: float, *, tol: float, max_iter: int
) -> tuple[float, int]:
    """Share of positives and the counts made."""
    threshold = 0.5
    share = 0.0
    for turn in range(1, max_iter + 1):
        share = sum(score > threshold for score in scores) / len(scores)
        c0, c1 = (1 - share) / (1 - prior), share / prior
        moved = c0 / (c0 + c1)
        if abs(moved - threshold) <= tol:
            return share, turn
        threshold = moved
    return share, max_iter
