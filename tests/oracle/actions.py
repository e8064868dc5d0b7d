"""Shares with the least expected error, by linear programming."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def expected_error(shares, draws, weights, n_items, *, relative):
    total = 0.0
    for draw, weight in zip(draws, weights, strict=True):
        for share, true in zip(shares, draw, strict=True):
            scale = true + 0.5 / n_items if relative else 1.0
            total += weight * abs(share - true) / scale
    return total


def least_error(draws, weights, n_items, *, relative):
    """Least expected error over the simplex: errors e >= |a - p| are variables as well."""
    n, K = draws.shape
    scales = draws + 0.5 / n_items if relative else np.ones_like(draws)
    costs = np.concatenate([np.zeros(K), (weights[:, None] / scales).ravel()])
    above = np.hstack([np.tile(np.eye(K), (n, 1)), -np.eye(n * K)])
    below = np.hstack([-np.tile(np.eye(K), (n, 1)), -np.eye(n * K)])
    limits = np.concatenate([draws.ravel(), -draws.ravel()])
    sums = np.concatenate([np.ones(K), np.zeros(n * K)])[None]
    result = linprog(costs, np.vstack([above, below]), limits, sums, [1.0], bounds=(0, None))
    return result.fun
