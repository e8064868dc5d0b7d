"""Scores as smooth functions of their rank among the training items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Dense, Training

__all__ = ["RankMoments"]

# Polynomials of each rank. What a shift does to scores is smooth: few low degrees see it best.
_DEGREES_OF_TWO_CLASSES, _DEGREES_OF_MORE = 3, 2
_SMALLEST = 1e-150


@dataclass(frozen=True, eq=False)
class RankMoments:
    """Legendre polynomials of the ranks of posteriors.

    A posterior becomes its rank, between -1 and 1, among the training items, every class
    counting as much as the others; with two classes only the last one's does, in polynomials
    up to the third degree, with more each class's, up to the second.

    Attributes
    ----------
    values, ranks : tuple of ndarray
        For each posterior that is used, the distinct ones of the training items and their
        ranks.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> ranks = RankMoments().fit(Training(P, np.array([0, 0, 1, 1]), 2))
    >>> ranks.embed(P).values[:, 0]
    array([-0.75, -0.25,  0.25,  0.75])
    """

    values: tuple[NDArray[np.float64], ...] = ()
    ranks: tuple[NDArray[np.float64], ...] = ()

    def fit(self, training: Training) -> RankMoments:
        """Learn the ranks."""
        assert training.items is not None
        pairs = [
            _ranks(column, training.class_weights)
            for column in _used(np.asarray(training.items, np.float64))
        ]
        values, ranks = zip(*pairs, strict=True)
        return RankMoments(values, ranks)

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Items given as posteriors."""
        degrees = _DEGREES_OF_TWO_CLASSES if len(self.values) == 1 else _DEGREES_OF_MORE
        columns: list[NDArray[np.float64]] = []
        for column, values, ranks in zip(_used(items), self.values, self.ranks, strict=True):
            x = np.interp(column, values, ranks)
            polynomials = (x, (3 * x**2 - 1) / 2, (5 * x**3 - 3 * x) / 2)
            columns.extend(polynomials[:degrees])
        return Dense(np.column_stack(columns))


def _used(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The posteriors that say all, one row per class."""
    used = posteriors.T[1:] if posteriors.shape[1] == 2 else posteriors.T
    # Interpolation between neighbours that are closer than this overflows.
    return np.where(used < _SMALLEST, 0.0, used)


def _ranks(
    column: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct values, and the middle of the ranks of each, from -1 to 1."""
    there = weights > 0
    values, which = np.unique(column[there], return_inverse=True)
    mass = np.bincount(which, weights[there])
    return values, (2 * np.cumsum(mass) - mass) / mass.sum() - 1
