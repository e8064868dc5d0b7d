"""Tests on paired errors: rows are samples or datasets, columns are methods."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from headcount._parameters import check_count, check_fraction

__all__ = [
    "average_ranks",
    "critical_difference",
    "friedman",
    "holm",
    "nemenyi",
    "paired_t",
    "settle",
    "wilcoxon",
]

Floats: TypeAlias = NDArray[np.float64]

_ROUNDING = 1e-12  # of the largest number
_EXACT = 50  # up to so many differences the distribution of the rank sum is worked out


def settle(values: Floats) -> Floats:
    """Make values equal that differ by rounding alone, along the last axis.

    Two methods that are the same but for rounding should tie, not win and lose by chance.
    """
    tolerance = _ROUNDING * np.abs(values).max(initial=0.0)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    apart = np.diff(ordered, axis=-1, prepend=-np.inf) > tolerance
    first = np.maximum.accumulate(np.where(apart, np.arange(values.shape[-1]), 0), axis=-1)
    settled = np.empty_like(values)
    np.put_along_axis(settled, order, np.take_along_axis(ordered, first, axis=-1), axis=-1)
    return settled


def average_ranks(errors: Floats) -> Floats:
    """Mean rank of each column over the rows, 1 for the lowest, ties sharing their ranks."""
    ranks: Floats = stats.rankdata(errors, axis=1).mean(axis=0)
    return ranks


def wilcoxon(difference: Floats) -> float:
    """Two-sided p-value of the signed-rank test; differences of zero are left out.

    Exact, ties included, for up to 50 differences; the normal approximation for more.
    """
    moved = difference[difference != 0]
    if not len(moved):
        return 1.0
    ranks = stats.rankdata(settle(np.abs(moved)))
    positive = ranks[moved > 0].sum()
    smaller = min(positive, ranks.sum() - positive)
    if len(moved) <= _EXACT:
        return min(1.0, 2 * _share_up_to(smaller, ranks))
    # Each rank counts or not with probability 1/2, which also takes care of ties.
    z = (ranks.sum() / 2 - smaller) / math.sqrt((ranks**2).sum() / 4)
    return float(2 * special.ndtr(-z))


def _share_up_to(limit: float, ranks: Floats) -> float:
    """Probability of a rank sum of at most `limit` if signs are tossed."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # ties have halves
    chance = np.zeros(doubled.sum() + 1)
    chance[0] = 1.0
    for rank in doubled:
        chance[rank:] = (chance[rank:] + chance[:-rank]) / 2
        chance[:rank] /= 2
    return float(chance[: round(2 * limit) + 1].sum())


def paired_t(difference: Floats) -> float:
    """Two-sided p-value of the t-test on paired samples."""
    mean, deviation = difference.mean(), difference.std(ddof=1)
    if mean == 0:
        return 1.0
    if deviation == 0:
        return 0.0
    t = abs(mean) / (deviation / math.sqrt(len(difference)))
    return float(2 * special.stdtr(len(difference) - 1, -t))


def friedman(errors: Floats) -> tuple[float, float]:
    """Chi-squared statistic and p-value of the hypothesis that all columns are alike."""
    rows, columns = errors.shape
    ranks = stats.rankdata(errors, axis=1)
    middle = (columns + 1) / 2
    spread = ((ranks - middle) ** 2).sum()
    if spread == 0:
        return 0.0, 1.0
    between = ((ranks.sum(axis=0) - rows * middle) ** 2).sum()
    statistic = (columns - 1) * between / spread
    return float(statistic), float(special.chdtrc(columns - 1, statistic))


def critical_difference(
    n_methods: int, n_units: int, *, level: float = 0.05, df: float = math.inf
) -> float:
    """Difference of average ranks from which on two methods differ significantly (Nemenyi).

    Parameters
    ----------
    n_methods : int
        Methods that are ranked.
    n_units : int
        Datasets or samples over which ranks are averaged.
    level : float, default=0.05
        Significance level.
    df : float, default=inf
        Degrees of freedom of the studentized range. Infinite in the test as published;
        some software takes ``n_methods * (n_units - 1)``.

    Returns
    -------
    float
        ``q / sqrt(2) * sqrt(n_methods * (n_methods + 1) / (6 * n_units))``.

    Examples
    --------
    >>> from headcount.evaluation.significance import critical_difference
    >>> round(critical_difference(24, 40), 4)
    5.751
    """
    check_count("n_methods", n_methods, least=2)
    check_count("n_units", n_units)
    check_fraction("level", level)
    q = float(stats.studentized_range.ppf(1 - level, n_methods, df))
    return q * _rank_error(n_methods, n_units)


def nemenyi(differences: Floats, n_methods: int, n_units: int) -> Floats:
    """p-values of differences between average ranks, corrected for all pairs."""
    q = np.abs(differences) / _rank_error(n_methods, n_units)
    return np.clip(stats.studentized_range.sf(q, n_methods, math.inf), 0.0, 1.0)


def _rank_error(n_methods: int, n_units: int) -> float:
    """Standard error of an average rank."""
    return math.sqrt(n_methods * (n_methods + 1) / (12 * n_units))


def holm(p_values: Floats) -> Floats:
    """p-values corrected for their number, step by step from the smallest."""
    order = np.argsort(p_values)
    scaled = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected
