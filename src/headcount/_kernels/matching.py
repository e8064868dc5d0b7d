"""Match a mixture of class profiles to what was seen, for any number of classes.

`A` holds one row a class: histograms (shared by all samples) or the likelihoods of a
sample's own items. Both are the same convex problem, min over the simplex of
sum_b D(q_b, (A'p)_b) + p'Qp/2, and are stopped by the same certificate: with g the
gradient, the objective is within max_j g.(p - e_j) of its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.divergence import LIKELIHOOD, curvatures, slopes, total
from headcount._kernels.quadratic import minimise_quadratic

__all__ = ["match_mixtures", "mix", "project"]

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
def _curvature_matrix(A, second, Q, weighted, H):
    """H = A diag(second) A' + Q, with a trace of curvature in every direction."""
    K = A.shape[0]
    n = second.size
    largest = 0.0
    for j in range(K):
        for b in range(n):
            weighted[b] = A[j, b] * second[b]
        for k in range(j + 1):
            along = 0.0
            for b in range(n):
                along += weighted[b] * A[k, b]
            H[j, k] = along + Q[j, k]
            H[k, j] = H[j, k]
        largest = max(largest, H[j, j])
    for j in range(K):
        H[j, j] += 1e-13 * largest


@njit(cache=True, nogil=True, error_model="numpy")
def _step_length(kind, q, m, move, lean, bend, first, trial):
    """Step along `move` at which the slope of the objective has (nearly) vanished.

    Judged by slopes, not values: near the optimum values drown in rounding. No step is
    so long that a bin that was seen loses all its mass in the mixture.
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
def _newton_step(kind, A, q, Q, p, gradient, work, H, L, small, chosen):
    """Move p by a Newton step: the minimiser of the local quadratic on the simplex."""
    K = p.size
    n = q.size
    m, first, second, move = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
    pull, target, change = small[1], small[2], small[3]
    curvatures(kind, q, m, second)
    _curvature_matrix(A, second, Q, move, H)
    for j in range(K):
        target[j] = p[j]
        pull[j] = -gradient[j]
        for k in range(K):
            pull[j] += H[j, k] * p[k]
    minimise_quadratic(H, pull, True, target, chosen, L, small[4:6])
    bend, lean = 0.0, 0.0
    for j in range(K):
        change[j] = target[j] - p[j]
    for j in range(K):
        for k in range(K):
            bend += change[j] * Q[j, k] * change[k]
            lean += p[j] * Q[j, k] * change[k]
            # The changes sum to zero but for rounding, which times the level of the
            # gradient would outweigh the slope itself close to the optimum.
            lean -= change[j] * p[k] * gradient[k]
    mix(A, change, move)
    step = _step_length(kind, q, m, move, lean, bend, first, second)
    for j in range(K):
        p[j] = target[j] if step == 1.0 else max(0.0, p[j] + step * change[j])


@njit(cache=True, nogil=True, error_model="numpy")
def _minimise(kind, A, q, Q, em_steps, tol, max_iter, p, work, H, L, small, chosen):
    """EM steps, then Newton steps, until the certificate is within `tol`.

    Returns the steps taken and the certificate; work[0] is left at A'p.
    """
    K = p.size
    m, first, gradient = work[0, : q.size], work[1, : q.size], small[0]
    gap = np.inf
    for turn in range(max_iter + 1):
        mix(A, p, m)
        slopes(kind, q, m, first)
        project(A, first, gradient)
        here, least = 0.0, np.inf
        for j in range(K):
            for k in range(K):
                gradient[j] += Q[j, k] * p[k]
            here += p[j] * gradient[j]
            least = min(least, gradient[j])
        gap = here - least
        if gap <= tol or turn == max_iter:
            return turn, gap
        if turn < em_steps:
            for j in range(K):
                p[j] *= -gradient[j]  # for a likelihood, this is expectation maximisation
        else:
            _newton_step(kind, A, q, Q, p, gradient, work, H, L, small, chosen)
        mass = 0.0
        for j in range(K):
            mass += p[j]
        for j in range(K):
            p[j] /= mass
    return max_iter, gap


@njit(cache=True, nogil=True, error_model="numpy")
def match_mixtures(
    kind, profiles, seen, indices, offsets, Q, em_steps, tol, max_iter, start, stop,
    out, steps, gaps, values,
):  # fmt: skip
    """Best shares for samples `start:stop`.

    Histograms: `profiles` is K x bins and `seen` has a row a sample. LIKELIHOOD:
    `profiles` is pool x K and a sample is its items, each with weight 1/n; a few EM
    steps bring p near enough for Newton's to be few.
    """
    K = Q.shape[0]
    bins = profiles.shape[1]
    if kind == LIKELIHOOD:
        bins = 0
        for s in range(start, stop):
            bins = max(bins, offsets[s + 1] - offsets[s])
    H, L = np.empty((K, K)), np.empty((K, K))
    small = np.empty((6, K))
    chosen = np.empty(K, np.int64)
    work = np.empty((5, bins))
    own = np.empty((K, bins)) if kind == LIKELIHOOD else profiles
    for s in range(start, stop):
        n = bins
        if kind == LIKELIHOOD:
            n = offsets[s + 1] - offsets[s]
            for i in range(n):
                for j in range(K):
                    own[j, i] = profiles[indices[offsets[s] + i], j]
        for b in range(n):
            work[4, b] = 1.0 / n if kind == LIKELIHOOD else seen[s, b]
        p, q = out[s], work[4, :n]
        for j in range(K):
            p[j] = 1.0 / K
        steps[s], gaps[s] = _minimise(
            kind, own, q, Q, em_steps, tol, max_iter, p, work, H, L, small, chosen
        )
        values[s] = total(kind, q, work[0, :n])
