"""Adjusted counts over many thresholds, and their median."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _select(values, n, k):
    """K-th smallest of the first n values, which are reordered (Hoare's selection)."""
    left, right = 0, n - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break
    return values[k]


@njit(cache=True, nogil=True, error_model="numpy")
def median_sweep(
    codes, indices, offsets, thresholds, false_rates, spreads, n_codes, start, stop, out
):
    """Median over thresholds of (share at or above - false rate) / spread, per sample.

    The code of an item is the number of thresholds at or below its score. `thresholds` are the
    numbers of the thresholds, with `false_rates` and `spreads` in the same order.
    """
    counts = np.empty(n_codes)
    ratios = np.empty(thresholds.size)
    middle = thresholds.size // 2
    for s in range(start, stop):
        for c in range(n_codes):
            counts[c] = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            counts[codes[indices[i]]] += 1.0
        above = 0.0
        for c in range(n_codes - 1, -1, -1):
            above += counts[c]
            counts[c] = above  # items with a code of c or more
        size = np.float64(offsets[s + 1] - offsets[s])
        for t in range(thresholds.size):
            ratios[t] = (counts[thresholds[t] + 1] / size - false_rates[t]) / spreads[t]
        upper = _select(ratios, thresholds.size, middle)
        if thresholds.size % 2 == 0:
            lower = ratios[0]
            for t in range(1, middle):
                lower = max(lower, ratios[t])
            upper = 0.5 * (lower + upper)
        out[s] = upper
