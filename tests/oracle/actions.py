"""Shares with the least expected error, and absent classes, by slow ways."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import brentq, linprog


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


def common_quantiles(draws, weights, n_items, *, relative):
    """Quantiles of the classes at levels moved by one number, such that they sum to 1."""

    def shares(moved):
        values = []
        for column in draws.T:
            order = np.argsort(column, kind="stable")
            masses = weights / (column + 0.5 / n_items) if relative else weights
            middles = np.cumsum(masses[order]) - masses[order] / 2
            wanted = (masses.sum() + moved) / 2
            values.append(np.interp(wanted, middles, column[order]))
        return np.array(values)

    most = 2 * n_items if relative else 1.0
    moved = brentq(lambda m: shares(m).sum() - 1, -most, most, xtol=1e-13, rtol=1e-13)
    return shares(moved) / shares(moved).sum()


def absence(alone, absent, weights):
    """Probability that each class is absent, by adding up all sets of absent classes."""
    K = len(alone)
    effective = 1 / (weights**2).sum()
    rates = [
        (effective * (weights * column).sum() + 0.5) / (effective + 1) for column in absent.T
    ]
    sets = [np.array(chosen) for chosen in itertools.product([False, True], repeat=K)][:-1]

    def by_itself(probabilities, chosen):
        return np.prod(np.where(chosen, probabilities, 1 - np.asarray(probabilities)))

    of_number = np.zeros(K + 1)
    for chosen in [*sets, np.ones(K, bool)]:
        of_number[chosen.sum()] += by_itself(rates, chosen)
    masses = []
    for chosen in sets:
        number = chosen.sum()
        simulated = weights[absent.sum(axis=1) == number].sum()
        together = (effective * simulated + of_number[number]) / (effective + 1)
        ratio = (together / of_number[number]) ** (0.1 ** (1 / (K - 1)))
        masses.append(by_itself(alone, chosen) * ratio)
    return np.array(masses) @ np.array(sets) / np.sum(masses)
