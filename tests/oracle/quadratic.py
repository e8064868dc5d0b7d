"""Quadratic programs by trying every set of variables that may be above zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def value(H: NDArray[np.float64], c: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    return float(x @ H @ x / 2 - c @ x)


def supports(K: int) -> Iterator[list[int]]:
    for size in range(1, K + 1):
        for support in combinations(range(K), size):
            yield list(support)


def minimise_on_simplex(H: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise x'Hx/2 - c'x over x >= 0, sum x = 1, by one linear system a support."""
    K = len(c)
    best = np.eye(K)[0]
    for support in supports(K):
        m = len(support)
        system = np.ones((m + 1, m + 1))
        system[:m, :m] = H[np.ix_(support, support)]
        system[m, m] = 0.0
        found = np.linalg.lstsq(system, np.append(c[support], 1.0), rcond=None)[0][:m]
        if found.min() < -1e-12 or abs(found.sum() - 1) > 1e-9:
            continue
        x = np.zeros(K)
        x[support] = np.clip(found, 0, None)
        x /= x.sum()
        if value(H, c, x) < value(H, c, best):
            best = x
    return best


def minimise_non_negative(
    H: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise x'Hx/2 - c'x over x >= 0, by one linear system a support."""
    best = np.zeros(len(c))
    for support in supports(len(c)):
        found = np.linalg.lstsq(H[np.ix_(support, support)], c[support], rcond=None)[0]
        if found.min() < -1e-12:
            continue
        x = np.zeros(len(c))
        x[support] = np.clip(found, 0, None)
        if value(H, c, x) < value(H, c, best):
            best = x
    return best
