"""Items by their mean distance to the training items of each class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.distances import add_mean_distances
from headcount.representation.embedding import Dense
from headcount.representation.training import Training

__all__ = ["MeanDistance"]

_EMPTY = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class MeanDistance:
    """Mean Manhattan distance between an item's scores and each class's training scores.

    The Manhattan distance adds up over columns, and along one column mean distances
    follow from one sweep over sorted values: no pair of items is ever looked at.

    Parameters
    ----------
    by_rank : bool, default=False
        Replace each score by its rank among the training scores of its column first
        (from 0 to 1, the middle rank where scores are tied).

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
    n_classes: int = 0

    def fit(self, training: Training) -> MeanDistance:
        """Keep the training scores, each column sorted."""
        assert training.items is not None
        scores = np.asarray(training.items, dtype=np.float64)
        return MeanDistance(
            self.by_rank, scores, training.codes, training.class_weights, training.n_classes
        )

    def embed(self, items: NDArray[np.float64]) -> Dense:
        """Items given as posteriors."""
        out = np.zeros((len(items), self.n_classes))
        for column in range(self.centres.shape[1]):
            points, centres = items[:, column], self.centres[:, column]
            if self.by_rank:
                reference = np.sort(centres)
                points, centres = _ranks(points, reference), _ranks(centres, reference)
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


def _ranks(values: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the reference below each value, ties counting half."""
    below = np.searchsorted(reference, values, side="left")
    upto = np.searchsorted(reference, values, side="right")
    return (below + upto) / (2 * len(reference))
