"""Sums and cells of groups, one item at a time, in Python's whole numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import exp, log
from typing import Any

ONE = 2**30


def fixed(value: float) -> int:
    return round(value * ONE)


def sums(rows: Sequence[Sequence[float]], groups: Sequence[Any]) -> dict[Any, Any]:
    """Multiples of 2**-30, and the remainders as multiples of 2**-61."""
    found: dict[Any, Any] = {}
    for row, group in zip(rows, groups, strict=True):
        own = found.setdefault(group, [[0] * len(row), [0] * len(row)])
        for j, value in enumerate(row):
            own[0][j] += fixed(value)
            own[1][j] += round((Fraction(value) - Fraction(fixed(value), ONE)) * 2**61)
    return found


def logit_cell(s: float, n_cells: int = 1024, reach: float = 15.0) -> int:
    if s <= 0 or s >= 1:
        return 0 if s <= 0 else n_cells - 1
    place = (log(s / (1 - s)) + reach) / (2 * reach) * n_cells
    return min(max(int(place), 0), n_cells - 1)


def logit_cells(
    posteriors: Sequence[float], groups: Sequence[int]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Number of items and sum of posteriors, by group and cell."""
    found: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for s, group in zip(posteriors, groups, strict=True):
        key = group, logit_cell(s)
        found[key] = found[key][0] + 1, found[key][1] + fixed(s)
    return dict(found)


def ratio_bin(s: float, largest: float) -> int:
    if s <= 0:
        return 96
    place = 16 * log(largest / s)
    return int(place) if place <= 64 else int(96 - 32 * exp((64 - place) / 32))
