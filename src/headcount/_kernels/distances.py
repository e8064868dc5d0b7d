"""Mean absolute distances between numbers, by one sweep over sorted values."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def add_mean_distances(points, order, centres, classes, weights, out):
    """Add to out[i, j] the weighted mean of |points[i] - c| over the centres of class j.

    `order` sorts the points. `centres` are sorted, with their classes and weights. The
    weights of a class sum to 1.
    """
    K = out.shape[1]
    below = np.zeros(K)  # weight of the centres passed so far
    reach = np.zeros(K)  # and their weighted sum
    totals = np.zeros(K)
    for c in range(centres.size):
        totals[classes[c]] += weights[c] * centres[c]
    c = 0
    for i in range(order.size):
        x = points[order[i]]
        while c < centres.size and centres[c] <= x:
            below[classes[c]] += weights[c]
            reach[classes[c]] += weights[c] * centres[c]
            c += 1
        for j in range(K):
            out[order[i], j] += x * (2.0 * below[j] - 1.0) + totals[j] - 2.0 * reach[j]


_FAST = {"reassoc", "contract", "nsz"}
_TILE, _BLOCK = 64, 256
# Squared distances of sparse points below this share of the squared norms are recomputed.
_NEAR = 1e-6


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _squares(group, centres, first, n, out):
    """|x - c|^2 for four points and n centres from `first` on, n even.

    With four points and two centres at a time, each fetched number serves several pairs.
    """
    for i in range(0, n, 2):
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(centres.shape[1]):
            one, two = centres[first + i, k], centres[first + i + 1, k]
            w, x, y, z = group[0, k], group[1, k], group[2, k], group[3, k]
            a += (w - one) * (w - one)
            b += (x - one) * (x - one)
            c += (y - one) * (y - one)
            d += (z - one) * (z - one)
            e += (w - two) * (w - two)
            f += (x - two) * (x - two)
            g += (y - two) * (y - two)
            h += (z - two) * (z - two)
        out[0, i], out[1, i], out[2, i], out[3, i] = a, b, c, d
        out[0, i + 1], out[1, i + 1], out[2, i + 1], out[3, i + 1] = e, f, g, h


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _sum_of_roots(squares, weights, first, left, right):
    total = 0.0
    for c in range(left, right):
        total += weights[c] * np.sqrt(squares[c - first])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def add_distances(points, centres, weights, edges, start, stop, out):
    """Add to out[i, j] the weighted sum of |points[i] - c| over the centres c of class j.

    Class j has the centres edges[j]:edges[j + 1]. Their total number is even, padded with
    one of weight zero, and their columns are padded with zeros.
    """
    squares = np.empty((4, _TILE))
    group = np.zeros((4, centres.shape[1]))
    for block in range(start, stop, _BLOCK):
        end = min(block + _BLOCK, stop)
        # A tile of centres stays in the cache for a block of points.
        for first in range(0, centres.shape[0], _TILE):
            last = min(first + _TILE, centres.shape[0])
            for i in range(block, end, 4):
                n = min(4, end - i)
                for r in range(n):
                    for k in range(points.shape[1]):
                        group[r, k] = points[i + r, k]
                _squares(group, centres, first, last - first, squares)
                for j in range(out.shape[1]):
                    left, right = max(edges[j], first), min(edges[j + 1], last)
                    if left < right:
                        for r in range(n):
                            out[i + r, j] += _sum_of_roots(
                                squares[r], weights, first, left, right
                            )


@njit(cache=True, nogil=True, error_model="numpy")
def squared_norms(rows, values):
    """Squared norm of each row of a sparse matrix."""
    out = np.zeros(rows.size - 1)
    for i in range(out.size):
        for e in range(rows[i], rows[i + 1]):
            out[i] += values[e] * values[e]
    return out


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _to_squares(products, norm, norms):
    """Turn inner products into |x - c|^2, in place; count those too small to be accurate.

    |x|^2 + |c|^2 - 2 x.c loses its digits where x and c nearly agree.
    """
    near = 0
    for c in range(products.size):
        norm_sum = norm + norms[c]
        square = norm_sum - 2.0 * products[c]
        near += square < _NEAR * norm_sum
        products[c] = max(square, 0.0)
    return near


@njit(cache=True, nogil=True, error_model="numpy")
def _square_of_difference(rows, columns, values, i, other_rows, other_columns, other_values, c):
    """|x - c|^2 of two sparse rows with sorted columns."""
    square = 0.0
    e, f = rows[i], other_rows[c]
    while e < rows[i + 1] or f < other_rows[c + 1]:
        if f == other_rows[c + 1] or (e < rows[i + 1] and columns[e] < other_columns[f]):
            square += values[e] ** 2
            e += 1
        elif e == rows[i + 1] or other_columns[f] < columns[e]:
            square += other_values[f] ** 2
            f += 1
        else:
            square += (values[e] - other_values[f]) ** 2
            e += 1
            f += 1
    return square


@njit(cache=True, nogil=True, error_model="numpy")
def add_sparse_distances(
    rows, columns, values, centre_rows, centre_columns, centre_values,
    postings, posted, posted_values, norms, centre_norms, weights, edges, start, stop, out,
):  # fmt: skip
    """Do the same as `add_distances` for sparse points start:stop and sparse centres.

    The centres are given twice: by row, and by column as `postings` (column k has the
    entries postings[k]:postings[k + 1], each with its centre and its value).
    """
    squares = np.empty(centre_norms.size)
    for i in range(start, stop):
        squares[:] = 0.0
        for e in range(rows[i], rows[i + 1]):
            value = values[e]
            for f in range(postings[columns[e]], postings[columns[e] + 1]):
                squares[posted[f]] += value * posted_values[f]
        if _to_squares(squares, norms[i], centre_norms) > 0:
            for c in range(squares.size):
                if squares[c] < _NEAR * (norms[i] + centre_norms[c]):
                    squares[c] = _square_of_difference(
                        rows, columns, values, i, centre_rows, centre_columns, centre_values, c
                    )
        for j in range(out.shape[1]):
            out[i, j] += _sum_of_roots(squares, weights, 0, edges[j], edges[j + 1])
