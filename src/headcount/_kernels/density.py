"""Sums of Gaussian kernels between points and the items of each class."""

from __future__ import annotations

import numpy as np
from numba import njit

_FAST = {"reassoc", "contract", "nsz"}
_TILE = 512

# exp(v) = 2^k exp(r). k is v / ln 2, rounded by adding a number so large that the fraction
# is lost. exp(r) is computed by its series, exact to the last bit or two. The compiler
# turns this into vector instructions, which it cannot do with a call of the C library.
_LOG2_E = 1.4426950408889634
_ROUND = 6755399441055744.0
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _exponentials(values, n):
    """Exponential of the first n values, each at most 0, in place; 0 for values below -700."""
    for i in range(n):
        v = max(values[i], -700.0)
        shifted = v * _LOG2_E + _ROUND
        k = shifted - _ROUND
        r = (v - k * _LN2_HIGH) - k * _LN2_LOW
        s = 1.0 / 479001600.0
        s = s * r + 1.0 / 39916800.0
        s = s * r + 1.0 / 3628800.0
        s = s * r + 1.0 / 362880.0
        s = s * r + 1.0 / 40320.0
        s = s * r + 1.0 / 5040.0
        s = s * r + 1.0 / 720.0
        s = s * r + 1.0 / 120.0
        s = s * r + 1.0 / 24.0
        s = s * r + 1.0 / 6.0
        s = s * r + 0.5
        s = s * r + 1.0
        s = s * r + 1.0
        power = np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)).view(np.float64)
        values[i] = s * power if values[i] > -700.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _exponents(group, centres, norms, first, n, out):
    """2 x.c - |c|^2, all times the scale, for four points and n centres from `first` on.

    With four points at a time, each centre is fetched once for four products.
    """
    for i in range(n):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(centres.shape[1]):
            centre = centres[first + i, k]
            a += group[0, k] * centre
            b += group[1, k] * centre
            c += group[2, k] * centre
            d += group[3, k] * centre
        norm = norms[first + i]
        out[0, i] = a - norm
        out[1, i] = b - norm
        out[2, i] = c - norm
        out[3, i] = d - norm


@njit(cache=True, nogil=True, error_model="numpy")
def _load(points, scale, first, n, group, exponents):
    """Copy points `first:first + n`, times twice the scale, into the rows of `group`.

    Their own part of the exponent, -|x|^2 times the scale, is written to `exponents`.
    """
    for r in range(n):
        exponents[r] = 0.0
        for k in range(points.shape[1]):
            group[r, k] = 2.0 * scale * points[first + r, k]
            exponents[r] -= scale * points[first + r, k] * points[first + r, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _largest(values, n):
    top = -np.inf
    for i in range(n):
        top = max(top, values[i])
    return top


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _weighted_sum(values, weights, first, n):
    total = 0.0
    for i in range(n):
        total += values[i] * weights[first + i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _add_tile(values, weights, first, n, j, sums, shift):
    """Add n kernel values, given by their exponents, to the sum of class j.

    If an exponent exceeds the shift, it becomes the new shift and the sums are rescaled.
    """
    top = _largest(values, n)
    if top > shift:
        shrink = np.exp(shift - top)
        for k in range(j + 1):
            sums[k] *= shrink
        shift = top
    for t in range(n):
        values[t] -= shift
    _exponentials(values, n)
    sums[j] += _weighted_sum(values, weights, first, n)
    return shift


@njit(cache=True, nogil=True, error_model="numpy")
def kernel_sums(points, centres, norms, weights, edges, scale, start, stop, out, shifts):
    """out[i, j] exp(shifts[i]) = sum over class j of w exp(-|x_i - c|^2 scale).

    Centres are rows sorted by class, padded with zeros to a multiple of four columns;
    class j holds edges[j]:edges[j + 1]. `norms` are |c|^2 times the scale. The shift of a
    row is its largest exponent, so that at least one class is far from underflow.
    """
    K = edges.size - 1
    buffer = np.empty((4, _TILE))
    group = np.zeros((4, centres.shape[1]))
    exponents, shift = np.empty(4), np.empty(4)
    for i in range(start, stop, 4):
        m = min(4, stop - i)
        _load(points, scale, i, m, group, exponents)
        for r in range(m):
            shift[r] = -np.inf
            for j in range(K):
                out[i + r, j] = 0.0
        for j in range(K):
            for first in range(edges[j], edges[j + 1], _TILE):
                n = min(_TILE, edges[j + 1] - first)
                _exponents(group, centres, norms, first, n, buffer)
                for r in range(m):
                    shift[r] = _add_tile(buffer[r], weights, first, n, j, out[i + r], shift[r])
        for r in range(m):
            shifts[i + r] = shift[r] + exponents[r]


@njit(cache=True, nogil=True, error_model="numpy")
def kernel_values(points, centres, norms, scale, start, stop, out):
    """out[i, t] = exp(-|x_i - c_t|^2 scale), with centres and norms as in `kernel_sums`."""
    T = centres.shape[0]
    buffer = np.empty((4, T))
    group = np.zeros((4, centres.shape[1]))
    exponents = np.empty(4)
    for i in range(start, stop, 4):
        m = min(4, stop - i)
        _load(points, scale, i, m, group, exponents)
        _exponents(group, centres, norms, 0, T, buffer)
        for r in range(m):
            values = out[i + r]
            for t in range(T):
                values[t] = min(buffer[r, t] + exponents[r], 0.0)
            _exponentials(values, T)
