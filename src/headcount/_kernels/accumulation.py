"""Sums over the items of each group, in whole numbers, so that their order is irrelevant.

A value is split into a multiple of 2**-30 and a remainder, a multiple of 2**-61. Both are
added as whole numbers, in ``out[group, 0]`` and ``out[group, 1]``. Such sums are the same for
every partition of the items, every order and every number of threads.

Hashes are computed modulo 2**64. Without compilation numpy warns of the overflow that this
relies on: call under ``np.errstate(over="ignore")``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.stratified_draws import GOLDEN, mix

__all__ = [
    "FINEST",
    "FIXED_POINT",
    "LEADING_BITS",
    "add_codes",
    "add_integers",
    "add_logit_cells",
    "add_outside",
    "add_rank_moments",
    "add_rows",
    "logit_cells",
    "number_distinct",
    "ratio_bins",
]

FIXED_POINT = 2.0**30
"""Number that stands for 1 in sums."""
FINEST = 2.0**31
"""Parts that a multiple of 2**-30 is divided into, for remainders."""
LEADING_BITS = 46
"""Shift that leaves the exponent of a number and the first six bits of its fraction."""

_mix = njit(cache=True, nogil=True)(mix)


@njit(cache=True, nogil=True, error_model="numpy")
def _add(value, whole, rest, j):
    """Add a value to entry j of sums of wholes and of remainders."""
    scaled = value * FIXED_POINT
    rounded = np.rint(scaled)
    whole[j] += np.int64(rounded)
    rest[j] += np.int64(np.rint((scaled - rounded) * FINEST))


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(values, groups, start, stop, out):
    """Add rows `start:stop` to the sums of their groups; returns the largest absolute value."""
    width = values.shape[1]
    largest = 0.0
    for i in range(start, stop):
        whole, rest = out[groups[i], 0], out[groups[i], 1]
        for j in range(width):
            value = values[i, j]
            largest = max(largest, abs(value))
            _add(value, whole, rest, j)
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def add_codes(codes, groups, start, stop, out):
    """Count the codes of items `start:stop` by group. An item has one code per channel."""
    one = np.int64(FIXED_POINT)
    for i in range(start, stop):
        row = out[groups[i], 0]
        for c in range(codes.shape[1]):
            row[codes[i, c]] += one


@njit(cache=True, nogil=True, error_model="numpy")
def number_distinct(words, others, slots, codes, first):
    """Number the distinct pairs of words as they come; `first` has the first place of each.

    `slots` is a table for hashing, -1 everywhere, with a power of two as its size. Returns
    the number of distinct pairs, or -1 if they are more than half of the slots.
    """
    mask = np.uint64(slots.size - 1)
    n_distinct = 0
    for i in range(words.size):
        place = words[i] & mask
        code = slots[place]
        while code >= 0 and (
            words[first[code]] != words[i] or others[first[code]] != others[i]
        ):
            place = (place + np.uint64(1)) & mask
            code = slots[place]
        if code < 0:
            if 2 * n_distinct == slots.size:
                return -1
            code = n_distinct
            slots[place] = code
            first[code] = i
            n_distinct += 1
        codes[i] = code
    return n_distinct


@njit(cache=True, nogil=True, error_model="numpy")
def _logit_cell(s, edges, starts, base):
    """Cell of a posterior s, by the leading bits of the smaller one of s and 1 - s.

    `edges` are the lower ends of the cells below 1/2, and an infinite one. `starts` has the
    cell of the lowest number with the leading bits `base`, `base` + 1 and so on, up to those
    of 1/2. At most one edge has the same leading bits. Cells above 1/2 mirror those below.
    """
    smaller = np.float64(min(s, 1.0 - s))
    leading = smaller.view(np.int64) >> LEADING_BITS
    cell = starts[max(leading - base, 0)]
    # Without branches, which no processor could predict.
    cell += np.int64(smaller >= edges[cell + 1])
    return cell + np.int64(s >= 0.5) * (2 * edges.size - 3 - 2 * cell)


@njit(cache=True, nogil=True, error_model="numpy")
def logit_cells(posteriors, edges, starts, base, start, stop, cells, fixed):
    """Cells of items `start:stop` of two classes, and their posteriors in fixed point."""
    for i in range(start, stop):
        s = posteriors[i, 1]
        cells[i] = _logit_cell(s, edges, starts, base)
        fixed[i] = np.int64(np.rint(s * FIXED_POINT))


@njit(cache=True, nogil=True, error_model="numpy")
def add_logit_cells(posteriors, edges, starts, base, groups, start, stop, out):
    """Add items `start:stop` to the cells of their groups: their number, and their sum."""
    for i in range(start, stop):
        s = posteriors[i, 1]
        cell = out[groups[i], _logit_cell(s, edges, starts, base)]
        cell[0] += 1
        cell[1] += np.int64(np.rint(s * FIXED_POINT))


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
            beyond |= (s < low[k]) | (s > high[k])
        out[groups[i], 0, 0] += one * beyond


@njit(cache=True, nogil=True, error_model="numpy")
def add_rank_moments(
    posteriors, first, values, lines, edges, starts, degrees, least, groups, start, stop, out
):
    """Add Legendre polynomials of the ranks of items `start:stop` to the sums of their groups.

    The values of column c among the training items are edges[c]:edges[c + 1], each column
    with one more, infinite. ``lines[k]`` has a value, its rank and the slope of the ranks
    from it up to values[k]. `starts[c, b]` is the number of values up to b / B, which narrows
    the search.
    """
    n_columns, B = starts.shape[0], starts.shape[1] - 1
    for i in range(start, stop):
        whole, rest = out[groups[i], 0], out[groups[i], 1]
        for c in range(n_columns):
            s = posteriors[i, first + c]
            if s < least:
                s = 0.0
            b = min(np.int64(s * B), B - 1)
            low, size = edges[c] + starts[c, b], starts[c, b + 1] - starts[c, b]
            # The number of values up to s, by halving.
            while size > 1:
                half = size // 2
                low += half * np.int64(values[low + half - 1] <= s)
                size -= half
            low += np.int64(values[low] <= s) * size
            line = lines[low]
            x = line[2] * (s - line[0]) + line[1]
            place = c * degrees
            _add(x, whole, rest, place)
            _add(1.5 * x * x - 0.5, whole, rest, place + 1)
            if degrees == 3:
                _add(0.5 * (5.0 * x * x * x - 3.0 * x), whole, rest, place + 2)
