"""Unevenness of the shares of ordered classes, as a quadratic form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def roughness(
    n_classes: int, smoothness: float = 0.0, flatness: float = 0.0
) -> NDArray[np.float64]:
    """Matrix Q such that p'Qp/2 penalises jumps and bends in the shares p of ordered classes.

    p'Qp/2 = flatness/2 sum (p_{j+1} - p_j)^2 + smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2.
    Two classes have no bends, so smoothness has no effect on them.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.2, 0.5, 0.3])
    >>> round(float(p @ roughness(3, smoothness=2.0) @ p / 2), 6)  # (0.2 - 1 + 0.3)^2
    0.25
    """
    if not smoothness and not flatness:
        return np.zeros((n_classes, n_classes))
    jumps, bends = (np.diff(np.eye(n_classes), n, axis=0) for n in (1, 2))
    return np.asarray(flatness * jumps.T @ jumps + smoothness * bends.T @ bends)


def attainable(tol: float, weight: float) -> float:
    """Tolerance that rounding allows for, given the weight of the penalties."""
    return max(tol, 1e-14 * float(weight))
