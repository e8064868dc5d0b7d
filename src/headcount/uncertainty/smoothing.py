"""Labelled scores with a little noise, as new items of the same classes would have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training

__all__ = ["smooth"]

Floats = NDArray[np.float64]

# Noisy copies of each item: the most, and the rows that all of them have together.
_MOST_COPIES, _MOST_ROWS = 8, 10_000
_SMALLEST_POSTERIOR = 1e-7
# Directions in which scores of many classes vary much.
_MOST_DIMENSIONS = 3


def smooth(training: Training, seed: int) -> Training:
    """Copies of labelled posteriors with noise, which keep the mean and spread of each class.

    A method fits its own training items better than new ones: histograms have no empty bin,
    and kernels no gap, where a training item is. Samples simulated from noisy copies do not
    have that advantage (the smoothed bootstrap). The noise is a multiple of differences
    between items of the same class on the scale of log-posteriors, and shrinks as the class
    grows.

    Parameters
    ----------
    training : Training
        Labelled items: posteriors, or a list of posteriors by several classifiers. Entries of
        the list that are not posteriors, such as predicted classes, are repeated unchanged.
    seed : int
        Random seed.

    Returns
    -------
    Training
        Eight copies of each item, or fewer if there are many items: the items themselves if
        there are more than 5,000, of which single ones do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.6, 0.4], [0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> smoothed = smooth(Training(P, np.array([0, 0, 1, 1]), 2), seed=0)
    >>> smoothed.items.shape, smoothed.codes[:4]
    ((32, 2), array([0, 0, 1, 1]))
    """
    codes, K = training.codes, training.n_classes
    copies = min(_MOST_COPIES, _MOST_ROWS // len(codes))
    if copies < 2:
        return training
    rng = np.random.default_rng(seed)
    counts = np.bincount(codes, minlength=K)
    rows = np.tile(np.arange(len(codes)), copies)
    pairs = _same_class(codes, counts, copies, rng), _same_class(codes, counts, copies, rng)
    width: Floats = counts.astype(np.float64) ** (-1 / (4 + min(K - 1, _MOST_DIMENSIONS)))
    noise = _Noise(codes, rows, *pairs, width[codes[rows]][:, None])
    given: Any = training.items
    items: Any = [noise(part) for part in given] if isinstance(given, list) else noise(given)
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, codes[rows], K, weights)


@dataclass(frozen=True, eq=False)
class _Noise:
    """Noise for copies of rows: differences between pairs of rows, scaled.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        Classes of the items.
    rows, first, second : ndarray of shape (copies x n,)
        The item of each copy, and the pair whose difference is added to it.
    width : ndarray of shape (copies x n, 1)
        Multiple of the difference.
    """

    codes: NDArray[np.int64]
    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    width: Floats

    def __call__(self, items: NDArray[Any]) -> NDArray[Any]:
        if items.dtype.kind != "f":
            return items[self.rows]
        logs = np.log(np.maximum(items, _SMALLEST_POSTERIOR))
        logs -= logs.mean(axis=1, keepdims=True)
        classes = self.codes.max() + 1
        centres = np.stack([logs[self.codes == j].mean(axis=0) for j in range(classes)])
        centre = centres[self.codes[self.rows]]
        noise = self.width * (logs[self.first] - logs[self.second]) / np.sqrt(2)
        # Divided so that the variance within a class stays as it was.
        spread = np.sqrt(1 + self.width**2)
        moved = centre + (logs[self.rows] - centre + noise) / spread
        odds = np.exp(moved - moved.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _same_class(
    codes: NDArray[np.int64], counts: NDArray[np.int64], copies: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A random row of the same class for each copy."""
    by_class = np.argsort(codes, kind="stable")
    firsts = np.cumsum(counts) - counts
    tiled = np.tile(codes, copies)
    return by_class[firsts[tiled] + rng.integers(counts[tiled])]
