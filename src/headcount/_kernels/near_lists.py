"""Nearest neighbours within parts of a pool, out of lists over the whole of it."""

from __future__ import annotations

from numba import njit

__all__ = ["count_near"]


@njit(cache=True, nogil=True, error_model="numpy")
def count_near(near, member, k, start, stop, out):
    """Classes of the k nearest members, for items `start:stop`.

    `near` lists items of the pool for each item, the nearest first; `member` has the class
    of an item of the pool plus one, or zero if it is none. `out` has a row an item, a column
    a class; a row that starts with -1 means that the list was too short.
    """
    n_classes = out.shape[1]
    for i in range(start, stop):
        for c in range(n_classes):
            out[i, c] = 0
        found = 0
        for j in range(near.shape[1]):
            code = member[near[i, j]]
            if code > 0:
                out[i, code - 1] += 1
                found += 1
                if found == k:
                    break
        if found < k:
            out[i, 0] = -1
