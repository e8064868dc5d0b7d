"""Difference estimator: predictions for all items, corrected by labels of some.

``theta = mean(p) over the pool + mean(y - p) over the labels``, with predictions ``p`` that
are fixed before the labels are seen. It is unbiased whatever the predictions are. Its interval
needs no assumption either. On each side it reaches as far as ::

    sqrt(max(room^2, (t * SE)^2 + a * room^2))        room = -log(1 - level) * unit

Room is left by the rule of three: if an error that the predictions make was seen on none of n
labels, its share may still be up to ``-log(0.05) / n``, which is 3 / n. Where errors were seen,
``t * SE`` is enough if they are of both signs, and too short on the side to which a few large
ones pull. ``a``, from 0 to 1, is how one-sided they are: their third moment over their second,
in units of one error. For a count of rare errors it is 1; with labels alone it is ``1 - 2 p``,
and the interval covers at least 93.5% for every share and 10 to 300 labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special, stats

from headcount._support.arrays import Array, Bools, Floats, Ints, divided_by_sums, indicators
from headcount.estimates.estimate import around_shares
from headcount.estimates.labels.sample import LabelSample


@dataclass(frozen=True, eq=False)
class Difference:
    """Difference estimate of D means, with intervals at any level."""

    centre: Floats
    covariance: Floats
    df: int
    asymmetry: Floats
    up: Floats
    down: Floats
    population: Floats
    blind: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(
        cls, sample: LabelSample, residuals: Floats, predicted: Floats, mass: Floats
    ) -> Difference:
        """Estimate from the residuals of labelled items.

        ``residuals`` (n, D) are values of the labelled items minus their predictions,
        ``predicted`` (D,) the mean predictions over the pool. ``mass`` (n, D) is the
        probability of the outcome 1. It determines where errors that raise (0 to 1) and
        lower (1 to 0) the estimate may be, by `error_mass`.
        """
        spread = sample.spread(residuals)
        down, up = (sample.unit(one_sided) * spread.unseen for one_sided in error_mass(mass))
        centre = predicted + spread.mean
        none = np.zeros(len(centre))
        return cls(centre, spread.covariance, spread.df, spread.asymmetry, up, down, none)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals, not clipped."""
        t = special.stdtrit(self.df, (1 + level) / 2)
        z = special.ndtri((1 + level) / 2)
        below, above = self._squared_reach(t, level)
        population = z**2 * self.population
        return (
            self.centre - np.sqrt(below + population) - self.blind[0],
            self.centre + np.sqrt(above + population) + self.blind[1],
        )

    def with_blind(self, part: float) -> Difference:
        """Estimate of all items, of which a part has no labels and may be anything."""
        visible, equal = 1 - part, 1 / len(self.centre)
        return replace(
            self,
            centre=visible * self.centre + part * equal,
            covariance=visible**2 * self.covariance,
            asymmetry=visible * self.asymmetry,
            up=visible * self.up,
            down=visible * self.down,
            blind=(part * equal, part * (1 - equal)),
        )

    def with_unseen(self) -> Floats:
        """Covariance, with the variance of errors that no label shows on the diagonal."""
        z = special.ndtri(0.975)
        reach = np.maximum(*self._squared_reach(z, 0.95))
        unseen = np.maximum(reach / z**2 - np.diag(self.covariance), 0.0)
        unseen += (max(self.blind) / z) ** 2
        return np.asarray(self.covariance + np.diag(unseen))

    def _squared_reach(self, quantile: float, level: float) -> tuple[Floats, Floats]:
        """Squared distances of the ends from the estimates, below and above."""
        variance = quantile**2 * np.diag(self.covariance)
        return (
            squared_reach(variance, -self.asymmetry, self.down, level),
            squared_reach(variance, self.asymmetry, self.up, level),
        )


def squared_reach(seen: Floats, asymmetry: Floats, unit: Floats, level: float) -> Floats:
    """Squared distance of an end from an estimate, from the errors seen and room for others."""
    room = (np.log1p(-level) * unit) ** 2
    fraction = np.clip(asymmetry / np.where(unit > 0, unit, 1.0), 0.0, 1.0)
    fraction = np.where(np.isnan(asymmetry), 1.0, fraction)
    return np.asarray(np.maximum(room, seen + fraction * room))


def error_mass(probability: Floats) -> tuple[Floats, Floats]:
    """Chances of errors that lower and that raise an estimate, up to a factor.

    Items whose outcome is likely 1, or likely 0, and of these rather the uncertain ones. The
    square root is between errors that follow the posteriors, which are where these are
    uncertain, and errors that ignore them, which are everywhere.
    """
    complement = 1 - probability
    return probability * np.sqrt(complement), complement * np.sqrt(probability)


