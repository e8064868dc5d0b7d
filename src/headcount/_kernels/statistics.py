"""Sums over the items of each sample."""

from __future__ import annotations

import numpy as np
from numba import njit


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
    train,
    codes,
    masses,
    items,
    indices,
    offsets,
    weights,
    ratios,
    start,
    stop,
    profiles,
    observed,
):
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
