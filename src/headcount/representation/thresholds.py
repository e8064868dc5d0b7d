"""Representation of items by comparing their score with a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Binned
from headcount.representation.training import Training


@dataclass(frozen=True, eq=False)
class Rates:
    """True and false positive rates at each threshold, in ascending order."""

    thresholds: NDArray[np.float64]
    true_rates: NDArray[np.float64]
    false_rates: NDArray[np.float64]

    @property
    def useless(self) -> NDArray[np.bool_]:
        """Thresholds at which both classes have the same rates."""
        return np.asarray(np.abs(self.true_rates - self.false_rates) < 1e-12)


def rates_by_threshold(
    training: Training,
    decimals: int | None,
    place: Literal["scores", "between", "even"] = "scores",
) -> Rates:
    """Rates of "positive if score >= t" at thresholds t.

    Parameters
    ----------
    training : Training
        Posteriors of two classes, of which the second is the positive one.
    decimals : int or None
        Number of decimals of the scores that thresholds are taken from. They are not rounded
        if that leaves no threshold at which the rates of the classes differ.
    place : {"scores", "between", "even"}, default="scores"
        Thresholds at the distinct training scores, midway between each and the next lower
        one, or at all numbers in [0, 1] with so many decimals.
    """
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


def _placed(scores: NDArray[np.float64], place: str) -> NDArray[np.float64]:
    """Distinct scores, or the middle between each and the next lower one."""
    distinct = np.unique(scores)
    if place == "between":
        distinct[1:] = (distinct[1:] + distinct[:-1]) / 2
    return distinct


def _rates(
    training: Training, scores: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> Rates:
    # An item counts at all thresholds up to its score: a histogram, summed from above.
    codes = np.searchsorted(thresholds, scores, side="right")
    rates = []
    for j in (1, 0):
        own = training.codes == j
        share = np.bincount(codes[own], training.class_weights[own], len(thresholds) + 1)
        rates.append(np.minimum(share[::-1].cumsum()[::-1][1:], 1.0))
    return Rates(thresholds, rates[0], rates[1])


@dataclass(frozen=True)
class AtThreshold:
    """Indicator of a positive score at or above a threshold chosen in training.

    Parameters
    ----------
    policy : {"max", "x", "t50"}
        Choice of the threshold: "max" for the largest difference between true and false
        positive rate, "x" for the closest error rates of the two classes, "t50" for the true
        positive rate closest to one half. On a tie the lowest threshold is used.
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

    def embed(self, items: NDArray[np.float64]) -> Binned:
        """Embed items given as posteriors."""
        positive = items[:, 1] >= self.threshold
        return Binned(positive.astype(np.int32)[:, None], 2)
