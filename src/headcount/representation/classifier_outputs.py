"""Representations of items by the outputs of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.statistics import histogram_codes
from headcount.representation.embedding import Binned, Dense
from headcount.representation.training import Training


@dataclass(frozen=True)
class PredictedClass:
    """Predicted class. The mean of a sample is the share of items predicted as each class.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> PredictedClass(2).embed(np.array([0, 1, 1, 1])).means(Samples.whole(4))
    array([[0.25, 0.75]])
    """

    n_classes: int = 0

    def fit(self, training: Training) -> PredictedClass:
        """Store the number of classes."""
        return PredictedClass(training.n_classes)

    def embed(self, items: NDArray[np.int64]) -> Binned:
        """Embed items given as codes of predicted classes."""
        return Binned(items.astype(np.int32)[:, None], self.n_classes)


@dataclass(frozen=True)
class Posterior:
    """Vector of posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> Posterior().embed(np.array([[0.2, 0.8], [0.6, 0.4]])).means(Samples.whole(2))
    array([[0.4, 0.6]])
    """

    def fit(self, training: Training) -> Posterior:
        """Return itself: there is nothing to fit."""
        return self

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Embed items given as posteriors."""
        return Dense(items)


@dataclass(frozen=True, eq=False)
class AbovePrior:
    """Indicators of the classes whose posterior exceeds their share in training.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> above = AbovePrior(np.array([0.5, 0.5]))
    >>> above.embed(np.array([[0.2, 0.8], [0.6, 0.4]])).means(Samples.whole(2))
    array([[0.5, 0.5]])
    """

    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> AbovePrior:
        """Store the shares of the classes."""
        return AbovePrior(training.prior)

    def embed(self, items: NDArray[np.float64]) -> Dense:
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
    >>> from headcount.sampling import Samples
    >>> last = Histograms((4,), every_class=False)
    >>> last.embed(np.array([[0.9, 0.1], [0.0, 1.0]])).means(Samples.whole(2))
    array([[0.5, 0. , 0. , 0.5]])
    """

    bins: Sequence[int]
    every_class: bool = True
    cumulative: bool = False
    balanced: bool = False
    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> Histograms:
        """Store the shares of the classes; the bins are fixed."""
        return replace(self, prior=training.prior)

    def embed(self, items: NDArray[np.float64]) -> Binned:
        """Embed items given as posteriors."""
        items = _as_if_half(items, self.prior) if self.balanced else items
        items = np.ascontiguousarray(items, np.float64)
        used = range(0 if self.every_class else items.shape[1] - 1, items.shape[1])
        codes = np.empty((len(items), len(used) * len(self.bins)), np.int32)
        offset = channel = 0
        for count in self.bins:
            for j in used:
                histogram_codes(items, j, count, offset, codes, channel)
                offset += count
                channel += 1
        return Binned(codes, offset, self.cumulative)


def _as_if_half(
    posteriors: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Posteriors of each class against the rest, if its share in training had been one half."""
    ours, others = posteriors * (1 - prior), (1 - posteriors) * prior
    total = ours + others
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
    >>> from headcount.sampling import Samples
    >>> posteriors = np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]])
    >>> ExpectedClass(2).embed(posteriors).means(Samples.whole(2))
    array([[0.5, 0. , 0. , 0.5]])
    """

    bins: int
    cumulative: bool = False

    def fit(self, training: Training) -> ExpectedClass:
        """Return itself: the bins are fixed."""
        return self

    def embed(self, items: NDArray[np.float64]) -> Binned:
        """Embed items given as posteriors."""
        steps = items.shape[1] - 1
        place = (items * np.arange(steps + 1)).sum(axis=1) / steps
        histogram = Histograms((self.bins * steps,), False, self.cumulative)
        return histogram.embed(np.clip(place, 0, 1)[:, None])
