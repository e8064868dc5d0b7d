"""Representations of items by what a classifier says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Binned, Dense
from headcount.representation.training import Training

__all__ = ["AbovePrior", "Histograms", "Posterior", "PredictedClass"]


@dataclass(frozen=True)
class PredictedClass:
    """The predicted class: a sample's mean is the share of items called each class.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> PredictedClass(2).embed(np.array([0, 1, 1, 1])).means(Samples.whole(4))
    array([[0.25, 0.75]])
    """

    n_classes: int = 0

    def fit(self, training: Training) -> PredictedClass:
        """Learn how many classes there are."""
        return PredictedClass(training.n_classes)

    def embed(self, items: NDArray[np.int64]) -> Binned:
        """Items given as codes of predicted classes."""
        return Binned(items.astype(np.int32)[:, None], self.n_classes)


@dataclass(frozen=True)
class Posterior:
    """The vector of posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> Posterior().embed(np.array([[0.2, 0.8], [0.6, 0.4]])).means(Samples.whole(2))
    array([[0.4, 0.6]])
    """

    def fit(self, training: Training) -> Posterior:
        """Nothing to learn."""
        return self

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Items given as posteriors."""
        return Dense(items)


@dataclass(frozen=True, eq=False)
class AbovePrior:
    """For each class, whether the posterior exceeds the class's share in training.

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
        """Learn the shares of the classes."""
        return AbovePrior(training.prior)

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Items given as posteriors."""
        return Dense((items > self.prior).astype(np.float64))


@dataclass(frozen=True)
class Histograms:
    """Histograms of posteriors with bins of equal width on [0, 1]; no smoothing.

    Parameters
    ----------
    bins : sequence of int
        Bin counts, each a histogram of its own.
    every_class : bool, default=True
        Of the posteriors of all classes; otherwise of the last one's alone, which says
        everything where there are two.
    cumulative : bool, default=False
        Running sums, that is distribution functions, instead (one bin count only).

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

    def fit(self, training: Training) -> Histograms:
        """Nothing to learn: the bins are fixed."""
        return replace(self)

    def embed(self, items: NDArray[np.float64]) -> Binned:
        """Items given as posteriors."""
        used = items if self.every_class else items[:, -1:]
        codes = np.empty((len(items), used.shape[1] * len(self.bins)), np.int32)
        offset = channel = 0
        for count in self.bins:
            for column in used.T:
                bin_ = np.minimum(column * count, count - 1).astype(np.int32)
                # The product can round to just below a whole number.
                bin_ += column >= (bin_ + 1) / count
                codes[:, channel] = np.minimum(bin_, count - 1) + offset
                offset += count
                channel += 1
        return Binned(codes, offset, self.cumulative)
