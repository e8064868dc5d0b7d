"""Divergences D(q, m) between observed frequencies q and those of a mixture m, by bin.

All are convex in m. `slopes` and `curvatures` are their derivatives in m.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LIKELIHOOD = 0
HELLINGER = 1
TOPSOE = 2
PROBSYMM = 3

# Keeps derivatives finite where no class has mass. Far below any real frequency.
_FLOOR = 1e-90


@njit(cache=True, nogil=True, error_model="numpy")
def total(kind, q, m):
    """Sum of the divergence; for LIKELIHOOD the weighted negative log-likelihood."""
    out = 0.0
    for b in range(q.size):
        mb = max(m[b], _FLOOR)
        if kind == LIKELIHOOD:
            out -= q[b] * np.log(mb)
        elif kind == HELLINGER:
            out += 0.5 * (np.sqrt(q[b]) - np.sqrt(mb)) ** 2
        elif kind == TOPSOE:
            out += mb * np.log(2.0 * mb / (q[b] + mb))
            if q[b] > 0.0:
                out += q[b] * np.log(2.0 * q[b] / (q[b] + mb))
        else:
            out += 2.0 * (q[b] - mb) ** 2 / (q[b] + mb)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(kind, q, m, out):
    """First derivative of each bin's divergence in m."""
    for b in range(q.size):
        mb = max(m[b], _FLOOR)
        if kind == LIKELIHOOD:
            out[b] = -q[b] / mb
        elif kind == HELLINGER:
            out[b] = 0.5 - 0.5 * np.sqrt(q[b] / mb)
        elif kind == TOPSOE:
            out[b] = np.log(2.0 * mb / (q[b] + mb))
        else:
            denominator = q[b] + mb
            out[b] = -2.0 * (q[b] - mb) * (3.0 * q[b] + mb) / (denominator * denominator)


@njit(cache=True, nogil=True, error_model="numpy")
def curvatures(kind, q, m, out):
    """Second derivative of each bin's divergence in m."""
    for b in range(q.size):
        mb = max(m[b], _FLOOR)
        denominator = q[b] + mb
        if kind == LIKELIHOOD:
            out[b] = q[b] / (mb * mb)
        elif kind == HELLINGER:
            out[b] = 0.25 * np.sqrt(q[b] / mb) / mb
        elif kind == TOPSOE:
            out[b] = q[b] / (mb * denominator)
        else:
            out[b] = 16.0 * q[b] * q[b] / (denominator * denominator * denominator)
