"""Tests of paired errors, from their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def ranks(values: Sequence[float]) -> list[float]:
    """Rank of each value, 1 for the lowest, ties at the mean of their ranks."""
    return [
        sum(other < value for other in values)
        + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided p-value over all ways of giving signs to the ranks."""
    moved = [d for d in differences if d != 0]
    if not moved:
        return 1.0
    size = ranks([abs(d) for d in moved])
    middle = sum(size) / 2
    seen = abs(sum(r for r, d in zip(size, moved, strict=True) if d > 0) - middle)
    outcomes = [
        abs(sum(itertools.compress(size, signs)) - middle)
        for signs in itertools.product((0, 1), repeat=len(moved))
    ]
    return sum(outcome >= seen - 1e-9 for outcome in outcomes) / len(outcomes)


def friedman_statistic(table: Sequence[Sequence[float]]) -> float:
    """The textbook formula, divided by its correction for ties."""
    n, k = len(table), len(table[0])
    by_row = [ranks(row) for row in table]
    sums = [math.fsum(row[j] for row in by_row) for j in range(k)]
    raw = 12 / (n * k * (k + 1)) * math.fsum(s**2 for s in sums) - 3 * n * (k + 1)
    ties = 0.0
    for row in table:
        for value in set(row):
            count = list(row).count(value)
            ties += count**3 - count
    return raw / (1 - ties / (n * k * (k**2 - 1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values: the smallest times m, the next times m - 1, never decreasing."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i])
    corrected = [0.0] * m
    for place, i in enumerate(order):
        corrected[i] = max(
            min(1.0, (m - earlier) * p_values[order[earlier]]) for earlier in range(place + 1)
        )
    return corrected


def groups(ranks: Sequence[float], difference: float) -> set[frozenset[int]]:
    """Every set of two or more that are pairwise within a difference, and in no larger one."""
    alike = [
        frozenset(chosen)
        for size in range(2, len(ranks) + 1)
        for chosen in itertools.combinations(range(len(ranks)), size)
        if all(
            abs(ranks[i] - ranks[j]) < difference for i, j in itertools.combinations(chosen, 2)
        )
    ]
    return {group for group in alike if not any(group < other for other in alike)}
