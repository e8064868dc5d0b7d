"""Representations of items by the outputs of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from headcount._kernels.accumulation import histogram_codes
from headcount._support.arrays import Bools, Floats, Ints
from headcount.errors import HeadcountError
from headcount.parts.training import Binned, Dense, Embedding, Training


@dataclass(frozen=True)
class PredictedClass:
    """Predicted class. The mean of a sample is the share of items predicted as each class.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> PredictedClass(2).embed(np.array([0, 1, 1, 1])).means(Samples.whole(4))
    array([[0.25, 0.75]])
    """

    n_classes: int = 0

    def fit(self, training: Training) -> PredictedClass:
        """Store the number of classes."""
        return PredictedClass(training.n_classes)

    def embed(self, items: Ints) -> Binned:
        """Embed items given as codes of predicted classes."""
        return Binned(items.astype(np.int32)[:, None], self.n_classes)


@dataclass(frozen=True)
class Posterior:
    """Vector of posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> Posterior().embed(np.array([[0.2, 0.8], [0.6, 0.4]])).means(Samples.whole(2))
    array([[0.4, 0.6]])
    """

    def fit(self, training: Training) -> Posterior:
        """Return itself: there is nothing to fit."""
        return self

    def embed(self, items: Floats) -> Dense:
        """Embed items given as posteriors."""
        return Dense(items)


@dataclass(frozen=True)
class LargestPosterior:
    """Class with the largest posterior, as `PredictedClass` embeds it."""

    n_classes: int

    def embed(self, items: Floats) -> Binned:
        """Embed items given as posteriors."""
        # The same as argmax, which numpy computes slowly along short rows.
        two = self.n_classes == 2
        largest = items[:, 1] > items[:, 0] if two else items.argmax(axis=1)
        return PredictedClass(self.n_classes).embed(largest.astype(np.int64))


@dataclass(frozen=True, eq=False)
class AbovePrior:
    """Indicators of the classes whose posterior exceeds their share in training.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> above = AbovePrior(np.array([0.5, 0.5]))
    >>> above.embed(np.array([[0.2, 0.8], [0.6, 0.4]])).means(Samples.whole(2))
    array([[0.5, 0.5]])
    """

    prior: Floats = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> AbovePrior:
        """Store the shares of the classes."""
        return AbovePrior(training.prior)

    def embed(self, items: Floats) -> Dense:
        """Embed items given as posteriors."""
        return Dense((items > self.prior).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Histograms:
    """Histograms of posteriors with bins of equal width on [0, 1], without smoothing.

    Parameters
    ----------
    bins : sequence of int
        Numbers of bins, one histogram for each.
    every_class : bool, default=True
        Use the posteriors of all classes. Otherwise only those of the last class, which are
        sufficient for two classes.
    cumulative : bool, default=False
        Use cumulative sums, that is distribution functions (for one number of bins only).
    balanced : bool, default=False
        Rescale the posteriors of each class to what they would be if half of the training
        items belonged to it. Posteriors of a rare class are all small, and would be in one
        bin otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> last = Histograms((4,), every_class=False)
    >>> last.embed(np.array([[0.9, 0.1], [0.0, 1.0]])).means(Samples.whole(2))
    array([[0.5, 0. , 0. , 0.5]])
    """

    bins: Sequence[int]
    every_class: bool = True
    cumulative: bool = False
    balanced: bool = False
    prior: Floats = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> Histograms:
        """Store the shares of the classes; the bins are fixed."""
        return replace(self, prior=training.prior)

    def embed(self, items: Floats) -> Binned:
        """Embed items given as posteriors."""
        items = as_if_half(items, self.prior) if self.balanced else items
        items = np.ascontiguousarray(items, np.float64)
        classes = range(0 if self.every_class else items.shape[1] - 1, items.shape[1])
        codes = np.empty((len(items), len(classes) * len(self.bins)), np.int32)
        offset = channel = 0
        for count in self.bins:
            for j in classes:
                histogram_codes(items, j, count, offset, codes, channel)
                offset += count
                channel += 1
        return Binned(codes, offset, self.cumulative)


def as_if_half(posteriors: Floats, prior: Floats) -> Floats:
    """Posteriors of each class against the rest, if its share in training had been one half."""
    ours, theirs = posteriors * (1 - prior), (1 - posteriors) * prior
    total = ours + theirs
    # Zero if weights leave a class with a share of 0 or 1, up to rounding.
    return np.divide(ours, total, out=posteriors.astype(np.float64), where=total > 0)


@dataclass(frozen=True)
class ExpectedClass:
    """Histogram of the expected class of items of ordered classes.

    The expected class is the mean of 0, 1, ..., K - 1 under the posteriors of an item.

    Parameters
    ----------
    bins : int
        Number of bins between each class and the next.
    cumulative : bool, default=False
        Cumulative histogram: the share of items up to the end of each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> posteriors = np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]])
    >>> ExpectedClass(2).embed(posteriors).means(Samples.whole(2))
    array([[0.5, 0. , 0. , 0.5]])
    """

    bins: int
    cumulative: bool = False

    def fit(self, training: Training) -> ExpectedClass:
        """Return itself: the bins are fixed."""
        return self

    def embed(self, items: Floats) -> Binned:
        """Embed items given as posteriors."""
        steps = items.shape[1] - 1
        place = (items * np.arange(steps + 1)).sum(axis=1) / steps
        histogram = Histograms((self.bins * steps,), False, self.cumulative)
        return histogram.embed(np.clip(place, 0, 1)[:, None])


@dataclass(frozen=True, eq=False)
class Rates:
    """True and false positive rates at each threshold, in ascending order."""

    thresholds: Floats
    true_rates: Floats
    false_rates: Floats

    @property
    def useless(self) -> Bools:
        """Thresholds at which both classes have the same rates."""
        return np.asarray(np.abs(self.true_rates - self.false_rates) < 1e-12)


def rates_by_threshold(
    training: Training,
    decimals: int | None,
    place: Literal["scores", "between", "even"] = "scores",
) -> Rates:
    """Rates of "positive if score >= t" at thresholds t."""
    assert training.items is not None
    scores = np.asarray(training.items, dtype=np.float64)[:, 1]
    present = scores[training.class_weights > 0]
    if decimals is not None:
        rounded = present.round(decimals)
        if place == "even":
            rounded = np.linspace(0, 1, 10**decimals + 1)
        rates = _rates(training, scores, _placed(rounded, place))
        if not rates.useless.all():
            return rates
    return _rates(training, scores, _placed(present, place))


def _placed(scores: Floats, place: str) -> Floats:
    """Distinct scores, or the middle between each and the next lower one."""
    distinct = np.unique(scores)
    if place == "between":
        distinct[1:] = (distinct[1:] + distinct[:-1]) / 2
    return distinct


def _rates(training: Training, scores: Floats, thresholds: Floats) -> Rates:
    # An item counts at all thresholds up to its score: a histogram, summed from above.
    codes = np.searchsorted(thresholds, scores, side="right")
    rates = []
    for j in (1, 0):
        members = training.codes == j
        share = np.bincount(
            codes[members], training.class_weights[members], len(thresholds) + 1
        )
        rates.append(np.minimum(share[::-1].cumsum()[::-1][1:], 1.0))
    return Rates(thresholds, rates[0], rates[1])


@dataclass(frozen=True)
class AtThreshold:
    """Indicator of a positive score at or above a threshold chosen in training.

    Parameters
    ----------
    policy : {"max", "x", "t50", "fixed"}
        Choice of the threshold: "fixed" for the one that is given, "max" for the largest
        difference between true and false positive rate, "x" for the closest error rates of the
        two classes, "t50" for the true positive rate closest to one half. On a tie the lowest
        threshold is used.
    decimals : int or None, default=None
        Number of decimals of candidate thresholds. None uses every distinct score.
    between : bool, default=False
        Candidates are midway between each distinct score and the next lower one.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> AtThreshold("max").fit(Training(scores, np.array([0, 0, 1, 1]), 2)).threshold
    0.7
    """

    policy: str
    decimals: int | None = None
    between: bool = False
    threshold: float = 0.5

    def fit(self, training: Training) -> AtThreshold:
        """Choose the threshold."""
        if self.policy == "fixed":
            if training.n_classes != 2:
                raise HeadcountError(
                    f"A threshold divides two classes, but y has {training.n_classes}: leave "
                    "threshold out."
                )
            return self
        place: Literal["between", "scores"] = "between" if self.between else "scores"
        rates = rates_by_threshold(training, self.decimals, place)
        cost = {
            "max": -(rates.true_rates - rates.false_rates),
            "x": np.abs(rates.true_rates - (1 - rates.false_rates)),
            "t50": np.abs(rates.true_rates - 0.5),
        }[self.policy]
        # A threshold with equal rates of both classes is used only if there is no other.
        useless = rates.useless
        cost = np.where(useless & ~useless.all(), np.inf, cost)
        # Rates that differ only by rounding are tied.
        best = int(np.flatnonzero(cost <= cost.min() + 1e-12)[0])
        return replace(self, threshold=float(rates.thresholds[best]))

    def embed(self, items: Floats) -> Binned:
        """Embed items given as posteriors."""
        positive = items[:, 1] >= self.threshold
        return Binned(positive.astype(np.int32)[:, None], 2)


# Added to every share, so that zeros have a logarithm.
_LEAST = 1e-12


def log_ratios(shares: Floats, shrinkage: float = 0.0) -> Floats:
    """Centred log-ratios, with Aitchison's distances: logarithms of shares minus their mean."""
    K = shares.shape[1]
    least = (1 - shrinkage) * _LEAST + shrinkage * (1 + K * _LEAST) / K
    logs = np.log((1 - shrinkage) * shares + least)
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def largest_log_ratio(n_classes: int, shrinkage: float) -> float:
    """Largest absolute value that `log_ratios` returns."""
    certain = np.zeros((1, n_classes))
    certain[0, 0] = 1.0
    return float(np.abs(log_ratios(certain, shrinkage)).max())


