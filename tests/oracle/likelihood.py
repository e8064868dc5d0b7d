"""Likelihood of a mixture, its EM step and its maximum, item by item."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tests.oracle.matching import minimise_on_simplex


def objective(ratios: NDArray[np.float64], p: NDArray[np.float64]) -> float:
    """Mean negative log-likelihood."""
    total = 0.0
    for row in ratios:
        likelihood = sum(r * share for r, share in zip(row, p, strict=True))
        total -= math.log(likelihood) if likelihood > 0 else -math.inf
    return total / len(ratios)


def with_prior(
    ratios: NDArray[np.float64], concentration: NDArray[np.float64], p: NDArray[np.float64]
) -> float:
    """Negative logarithm of likelihood times Dirichlet density (up to a constant), over n."""
    if any(share <= 0 < a - 1 for a, share in zip(concentration, p, strict=True)):
        return 1e300
    if (ratios @ p).min() <= 0:
        return 1e300
    total = -sum(math.log(likelihood) for likelihood in ratios @ p)
    for a, share in zip(concentration, p, strict=True):
        total -= (a - 1) * math.log(share) if a > 1 else 0.0
    return total / len(ratios)


def em_step(ratios: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean posterior of the items under the shares p."""
    posteriors = []
    for row in ratios:
        joint = [r * share for r, share in zip(row, p, strict=True)]
        posteriors.append([part / sum(joint) for part in joint])
    return np.mean(posteriors, axis=0)


def run_em(
    ratios: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    tol: float,
    by_norm: bool,
    min_iter: int = 1,
    max_iter: int = 1000,
    partial: bool = False,
) -> tuple[NDArray[np.float64], int, float]:
    """Shares, steps and last change when EM stops by its rule."""
    p, taken, change, before, last = start, 0, math.inf, math.inf, start
    while taken < max_iter and (taken < min_iter or change >= tol):
        after = em_step(ratios, p)
        moves = [abs(a - b) for a, b in zip(after, p, strict=True)]
        before, change = change, math.hypot(*moves) if by_norm else sum(moves) / len(moves)
        last, p = p, after
        taken += 1
    if partial and taken > min_iter and 0 < change < tol:
        left = math.log(tol / change) / math.log(before / change)
        p = p + left * (last - p)
    return p, taken, change


def maximise(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of the greatest likelihood, by a general optimiser."""

    def f(p: NDArray[np.float64]) -> float:
        likelihoods = ratios @ p
        return float(-np.log(likelihoods).mean()) if likelihoods.min() > 0 else 1e300

    return minimise_on_simplex(f, ratios.shape[1])


def towards_maximum(
    ratios: NDArray[np.float64],
    prior: NDArray[np.float64],
    early: NDArray[np.float64],
    n_training: float,
) -> NDArray[np.float64]:
    """The early shares, or shares nearer to the maximum if the prior explains items badly."""
    n, best = len(ratios), maximise(ratios)
    gain = 2 * n * (objective(ratios, prior) - objective(ratios, best))
    excess = gain / (1 + n / n_training) / (3 * (len(prior) - 1))
    if excess <= 1:
        return early
    return best + (early - best) / excess**2
