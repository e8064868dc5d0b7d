"""Types of arrays, by what they hold, and what many modules compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def indicators(codes: NDArray[np.integer[Any]], n_columns: int) -> Floats:
    """Rows of 0 with a 1 at each code; all 0 for codes below 0."""
    return (codes[:, None] == np.arange(n_columns)).astype(np.float64)


def divided_by_sums(values: Floats, otherwise: ArrayLike | None = None) -> Floats:
    """Rows divided by their sums; where these are 0, equal shares or other rows."""
    sums = values.sum(axis=-1, keepdims=True)
    shares = np.empty_like(values, np.float64)
    shares[...] = 1 / values.shape[-1] if otherwise is None else otherwise
    return np.divide(values, sums, out=shares, where=sums > 0)
