"""Labelled scores with a little noise, as new items of the same classes would have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import take_rows
from headcount.representation import Training

__all__ = ["smooth"]

Floats = NDArray[np.float64]

# Noisy copies of each item: the most, and the rows that all of them have together.
_MOST_COPIES, _MOST_ROWS = 8, 10_000
_SMALLEST_POSTERIOR, _SMALL_POSTERIOR = 1e-15, 1e-7
# Directions in which scores of many classes vary much.
_MOST_DIMENSIONS = 3


def smooth(training: Training, seed: int, posteriors: Any = True) -> Training:
    """Copies of labelled posteriors with noise, which keep the mean and spread of each class.

    A method fits its own training items better than new ones: histograms have no empty bin,
    and kernels no gap, where a training item is. Samples simulated from noisy copies do not
    have that advantage (the smoothed bootstrap). The noise is a multiple of differences
    between items of the same class on the scale of log-posteriors, and shrinks as the class
    grows.

    Parameters
    ----------
    training : Training
        Labelled items: posteriors, or a (nested) list of posteriors by several classifiers.
    seed : int
        Random seed.
    posteriors : bool or list, default=True
        Whether the items are posteriors, for each entry of a list or for all. Others, such as
        features and predicted classes, are repeated unchanged.

    Returns
    -------
    Training
        Eight copies of each item, one set after the other, or fewer if there are many items:
        the items themselves if there are more than 5,000, of which single ones do not matter.

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
    rows = np.tile(np.arange(len(codes)), copies)
    first, second = (_same_class(training, copies, rng) for _ in range(2))
    # Every other copy has the noise of the one before with the opposite sign, so that the
    # means of the classes stay where they are.
    before, after = slice(0, copies - copies % 2, 2), slice(1, None, 2)
    first[after], second[after] = second[before], first[before]
    sizes = training.class_sizes.astype(np.float64)
    width: Floats = sizes ** (-1 / (4 + min(K - 1, _MOST_DIMENSIONS)))
    noise = _Noise(training, rows, first.ravel(), second.ravel(), width[codes[rows]][:, None])
    items: Any = noise.added(training.items, posteriors)
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, codes[rows], K, weights)


@dataclass(frozen=True, eq=False)
class _Noise:
    """Noise for copies of rows: differences between pairs of rows, scaled.

    Attributes
    ----------
    training : Training
        The classes and weights of the items.
    rows, first, second : ndarray of shape (copies x n,)
        The item of each copy, and the pair whose difference is added to it.
    width : ndarray of shape (copies x n, 1)
        Multiple of the difference.
    """

    training: Training
    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    width: Floats

    def added(self, items: Any, posteriors: Any) -> Any:
        """Copies of the items, with noise if they are posteriors."""
        if isinstance(items, list):
            each = posteriors if isinstance(posteriors, list) else [posteriors] * len(items)
            return [self.added(*part) for part in zip(items, each, strict=True)]
        return self._moved(items) if posteriors else take_rows(items, self.rows)

    def _moved(self, items: Floats) -> Floats:
        # Zeros count as the smallest posterior there is, or as a small one.
        least = np.min(items, where=items > _SMALLEST_POSTERIOR, initial=_SMALL_POSTERIOR)
        logs = np.log(np.maximum(items, least))
        logs -= logs.mean(axis=1, keepdims=True)
        codes, weights = self.training.codes, self.training.class_weights
        centres = np.stack(
            [weights[codes == j] @ logs[codes == j] for j in range(self.training.n_classes)]
        )
        centre = centres[codes[self.rows]]
        noise = self.width * (logs[self.first] - logs[self.second]) / np.sqrt(2)
        # Divided so that the variance within a class stays as it was.
        spread = np.sqrt(1 + self.width**2)
        moved = centre + (logs[self.rows] - centre + noise) / spread
        odds = np.exp(moved - moved.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _same_class(training: Training, copies: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random row of the same class for each copy (copies, n), drawn by weight."""
    codes, drawn = training.codes, np.empty((copies, len(training.codes)), np.int64)
    for j in range(training.n_classes):
        rows = np.flatnonzero(codes == j)
        chances = None if training.weights is None else training.class_weights[rows]
        drawn[:, rows] = rng.choice(rows, (copies, len(rows)), p=chances)
    return drawn
