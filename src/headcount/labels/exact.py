"""Intervals that hold in finite samples, whatever the predictions and the shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Values of the mean that a betting interval is searched on.
_GRID = 2000
# Part of the capital that is bet at most, and labels that the expected variance counts for.
_MOST_BET, _PRIOR_LABELS = 0.75, 10.0


def clopper_pearson(
    counts: NDArray[Any], n: int | Floats, level: float
) -> tuple[Floats, Floats]:
    """Exact interval for the shares behind binomial counts.

    Counts and their totals may be those of weighted items, and thus no whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> [end.round(3).tolist() for end in clopper_pearson(np.array([0, 10]), 20, 0.95)]
    [[0.0, 0.272], [0.168, 0.728]]
    """
    tail = (1 - level) / 2
    low = special.betaincinv(np.maximum(counts, 1e-9), n - counts + 1.0, tail)
    high = special.betaincinv(counts + 1.0, np.maximum(n - counts, 1e-9), 1 - tail)
    return np.where(counts < 1e-6, 0.0, low), np.where(counts > n - 1e-6, 1.0, high)


def hypergeometric_ends(
    counts: Ints, n: int, n_pool: int, level: float
) -> tuple[Floats, Floats]:
    """Exact interval for shares of a pool of which n items were drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> [end.tolist() for end in hypergeometric_ends(np.array([0, 5]), 50, 100, 0.95)]
    [[0.0, 0.05], [0.05, 0.18]]
    """
    tail = (1 - level) / 2
    least, most = counts.astype(np.int64), n_pool - n + counts.astype(np.int64)

    def fits_low(total: Ints) -> NDArray[np.bool_]:
        return np.asarray(stats.hypergeom.sf(counts - 1, n_pool, total, n) > tail)

    def fits_high(total: Ints) -> NDArray[np.bool_]:
        return np.asarray(stats.hypergeom.cdf(counts, n_pool, total, n) > tail)

    # The smallest total that is not too small, and the largest that is not too large.
    low = _bisect(least, most, fits_low)
    high = most - _bisect(np.zeros_like(least), most - least, lambda d: fits_high(most - d))
    return low / n_pool, high / n_pool


def _bisect(low: Ints, high: Ints, fits: Callable[[Ints], NDArray[np.bool_]]) -> Ints:
    """Smallest number from low to high that fits, if all above it fit too."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        good = fits(middle)
        high = np.where(good, middle, high)
        low = np.where(good, low, np.minimum(middle + 1, high))
    return low


def betting_ends(
    values: Floats, n_pool: int, variance: float, level: float
) -> tuple[float, float]:
    """Exact interval for the mean of a pool of numbers from 0 to 1, by betting.

    A capital grows by bets against a mean, so that it exceeds ``1 / (1 - level)`` with
    probability ``1 - level`` at most if the mean is true (Waudby-Smith & Ramdas, JRSS B 2024).

    ``values`` are the numbers in the order of drawing. ``variance`` is the one that is
    expected before any is seen; it affects the width only.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(0.5, 0.05, 300)
    >>> low, high = betting_ends(values, 10_000, 0.0025, 0.95)
    >>> low < 0.5 < high, round(high - low, 2)
    (True, 0.02)
    """
    n = len(values)
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    step = np.arange(n)
    means = np.where(step > 0, before / np.maximum(step, 1), values[0])
    squares = np.concatenate([[0.0], np.cumsum((values - means) ** 2)[:-1]])
    guess = (_PRIOR_LABELS * variance + squares) / (_PRIOR_LABELS + step)
    # The same bets at every level, so that higher levels have wider intervals.
    bets = np.sqrt(2 * np.log(2 / 0.05) / (n * np.maximum(guess, 1e-6)))
    means_tried = np.linspace(0, 1, _GRID + 1)
    high_capital = np.zeros(_GRID + 1)
    low_capital = np.zeros(_GRID + 1)
    best = np.full(_GRID + 1, -np.inf)
    possible = np.ones(_GRID + 1, bool)
    for i in range(n):
        # Mean of the items that are left, if the mean of the pool is the one tried.
        left = (n_pool * means_tried - before[i]) / (n_pool - i)
        possible &= (left >= -1e-12) & (left <= 1 + 1e-12)
        left = np.clip(left, 1e-9, 1 - 1e-9)
        gain = values[i] - left
        high_capital += np.log1p(np.minimum(bets[i], _MOST_BET / left) * gain)
        low_capital += np.log1p(-np.minimum(bets[i], _MOST_BET / (1 - left)) * gain)
        best = np.maximum(best, np.logaddexp(high_capital, low_capital))
    kept = np.flatnonzero(possible & (best + np.log(0.5) < -np.log1p(-level)))
    if not len(kept):
        return 0.0, 1.0
    low, high = float(means_tried[kept[0]]), float(means_tried[kept[-1]])
    return max(low - 1 / _GRID, 0.0), min(high + 1 / _GRID, 1.0)


@dataclass(frozen=True, eq=False)
class ExactBounds:
    """Exact intervals for the shares of a pool from a simple random sample.

    For each class the interval that is expected to be shorter, before any label is seen: that
    of the labels alone, or that of the residuals by betting.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        Classes of the labelled items, in random order.
    posteriors : ndarray of shape (n, K)
        Posteriors of the labelled items times their factor.
    predicted : ndarray of shape (K,)
        Mean over the pool of the same.
    factor : float
        Factor of the posteriors.
    shares : ndarray of shape (K,)
        Shares that are expected before any label is seen.
    variances : ndarray of shape (K,)
        Variance of the residuals that is expected.
    n_pool : int
        Number of items in the pool.
    expected : bool
        True for shares in the population of the pool, where betting has no guarantee.
    """

    codes: Ints
    posteriors: Floats
    predicted: Floats
    factor: float
    shares: Floats
    variances: Floats
    n_pool: int
    expected: bool

    @property
    def bets(self) -> NDArray[np.bool_]:
        """True for classes whose interval is made by betting."""
        n = len(self.codes)
        alone = 1.96 * np.sqrt(self.shares * (1 - self.shares) / n) + 1 / n
        betting = 2.72 * np.sqrt(self.variances / n) + 5 / n
        return (betting < alone) & (self.factor > 0) & (not self.expected)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals."""
        n, K = self.posteriors.shape
        counts = np.bincount(self.codes, minlength=K)
        if self.expected:
            low, high = clopper_pearson(counts, n, level)
        else:
            low, high = hypergeometric_ends(counts, n, self.n_pool, level)
        span = 1 + self.factor
        for k in np.flatnonzero(self.bets):
            values = ((self.codes == k) - self.posteriors[:, k] + self.factor) / span
            ends = betting_ends(values, self.n_pool, self.variances[k] / span**2, level)
            moved = [self.predicted[k] + span * end - self.factor for end in ends]
            low[k], high[k] = np.clip(moved, 0.0, 1.0)
        return low, high
