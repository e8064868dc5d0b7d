"""Class distribution estimation: iterate the threshold until it agrees with its own count."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["iterate_threshold"]


@njit(cache=True, nogil=True, error_model="numpy")
def iterate_threshold(
    scores, indices, offsets, prior, tol, max_iter, start, stop, out, steps, changes
):
    """Share of positives for samples `start:stop`.

    An item is positive if its score exceeds c0 / (c0 + c1), where c0 and c1 are the ratios
    of the current shares to those in training.
    """
    for s in range(start, stop):
        n = offsets[s + 1] - offsets[s]
        ordered = np.empty(n)
        for i in range(n):
            ordered[i] = scores[indices[offsets[s] + i]]
        ordered.sort()
        threshold = 0.5
        change = np.inf
        taken = 0
        share = 0.0
        while taken < max_iter and change > tol:
            share = (n - np.searchsorted(ordered, threshold, side="right")) / n
            against, towards = (1.0 - share) / (1.0 - prior), share / prior
            before = threshold
            threshold = against / (against + towards)
            change = abs(threshold - before)
            taken += 1
        out[s] = share
        steps[s] = taken
        changes[s] = change
