"""Expectation maximisation with the stopping rules of the literature."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.divergence import LIKELIHOOD, total
from headcount._kernels.matching import mix, project

__all__ = ["maximise_by_em"]


@njit(cache=True, nogil=True, error_model="numpy")
def maximise_by_em(
    ratios, indices, offsets, origin, by_norm, tols, min_iter, max_iter, start, stop,
    out, steps, changes, values,
):  # fmt: skip
    """Run EM from `origin` on samples `start:stop` until its last change is small.

    The size of a change is its mean absolute value, or its Euclidean norm if `by_norm`.
    `tols` holds the tolerance of each sample.
    """
    K = ratios.shape[1]
    largest = 0
    for s in range(start, stop):
        largest = max(largest, offsets[s + 1] - offsets[s])
    A = np.empty((K, largest))
    work = np.empty((2, largest))
    gains = np.empty(K)
    for s in range(start, stop):
        n = offsets[s + 1] - offsets[s]
        p, m, q = out[s], work[0, :n], work[1, :n]
        for i in range(n):
            for j in range(K):
                A[j, i] = ratios[indices[offsets[s] + i], j]
        for j in range(K):
            p[j] = origin[j]
        change, taken = np.inf, 0
        while taken < max_iter and (taken < min_iter or change >= tols[s]):
            mix(A, p, m)
            for i in range(n):
                q[i] = 1.0 / (max(m[i], 1e-300) * n)
            project(A, q, gains)
            change = 0.0
            for j in range(K):
                move = p[j] * (gains[j] - 1.0)
                change += move * move if by_norm else abs(move)
                p[j] += move
            change = np.sqrt(change) if by_norm else change / K
            taken += 1
        steps[s] = taken
        changes[s] = change
        mix(A, p, m)
        for i in range(n):
            q[i] = 1.0 / n
        values[s] = total(LIKELIHOOD, q, m)
