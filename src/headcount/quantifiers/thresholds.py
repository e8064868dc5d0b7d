"""Adjusted counts at a chosen threshold, or over all of them; two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import PPoly
from scipy.special import expit, logit, ndtr

from headcount._kernels.score_order import median_sweep
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import parametrised
from headcount._support.execution import each_range
from headcount._support.parameters import check_choice, check_count, check_flag, check_number
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation, Moments
from headcount.parts.classifier_outputs import AtThreshold, Rates, rates_by_threshold
from headcount.parts.fitted import MethodInfo
from headcount.parts.solvers import AdjustedCount, Solution
from headcount.parts.training import Dense, MeanOf, Reduced, Reduction, Training
from headcount.quantifiers.base import AggregativeQuantifier, quantifier_class
from headcount.samples.samples import Samples

# More would be tens of thousands of thresholds.
_MOST_EVEN_DECIMALS = 4


def _info(title: str, *aliases: str, needs_overlap: bool = False) -> MethodInfo:
    return MethodInfo(
        title=title,
        family="threshold",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        multiclass="one-vs-rest",
        needs_overlap=needs_overlap,
        aliases=aliases,
    )


@parametrised
class _AtThresholds(AggregativeQuantifier):
    """Base of methods whose thresholds are training scores; `_rule` chooses one of them.

    Parameters
    ----------
    decimals : int or None, default=2
        Thresholds are the distinct training scores, rounded to this many decimals; None does
        not round them.
    """

    decimals: int | None = 2
    _rule: ClassVar = ""

    def _aggregation(self) -> Aggregation:
        return Moments(AtThreshold(self._rule, self._checked_decimals()), AdjustedCount())

    def _checked_decimals(self) -> int | None:
        decimals = self.decimals
        if decimals is not None and check_count("decimals", decimals, 0) > 15:
            raise HeadcountError(
                f"decimals is {decimals!r}; it must be at most 15, as scores have no more."
            )
        return decimals


@quantifier_class
class T50(_AtThresholds):
    """Adjusted count at the threshold with a true positive rate nearest one half."""

    info: ClassVar = _info(
        "adjusted count, true positive rate one half", "TS50", needs_overlap=True
    )
    _rule: ClassVar = "t50"


@quantifier_class
class TMAX(_AtThresholds):
    """Adjusted count at the threshold with the largest tpr - fpr.

    Parameters
    ----------
    decimals : int or None, default=None
        Thresholds are taken from the distinct training scores, rounded to this many decimals
        if given.
    midpoints : bool, default=True
        Thresholds are midway between neighbouring scores, so that new items that are a little
        lower than a training item are on the same side. False takes the scores themselves, as
        in published results.
    """

    info: ClassVar = _info("adjusted count, largest difference of rates", "TSMax", "MAX")
    decimals: int | None = None
    midpoints: bool = True

    def _aggregation(self) -> Aggregation:
        midpoints = check_flag("midpoints", self.midpoints)
        threshold = AtThreshold("max", self._checked_decimals(), midpoints)
        return Moments(threshold, AdjustedCount())


@quantifier_class
class TX(_AtThresholds):
    """Adjusted count at the threshold where the two error rates cross."""

    info: ClassVar = _info("adjusted count, equal error rates", "TSX", "X")
    decimals: int | None = None
    _rule: ClassVar = "x"


@quantifier_class
class MS(_AtThresholds):
    """Median sweep: median of the adjusted counts over all thresholds.

    Thresholds at which the two rates are equal are left out. The median is clipped to [0, 1];
    the counts it is taken of are not.
    """

    info: ClassVar = _info("median sweep", "Median Sweep")

    def _aggregation(self) -> Aggregation:
        return _MedianSweep(0.0, self._checked_decimals())


@quantifier_class
class MS2(MS):
    """Median sweep over the thresholds with tpr - fpr above one quarter.

    If there are none, the threshold with the largest difference is used alone.

    Where a classifier is sure of most items, their scores are close to 0 or 1, and the median
    over thresholds at training scores is one over the two ends. Thresholds that are evenly
    spaced weigh the range between them as well.

    Parameters
    ----------
    thresholds : {"even", "scores"}, default="even"
        Thresholds are evenly spaced: all numbers in [0, 1] with as many decimals as
        `decimals`. "scores" takes the distinct training scores, as in published results.
    decimals : int or None, default=2
        Number of decimals of the thresholds: at most 4 if they are evenly spaced. None does
        not round the training scores.
    """

    info: ClassVar = _info("median sweep over thresholds that separate")
    thresholds: str = "even"

    def _aggregation(self) -> Aggregation:
        even = check_choice("thresholds", self.thresholds, ("even", "scores")) == "even"
        decimals = self._checked_decimals()
        if even and (decimals is None or not 1 <= decimals <= _MOST_EVEN_DECIMALS):
            raise HeadcountError(
                f"decimals is {decimals!r}; for evenly spaced thresholds it must be 1 to "
                f"{_MOST_EVEN_DECIMALS}: set thresholds='scores' for others."
            )
        return _MedianSweep(0.25, decimals, even)


@dataclass(frozen=True, eq=False)
class _MedianSweep(Aggregation):
    """Median of the adjusted counts over thresholds with enough difference of rates."""

    least_spread: float
    decimals: int | None
    even: bool = False
    rates: Rates | None = None
    places: Ints | None = None

    def fit(self, training: Training) -> _MedianSweep:
        rates = rates_by_threshold(training, self.decimals, "even" if self.even else "scores")
        spread = rates.true_rates - rates.false_rates
        if self.least_spread > 0:
            places = np.flatnonzero(spread > self.least_spread)
        else:
            # Rates are sums of weights: a difference of rounding size is none.
            places = np.flatnonzero(np.abs(spread) > 1e-9)
        if not len(places):
            places = np.array([np.abs(spread).argmax()])
        return replace(self, rates=rates, places=places)

    def solve(self, items: Array, samples: Samples) -> Solution:
        rates, places = self.rates, self.places
        assert rates is not None
        assert places is not None
        codes = np.searchsorted(rates.thresholds, items[:, 1], side="right")
        false_rates = rates.false_rates[places]
        spreads = rates.true_rates[places] - false_rates
        positive = np.empty(len(samples))
        if len(places) == 1 and spreads[0] == 0:
            false_rates, spreads = np.zeros(1), np.ones(1)  # nothing separates: plain count

        def work(start: int, stop: int) -> None:
            median_sweep(
                codes, samples.indices, samples.offsets, places, false_rates, spreads,
                len(rates.thresholds) + 1, start, stop, positive,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        positive = np.clip(positive, 0, 1)
        return Solution.closed_form(np.column_stack([1 - positive, positive]))


# Largest log-odds: beyond one in a billion they are rounding.
_LARGEST = np.log(1e9)
# Differences of rates smaller than this are rounding.
_NO_SPREAD = 1e-9
# Smallest standard deviation of a class, relative to the extent of all scores.
_LEAST_SD = 1e-9
# Number of differences of rates tried, and the largest of them relative to the peak.
_N_LEVELS, _HIGHEST = 64, 0.999
# Nodes on [0, 1], and the matrix from values there to coefficients, highest power first.
_NODES = (np.polynomial.legendre.leggauss(9)[0] + 1) / 2
_INTERPOLATE = np.linalg.inv(np.vander(_NODES)).T


@quantifier_class
class ContinuousSweep(AggregativeQuantifier):
    """Mean of the adjusted counts over a range of thresholds where the rates differ.

    Two classes. The score of an item is the log-odds of its posteriors; where these are 0
    and 1, it is one more than the largest finite log-odds in training. The scores of a class
    are modelled as normal, with their mean and standard deviation in training, so both rates
    are smooth functions of the threshold. The range is where true and false positive rate
    differ by at least `p_delta`. The mean over it is clipped to [0, 1], the single counts are
    not. If negative items have the higher scores, scores are negated. If the scores do not
    separate the classes, items with a posterior above one half are counted.

    Parameters
    ----------
    p_delta : float or None, default=None
        Smallest difference of the rates. None takes the one that minimises the variance of
        the estimate under the model, averaged over all shares of the positive class. If the
        rates never differ that much, thresholds close to the best one are used.
    """

    info: ClassVar = MethodInfo(
        title="continuous sweep",
        family="threshold",
        multiclass="one-vs-rest",
        reference="Kloos et al., arXiv:2308.08387 (2023)",
        inconsistency="models scores as normal",
        aliases=("CS",),
    )
    p_delta: float | None = None

    def _aggregation(self) -> Aggregation:
        return _MeanOverThresholds(_check_p_delta(self.p_delta))


def _check_p_delta(p_delta: Any) -> float | None:
    if p_delta is None:
        return None
    allowed = "a number of at least 0.0001 and below 1, or None to choose it automatically"
    return check_number("p_delta", p_delta, lambda x: 1e-4 <= x < 1, allowed)


@dataclass(frozen=True, eq=False)
class _MeanOverThresholds(Aggregation):
    """Mean over thresholds t in [left, right] of (count(t) - F0(t)) / (F1(t) - F0(t)).

    The count is the share of items with a score of at least t. So an item contributes the
    integral of 1 / (F1 - F0) up to its score, and a sample the mean of its items.
    """

    p_delta: float | None
    lowest: float = -_LARGEST
    highest: float = _LARGEST
    sweep: _Sweep | None = None

    def fit(self, training: Training) -> _MeanOverThresholds:
        items, weights = np.asarray(training.items, np.float64), training.class_weights
        odds = _log_odds(items[weights > 0])
        finite = odds[np.abs(odds) < _LARGEST]
        fitted = self
        if len(finite):
            fitted = replace(self, lowest=finite.min() - 1, highest=finite.max() + 1)
        scores = fitted._scores(items)
        members = [training.codes == j for j in (0, 1)]
        means = np.array([weights[k] @ scores[k] for k in members])
        squares = [
            weights[k] @ (scores[k] - mean) ** 2 for k, mean in zip(members, means, strict=True)
        ]
        return replace(fitted, sweep=_plan(means, np.sqrt(squares), self.p_delta))

    def embed(self, items: Array) -> Dense:
        """Contribution of each item."""
        if self.sweep is None:
            return Dense((items[:, 1:] > items[:, :1]).astype(np.float64))
        return Dense(self.sweep.contributions(self._scores(items))[:, None])

    def reduction(self) -> tuple[Reduction, ...]:
        return (MeanOf(self),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        (means,) = reduced
        positive = np.clip(np.asarray(means)[:, 0], 0, 1)
        return Solution.closed_form(np.column_stack([1 - positive, positive]))

    def _scores(self, items: Floats) -> Floats:
        return np.clip(_log_odds(items), self.lowest, self.highest)


def _log_odds(items: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs = np.log(items)
    return np.asarray(logs[:, 1] - logs[:, 0])


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Contribution of an item to the estimate, by its score."""

    sign: float
    left: float
    right: float
    integral: PPoly
    start: float

    def contributions(self, scores: Floats) -> Floats:
        """Contributions of items, whose mean is the estimate."""
        reached = self.integral(np.clip(self.sign * scores, self.left, self.right))
        return np.asarray((reached - self.start) / (self.right - self.left))


