"""The most violated of all 2^n labellings, with the largest loss plus score.

With a = true and b = false positives, c = false and d = true negatives, P = a + c and
N = b + d, the value of a labelling is its loss (in percent) plus (100 / n) times the sum of
the scores of its positives.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.structural_svm import q_loss, worst_counts_for_q

__all__ = ["LOSSES", "WorstLabelling", "labelling_finder"]

_Floats = NDArray[np.float64]
_Bools = NDArray[np.bool_]

# Losses that depend on a + b alone, and those that do not.
_OF_COUNTS = ("ae", "rae", "kld", "nkld")
LOSSES = ("q", *_OF_COUNTS, "error")


class WorstLabelling(Protocol):
    """Search for the most violated labelling, given the scores of all items."""

    def __call__(self, scores: _Floats) -> tuple[_Bools, float]:
        """Return the labelling, True for positives, and its loss in percent."""


def labelling_finder(loss: str, positive: _Bools) -> WorstLabelling:
    """Make the search for items with these true labels."""
    if loss == "error":
        return _by_item(positive)
    if loss == "q":
        return _by_recall_and_balance(positive)
    return _by_count(losses_of_counts(loss, int(positive.sum()), len(positive)))


def losses_of_counts(loss: str, positives: int, n: int) -> _Floats:
    """Loss in percent of predicting k = 0, ..., n positives when `positives` is true."""
    k = np.arange(n + 1)
    off = np.abs(positives - k)
    if loss == "ae":
        return 100.0 * off / n
    if loss == "rae":
        return 50.0 * off * (1.0 / (positives + 0.5) + 1.0 / (n - positives + 0.5))
    true, said = (positives + 0.5) / (n + 1), (k + 0.5) / (n + 1)
    divergence = true * np.log(true / said) + (1 - true) * np.log((1 - true) / (1 - said))
    if loss == "kld":
        return 100.0 * divergence
    # 200 / (1 + exp(KLD)), in a form that does not overflow.
    return 100.0 - 200.0 * np.exp(-divergence) / (1.0 + np.exp(-divergence))


def _by_item(positive: _Bools) -> WorstLabelling:
    signs = np.where(positive, 1.0, -1.0)

    def find(scores: _Floats) -> tuple[_Bools, float]:
        wrong = signs * scores < 1.0
        return positive ^ wrong, 100.0 * float(wrong.mean())

    return find


def _by_count(losses: _Floats) -> WorstLabelling:
    n = len(losses) - 1

    def find(scores: _Floats) -> tuple[_Bools, float]:
        order = np.argsort(-scores)
        values = losses + (100.0 / n) * _sums_of_first(scores[order])
        k = int(values.argmax())
        said = np.zeros(n, dtype=bool)
        said[order[:k]] = True
        return said, float(losses[k])

    return find


def _by_recall_and_balance(positive: _Bools) -> WorstLabelling:
    items, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    P, N, n = len(items), len(others), len(positive)
    before = (0, 0)  # the last result is a good starting point

    def find(scores: _Floats) -> tuple[_Bools, float]:
        nonlocal before
        ranked, rest = items[np.argsort(-scores[items])], others[np.argsort(-scores[others])]
        sums = _sums_of_first(scores[ranked]), _sums_of_first(scores[rest])
        before = worst_counts_for_q(*sums, 100.0 / n, *before)
        a, b = before
        said = np.zeros(n, dtype=bool)
        said[ranked[:a]] = True
        said[rest[:b]] = True
        return said, q_loss(a, 1.0 - abs(P - a - b) / max(P, N), P)

    return find


def _sums_of_first(values: _Floats) -> _Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