@dataclass(frozen=True, eq=False)
class InLogRatios:
    """A representation, or a likelihood, of log-ratios of the scores.

    Parameters
    ----------
    inner : representation or likelihood
        Takes the log-ratios as items.
    shrinkage : float
        Part of the way to equal scores that scores are moved first.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.parts import KernelMeans
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> near = InLogRatios(KernelMeans(1.0), 0.0).fit(Training(scores, np.array([0, 1]), 2))
    >>> near.embed(scores).values.round(3)
    array([[1.  , 0.04], [0.04, 1.  ]])
    """

    inner: Any
    shrinkage: float

    @property
    def smooth(self) -> bool:
        """True for a likelihood that is a smooth function of its items."""
        return bool(self.inner.smooth)

    def fit(self, training: Training) -> InLogRatios:
        """Fit the inner part on the log-ratios of the training scores."""
        items = self._of(np.asarray(training.items))
        return replace(self, inner=self.inner.fit(replace(training, items=items)))

    def embed(self, items: Floats) -> Embedding:
        """Embed items given as posteriors."""
        return self.inner.embed(self._of(items))

    def ratios(self, items: Floats) -> Floats:
        """Likelihood of each item under each class, each row up to its own factor."""
        return np.asarray(self.inner.ratios(self._of(items)))

    def ratios_without(self, training: Training) -> Floats:
        """Likelihoods of copies of items, each as if its original had not been there."""
        items = self._of(np.asarray(training.items))
        return np.asarray(self.inner.ratios_without(replace(training, items=items)))

    def _of(self, items: Floats) -> Floats:
        return log_ratios(np.asarray(items, dtype=np.float64), self.shrinkage)