def on_simplex(centre: Floats) -> Floats:
    """Shares without negative ones, which sum to 1."""
    positive = np.maximum(centre, 0.0)
    return np.asarray(positive / positive.sum())


def share_ends(
    centre: Floats, ends: tuple[Floats, Floats], n_items: int
) -> tuple[Floats, Floats]:
    """Ends of intervals for shares, from 0 to 1, of estimates that may lie outside."""
    # Around the nearest share that is possible.
    low, high = (end + np.clip(centre, 0, 1) - centre for end in ends)
    return around_shares(low, high, on_simplex(centre), n_items)


def corrected(posteriors: Floats, prior: Floats, shares: Floats) -> Floats:
    """Posteriors reweighted from the training shares to other shares."""
    # An item that is impossible under these shares is no evidence.
    return divided_by_sums(posteriors * (shares / prior), shares)


def class_table(codes: Ints, labels: Ints, n_classes: int, weights: Floats | None) -> Floats:
    """Probability of each predicted class (columns) by true class, with Jeffreys' prior."""
    counts = np.bincount(codes * n_classes + labels, weights, n_classes**2)
    cells = counts.reshape(n_classes, n_classes) + 0.5
    return np.asarray(cells / cells.sum(axis=1, keepdims=True))


def correlation_weight(class_means: Floats, shares: Floats, variances: Floats) -> float:
    """Factor for the posteriors that minimises the variance of the residuals.

    From 0 (posteriors are of no use) to 1, and the same for all classes, so that shares sum to
    1. ``class_means`` (K, K) are mean posteriors of training items by true class,
    ``shares`` those of the pool, ``variances`` those of its posteriors.
    """
    together = float(shares @ (np.diag(class_means) - shares @ class_means))
    total = float(variances.sum())
    return 0.0 if total <= 1e-12 else float(np.clip(together / total, 0.0, 1.0))


# Values of the mean that a betting interval is searched on.
_GRID = 2000
# Part of the capital that is bet at most, and labels that the expected variance counts for.
_MOST_BET, _PRIOR_LABELS = 0.75, 10.0


def clopper_pearson(counts: Array, n: int | Floats, level: float) -> tuple[Floats, Floats]:
    """Exact interval for the shares behind binomial counts, also of weighted items."""
    tail = (1 - level) / 2
    low = special.betaincinv(np.maximum(counts, 1e-9), n - counts + 1.0, tail)
    high = special.betaincinv(counts + 1.0, np.maximum(n - counts, 1e-9), 1 - tail)
    return np.where(counts < 1e-6, 0.0, low), np.where(counts > n - 1e-6, 1.0, high)


def hypergeometric_ends(
    counts: Ints, n: int, n_pool: int, level: float
) -> tuple[Floats, Floats]:
    """Exact interval for shares of a pool of which n items were drawn without replacement."""
    tail = (1 - level) / 2
    least, most = counts.astype(np.int64), n_pool - n + counts.astype(np.int64)

    def fits_low(total: Ints) -> Bools:
        return np.asarray(stats.hypergeom.sf(counts - 1, n_pool, total, n) > tail)

    def fits_high(total: Ints) -> Bools:
        return np.asarray(stats.hypergeom.cdf(counts, n_pool, total, n) > tail)

    # The smallest total that is not too small, and the largest that is not too large.
    low = _bisect(least, most, fits_low)
    high = most - _bisect(np.zeros_like(least), most - least, lambda d: fits_high(most - d))
    return low / n_pool, high / n_pool


def _bisect(low: Ints, high: Ints, fits: Callable[[Ints], Bools]) -> Ints:
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
        remaining_mean = (n_pool * means_tried - before[i]) / (n_pool - i)
        possible &= (remaining_mean >= -1e-12) & (remaining_mean <= 1 + 1e-12)
        remaining_mean = np.clip(remaining_mean, 1e-9, 1 - 1e-9)
        gain = values[i] - remaining_mean
        high_capital += np.log1p(np.minimum(bets[i], _MOST_BET / remaining_mean) * gain)
        low_capital += np.log1p(-np.minimum(bets[i], _MOST_BET / (1 - remaining_mean)) * gain)
        best = np.maximum(best, np.logaddexp(high_capital, low_capital))
    surviving = np.flatnonzero(possible & (best + np.log(0.5) < -np.log1p(-level)))
    if not len(surviving):
        return 0.0, 1.0
    low, high = float(means_tried[surviving[0]]), float(means_tried[surviving[-1]])
    return max(low - 1 / _GRID, 0.0), min(high + 1 / _GRID, 1.0)


