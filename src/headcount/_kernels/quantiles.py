"""Quantiles of several distributions at one level, such that they have a given sum."""

from __future__ import annotations

import numpy as np
from numba import njit

_HALVINGS = 60


@njit(cache=True, nogil=True, error_model="numpy")
def _quantile(values, middles, wanted):
    """Value at a cumulated mass, interpolated between the middles of the masses."""
    last = len(values) - 1
    if wanted <= middles[0]:
        return values[0]
    if wanted >= middles[last]:
        return values[last]
    i = np.searchsorted(middles, wanted)
    width = middles[i] - middles[i - 1]
    if width <= 0.0:
        return values[i]
    return values[i - 1] + (values[i] - values[i - 1]) * (wanted - middles[i - 1]) / width


@njit(cache=True, nogil=True, error_model="numpy")
def quantiles_with_sum(values, middles, totals, wanted_sum, out):
    """Write quantiles to `out` that sum to `wanted_sum`, or a little more.

    Rows of `values` are sorted, those of `middles` hold the cumulated mass up to the middle
    of each value, and `totals` are the masses of the rows. The quantile of row k is that at
    the mass (totals[k] + moved) / 2, with the same `moved` for all rows, found by bisection.
    """
    high = totals.max()
    low = -high
    for _ in range(_HALVINGS):
        moved = (low + high) / 2
        total = 0.0
        for k in range(len(values)):
            total += _quantile(values[k], middles[k], (totals[k] + moved) / 2)
        if total < wanted_sum:
            low = moved
        else:
            high = moved
    for k in range(len(values)):
        out[k] = _quantile(values[k], middles[k], (totals[k] + high) / 2)
