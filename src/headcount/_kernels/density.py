"""Gaussian kernel sums: how close each point is to the items of each class."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["kernel_sums", "kernel_values"]

_FAST = {"reassoc", "contract", "nsz"}
_TILE = 512

# exp(v) = 2^k exp(r): k rounds v / ln 2, found by adding a number so large that the
# fraction falls off; exp(r) by its series, exact to the last bit or two. The compiler
# turns this into vector instructions, which it cannot do with a call of the C library.
_LOG2_E = 1.4426950408889634
_ROUND = 6755399441055744.0
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _exponentials(values, n):
    """Exp of the first n values, each at most 0, in place; below -700 it is 0."""
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
def _exponents(point, centres, first, n, scale, out):
    """-|point - c|^2 * scale for n centres (held as columns) from `first` on."""
    for i in range(n):
        out[i] = 0.0
    for k in range(point.size):
        here = point[k]
        for i in range(n):
            apart = here - centres[k, first + i]
            out[i] -= apart * apart
    for i in range(n):
        out[i] *= scale


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
def kernel_sums(points, centres, weights, edges, scale, start, stop, out, shifts):
    """out[i, j] exp(shifts[i]) = sum over class j of w exp(-|x_i - c|^2 scale).

    Centres are columns, sorted by class; class j holds edges[j]:edges[j + 1]. The shift
    of a row is its largest exponent, so that at least one class is far from underflow.
    """
    K = edges.size - 1
    buffer = np.empty(_TILE)
    for i in range(start, stop):
        point = points[i]
        shift = -np.inf
        for j in range(K):
            out[i, j] = 0.0
        for j in range(K):
            for first in range(edges[j], edges[j + 1], _TILE):
                n = min(_TILE, edges[j + 1] - first)
                _exponents(point, centres, first, n, scale, buffer)
                top = _largest(buffer, n)
                if top > shift:
                    shrink = np.exp(shift - top)
                    for k in range(j + 1):
                        out[i, k] *= shrink
                    shift = top
                for t in range(n):
                    buffer[t] -= shift
                _exponentials(buffer, n)
                out[i, j] += _weighted_sum(buffer, weights, first, n)
        shifts[i] = shift


@njit(cache=True, nogil=True, error_model="numpy")
def kernel_values(points, centres, scale, start, stop, out):
    """out[i, t] = exp(-|x_i - c_t|^2 scale), centres held as columns."""
    T = centres.shape[1]
    for i in range(start, stop):
        _exponents(points[i], centres, 0, T, scale, out[i])
        _exponentials(out[i], T)
