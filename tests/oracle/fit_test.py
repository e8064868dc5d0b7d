"""The fit test as the formulas have it, one sample at a time."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from scipy.optimize import minimize
from scipy.stats import f


def rank_moments(training, codes, items):
    """Legendre polynomials of ranks among the training items, classes weighing alike."""
    K = training.shape[1]
    columns, degrees = ([1], 3) if K == 2 else (range(K), 2)
    sizes = np.bincount(codes)
    out = []
    for item in items:
        row = []
        for j in columns:
            x = interpolated_rank(training[:, j], sizes[codes] * K, item[j])
            row += [legendre.legval(x, np.eye(degrees + 1)[d]) for d in range(1, degrees + 1)]
        out.append(row)
    return np.array(out)


def interpolated_rank(values, inverse_weights, value):
    points = sorted(set(values.tolist()))
    ranks = []
    for point in points:
        below = sum(1 / w for v, w in zip(values, inverse_weights, strict=True) if v < point)
        there = sum(1 / w for v, w in zip(values, inverse_weights, strict=True) if v == point)
        ranks.append(2 * (below + there / 2) - 1)
    return np.interp(value, points, ranks)


def class_moments(vectors, codes):
    """Means, covariances with the pooled one counted as one item more, and sizes."""
    K = codes.max() + 1
    groups = [vectors[codes == j] for j in range(K)]
    scatters = [(g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups]
    sizes = np.array([len(g) for g in groups])
    pooled = sum(scatters) / (sizes - 1).sum()
    covariances = [(scatter + pooled) / n for scatter, n in zip(scatters, sizes, strict=True)]
    return np.array([g.mean(axis=0) for g in groups]), np.array(covariances), sizes


def covariance(means, covariances, sizes, n, p):
    m = p @ means
    second = sum(p[j] * (covariances[j] + np.outer(means[j], means[j])) for j in range(len(p)))
    noise = sum(p[j] ** 2 * covariances[j] / sizes[j] for j in range(len(p)))
    return (second - np.outer(m, m)) / n + noise


def nearest_mixture(means, covariances, sizes, seen, n, steps=4):
    """Shares and statistic, the covariance taken at the shares of the step before."""
    K = len(means)
    p = np.full(K, 1 / K)
    for _ in range(steps):
        inverse = np.linalg.inv(covariance(means, covariances, sizes, n, p))

        def distance(shares, inverse=inverse):
            left = seen - shares @ means
            return left @ inverse @ left

        p = minimize(
            distance, p, method="SLSQP", bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 500},
        ).x  # fmt: skip
    return p, distance(p)


def spare(means, covariances, sizes, p, n):
    """Degrees of freedom of the covariance: those whose mean and variance it has."""
    d = means.shape[1]
    whole = np.linalg.inv(covariance(means, covariances, sizes, n, p))
    noise = 0.0
    for j in range(len(p)):
        part = (p[j] / n + p[j] ** 2 / sizes[j]) * covariances[j] @ whole
        noise += (np.trace(part @ part) + np.trace(part) ** 2) / (sizes[j] - 1)
    return (d + d**2) / noise


def hotelling(statistic, df, spare_):
    """Chance of a larger one, if the covariance has so many degrees of freedom."""
    left = spare_ - df + 1
    return f.sf(statistic * left / (spare_ * df), df, left)
