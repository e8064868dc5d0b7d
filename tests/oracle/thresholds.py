"""Rates and adjusted counts at thresholds, by counting items."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def rate(
    scores: Sequence[float], codes: Sequence[int], weights: Sequence[float], t: float, j: int
) -> float:
    """Share of class j with a score of at least t."""
    own = [i for i in range(len(scores)) if codes[i] == j]
    reached = sum(weights[i] for i in own if scores[i] >= t)
    return reached / sum(weights[i] for i in own)


def choose(
    policy: str, thresholds: Sequence[float], true: Sequence[float], false: Sequence[float]
) -> float:
    """The lowest threshold that no other one is better than.

    Thresholds at which both classes look alike are no candidates if there are others.
    """
    costs = {
        "max": lambda i: false[i] - true[i],
        "x": lambda i: abs(true[i] - (1 - false[i])),
        "t50": lambda i: abs(true[i] - 0.5),
    }
    cost = costs[policy]
    everywhere = range(len(thresholds))
    telling = [i for i in everywhere if abs(true[i] - false[i]) >= 1e-12]
    candidates = telling or list(everywhere)
    best = candidates[0]
    for i in candidates:
        if cost(i) < cost(best) - 1e-12:
            best = i
    return thresholds[best]


def median_adjusted_count(
    scores: Sequence[float],
    thresholds: Sequence[float],
    true: Sequence[float],
    false: Sequence[float],
) -> float:
    counts = [sum(score >= t for score in scores) / len(scores) for t in thresholds]
    return median(
        (count - low) / (high - low)
        for count, high, low in zip(counts, true, false, strict=True)
    )