@dataclass(frozen=True, eq=False)
class ExactBounds:
    """Exact intervals from a simple random sample, by labels alone or by betting."""

    codes: Ints
    posteriors: Floats
    predicted: Floats
    factor: float
    shares: Floats
    variances: Floats
    n_pool: int
    expected: bool

    @property
    def bets(self) -> Bools:
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


# Intervals that are valid at all times: label until they are short enough.

# Shares that are tried; part of the capital that is bet at most; labels that the mean over all
# verdicts counts for in a prediction.
_N_SHARES, _LARGEST_BET, _PRIOR = 1000, 0.5, 2.0


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Shares among items of which some were labelled, one after the other, at random."""

    centre: Floats
    capital: Floats

    @classmethod
    def of(cls, outcomes: Floats, verdicts: Ints, sizes: Ints) -> ConfidenceSequence:
        """Bet on labels in the order of ``outcomes``; ``sizes`` counts items by verdict."""
        K = outcomes.shape[1]
        predictions, remaining = _predictions(outcomes, verdicts, sizes)
        capital = np.stack(
            [
                _capital(outcomes[:, k], verdicts, predictions[:, :, k], remaining)
                for k in range(K)
            ]
        )
        means = np.array(
            [
                outcomes[verdicts == v].mean(axis=0)
                if (verdicts == v).any()
                else outcomes.mean(axis=0)
                for v in range(len(sizes))
            ]
        )
        return cls(sizes @ means / sizes.sum(), capital)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the intervals: shares against which no capital has ever grown too much."""
        low, high = np.zeros(len(self.capital)), np.ones(len(self.capital))
        for k, capital in enumerate(self.capital):
            possible = np.flatnonzero(capital < -np.log1p(-level))
            if len(possible):
                low[k] = max(possible[0] - 1, 0) / _N_SHARES
                high[k] = min(possible[-1] + 1, _N_SHARES) / _N_SHARES
        return np.minimum(low, self.centre), np.maximum(high, self.centre)


def _predictions(outcomes: Floats, verdicts: Ints, sizes: Ints) -> tuple[Floats, Ints]:
    """Predicted outcomes by verdict before each label (n, V, K), and items left by verdict."""
    n, K = outcomes.shape
    one_hot = indicators(verdicts, len(sizes))
    products = one_hot[:, :, None] * outcomes[:, None]
    sums = np.cumsum(products, axis=0) - products
    counts = np.cumsum(one_hot, axis=0) - one_hot
    before = np.cumsum(outcomes, axis=0) - outcomes
    overall = (before + 1 / K) / (np.arange(n)[:, None] + 1.0)
    predicted = (sums + _PRIOR * overall[:, None]) / (counts[:, :, None] + _PRIOR)
    return predicted, (sizes - counts).astype(np.int64)


def _capital(values: Floats, verdicts: Ints, predicted: Floats, remaining: Ints) -> Floats:
    """Largest logarithm of the capital so far against each share that is tried."""
    shares = np.linspace(0, 1, _N_SHARES + 1)
    left = remaining.sum(axis=1)
    expected = (remaining * predicted).sum(axis=1) / left
    residuals = values - predicted[np.arange(len(values)), verdicts]
    before = np.cumsum(values) - values
    squares = np.cumsum(residuals**2) - residuals**2
    steps = np.arange(1, len(values) + 1)
    variance = (0.25 + squares) / steps
    bets = np.sqrt(2 * np.log(2 / 0.05) / (variance * steps * np.log1p(steps)))
    up, down = np.zeros(_N_SHARES + 1), np.zeros(_N_SHARES + 1)
    best = np.full(_N_SHARES + 1, -np.inf)
    total = left[0]
    for t, residual in enumerate(residuals):
        mean = (total * shares - before[t]) / left[t]  # of the items left, if the share is true
        best[(mean < -1e-9) | (mean > 1 + 1e-9)] = np.inf
        gain = residual - (np.clip(mean, 0, 1) - expected[t])
        # The largest loss of a bet that the residual is higher, and lower, than expected.
        lowest = predicted[t].max() + np.clip(mean, 0, 1) - expected[t]
        highest = 1 - predicted[t].min() - np.clip(mean, 0, 1) + expected[t]
        up += np.log1p(np.minimum(bets[t], _LARGEST_BET / np.maximum(lowest, 1e-9)) * gain)
        down += np.log1p(-np.minimum(bets[t], _LARGEST_BET / np.maximum(highest, 1e-9)) * gain)
        best = np.maximum(best, np.logaddexp(up, down) - np.log(2))
    return best
