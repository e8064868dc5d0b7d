"""Sums over the items of each group, in whole numbers, so that their order is irrelevant.

A value is rounded to a multiple of 2**-30. Sums of whole numbers are the same for every
partition of the items, every order and every number of threads.

Hashes are computed modulo 2**64. Without compilation numpy warns of the overflow that this
relies on: call under ``np.errstate(over="ignore")``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.stratified_draws import GOLDEN, mix

__all__ = [
    "FIXED_POINT",
    "add_codes",
    "add_integers",
    "add_logit_cells",
    "add_outside",
    "add_rank_moments",
    "add_rows",
    "logit_cells",
    "ratio_bins",
]

FIXED_POINT = 2.0**30
"""Number that stands for 1 in sums."""

_mix = njit(cache=True, nogil=True)(mix)


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(values, groups, start, stop, out):
    """Add rows `start:stop` to the sums of their groups; returns the largest absolute value."""
    width = values.shape[1]
    largest = 0.0
    for i in range(start, stop):
        row = out[groups[i]]
        for j in range(width):
            value = values[i, j]
            largest = max(largest, abs(value))
            row[j] += np.int64(np.rint(value * FIXED_POINT))
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def add_codes(codes, groups, start, stop, out):
    """Count the codes of items `start:stop` by group. An item has one code per channel."""
    one = np.int64(FIXED_POINT)
    for i in range(start, stop):
        row = out[groups[i]]
        for c in range(codes.shape[1]):
            row[codes[i, c]] += one


@njit(cache=True, nogil=True, error_model="numpy")
def _logit_cell(s, reach, n_cells):
    """Cell of a posterior, of `n_cells` of equal width of the logit from -reach to reach."""
    if s <= 0.0:
        return 0
    if s >= 1.0:
        return n_cells - 1
    logit = min(max(np.log(s / (1.0 - s)), -reach), reach)
    return min(np.int64((logit + reach) * (n_cells / (2.0 * reach))), n_cells - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def logit_cells(posteriors, reach, n_cells, start, stop, cells, fixed):
    """Cells of items `start:stop`, and their posteriors in fixed point."""
    for i in range(start, stop):
        cells[i] = _logit_cell(posteriors[i], reach, n_cells)
        fixed[i] = np.int64(np.rint(posteriors[i] * FIXED_POINT))


@njit(cache=True, nogil=True, error_model="numpy")
def add_logit_cells(posteriors, groups, reach, start, stop, counts, sums):
    """Add items `start:stop` to the cells of their groups: their number, and their sum.

    `posteriors` are those of the second class.
    """
    n_cells = counts.shape[1]
    for i in range(start, stop):
        cell = _logit_cell(posteriors[i], reach, n_cells)
        counts[groups[i], cell] += 1
        sums[groups[i], cell] += np.int64(np.rint(posteriors[i] * FIXED_POINT))


@njit(cache=True, nogil=True, error_model="numpy")
def add_integers(values, groups, start, stop, out):
    """Count rows `start:stop` of their groups, and add their whole numbers."""
    for i in range(start, stop):
        row = out[groups[i]]
        row[0] += 1
        for j in range(values.shape[1]):
            row[j + 1] += values[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def ratio_bins(posteriors, start, stop, bins, fixed, largest, hashes):
    """Bins of the ratios to each item's largest posterior, and a hash of each item.

    `bins` are 1/16 wide along the logarithm, from 0 for the largest posterior to 64, and get
    wider from there on, up to bin 96. `fixed` are the posteriors in fixed point, and
    `largest` the class with the largest. The hash depends on `fixed` alone. An item that is
    certainly of class j has the hash j.
    """
    K = posteriors.shape[1]
    certain = np.int64(FIXED_POINT)
    for i in range(start, stop):
        top = 0
        for k in range(1, K):
            if posteriors[i, k] > posteriors[i, top]:
                top = k
        largest[i] = top
        word = GOLDEN
        sure = -1
        for k in range(K):
            s = posteriors[i, k]
            place = 96.0
            if s > 0.0:
                place = 16.0 * np.log(posteriors[i, top] / s)
                if place > 64.0:
                    place = 96.0 - 32.0 * np.exp((64.0 - place) / 32.0)
            bins[i, k] = np.uint8(place)
            fixed[i, k] = np.int64(np.rint(s * FIXED_POINT))
            if fixed[i, k] == certain:
                sure = k
            word = _mix(word + np.uint64(fixed[i, k]) + GOLDEN)
        # Only items that are certain have small hashes, and are kept by every sample.
        hashes[i] = np.uint64(sure) if sure >= 0 else max(word, np.uint64(K))


@njit(cache=True, nogil=True, error_model="numpy")
def add_outside(posteriors, low, high, groups, start, stop, out):
    """Count items `start:stop` with a posterior outside [low, high], by group."""
    one = np.int64(FIXED_POINT)
    for i in range(start, stop):
        beyond = False
        for k in range(low.size):
            s = posteriors[i, k]
            beyond = beyond or s < low[k] or s > high[k]
        if beyond:
            out[groups[i], 0] += one


@njit(cache=True, nogil=True, error_model="numpy")
def add_rank_moments(
    posteriors, first, values, ranks, edges, starts, degrees, least, groups, start, stop, out
):
    """Add Legendre polynomials of the ranks of items `start:stop` to the sums of their groups.

    The values of column c among the training items are edges[c]:edges[c + 1], with their
    ranks. `starts[c, b]` is the number of values up to b / B, which narrows the search.
    """
    n_columns, B = starts.shape[0], starts.shape[1] - 1
    for i in range(start, stop):
        row = out[groups[i]]
        for c in range(n_columns):
            s = posteriors[i, first + c]
            if s < least:
                s = 0.0
            b = min(np.int64(s * B), B - 1)
            low, high = edges[c] + starts[c, b], edges[c] + starts[c, b + 1]
            # The number of values up to s, by halving.
            while low < high:
                middle = (low + high) // 2
                if values[middle] <= s:
                    low = middle + 1
                else:
                    high = middle
            if low == edges[c]:
                x = ranks[low]
            elif low == edges[c + 1] or values[low - 1] == s:
                x = ranks[low - 1]
            else:
                gap = values[low] - values[low - 1]
                slope = (ranks[low] - ranks[low - 1]) / gap
                x = slope * (s - values[low - 1]) + ranks[low - 1]
            place = c * degrees
            row[place] += np.int64(np.rint(x * FIXED_POINT))
            row[place + 1] += np.int64(np.rint((1.5 * x * x - 0.5) * FIXED_POINT))
            if degrees == 3:
                cubic = 0.5 * (5.0 * x * x * x - 3.0 * x)
                row[place + 2] += np.int64(np.rint(cubic * FIXED_POINT))
