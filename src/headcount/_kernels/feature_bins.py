"""Bins of features in sparse tables."""

from __future__ import annotations

from numba import njit

__all__ = ["bin_entries", "count_entries"]


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