def _plan(means: Floats, sds: Floats, p_delta: float | None) -> _Sweep | None:
    """Range of thresholds and integral over it; None if the rates do not differ."""
    sign = 1.0 if means[1] >= means[0] else -1.0
    extent = abs(means[1] - means[0]) + sds.max()
    if extent < _NO_SPREAD:
        return None
    rates = _NormalRates(sign * means, np.maximum(sds, _LEAST_SD * extent))
    peak = rates.peak()
    top = float(rates.spread(peak))
    if top < _NO_SPREAD:
        return None
    lowest = 0.01 if p_delta is None else min(p_delta / top, 0.99)
    levels = top * expit(np.linspace(logit(lowest), logit(_HIGHEST), _N_LEVELS))
    left, right = rates.barriers(peak, levels)
    edges = rates.edges(left, right)
    integral = _antiderivative(edges, lambda t: 1 / rates.spread(t))
    false = _antiderivative(edges, lambda t: rates.relative(0, t))
    best = 0
    if p_delta is None:
        best = int(np.argmin(_variances(rates, edges, integral, left, right)))
    start = integral(left[best]) + false(right[best]) - false(left[best])
    return _Sweep(sign, float(left[best]), float(right[best]), integral, float(start))


@dataclass(frozen=True, eq=False)
class _NormalRates:
    """Rates at any threshold, for normal scores; the second class lies higher."""

    means: Floats
    sds: Floats

    def above(self, j: int, t: Floats | float) -> Floats:
        """Share of class j with a score above t."""
        return np.asarray(ndtr((self.means[j] - t) / self.sds[j]))

    def spread(self, t: Floats | float) -> Floats:
        """True less false positive rate."""
        return self.above(1, t) - self.above(0, t)

    def relative(self, j: int, t: Floats | float) -> Floats:
        """Share of class j above t, over the spread."""
        return self.above(j, t) / self.spread(t)

    def peak(self) -> float:
        """Threshold with the largest spread, at which the densities are equal."""
        gap, (s0, s1) = self.means[1] - self.means[0], self.sds
        slope, level = gap / s1**2, np.log(s0 / s1) - (gap / s1) ** 2 / 2
        root = np.sqrt((gap / (s0 * s1)) ** 2 - 2 * (s0**-2 - s1**-2) * np.log(s0 / s1))
        return float(self.means[0] - 2 * level / (slope + root)) if root > 0 else 0.0

    def barriers(self, peak: float, levels: Floats) -> tuple[Floats, Floats]:
        """Thresholds left and right of the peak at which the spread falls below each level."""
        ends = []
        for beyond in ((self.means - 40 * self.sds).min(), (self.means + 40 * self.sds).max()):
            inside, outside = np.full(len(levels), peak), np.full(len(levels), beyond)
            for _ in range(100):
                middle = (inside + outside) / 2
                enough = self.spread(middle) >= levels
                inside = np.where(enough, middle, inside)
                outside = np.where(enough, outside, middle)
            ends.append(inside)
        return ends[0], ends[1]

    def edges(self, left: Floats, right: Floats) -> Floats:
        """Edges of pieces on which polynomials approximate functions of the rates."""
        grid = self.means[:, None] + self.sds[:, None] * np.linspace(-8, 8, 129)
        first, last = left[0], right[0]
        least = 1e-13 * (last - first)
        inner = np.sort(np.concatenate([grid.ravel(), left, right]))
        inner = inner[(inner > first) & (inner < last - least)]
        inner = inner[np.diff(inner, prepend=first) > least]
        return np.concatenate([[first], inner, [last]])


