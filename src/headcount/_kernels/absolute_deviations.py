"""Exact minimum of absolute deviations over one share, by a weighted median."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["least_absolute", "match_two_absolute"]


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
def match_two_absolute(profiles, seen, start, stop, out, values):
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
                corners[n] = (seen[s, b] - profiles[0, b]) / spread
                weights[n] = abs(spread)
                n += 1
        share = least_absolute(corners, weights, n)
        out[s, 0] = 1.0 - share
        out[s, 1] = share
        value = 0.0
        for b in range(bins):
            value += abs(seen[s, b] - out[s, 0] * profiles[0, b] - share * profiles[1, b])
        values[s] = value
