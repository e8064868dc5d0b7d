"""Representation of items by their mean distance to the training items of each class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.distances import add_mean_distances
from headcount.representation.embedding import Dense
from headcount.representation.training import Training

_EMPTY = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class MeanDistance:
    """Mean Manhattan distance between the scores of an item and those of each class.

    The Manhattan distance is a sum over columns. For one column, all mean distances are
    computed by one sweep over sorted values, without visiting pairs of items.

    Parameters
    ----------
    by_rank : bool, default=False
        First replace each score by its rank among the training scores of its column (from 0
        to 1, the middle rank for ties).

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> near = MeanDistance().fit(Training(scores, np.array([0, 1]), 2))
    >>> near.embed(scores).values.round(6)
    array([[0. , 1.4], [1.4, 0. ]])
    """

    by_rank: bool = False
    centres: NDArray[np.float64] = field(default_factory=lambda: _EMPTY)
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    mass: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    n_classes: int = 0

    def fit(self, training: Training) -> MeanDistance:
        """Store the training scores, each column sorted."""
        assert training.items is not None
        scores = np.asarray(training.items, dtype=np.float64)
        within = training.class_weights
        mass = within * training.prior[training.codes]
        return MeanDistance(
            self.by_rank, scores, training.codes, within, mass, training.n_classes
        )

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Embed items given as posteriors."""
        out = np.zeros((len(items), self.n_classes))
        for column in range(self.centres.shape[1]):
            points, centres = items[:, column], self.centres[:, column]
            if self.by_rank:
                rank = _Ranks.among(centres, self.mass)
                points, centres = rank(points), rank(centres)
            order = np.argsort(centres, kind="stable")
            add_mean_distances(
                np.ascontiguousarray(points),
                np.argsort(points, kind="stable"),
                centres[order],
                self.codes[order],
                self.weights[order],
                out,
            )
        return Dense(out)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Share of the mass of the reference below a value, with ties counted half."""

    values: NDArray[np.float64]
    upto: NDArray[np.float64]

    @classmethod
    def among(cls, values: NDArray[np.float64], mass: NDArray[np.float64]) -> _Ranks:
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.concatenate([[0.0], np.cumsum(mass[order])]))

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        left = self.upto[np.searchsorted(self.values, values, side="left")]
        right = self.upto[np.searchsorted(self.values, values, side="right")]
        return (left + right) / 2
