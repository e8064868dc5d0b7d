"""Expectation maximisation with the stopping rules of the literature."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.divergence import LIKELIHOOD, total
from headcount._kernels.matching import mix, project

_FAST = {"reassoc", "contract", "nsz"}
_LEAST = 1e-90  # likelihood of an impossible item, as in `divergence`


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _gains_of_two(A, n, p, gains):
    """Mean posterior of two classes divided by their shares, in one pass over n items."""
    first, second, a, b = 0.0, 0.0, p[0], p[1]
    for i in range(n):
        inverse = 1.0 / max(a * A[0, i] + b * A[1, i], 1e-300)
        first += A[0, i] * inverse
        second += A[1, i] * inverse
    gains[0], gains[1] = first / n, second / n


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _weighted_gains_of_two(A, weights, mass, p, gains):
    """The same for items that stand for several each, `mass` in total."""
    first, second, a, b = 0.0, 0.0, p[0], p[1]
    for i in range(weights.size):
        ratio = weights[i] / max(a * A[0, i] + b * A[1, i], 1e-300)
        first += A[0, i] * ratio
        second += A[1, i] * ratio
    gains[0], gains[1] = first / mass, second / mass


@njit(cache=True, nogil=True, error_model="numpy")
def _mean_logarithm(m):
    """Mean logarithm, of products of four numbers where these are within range."""
    n = m.size
    out = 0.0
    for b in range(0, n - 3, 4):
        product = (m[b] * m[b + 1]) * (m[b + 2] * m[b + 3])
        if 1e-50 < product < 1e50:
            out += np.log(product)
        else:
            for i in range(b, b + 4):
                out += np.log(max(m[i], _LEAST))
    for b in range(n - n % 4, n):
        out += np.log(max(m[b], _LEAST))
    return out / n


@njit(cache=True, nogil=True, error_model="numpy")
def maximise_by_em(
    ratios, indices, offsets, weights, origin, by_norm, tols, min_iter, max_iter, partial,
    start, stop, out, steps, changes, values,
):  # fmt: skip
    """Run EM from `origin` on samples `start:stop` until its last change is small.

    The size of a change is its mean absolute value, or its Euclidean norm if `by_norm`.
    `tols` holds the tolerance of each sample. `weights` holds one number per entry of
    `indices`, or nothing if all are equal. If `partial`, only the part of a last step after
    `min_iter` is taken at which a change that shrinks evenly would reach the tolerance.
    """
    K = ratios.shape[1]
    largest = 0
    for s in range(start, stop):
        largest = max(largest, offsets[s + 1] - offsets[s])
    A = np.empty((K, largest))
    work = np.empty((2, largest))
    gains, moves = np.empty(K), np.empty(K)
    for s in range(start, stop):
        n = offsets[s + 1] - offsets[s]
        p, m, q = out[s], work[0, :n], work[1, :n]
        for i in range(n):
            for j in range(K):
                A[j, i] = ratios[indices[offsets[s] + i], j]
        mass = np.float64(n)
        if weights.size > 0:
            mass = 0.0
            for i in range(n):
                mass += weights[offsets[s] + i]
        for j in range(K):
            p[j] = origin[j]
        change, before, n_steps = np.inf, np.inf, 0
        while n_steps < max_iter and (n_steps < min_iter or change >= tols[s]):
            if K == 2 and weights.size == 0:
                _gains_of_two(A, n, p, gains)
            elif K == 2:
                item_weights = weights[offsets[s] : offsets[s + 1]]
                _weighted_gains_of_two(A, item_weights, mass, p, gains)
            else:
                mix(A, p, m)
                for i in range(n):
                    q[i] = 1.0 / (max(m[i], 1e-300) * mass)
                if weights.size > 0:
                    for i in range(n):
                        q[i] *= weights[offsets[s] + i]
                project(A, q, gains)
            before, change = change, 0.0
            for j in range(K):
                move = p[j] * (gains[j] - 1.0)
                change += move * move if by_norm else abs(move)
                p[j] += move
                moves[j] = move
            change = np.sqrt(change) if by_norm else change / K
            n_steps += 1
        if partial and n_steps > min_iter and 0.0 < change < tols[s]:
            excess = np.log(tols[s] / change) / np.log(before / change)
            for j in range(K):
                p[j] -= excess * moves[j]
        steps[s] = n_steps
        changes[s] = change
        mix(A, p, m)
        if weights.size == 0:
            values[s] = -_mean_logarithm(m)
        else:
            for i in range(n):
                q[i] = weights[offsets[s] + i] / mass
            values[s] = total(LIKELIHOOD, q, m)
