"""Nearest neighbours within a part of a pool, from neighbour lists of the whole pool."""

from __future__ import annotations

from numba import njit

__all__ = ["count_near"]


@njit(cache=True, nogil=True, error_model="numpy")
def count_near(near, member, k, start, stop, out):
    """Classes of the k nearest members, for items `start:stop`.

    `near` lists items of the pool for each item, the nearest first. `member` holds the class
    plus one of each item of the pool that is a member, and zero for others. `out` has one
    row per item and one column per class. A row that starts with -1 marks a list that was
    too short.
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
