"""Histograms of scores: the sample compared with the mixture that was estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training

__all__ = ["BINS", "ScoreHistogram", "histograms_of_bins", "score_histograms"]

BINS = 20
"""Bins of the posteriors of a class."""


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Distribution of the posterior of one class, in training and in the sample.

    Attributes
    ----------
    label : Any
        The class.
    share : float
        Its estimated share.
    edges : ndarray of shape (B + 1,)
        Ends of the bins.
    training : ndarray of shape (B,)
        Part of the class's own training items in each bin.
    sample : ndarray of shape (B,)
        Part of the sample's items in each bin.
    mixture : ndarray of shape (B,)
        Part expected in each bin: the training classes, mixed as estimated.
    """

    label: Any
    share: float
    edges: NDArray[np.float64]
    training: NDArray[np.float64]
    sample: NDArray[np.float64]
    mixture: NDArray[np.float64]


def score_histograms(
    training: Training,
    posteriors: NDArray[np.float64],
    classes: NDArray[Any],
    shares: NDArray[np.float64],
) -> tuple[ScoreHistogram, ...]:
    """Histogram of the posterior of each class.

    Parameters
    ----------
    training : Training
        Labelled items with their out-of-fold or held-out posteriors.
    posteriors : ndarray of shape (m, K)
        Posteriors of the sample.
    classes : ndarray of shape (K,)
        The classes.
    shares : ndarray of shape (K,)
        Their estimated shares.

    Returns
    -------
    tuple of ScoreHistogram
        One per class.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> training = Training(P, np.array([0, 1, 1]), 2)
    >>> both = score_histograms(training, P, np.array(["a", "b"]), np.array([0.25, 0.75]))
    >>> both[1].mixture[both[1].mixture > 0]
    array([0.25 , 0.375, 0.375])
    """
    sample = [np.bincount(_bins(own), minlength=BINS) / len(own) for own in posteriors.T]
    return histograms_of_bins(training, np.stack(sample), classes, shares)


def histograms_of_bins(
    training: Training,
    sample: NDArray[np.float64],
    classes: NDArray[Any],
    shares: NDArray[np.float64],
) -> tuple[ScoreHistogram, ...]:
    """Like `score_histograms`, for a sample given by its histograms, (K, 20)."""
    assert training.items is not None
    known = np.asarray(training.items, np.float64)
    K, edges = len(classes), np.linspace(0, 1, BINS + 1)
    histograms = []
    for j in range(K):
        cells = _bins(known[:, j]) + BINS * training.codes
        by_class = np.bincount(cells, training.class_weights, BINS * K).reshape(K, BINS)
        histograms.append(
            ScoreHistogram(
                classes.tolist()[j], float(shares[j]), edges, by_class[j], sample[j],
                shares @ by_class,
            )
        )  # fmt: skip
    return tuple(histograms)


def _bins(posterior: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip((posterior * BINS).astype(np.int64), 0, BINS - 1)
