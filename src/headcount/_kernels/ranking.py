"""Areas under curves of ranked items, whose classes may be known with a probability only."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["rank_areas"]


@njit(cache=True, nogil=True, error_model="numpy")
def rank_areas(ranks, positive, negative, offsets, start, stop, out):
    """Area under the ROC curve and average precision of samples, into the rows of `out`.

    Items of a sample are in the order of their ranks. `positive` and `negative` are their
    masses of each kind. Items of equal rank count together. NaN where a kind has no mass.
    """
    for s in range(start, stop):
        first, last = offsets[s], offsets[s + 1]
        above, below, pairs, precision = 0.0, 0.0, 0.0, 0.0
        i = last - 1
        while i >= first:
            rank, own, other = ranks[i], 0.0, 0.0
            while i >= first and ranks[i] == rank:
                own += positive[i]
                other += negative[i]
                i -= 1
            pairs += other * (above + own / 2)
            above += own
            below += other
            if own > 0:
                precision += own * above / (above + below)
        out[s, 0] = pairs / (above * below) if above > 0 and below > 0 else np.nan
        out[s, 1] = precision / above if above > 0 else np.nan
