"""Intervals the slow way."""

from __future__ import annotations

from itertools import product
from math import comb, lgamma, log

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.stats import chi2, norm


def bca(draws, estimate, level):
    """The interval of one share, by the textbook, with a sixth of the skewness."""
    draws = [float(each) for each in draws]
    n = len(draws)
    below = sum(1.0 if d < estimate else 0.5 if d == estimate else 0.0 for d in draws) / n
    z0 = norm.ppf(min(max(below, 0.5 / n), 1 - 0.5 / n))
    mean = sum(draws) / n
    second = sum((d - mean) ** 2 for d in draws) / n
    third = sum((d - mean) ** 3 for d in draws) / n
    a = third / second**1.5 / 6
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = z0 + norm.ppf(tail)
        ends.append(np.quantile(draws, norm.cdf(z0 + z / (1 - a * z))))
    return tuple(ends)


def profile(ratios, j, level):
    """Where twice the log-likelihood has dropped by the quantile of chi-squared."""
    K = ratios.shape[1]
    others = [k for k in range(K) if k != j]

    def loss(free):
        weights = np.exp(free - np.max(free))
        return weights / weights.sum()

    def best(t):
        def negative(free):
            p = np.zeros(K)
            p[j], p[others] = t, (1 - t) * loss(free)
            return -np.log(ratios @ p).sum()

        if K == 2:
            return -negative(np.zeros(1))
        return -minimize(negative, np.zeros(K - 1), method="BFGS").fun

    grid = np.linspace(0.001, 0.999, 200)
    top = grid[np.argmax([best(t) for t in grid])]
    fine = np.linspace(top - 0.01, top + 0.01, 200)
    top = fine[np.argmax([best(t) for t in fine])]
    aim = best(top) - chi2.ppf(level, 1) / 2
    return brentq(lambda t: best(t) - aim, 1e-4, top), brentq(
        lambda t: best(t) - aim, top, 1 - 1e-4
    )


def realised_posterior(table, counts):
    """Posterior of the number of items of class 1 among a sample, of two classes, exactly.

    Adds up all ways in which the predictions can have come about, shares and rates
    integrated out.
    """
    n = sum(counts)
    weights = np.zeros(n + 1)
    for a, b in product(range(counts[0] + 1), range(counts[1] + 1)):
        # Of the items called 0, a are of class 1; of those called 1, b are.
        of_one, of_zero = (a, b), (counts[0] - a, counts[1] - b)
        term = log(comb(counts[0], a)) + log(comb(counts[1], b))
        term += _log_beta([1 + sum(of_zero), 1 + sum(of_one)])
        term += _log_beta([table[0][c] + 0.5 + of_zero[c] for c in (0, 1)])
        term += _log_beta([table[1][c] + 0.5 + of_one[c] for c in (0, 1)])
        weights[a + b] += np.exp(term)
    return weights / weights.sum()


def _log_beta(parameters):
    return sum(map(lgamma, parameters)) - lgamma(sum(parameters))


def densities(centres, codes, weights, points, bandwidth, *, skip_self):
    """Kernel densities of the classes at points, item by item."""
    K = codes.max() + 1
    found = np.zeros((len(points), K))
    for i, point in enumerate(points):
        for j in range(K):
            top = mass = 0.0
            for c, centre in enumerate(centres):
                if codes[c] != j or (skip_self and c == i):
                    continue
                distance = ((point - centre) ** 2).sum()
                top += weights[c] * np.exp(-distance / (2 * bandwidth**2))
                mass += weights[c]
            found[i, j] = top / mass if mass else 0.0
    return found
