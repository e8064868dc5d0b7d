"""Divergences as the papers write them, and their minimum by general optimisers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import xlogy

Objective = Callable[[NDArray[np.float64]], float]


def likelihood(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(-xlogy(q, m).sum())


def hellinger(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(((np.sqrt(q) - np.sqrt(m)) ** 2).sum() / 2)


def topsoe(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    middle = np.where(q + m > 0, (q + m) / 2, 1.0)
    return float((xlogy(q, q / middle) + xlogy(m, m / middle)).sum())


def probsymm(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    both = np.where(q + m > 0, q + m, 1.0)
    return float((2 * (q - m) ** 2 / both).sum())


def l1(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(np.abs(q - m).sum())


def l2(q: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(((q - m) ** 2).sum())


DIVERGENCES = {
    "hellinger": hellinger,
    "topsoe": topsoe,
    "probsymm": probsymm,
    "l1": l1,
    "l2": l2,
}


def objective(name: str, profiles: NDArray[np.float64], q: NDArray[np.float64]) -> Objective:
    divergence = DIVERGENCES[name]
    return lambda p: divergence(q, p @ profiles)


def jumps(p: NDArray[np.float64]) -> float:
    return sum((after - before) ** 2 for before, after in pairwise(p))


def bends(p: NDArray[np.float64]) -> float:
    return sum((p[j - 1] - 2 * p[j] + p[j + 1]) ** 2 for j in range(1, len(p) - 1))


def penalised(f: Objective, smoothness: float, flatness: float = 0.0) -> Objective:
    """The objective plus what shares of ordered classes pay for bends and jumps."""
    return lambda p: float(f(p) + smoothness / 2 * bends(p) + flatness / 2 * jumps(p))


def minimise_on_segment(f: Objective) -> NDArray[np.float64]:
    """Best shares of two classes: a grid, then a golden section around its best point."""

    def along(share: float) -> float:
        return f(np.array([1 - share, share]))

    grid = np.linspace(0, 1, 201)
    best = int(np.argmin([along(share) for share in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
    found = minimize_scalar(along, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    share = min([0.0, 1.0, float(found.x)], key=along)
    return np.array([1 - share, share])


def minimise_on_simplex(f: Objective, K: int) -> NDArray[np.float64]:
    """Best shares by sequential least squares from three starts, and every corner tried.

    The search is over shares divided by their sum, so that it cannot leave the simplex.
    """
    if K == 2:
        return minimise_on_segment(f)

    def inside(x: NDArray[np.float64]) -> NDArray[np.float64]:
        kept = np.clip(x, 0, None)
        return kept / kept.sum() if kept.sum() > 0 else np.full(K, 1 / K)

    starts = [np.full(K, 1 / K), 0.8 * np.eye(K)[0] + 0.2 / K, 0.8 * np.eye(K)[-1] + 0.2 / K]
    found = list(np.eye(K))
    for start in starts:
        result = minimize(
            lambda x: f(inside(x)),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        found.append(inside(result.x))
    return min(found, key=f)
