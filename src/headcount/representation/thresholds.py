"""Items by which side of a threshold their score falls on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Binned
from headcount.representation.training import Training

__all__ = ["AtThreshold", "Rates", "rates_by_threshold"]


@dataclass(frozen=True, eq=False)
class Rates:
    """True and false positive rates at each threshold, thresholds rising."""

    thresholds: NDArray[np.float64]
    true_rates: NDArray[np.float64]
    false_rates: NDArray[np.float64]

    @property
    def useless(self) -> NDArray[np.bool_]:
        """Thresholds at which both classes look alike."""
        return np.asarray(np.abs(self.true_rates - self.false_rates) < 1e-12)


def rates_by_threshold(training: Training, decimals: int | None) -> Rates:
    """Rates of "positive if score >= t" at every distinct training score t.

    Parameters
    ----------
    training : Training
        Posteriors of two classes; the second is the positive one.
    decimals : int or None
        Round the thresholds to so many decimals first, unless the classes look alike at all
        that are left.
    """
    assert training.items is not None
    scores = np.asarray(training.items, dtype=np.float64)[:, 1]
    present = scores[training.class_weights > 0]
    if decimals is not None:
        rates = _rates(training, scores, np.unique(present.round(decimals)))
        if not rates.useless.all():
            return rates
    return _rates(training, scores, np.unique(present))


def _rates(
    training: Training, scores: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> Rates:
    # An item counts at the thresholds up to its score: a histogram, summed from above.
    codes = np.searchsorted(thresholds, scores, side="right")
    rates = []
    for j in (1, 0):
        own = training.codes == j
        share = np.bincount(codes[own], training.class_weights[own], len(thresholds) + 1)
        rates.append(np.minimum(share[::-1].cumsum()[::-1][1:], 1.0))
    return Rates(thresholds, rates[0], rates[1])


@dataclass(frozen=True)
class AtThreshold:
    """Whether the positive score reaches a threshold chosen on the training scores.

    Parameters
    ----------
    policy : {"max", "x", "t50"}
        "max" has the largest difference of true and false positive rate, "x" has the two
        error rates closest, "t50" the true positive rate closest to one half; the lowest
        threshold wins a tie.
    decimals : int or None, default=None
        Round candidate thresholds to so many decimals; None takes every distinct score.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> AtThreshold("max").fit(Training(scores, np.array([0, 0, 1, 1]), 2)).threshold
    0.7
    """

    policy: str
    decimals: int | None = None
    threshold: float = 0.5

    def fit(self, training: Training) -> AtThreshold:
        """Choose the threshold."""
        rates = rates_by_threshold(training, self.decimals)
        cost = {
            "max": -(rates.true_rates - rates.false_rates),
            "x": np.abs(rates.true_rates - (1 - rates.false_rates)),
            "t50": np.abs(rates.true_rates - 0.5),
        }[self.policy]
        # A threshold at which both classes look alike serves only if there is no other.
        useless = rates.useless
        cost = np.where(useless & ~useless.all(), np.inf, cost)
        # Rates that differ by rounding alone are tied.
        best = int(np.flatnonzero(cost <= cost.min() + 1e-12)[0])
        return replace(self, threshold=float(rates.thresholds[best]))

    def embed(self, items: NDArray[np.float64]) -> Binned:
        """Items given as posteriors."""
        positive = items[:, 1] >= self.threshold
        return Binned(positive.astype(np.int32)[:, None], 2)
