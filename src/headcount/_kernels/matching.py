"""Mixtures of class profiles matched to observed samples, for any number of classes.

`A` holds one row per class: histograms (shared by all samples) or the likelihoods of a
sample's own items. Both are the same convex problem, min over the simplex of
sum_b D(q_b, (A'p)_b) + p'Qp/2, and are stopped by the same certificate: with g the
gradient, the objective is within max_j g.(p - e_j) of its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.divergence import LIKELIHOOD, curvatures, slopes, total
from headcount._kernels.quadratic_programs import minimise_quadratic

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def mix(A, p, m):
    """M = A'p, over as many columns as m has."""
    for b in range(m.size):
        m[b] = 0.0
    for j in range(p.size):
        share = p[j]
        for b in range(m.size):
            m[b] += share * A[j, b]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def project(A, weights, out):
    """Out = A weights, over as many columns as there are weights."""
    for j in range(out.size):
        along = 0.0
        for b in range(weights.size):
            along += A[j, b] * weights[b]
        out[j] = along


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _local_model(A, second, Q, p, gradient, weighted, H, pull):
    """Quadratic model x'Hx/2 - pull'x of the objective around p."""
    K = A.shape[0]
    n = second.size
    for j in range(K):
        for b in range(n):
            weighted[b] = A[j, b] * second[b]
        for k in range(j + 1):
            along = 0.0
            for b in range(n):
                along += weighted[b] * A[k, b]
            H[j, k] = along + Q[j, k]
            H[k, j] = H[j, k]
    for j in range(K):
        # Too small to slow down a step, large enough to make the minimum unique where
        # classes have equal profiles.
        H[j, j] += 1e-10 * H[j, j] + 1e-12
        pull[j] = -gradient[j]
    for j in range(K):
        for k in range(K):
            pull[j] += H[j, k] * p[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _step_length(kind, q, m, move, lean, bend, first, trial):
    """Step along `move` at which the slope of the objective has (nearly) vanished.

    Slopes decide, not values, whose differences are lost to rounding near the optimum. Steps
    are limited so that no observed bin loses all its mass in the mixture.
    """
    n = q.size
    longest = 1.0
    for b in range(n):
        if q[b] > 0.0 and m[b] + longest * move[b] < 0.05 * m[b]:
            longest = -0.95 * m[b] / move[b]
    left, right, step, enough = 0.0, longest, 0.0, 0.0
    for turn in range(60):
        for b in range(n):
            trial[b] = m[b] + step * move[b]
        slopes(kind, q, trial, first)
        slope, noise = lean + step * bend, 0.0
        for b in range(n):
            slope += first[b] * move[b]
            noise += abs(first[b] * move[b])
        if turn == 0:
            enough = max(0.3 * abs(slope), 1e-12 * noise)
            step = longest
        elif abs(slope) <= enough or (slope <= 0.0 and step == longest):
            return step
        elif slope > 0.0:
            right = step
            step = 0.5 * (left + right)
        else:
            left = step
            step = 0.5 * (left + right)
    return left


@njit(cache=True, nogil=True, error_model="numpy")
def _slope_beside_bins(Q, p, gradient, change):
    """Slope along `change` without the part of the bins, and its derivative."""
    lean, bend = 0.0, 0.0
    for j in range(p.size):
        for k in range(p.size):
            lean += p[j] * Q[j, k] * change[k]
            bend += change[j] * Q[j, k] * change[k]
            # The changes sum to zero except for rounding, which times the level of the
            # gradient would exceed the slope itself close to the optimum.
            lean -= change[j] * p[k] * gradient[k]
    return lean, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _certificate(Q, p, gradient):
    """Add the gradient of p'Qp/2 to that of the bins; returns a bound on the excess of p."""
    here, least = 0.0, np.inf
    for j in range(p.size):
        for k in range(p.size):
            gradient[j] += Q[j, k] * p[k]
        here += p[j] * gradient[j]
        least = min(least, gradient[j])
    return here - least


@njit(cache=True, nogil=True, error_model="numpy")
def _load(kind, profiles, observed, indices, offsets, weights, s, A, q):
    """Load the frequencies of sample s, and for LIKELIHOOD the likelihoods of its items."""
    if kind == LIKELIHOOD:
        n = offsets[s + 1] - offsets[s]
        for i in range(n):
            q[i] = 1.0 / n
            for j in range(A.shape[0]):
                A[j, i] = profiles[indices[offsets[s] + i], j]
        mass = np.float64(n)
        if weights.size > 0:
            mass = 0.0
            for i in range(n):
                mass += weights[offsets[s] + i]
            for i in range(n):
                q[i] = weights[offsets[s] + i] / mass
        for k in range(q.size - n):
            q[n + k] = observed[0, k] / mass
            for j in range(A.shape[0]):
                A[j, n + k] = 1.0 if j == k else 0.0
    else:
        for b in range(q.size):
            q[b] = observed[s, b]


@njit(cache=True, nogil=True, error_model="numpy")
def match_mixtures(
    kind, profiles, observed, indices, offsets, weights, Q, em_steps, tol, max_iter, start,
    stop, out, steps, gaps, values,
):  # fmt: skip
    """Best shares for samples `start:stop`.

    Histograms: `profiles` is K x bins and `observed` has one row per sample. LIKELIHOOD:
    `profiles` is pool x K and a sample is its items, each with weight 1/n, or with its
    share of `weights`, which has one number per entry of `indices`, if it is not empty. If
    `observed` has a row, it is a number of items of each class that are added with certainty. A
    few EM steps, which ignore Q, bring p near enough for few Newton steps to be enough.
    """
    # Calls are not nested deeper because the compiler processes a function again at every
    # level from which it is called.
    K = Q.shape[0]
    bins = profiles.shape[1]
    if kind == LIKELIHOOD:
        bins = 0
        for s in range(start, stop):
            bins = max(bins, offsets[s + 1] - offsets[s] + observed.shape[1])
    H, L = np.empty((K, K)), np.empty((K, K))
    gradient, pull, change, target = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    pair, active = np.empty((2, K)), np.empty(K, np.int64)
    simplex = K > 0  # not a literal, for which the solver would be compiled again
    work = np.empty((5, bins))
    A = np.empty((K, bins)) if kind == LIKELIHOOD else profiles
    for s in range(start, stop):
        n = bins
        if kind == LIKELIHOOD:
            n = offsets[s + 1] - offsets[s] + observed.shape[1]
        q, m, first, second, move = (
            work[0, :n], work[1, :n], work[2, :n], work[3, :n], work[4, :n],
        )  # fmt: skip
        _load(kind, profiles, observed, indices, offsets, weights, s, A, q)
        p = out[s]
        for j in range(K):
            p[j] = 1.0 / K
        for turn in range(max_iter + 1):
            mix(A, p, m)
            slopes(kind, q, m, first)
            project(A, first, gradient)
            gaps[s] = _certificate(Q, p, gradient)
            steps[s] = turn
            if gaps[s] <= tol or turn == max_iter:
                break
            if turn < em_steps:
                for j in range(K):
                    target[j] = -gradient[j] * p[j]  # expectation maximisation
                step = 1.0
            else:
                curvatures(kind, q, m, second)
                _local_model(A, second, Q, p, gradient, move, H, pull)
                for j in range(K):
                    target[j] = p[j]
                minimise_quadratic(H, pull, simplex, target, active, L, pair)
                for j in range(K):
                    change[j] = target[j] - p[j]
                mix(A, change, move)
                lean, bend = _slope_beside_bins(Q, p, gradient, change)
                step = _step_length(kind, q, m, move, lean, bend, first, second)
            mass = 0.0
            for j in range(K):
                p[j] = target[j] if step == 1.0 else max(0.0, p[j] + step * change[j])
                mass += p[j]
            for j in range(K):
                p[j] /= mass
        values[s] = total(kind, q, m)
        for j in range(K):
            for k in range(K):
                values[s] += 0.5 * p[j] * Q[j, k] * p[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _derivatives(kind, base, diff, q, share, m, first, second):
    """Slope and curvature of the objective at `share` of the second class."""
    for b in range(q.size):
        m[b] = base[b] + share * diff[b]
    slopes(kind, q, m, first)
    curvatures(kind, q, m, second)
    slope = 0.0
    curvature = 0.0
    for b in range(q.size):
        slope += first[b] * diff[b]
        curvature += second[b] * diff[b] * diff[b]
    return slope, curvature


@njit(cache=True, nogil=True, error_model="numpy")
def _search(kind, base, diff, q, tilt, bend, tol, max_iter, m, first, second):
    """Bracketed Newton search; returns the share, the certificate and the steps taken."""
    low, curvature = _derivatives(kind, base, diff, q, 0.0, m, first, second)
    high, curvature = _derivatives(kind, base, diff, q, 1.0, m, first, second)
    low += tilt
    high += tilt + bend
    if low >= 0.0 and high > 0.0:
        return 0.0, 0.0, 0
    if high <= 0.0 and low < 0.0:
        return 1.0, 0.0, 0
    left, right, share, gap = 0.0, 1.0, 0.5, np.inf
    for step in range(1, max_iter + 1):
        slope, curvature = _derivatives(kind, base, diff, q, share, m, first, second)
        slope += tilt + share * bend
        curvature += bend
        # The certificate max_j g.(p - e_j) for the gradient (0, slope).
        gap = max(slope * share, -slope * (1.0 - share))
        # Near an end of the range the gap is small long before the share is accurate.
        move = slope / curvature if curvature > 0.0 else 0.0
        room = share if slope > 0.0 else 1.0 - share
        if gap <= tol and min(abs(move), room) <= 1e-9:
            return share, gap, step
        if slope > 0.0:
            right = share
        else:
            left = share
        share -= move
        if not left < share < right:
            share = 0.5 * (left + right)
    return share, gap, max_iter


@njit(cache=True, nogil=True, error_model="numpy")
def match_two(
    kind, profiles, observed, indices, offsets, weights, Q, tol, max_iter, start, stop,
    out, steps, gaps, values,
):  # fmt: skip
    """Best share of the second class for samples `start:stop`.

    Histograms: `profiles` is 2 x bins and `observed` has one row per sample. LIKELIHOOD:
    `profiles` is pool x 2 and a sample is its items, each with weight 1/n, or with its
    share of `weights`, which has one number per entry of `indices`, if it is not empty. If
    `observed` has a row, it is a number of items of each class that are added with certainty.
    """
    bend = Q[0, 0] - Q[0, 1] - Q[1, 0] + Q[1, 1]
    tilt = 0.5 * (Q[0, 1] + Q[1, 0]) - Q[0, 0]
    bins = profiles.shape[1]
    if kind == LIKELIHOOD:
        bins = 0
        for s in range(start, stop):
            bins = max(bins, offsets[s + 1] - offsets[s] + observed.shape[1])
    # Filled here, not by `_load`: two passes over the items take a tenth longer in all.
    work = np.empty((6, bins))
    for s in range(start, stop):
        n = bins
        if kind == LIKELIHOOD:
            n = offsets[s + 1] - offsets[s]
            for i in range(n):
                item = indices[offsets[s] + i]
                work[0, i] = profiles[item, 0]
                work[1, i] = profiles[item, 1] - profiles[item, 0]
                work[2, i] = 1.0 / n
            mass = np.float64(n)
            if weights.size > 0:
                mass = 0.0
                for i in range(n):
                    mass += weights[offsets[s] + i]
                for i in range(n):
                    work[2, i] = weights[offsets[s] + i] / mass
            for k in range(observed.shape[1]):
                work[0, n + k] = 1.0 - k
                work[1, n + k] = 2.0 * k - 1.0
                work[2, n + k] = observed[0, k] / mass
            n += observed.shape[1]
        else:
            for b in range(bins):
                work[0, b] = profiles[0, b]
                work[1, b] = profiles[1, b] - profiles[0, b]
                work[2, b] = observed[s, b]
        base, diff, q = work[0, :n], work[1, :n], work[2, :n]
        m, first, second = work[3, :n], work[4, :n], work[5, :n]
        share, gap, step = _search(
            kind, base, diff, q, tilt, bend, tol, max_iter, m, first, second
        )
        out[s, 0] = 1.0 - share
        out[s, 1] = share
        steps[s] = step
        gaps[s] = gap
        for b in range(n):
            m[b] = base[b] + share * diff[b]
        values[s] = total(kind, q, m) + 0.5 * Q[0, 0] + share * (tilt + 0.5 * share * bend)


@njit(cache=True, nogil=True, error_model="numpy")
def least_absolute(corners, weights, n):
    """Minimise sum weights |corners - a| over a in [0, 1]: a weighted median, clipped.

    The slope rises by twice the weight at each of the first `n` corners. If the minimum is an
    interval, its middle is returned.
    """
    slope = 0.0
    for i in range(n):
        slope -= weights[i]
    low, high = 0.0, 1.0
    order = np.argsort(corners[:n])
    tiny = 1e-13 * -slope
    low_found = n == 0
    for i in range(n):
        slope += 2.0 * weights[order[i]]
        if not low_found and slope >= -tiny:
            low = corners[order[i]]
            high = low
            low_found = True
            if slope > tiny:
                break
        elif slope > tiny:
            high = corners[order[i]]
            break
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return 0.5 * (low + high)


@njit(cache=True, nogil=True, error_model="numpy")
def match_two_absolute(profiles, observed, start, stop, out, values):
    """Minimise sum_b |q_b - (1 - a) f0_b - a f1_b| over a in [0, 1].

    The objective is piecewise linear with its corners where a bin matches. There its slope
    rises by twice the bin's |f1 - f0|.
    """
    bins = profiles.shape[1]
    corners = np.empty(bins)
    weights = np.empty(bins)
    for s in range(start, stop):
        n = 0
        for b in range(bins):
            spread = profiles[1, b] - profiles[0, b]
            if spread != 0.0:
                corners[n] = (observed[s, b] - profiles[0, b]) / spread
                weights[n] = abs(spread)
                n += 1
        share = least_absolute(corners, weights, n)
        out[s, 0] = 1.0 - share
        out[s, 1] = share
        value = 0.0
        for b in range(bins):
            value += abs(observed[s, b] - out[s, 0] * profiles[0, b] - share * profiles[1, b])
        values[s] = value