def _antiderivative(edges: Floats, function: Callable[[Floats], Floats]) -> PPoly:
    """Integral of a smooth function from the first edge on."""
    widths = np.diff(edges)[:, None]
    values = function(edges[:-1, None] + widths * _NODES)
    powers = np.arange(len(_NODES))[::-1]
    coefficients = values @ _INTERPOLATE / widths**powers
    return PPoly(np.ascontiguousarray(coefficients.T), edges).antiderivative()


def _variances(
    rates: _NormalRates, edges: Floats, integral: PPoly, left: Floats, right: Floats
) -> Floats:
    """Variance of the contribution of an item, for each range, with equally frequent classes.

    The variance of the estimate is this divided by the number of items. It is linear in the
    shares, so its value at one half is the average over all shares.
    """
    first, second = (_class_variances(rates, j, edges, integral, left, right) for j in (0, 1))
    return (first + second) / (2 * (right - left) ** 2)


def _class_variances(
    rates: _NormalRates, j: int, edges: Floats, integral: PPoly, left: Floats, right: Floats
) -> Floats:
    """With H the integral from `left` on: E H = int F / D, and E H^2 = int 2 H F / D."""
    first = _antiderivative(edges, lambda t: rates.relative(j, t))
    second = _antiderivative(edges, lambda t: integral(t) * rates.relative(j, t))
    mean = first(right) - first(left)
    square = 2 * (second(right) - second(left) - integral(left) * mean)
    return np.asarray(square - mean**2)
