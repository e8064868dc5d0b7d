"""Adjusted counts at a chosen threshold, or over all of them; two classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.thresholds import median_sweep
from headcount._parameters import check_choice, check_count, check_flag
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import AggregativeQuantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import AtThreshold, Rates, Training, rates_by_threshold
from headcount.sampling import Samples
from headcount.solve import AdjustedCount, Solution

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


@dataclass(eq=False, repr=False, kw_only=True)
class _AtThresholds(AggregativeQuantifier):
    """Base of methods whose thresholds are training scores; `_rule` chooses one of them."""

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


class T50(_AtThresholds):
    """Adjusted count at the threshold with a true positive rate nearest one half.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    decimals : int or None, default=2
        Thresholds are the distinct training scores, rounded to this many decimals; None does
        not round them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import T50
    >>> X, y = make_classification(400, random_state=0)
    >>> T50(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info(
        "adjusted count, true positive rate one half", "TS50", needs_overlap=True
    )
    _rule: ClassVar = "t50"


@dataclass(eq=False, repr=False, kw_only=True)
class TMAX(_AtThresholds):
    """Adjusted count at the threshold with the largest tpr - fpr.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    decimals : int or None, default=None
        Thresholds are taken from the distinct training scores, rounded to this many decimals
        if given.
    midpoints : bool, default=True
        Thresholds are midway between neighbouring scores, so that new items that are a little
        lower than a training item are on the same side. False takes the scores themselves, as
        in published results.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import TMAX
    >>> X, y = make_classification(400, random_state=0)
    >>> TMAX(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("adjusted count, largest difference of rates", "TSMax", "MAX")
    decimals: int | None = None
    midpoints: bool = True

    def _aggregation(self) -> Aggregation:
        midpoints = check_flag("midpoints", self.midpoints)
        threshold = AtThreshold("max", self._checked_decimals(), midpoints)
        return Moments(threshold, AdjustedCount())


@dataclass(eq=False, repr=False, kw_only=True)
class TX(_AtThresholds):
    """Adjusted count at the threshold where the two error rates cross.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    decimals : int or None, default=None
        Thresholds are the distinct training scores, rounded to this many decimals if given.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import TX
    >>> X, y = make_classification(400, random_state=0)
    >>> TX(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("adjusted count, equal error rates", "TSX", "X")
    decimals: int | None = None
    _rule: ClassVar = "x"


class MS(_AtThresholds):
    """Median sweep: median of the adjusted counts over all thresholds.

    Thresholds at which the two rates are equal are left out. The median is clipped to [0, 1];
    the counts it is taken of are not.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    decimals : int or None, default=2
        Thresholds are the distinct training scores, rounded to this many decimals; None does
        not round them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import MS
    >>> X, y = make_classification(400, random_state=0)
    >>> MS(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("median sweep", "Median Sweep")

    def _aggregation(self) -> Aggregation:
        return _MedianSweep(0.0, self._checked_decimals())


@dataclass(eq=False, repr=False, kw_only=True)
class MS2(MS):
    """Median sweep over the thresholds with tpr - fpr above one quarter.

    If there are none, the threshold with the largest difference is used alone.

    Where a classifier is sure of most items, their scores are close to 0 or 1, and the median
    over thresholds at training scores is one over the two ends. Thresholds that are evenly
    spaced weigh the range between them as well.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    thresholds : {"even", "scores"}, default="even"
        Thresholds are evenly spaced: all numbers in [0, 1] with as many decimals as
        `decimals`. "scores" takes the distinct training scores, as in published results.
    decimals : int or None, default=2
        Number of decimals of the thresholds: at most 4 if they are evenly spaced. None does
        not round the training scores.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import MS2
    >>> X, y = make_classification(400, random_state=0)
    >>> MS2(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
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
    places: NDArray[np.int64] | None = None

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

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
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
