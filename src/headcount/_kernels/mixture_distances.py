"""Distance of a sample mean from the nearest mixture of class means, in standard errors."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.quadratic_programs import minimise_quadratic

__all__ = ["nearest_mixtures"]


@njit(cache=True, nogil=True, error_model="numpy")
def _covariance(means, covariances, sizes, n, p, V):
    """Covariance of the sample mean less the mixture p of class means, both with noise."""
    K, d = means.shape
    for i in range(d):
        middle = 0.0
        for j in range(K):
            middle += p[j] * means[j, i]
        for k in range(i + 1):
            other = 0.0
            second = 0.0
            noise = 0.0
            for j in range(K):
                other += p[j] * means[j, k]
                second += p[j] * (covariances[j, i, k] + means[j, i] * means[j, k])
                noise += p[j] * p[j] * covariances[j, i, k] / sizes[j]
            V[i, k] = (second - middle * other) / n + noise


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(V, L):
    """Cholesky factor of V, of which the lower half is given."""
    for i in range(V.shape[0]):
        for k in range(i + 1):
            total = V[i, k]
            for m in range(k):
                total -= L[i, m] * L[k, m]
            # Avoids division by zero in a direction without variance.
            if i == k:
                L[i, i] = np.sqrt(max(total, 1e-12 * V[i, i] + 1e-300))
            else:
                L[i, k] = total / L[k, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _whiten(L, given, out):
    """Vector in units of its standard errors."""
    for i in range(given.size):
        total = given[i]
        for m in range(i):
            total -= L[i, m] * out[m]
        out[i] = total / L[i, i]


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_mixtures(
    means, covariances, sizes, directions, seen, counts, steps, start, stop, shares, statistics
):
    """Shares p on the simplex with least (q - M'p)' V^-1 (q - M'p), and that least value.

    V depends on p and is updated `steps` times with the last p. `means` has one row per
    class, `sizes` the number of items of each class, `counts` the number of items of each
    sample. The mean `seen` of a sample is first projected on the `directions`. That is done
    here because a matrix product over a batch would round differently in another batch.
    """
    K, d = means.shape
    V, L = np.empty((d, d)), np.zeros((d, d))
    white, mean, along = np.empty((K, d)), np.empty(d), np.empty(d)
    H, c = np.empty((K, K)), np.empty(K)
    chosen, factor, work = np.empty(K, np.int64), np.empty((K, K)), np.empty((2, K))
    for s in range(start, stop):
        p = shares[s]
        for j in range(K):
            p[j] = 1.0 / K
        for i in range(d):
            along[i] = 0.0
            for m in range(directions.shape[0]):
                along[i] += seen[s, m] * directions[m, i]
        for _ in range(steps):
            _covariance(means, covariances, sizes, counts[s], p, V)
            _factor(V, L)
            for j in range(K):
                _whiten(L, means[j], white[j])
            _whiten(L, along, mean)
            for j in range(K):
                for k in range(j + 1):
                    total = 0.0
                    for i in range(d):
                        total += white[j, i] * white[k, i]
                    H[j, k] = total
                    H[k, j] = total
                H[j, j] *= 1.0 + 1e-13
                c[j] = 0.0
                for i in range(d):
                    c[j] += white[j, i] * mean[i]
            minimise_quadratic(H, c, True, p, chosen, factor, work)
        statistics[s] = 0.0
        for i in range(d):
            left = mean[i]
            for j in range(K):
                left -= p[j] * white[j, i]
            statistics[s] += left * left
