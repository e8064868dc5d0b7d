"""Means over the items of a sample, one item at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mean_row(
    rows: NDArray[np.float64],
    sample: Sequence[int],
    weights: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    total, mass = np.zeros(rows.shape[1]), 0.0
    for item in sample:
        weight = 1.0 if weights is None else weights[item]
        total = total + weight * rows[item]
        mass += weight
    return total / mass


def code_shares(
    codes: NDArray[np.integer],
    n_codes: int,
    sample: Sequence[int],
    weights: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    indicators = np.zeros((len(codes), n_codes))
    for item, own in enumerate(codes):
        for code in own:
            indicators[item, code] += 1
    return mean_row(indicators, sample, weights)


def repeat_items(counts: Sequence[int], *arrays: NDArray) -> tuple[NDArray, ...]:
    """Each entry written out as often as its count says: what an integer weight means."""
    order = [item for item, count in enumerate(counts) for _ in range(count)]
    return tuple(array[order] for array in arrays)
