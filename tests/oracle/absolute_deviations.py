"""Least absolute differences on one share, by looking at every corner."""

from __future__ import annotations

from collections.abc import Sequence


def value(profiles: Sequence[Sequence[float]], q: Sequence[float], share: float) -> float:
    return sum(
        abs(seen - (1 - share) * low - share * high)
        for low, high, seen in zip(*profiles, q, strict=True)
    )


def best_shares(
    profiles: Sequence[Sequence[float]], q: Sequence[float], slack: float = 1e-12
) -> tuple[float, float]:
    """Least and greatest of the best shares: a line without corners has none in between."""
    corners = [0.0, 1.0]
    for low, high, seen in zip(*profiles, q, strict=True):
        if high != low:
            corners.append(min(max((seen - low) / (high - low), 0.0), 1.0))
    least = min(value(profiles, q, corner) for corner in corners)
    best = [c for c in corners if value(profiles, q, c) <= least + slack]
    return min(best), max(best)
