"""Sums over the items of each group, in whole numbers, so that their order is irrelevant.

A value is split into a multiple of 2**-30 and a remainder, a multiple of 2**-61. Both are
added as whole numbers, in ``out[group, 0]`` and ``out[group, 1]``. Such sums are the same for
every partition of the items, every order and every number of threads.

Items that several classifiers have scored have several rows: with n groups in `groups`, one
per item, rows i, i + n, i + 2 n and so on are of item i. They are added before the sum of the
group is, which is in memory.

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
    "ranks_of",
    "ratio_bins",
]

FIXED_POINT = 2.0**30
"""Number that stands for 1 in sums."""
FINEST = 2.0**31
"""Parts that a multiple of 2**-30 is divided into, for remainders."""
LEADING_BITS = 46
"""Shift that leaves the exponent of a number and the first six bits of its fraction."""

# Numbers that are converted at a time, in the caches next to a processor.
_BLOCK = 2048

_mix = njit(cache=True, nogil=True)(mix)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_fixed(values, wholes, rests):
    """Add values to wholes and remainders, several at once, as no step depends on another."""
    for i in range(values.size):
        scaled = values[i] * FIXED_POINT
        rounded = np.rint(scaled)
        wholes[i] += np.int64(rounded)
        rests[i] += np.int64(np.rint((scaled - rounded) * FINEST))


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(values, groups, out):
    """Add rows to the sums of their groups."""
    (n_rows, width), n = values.shape, groups.size
    flat = values.reshape(-1)
    block = max(1, _BLOCK // width)
    wholes, rests = np.empty(block * width, np.int64), np.empty(block * width, np.int64)
    for first in range(0, n, block):
        stop = min(first + block, n)
        m = (stop - first) * width
        wholes[:] = 0
        rests[:] = 0
        for start in range(first, n_rows, n):
            own = flat[start * width : start * width + m]
            _add_fixed(own, wholes, rests)
        for i in range(first, stop):
            sums = out[groups[i]]
            for j in range(width):
                sums[0, j] += wholes[(i - first) * width + j]
                sums[1, j] += rests[(i - first) * width + j]


@njit(cache=True, nogil=True, error_model="numpy")
def add_codes(codes, groups, out):
    """Count the codes of rows by group. A row has one code per channel."""
    one = np.int64(FIXED_POINT)
    for i in range(groups.size):
        own = out[groups[i], 0]
        for row in range(i, codes.shape[0], groups.size):
            for c in range(codes.shape[1]):
                own[codes[row, c]] += one


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
    """Cells of rows `start:stop` of two classes, and their posteriors in fixed point."""
    for i in range(start, stop):
        s = posteriors[i, 1]
        cells[i] = _logit_cell(s, edges, starts, base)
        fixed[i] = np.int64(np.rint(s * FIXED_POINT))


@njit(cache=True, nogil=True, error_model="numpy")
def add_logit_cells(posteriors, edges, starts, base, groups, start, stop, out):
    """Add items `start:stop` to the cells of their groups: number of rows, and their sum."""
    for i in range(start, stop):
        # Cells of the rows of an item are next to each other in memory.
        own = out[groups[i]]
        for row in range(i, posteriors.shape[0], groups.size):
            s = posteriors[row, 1]
            cell = own[_logit_cell(s, edges, starts, base)]
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
def add_outside(posteriors, low, high, groups, out):
    """Count rows with a posterior outside [low, high], by group."""
    one = np.int64(FIXED_POINT)
    for i in range(groups.size):
        number = 0
        for row in range(i, posteriors.shape[0], groups.size):
            beyond = False
            for k in range(low.size):
                s = posteriors[row, k]
                beyond |= (s < low[k]) | (s > high[k])
            number += beyond
        out[groups[i], 0, 0] += one * number


@njit(cache=True, nogil=True, error_model="numpy")
def ranks_of(column, values, lines, edge, starts, least, out):
    """Ranks of a column of posteriors among training values, as `add_rank_moments` has them."""
    B = starts.size - 1
    for i in range(column.size):
        s = column[i]
        if s < least:
            s = 0.0
        b = min(np.int64(s * B), B - 1)
        low, size = edge + starts[b], starts[b + 1] - starts[b]
        # The number of values up to s, by halving.
        while size > 1:
            half = size // 2
            low += half * np.int64(values[low + half - 1] <= s)
            size -= half
        low += np.int64(values[low] <= s) * size
        line = lines[low]
        out[i] = line[2] * (s - line[0]) + line[1]


@njit(cache=True, nogil=True, error_model="numpy")
def _legendre(x, degree, out):
    """Legendre polynomial of degree 1, 2 or 3."""
    for i in range(x.size):
        if degree == 1:
            out[i] = x[i]
        elif degree == 2:
            out[i] = 1.5 * x[i] * x[i] - 0.5
        else:
            out[i] = 0.5 * (5.0 * x[i] * x[i] * x[i] - 3.0 * x[i])


@njit(cache=True, nogil=True, error_model="numpy")
def add_rank_moments(
    posteriors, first, values, lines, edges, starts, degrees, least, groups, out
):
    """Add Legendre polynomials of the ranks of rows to the sums of their groups.

    The values of column c among the training items are edges[c]:edges[c + 1], each column
    with one more, infinite. ``lines[k]`` has a value, its rank and the slope of the ranks
    from it up to values[k]. `starts[c, b]` is the number of values up to b / B, which narrows
    the search.
    """
    n_rows, n = posteriors.shape[0], groups.size
    x, y = np.empty(n_rows), np.empty(n)
    wholes, rests = np.empty(n, np.int64), np.empty(n, np.int64)
    for c in range(starts.shape[0]):
        column = posteriors[:, first + c]
        ranks_of(column, values, lines, edges[c], starts[c], least, x)
        for degree in range(1, degrees + 1):
            wholes[:] = 0
            rests[:] = 0
            for start in range(0, n_rows, n):
                _legendre(x[start : start + n], degree, y)
                _add_fixed(y, wholes, rests)
            place = c * degrees + degree - 1
            for i in range(n):
                own = out[groups[i]]
                own[0, place] += wholes[i]
                own[1, place] += rests[i]
