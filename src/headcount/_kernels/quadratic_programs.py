"""Convex quadratic programs in a few non-negative variables, by an active set.

Plain loops over scalars throughout, as array expressions would take several times as long
to compile and gain nothing at these sizes.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _stationary(H, c, on_simplex, active, m, L, work):
    """Minimise over the chosen variables alone, into work[0]; returns the multiplier.

    Uses the Cholesky factor L of the chosen rows and columns of H.
    """
    for i in range(m):
        # A pivot lost to rounding means a direction without curvature. All steps along it
        # are equally good, so a tiny curvature decides.
        least = 1e-14 * H[active[i], active[i]] + 1e-300
        for j in range(i + 1):
            total = H[active[i], active[j]]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(max(total, least))
            else:
                L[i, j] = total / L[j, j]
    for i in range(m):
        work[0, i] = c[active[i]]
        work[1, i] = 1.0
    systems = 2 if on_simplex else 1
    for r in range(systems):
        for i in range(m):
            total = work[r, i]
            for k in range(i):
                total -= L[i, k] * work[r, k]
            work[r, i] = total / L[i, i]
        for i in range(m - 1, -1, -1):
            total = work[r, i]
            for k in range(i + 1, m):
                total -= L[k, i] * work[r, k]
            work[r, i] = total / L[i, i]
    if not on_simplex:
        return 0.0
    reached = 0.0
    unit = 0.0
    for i in range(m):
        reached += work[0, i]
        unit += work[1, i]
    level = (1.0 - reached) / unit
    for i in range(m):
        work[0, i] += level * work[1, i]
    return level


@njit(cache=True, nogil=True, error_model="numpy")
def _step_to_boundary(x, active, m, work):
    """Move x towards work[0] until a variable reaches zero; returns True if none does."""
    length = 1.0
    blocking = -1
    for i in range(m):
        if work[0, i] < 0.0:
            here = x[active[i]]
            reach = here / (here - work[0, i])
            if blocking < 0 or reach < length:
                length = reach
                blocking = i
    for i in range(m):
        j = active[i]
        x[j] = work[0, i] if blocking < 0 else max(0.0, x[j] + length * (work[0, i] - x[j]))
    if blocking >= 0:
        x[active[blocking]] = 0.0
    return blocking < 0


@njit(cache=True, nogil=True, error_model="numpy")
def _most_promising(H, c, level, x):
    """Variable at zero whose increase lowers the objective most, or -1 if none does."""
    K = c.size
    best = -1
    lowest = 0.0
    for j in range(K):
        if x[j] == 0.0:
            slope = -c[j] - level
            noise = abs(c[j]) + abs(level)
            for k in range(K):
                slope += H[j, k] * x[k]
                noise += abs(H[j, k]) * x[k]
            if slope < -1e-14 * noise and slope < lowest:
                lowest = slope
                best = j
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def minimise_quadratic(H, c, on_simplex, x, active, L, work):
    """Minimise x'Hx/2 - c'x over x >= 0, and sum x = 1 if `on_simplex`, from a feasible x.

    Returns the number of active-set rounds, negative if they ran out.
    """
    K = c.size
    entered = -1
    for turn in range(1, 20 * K + 20):
        m = 0 * K  # not a literal, for which its callees would be compiled again
        for j in range(K):
            if x[j] > 0.0 or j == entered:
                active[m] = j
                m += 1
        level = _stationary(H, c, on_simplex, active, m, L, work)
        if _step_to_boundary(x, active, m, work):
            entered = _most_promising(H, c, level, x)
            if entered < 0:
                return turn
        elif entered >= 0 and x[entered] == 0.0:
            return turn  # it entered by rounding alone: x is optimal
        else:
            entered = -1
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def minimise_quadratics(
    H, base, loadings, observed, on_simplex, start, stop, out, rounds, values
):
    """`minimise_quadratic` with a shared H for samples `start:stop`.

    A sample's linear term is base + loadings . seen[s]. It is summed here, sample by
    sample: a matrix product over a batch would round differently in another batch.
    """
    K = H.shape[0]
    active = np.empty(K, np.int64)
    L = np.empty((K, K))
    work = np.empty((2, K))
    c = np.empty(K)
    for s in range(start, stop):
        x = out[s]
        for j in range(K):
            x[j] = 1.0 / K if on_simplex else 0.0
            c[j] = base[j]
            for b in range(observed.shape[1]):
                c[j] += loadings[j, b] * observed[s, b]
        rounds[s] = minimise_quadratic(H, c, on_simplex, x, active, L, work)
        value = 0.0
        for j in range(K):
            curve = 0.0
            for k in range(K):
                curve += H[j, k] * x[k]
            value += x[j] * (0.5 * curve - c[j])
        values[s] = value


@njit(cache=True, nogil=True, error_model="numpy")
def _covariance(means, covariances, sizes, n, p, V):
    """Covariance of the sample mean less the mixture p of class means, both with noise."""
    K, d = means.shape
    for i in range(d):
        middle = 0.0
        for j in range(K):
            middle += p[j] * means[j, i]
        for k in range(i + 1):
            second_mean = 0.0
            second = 0.0
            noise = 0.0
            for j in range(K):
                second_mean += p[j] * means[j, k]
                second += p[j] * (covariances[j, i, k] + means[j, i] * means[j, k])
                noise += p[j] * p[j] * covariances[j, i, k] / sizes[j]
            V[i, k] = (second - middle * second_mean) / n + noise


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
def _whiten(L, vector, out):
    """Vector in units of its standard errors."""
    for i in range(vector.size):
        total = vector[i]
        for m in range(i):
            total -= L[i, m] * out[m]
        out[i] = total / L[i, i]


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_mixtures(
    means, covariances, sizes, directions, observed, counts, steps, start, stop,
    shares, statistics,
):  # fmt: skip
    """Shares p on the simplex with least (q - M'p)' V^-1 (q - M'p), and that least value.

    V depends on p and is updated `steps` times with the last p. `means` has one row per
    class, `sizes` the number of items of each class, `counts` the number of items of each
    sample. The mean `observed` of a sample is first projected on the `directions`. That is done
    here because a matrix product over a batch would round differently in another batch.
    """
    K, d = means.shape
    V, L = np.empty((d, d)), np.zeros((d, d))
    white, mean, along = np.empty((K, d)), np.empty(d), np.empty(d)
    H, c = np.empty((K, K)), np.empty(K)
    active, factor, work = np.empty(K, np.int64), np.empty((K, K)), np.empty((2, K))
    for s in range(start, stop):
        p = shares[s]
        for j in range(K):
            p[j] = 1.0 / K
        for i in range(d):
            along[i] = 0.0
            for m in range(directions.shape[0]):
                along[i] += observed[s, m] * directions[m, i]
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
            minimise_quadratic(H, c, True, p, active, factor, work)
        statistics[s] = 0.0
        for i in range(d):
            residual = mean[i]
            for j in range(K):
                residual -= p[j] * white[j, i]
            statistics[s] += residual * residual
