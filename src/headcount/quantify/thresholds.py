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
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import AtThreshold, Rates, Training, rates_by_threshold
from headcount.sampling import Samples
from headcount.solve import AdjustedCount, Solution

__all__ = ["MS", "MS2", "T50", "TMAX", "TX"]

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


class _AtThresholds(Quantifier):
    """Base of methods whose thresholds are training scores."""

    def __init__(
        self,
        classifier: Any = None,
        *,
        decimals: int | None = 2,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.decimals = decimals

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
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    decimals : int or None, default=2
        Thresholds are the distinct training scores, rounded to this many decimals; None does
        not round them.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

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

    def _aggregation(self) -> Aggregation:
        return Moments(AtThreshold("t50", self._checked_decimals()), AdjustedCount())


class TMAX(_AtThresholds):
    """Adjusted count at the threshold with the largest tpr - fpr.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    decimals : int or None, default=None
        Thresholds are taken from the distinct training scores, rounded to this many decimals
        if given.
    midpoints : bool, default=True
        Thresholds are midway between neighbouring scores, so that new items that are a little
        lower than a training item are on the same side. False takes the scores themselves, as
        in published results.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import TMAX
    >>> X, y = make_classification(400, random_state=0)
    >>> TMAX(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("adjusted count, largest difference of rates", "TSMax", "MAX")

    def __init__(
        self,
        classifier: Any = None,
        *,
        decimals: int | None = None,
        midpoints: bool = True,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, decimals=decimals, cv=cv, random_state=random_state)
        self.midpoints = midpoints

    def _aggregation(self) -> Aggregation:
        between = check_flag("midpoints", self.midpoints)
        chosen = AtThreshold("max", self._checked_decimals(), between)
        return Moments(chosen, AdjustedCount())


class TX(_AtThresholds):
    """Adjusted count at the threshold where the two error rates cross.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    decimals : int or None, default=None
        Thresholds are the distinct training scores, rounded to this many decimals if given.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import TX
    >>> X, y = make_classification(400, random_state=0)
    >>> TX(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("adjusted count, equal error rates", "TSX", "X")

    def __init__(
        self,
        classifier: Any = None,
        *,
        decimals: int | None = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, decimals=decimals, cv=cv, random_state=random_state)

    def _aggregation(self) -> Aggregation:
        return Moments(AtThreshold("x", self._checked_decimals()), AdjustedCount())


class MS(_AtThresholds):
    """Median sweep: median of the adjusted counts over all thresholds.

    Thresholds at which the two rates are equal are left out. The median is clipped to [0, 1];
    the counts it is taken of are not.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    decimals : int or None, default=2
        Thresholds are the distinct training scores, rounded to this many decimals; None does
        not round them.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

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


class MS2(_AtThresholds):
    """Median sweep over the thresholds with tpr - fpr above one quarter.

    If there are none, the threshold with the largest difference is used alone.

    Where a classifier is sure of most items, their scores are close to 0 or 1, and the median
    over thresholds at training scores is one over the two ends. Thresholds that are evenly
    spaced weigh the range between them as well.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    thresholds : {"even", "scores"}, default="even"
        Thresholds are evenly spaced: all numbers in [0, 1] with as many decimals as
        `decimals`. "scores" takes the distinct training scores, as in published results.
    decimals : int or None, default=2
        Number of decimals of the thresholds: at most 4 if they are evenly spaced. None does
        not round the training scores.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import MS2
    >>> X, y = make_classification(400, random_state=0)
    >>> MS2(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info("median sweep over thresholds that separate")

    def __init__(
        self,
        classifier: Any = None,
        *,
        thresholds: str = "even",
        decimals: int | None = 2,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, decimals=decimals, cv=cv, random_state=random_state)
        self.thresholds = thresholds

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
    used: NDArray[np.int64] | None = None

    def fit(self, training: Training) -> _MedianSweep:
        rates = rates_by_threshold(training, self.decimals, "even" if self.even else "scores")
        spread = rates.true_rates - rates.false_rates
        if self.least_spread > 0:
            used = np.flatnonzero(spread > self.least_spread)
        else:
            # Rates are sums of weights: a difference of rounding size is none.
            used = np.flatnonzero(np.abs(spread) > 1e-9)
        if not len(used):
            used = np.array([np.abs(spread).argmax()])
        return replace(self, rates=rates, used=used)

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        rates, used = self.rates, self.used
        assert rates is not None
        assert used is not None
        codes = np.searchsorted(rates.thresholds, items[:, 1], side="right")
        false_rates = rates.false_rates[used]
        spreads = rates.true_rates[used] - false_rates
        positive = np.empty(len(samples))
        if len(used) == 1 and spreads[0] == 0:
            false_rates, spreads = np.zeros(1), np.ones(1)  # nothing separates: plain count

        def work(start: int, stop: int) -> None:
            median_sweep(
                codes, samples.indices, samples.offsets, used, false_rates, spreads,
                len(rates.thresholds) + 1, start, stop, positive,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        positive = np.clip(positive, 0, 1)
        return Solution.closed_form(np.column_stack([1 - positive, positive]))
