"""Types of arrays, by what they hold, and indicators of codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def indicators(codes: NDArray[np.integer[Any]], n_columns: int) -> Floats:
    """Rows of 0 with a 1 at each code; all 0 for codes below 0."""
    return (codes[:, None] == np.arange(n_columns)).astype(np.float64)
