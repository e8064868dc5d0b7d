"""Mean Manhattan distances, one pair of items at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mean_distances(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    codes: Sequence[int],
    weights: Sequence[float],
    n_classes: int,
) -> NDArray[np.float64]:
    out = np.zeros((len(points), n_classes))
    for i, point in enumerate(points):
        for j in range(n_classes):
            own = [c for c in range(len(centres)) if codes[c] == j]
            mass = math.fsum(weights[c] for c in own)
            out[i, j] = math.fsum(
                weights[c] / mass * abs(x - y)
                for c in own
                for x, y in zip(point, centres[c], strict=True)
            )
    return out


def rank(value: float, reference: Sequence[float], weights: Sequence[float]) -> float:
    """Share of the reference below the value, ties counting half."""
    below = math.fsum(w for other, w in zip(reference, weights, strict=True) if other < value)
    tied = math.fsum(w for other, w in zip(reference, weights, strict=True) if other == value)
    return (below + tied / 2) / math.fsum(weights)


def ranked(
    values: NDArray[np.float64], reference: NDArray[np.float64], weights: Sequence[float]
) -> NDArray[np.float64]:
    return np.array(
        [
            [rank(value, reference[:, column], weights) for column, value in enumerate(row)]
            for row in values
        ]
    )
