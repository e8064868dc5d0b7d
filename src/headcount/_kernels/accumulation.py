"""Sums, means and counts over the items of samples."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.draws import GOLDEN, mix


@njit(cache=True, nogil=True, error_model="numpy")
def sum_rows(values, weights, indices, offsets, start, stop, out):
    """Mean of the rows of `values` in each sample (weighted unless `weights` is empty)."""
    width = values.shape[1]
    for s in range(start, stop):
        row = out[s]
        row[:] = 0.0
        total = 0.0
        if weights.size == 0:
            for i in range(offsets[s], offsets[s + 1]):
                item = values[indices[i]]
                for j in range(width):
                    row[j] += item[j]
            total = np.float64(offsets[s + 1] - offsets[s])
        else:
            for i in range(offsets[s], offsets[s + 1]):
                item = values[indices[i]]
                weight = weights[indices[i]]
                total += weight
                for j in range(width):
                    row[j] += weight * item[j]
        for j in range(width):
            row[j] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def count_codes(codes, weights, indices, offsets, start, stop, out):
    """Share of each code among the items of each sample. An item has one code per channel."""
    channels = codes.shape[1]
    for s in range(start, stop):
        row = out[s]
        row[:] = 0.0
        total = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            item = codes[indices[i]]
            weight = 1.0 if weights.size == 0 else weights[indices[i]]
            total += weight
            for c in range(channels):
                row[item[c]] += weight
        for b in range(row.size):
            row[b] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def histogram_codes(values, j, count, offset, codes, channel):
    """Bins of column j in a histogram of [0, 1] with `count` bins, the first is `offset`."""
    for i in range(values.shape[0]):
        s = values[i, j]
        place = np.int64(min(s * count, count - 1.0))
        # Rounding can put the product slightly below a whole number.
        place += np.int64(s >= (place + 1) / count)
        codes[i, channel] = min(place, count - 1) + offset


@njit(cache=True, nogil=True, error_model="numpy")
def count_items(indices, offsets, tally, items, counts, ends):
    """Distinct items of each sample in ascending order, and how often each is there.

    `tally` has a zero for every item of the pool. ``ends[s + 1]`` is the end of sample s.
    `items` and `counts` have room for one item more than there can be.
    """
    place = 0
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            tally[indices[i]] += 1
        for item in range(tally.size):
            # Without a branch, which no processor could predict.
            items[place], counts[place] = item, tally[item]
            place += np.int64(tally[item] > 0)
            tally[item] = 0
        ends[s + 1] = place


@njit(cache=True, nogil=True, error_model="numpy")
def _moment(scores, weights, ratio, out):
    """Posteriors under the shares of the sample, divided by 1 + ratio times the mean weight."""
    K = scores.size
    first = second = 0.0
    for j in range(K):
        first += scores[j] * weights[j]
        second += scores[j] * weights[j] * weights[j]
    for j in range(K):
        out[j] = scores[j] * weights[j] / (first + ratio * second)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_means(
    train, codes, masses, items, indices, offsets, weights, ratios, start, stop,
    profiles, observed,
):  # fmt: skip
    """Mean moments of classes, into `profiles` (S, K, K), and of samples, into `observed`.

    `masses` are the weights of the training items, which sum to 1 in each class, `weights`
    (S, K) those of the classes in each sample, and `ratios` (S,) the numbers of its items per
    training item.
    """
    n, K = train.shape
    moment = np.empty(K)
    for s in range(start, stop):
        profiles[s] = 0.0
        observed[s] = 0.0
        for i in range(n):
            _moment(train[i], weights[s], ratios[s], moment)
            for j in range(K):
                profiles[s, codes[i], j] += masses[i] * moment[j]
        count = offsets[s + 1] - offsets[s]
        for i in range(offsets[s], offsets[s + 1]):
            _moment(items[indices[i]], weights[s], ratios[s], moment)
            for j in range(K):
                observed[s, j] += moment[j] / count


FIXED_POINT = 2.0**30
"""Number that stands for 1 in sums."""
FINEST = 2.0**31
"""Parts that a multiple of 2**-30 is divided into, for remainders."""
LEADING_BITS = 46
"""Shift that leaves the exponent of a number and the first six bits of its fraction."""

# Numbers that are converted at a time, in the caches next to a processor.
_BLOCK = 2048
# Columns up to this number are added one by one.
_FEW_COLUMNS = 8

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
    wholes, rests = np.empty((block, width), np.int64), np.empty((block, width), np.int64)
    for first in range(0, n, block):
        members = groups[first : first + block]
        wholes[:] = 0
        rests[:] = 0
        for start in range(first, n_rows, n):
            entries = flat[start * width : (start + members.size) * width]
            _add_fixed(entries, wholes.reshape(-1), rests.reshape(-1))
        _add_to_groups(wholes, rests, members, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_to_groups(wholes, rests, groups, out):
    """Add rows of wholes and of remainders to the sums of their groups."""
    width = wholes.shape[1]
    if width > _FEW_COLUMNS:
        for i in range(groups.size):
            sums = out[groups[i]]
            for j in range(width):
                sums[0, j] += wholes[i, j]
                sums[1, j] += rests[i, j]
        return
    # A loop over few columns takes longer than what it adds.
    for j in range(width):
        column, of_wholes, of_rests = out[:, :, j], wholes[:, j], rests[:, j]
        for i in range(groups.size):
            pair = column[groups[i]]
            pair[0] += of_wholes[i]
            pair[1] += of_rests[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_codes(codes, groups, out):
    """Count the codes of rows by group. A row has one code per channel."""
    one = np.int64(FIXED_POINT)
    counts = out[:, 0]
    for start in range(0, codes.shape[0], groups.size):
        for c in range(codes.shape[1]):
            for i in range(groups.size):
                counts[np.uint64(groups[i]), np.uint64(codes[start + i, c])] += one


@njit(cache=True, nogil=True, error_model="numpy")
def number_distinct(words, second_words, start, n_known, slots, pairs, first, codes):
    """Number the distinct pairs of words as they come, of rows from `start` on.

    `pairs` are the `n_known` pairs that came before, with the row of each in `first`. New
    pairs are added to both, and `codes` has the numbers of the rows. `slots` is a table for
    hashing, -1 everywhere at first, with a power of two as its size. Returns the number of
    distinct pairs, or -1 if they are more than half of the slots.
    """
    mask = np.uint64(slots.size - 1)
    for i in range(words.size):
        word, second = words[i], second_words[i]
        place = word & mask
        code = slots[place]
        while code >= 0 and (pairs[code, 0] != word or pairs[code, 1] != second):
            place = (place + np.uint64(1)) & mask
            code = slots[place]
        if code < 0:
            if 2 * n_known == slots.size:
                return -1
            code = n_known
            slots[place] = code
            pairs[code, 0], pairs[code, 1] = word, second
            first[code] = start + i
            n_known += 1
        codes[start + i] = code
    return n_known


@njit(cache=True, nogil=True, error_model="numpy")
def _logit_cell(s, edges, starts, base):
    """Cell of a posterior s, by the leading bits of the smaller one of s and 1 - s.

    `edges` are the lower ends of the cells below 1/2, and an infinite one. `starts` has the
    cell of the lowest number with the leading bits `base`, `base` + 1 and so on, up to those
    of 1/2. At most one edge has the same leading bits. Cells above 1/2 mirror those below.
    """
    smaller = np.float64(min(s, 1.0 - s))
    leading = smaller.view(np.int64) >> LEADING_BITS
    cell = starts[np.uint64(max(leading - base, 0))]
    # Without branches, which no processor could predict.
    cell += np.int64(smaller >= edges[np.uint64(cell + 1)])
    return 2 * edges.size - 3 - cell if s >= 0.5 else cell


@njit(cache=True, nogil=True, error_model="numpy")
def logit_cells(posteriors, edges, starts, base, cells, fixed):
    """Cells of rows of two classes, and their posteriors in fixed point."""
    for i in range(posteriors.shape[0]):
        s = posteriors[i, 1]
        cells[i] = _logit_cell(s, edges, starts, base)
        fixed[i] = np.int64(np.rint(s * FIXED_POINT))


@njit(cache=True, nogil=True, error_model="numpy")
def add_logit_cells(posteriors, edges, starts, base, groups, start, stop, out):
    """Add items `start:stop` to the cells of their groups: number of rows, and their sum."""
    cells, fixed = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for first in range(start, stop, _BLOCK):
        members = groups[first : min(first + _BLOCK, stop)]
        for row in range(first, posteriors.shape[0], groups.size):
            # Two loops take half as long as one that does both.
            rows = posteriors[row : row + members.size]
            logit_cells(rows, edges, starts, base, cells, fixed)
            for i in range(members.size):
                group, cell = np.uint64(members[i]), np.uint64(cells[i])
                out[group, cell, 0] += 1
                out[group, cell, 1] += fixed[i]


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
    for start in range(0, posteriors.shape[0], groups.size):
        for i in range(groups.size):
            beyond = False
            for k in range(low.size):
                s = posteriors[start + i, k]
                beyond |= (s < low[k]) | (s > high[k])
            if beyond:
                out[groups[i], 0, 0] += one


@njit(cache=True, nogil=True, error_model="numpy")
def ranks_of(column, values, lines, edge, starts, least, out):
    """Ranks of a column of posteriors among training values, as `add_rank_moments` has them."""
    B, one = starts.size - 1, np.uint64(1)
    for i in range(column.size):
        s = column[i] if column[i] >= least else 0.0
        b = np.uint64(min(np.int64(s * B), B - 1))
        low, size = np.uint64(edge + starts[b]), np.uint64(starts[b + one] - starts[b])
        # The number of values up to s, by halving.
        while size > one:
            half = size >> one
            low += half * np.uint64(values[low + half - one] <= s)
            size -= half
        low += np.uint64(values[low] <= s) * size
        out[i] = lines[low, 2] * (s - lines[low, 0]) + lines[low, 1]


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
    ranks, polynomial = np.empty(_BLOCK), np.empty(_BLOCK)
    wholes, rests = np.empty((degrees, _BLOCK), np.int64), np.empty((degrees, _BLOCK), np.int64)
    for begin in range(0, n, _BLOCK):
        members = groups[begin : begin + _BLOCK]
        x, y = ranks[: members.size], polynomial[: members.size]
        for c in range(starts.shape[0]):
            wholes[:] = 0
            rests[:] = 0
            for start in range(begin, n_rows, n):
                column = posteriors[start : start + members.size, first + c]
                ranks_of(column, values, lines, edges[c], starts[c], least, x)
                for d in range(degrees):
                    _legendre(x, d + 1, y)
                    _add_fixed(y, wholes[d], rests[d])
            sums = out[:, :, c * degrees : (c + 1) * degrees]
            _add_to_groups(wholes.T, rests.T, members, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def bin_entries(values, columns, cuts, edges, out):
    """Number of the cuts of an entry's column that lie below its value.

    The cuts of column j are cuts[edges[j]:edges[j + 1]], in ascending order.
    """
    for e in range(values.size):
        left, right = edges[columns[e]], edges[columns[e] + 1]
        first = left
        while left < right:
            middle = (left + right) // 2
            if cuts[middle] < values[e]:
                left = middle + 1
            else:
                right = middle
        out[e] = left - first


@njit(cache=True, nogil=True, error_model="numpy")
def count_entries(
    rows, codes, homes, zeros, weights, indices, offsets, start, stop, out,
):  # fmt: skip
    """Share of each code among the items of each sample. An item has one code per column.

    Item i has the entries rows[i]:rows[i + 1], each with its code and with the code of zero
    in its column (its home). `zeros` holds the code of zero for every column, which an item
    has where it has no entry.
    """
    for s in range(start, stop):
        row = out[s]
        row[:] = 0.0
        total = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            item = indices[i]
            weight = 1.0 if weights.size == 0 else weights[item]
            total += weight
            for e in range(rows[item], rows[item + 1]):
                row[codes[e]] += weight
                row[homes[e]] -= weight
        for j in range(zeros.size):
            # Negative only by rounding.
            row[zeros[j]] = max(0.0, row[zeros[j]] + total)
        for b in range(row.size):
            row[b] /= total
