"""Mean absolute distances between numbers, by one sweep over sorted values."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["add_mean_distances"]


@njit(cache=True, nogil=True, error_model="numpy")
def add_mean_distances(points, order, centres, classes, weights, out):
    """Add to out[i, j] the weighted mean of |points[i] - c| over the centres of class j.

    `order` sorts the points. `centres` are sorted, with their classes and weights. The
    weights of a class sum to 1.
    """
    K = out.shape[1]
    below = np.zeros(K)  # weight of the centres passed so far
    reach = np.zeros(K)  # and their weighted sum
    whole = np.zeros(K)
    for c in range(centres.size):
        whole[classes[c]] += weights[c] * centres[c]
    c = 0
    for i in range(order.size):
        x = points[order[i]]
        while c < centres.size and centres[c] <= x:
            below[classes[c]] += weights[c]
            reach[classes[c]] += weights[c] * centres[c]
            c += 1
        for j in range(K):
            out[order[i], j] += x * (2.0 * below[j] - 1.0) + whole[j] - 2.0 * reach[j]
