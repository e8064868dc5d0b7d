"""Means of scores that are weighted for the shares of each sample."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["weighted_means"]


@njit(cache=True, nogil=True, error_model="numpy")
def _moment(scores, weights, ratio, out):
    """Posteriors under the shares of the sample, divided by 1 + ratio times the mean weight."""
    K = scores.size
    first = second = 0.0
    for j in range(K):
        first += scores[j] * weights[j]
        second += scores[j] * weights[j] * weights[j]
    for j in range(K):
        out[j] = scores[j] * weights[j] / (first + ratio * second)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_means(
    train, codes, masses, items, indices, offsets, weights, ratios, start, stop, profiles, seen
):
    """Mean moments of each class, into `profiles` (S, K, K), and of the sample, into `seen`.

    `masses` are the weights of the training items, which sum to 1 in each class, `weights`
    (S, K) those of the classes in each sample, and `ratios` (S,) the numbers of its items per
    training item.
    """
    n, K = train.shape
    moment = np.empty(K)
    for s in range(start, stop):
        profiles[s] = 0.0
        seen[s] = 0.0
        for i in range(n):
            _moment(train[i], weights[s], ratios[s], moment)
            for j in range(K):
                profiles[s, codes[i], j] += masses[i] * moment[j]
        count = offsets[s + 1] - offsets[s]
        for i in range(offsets[s], offsets[s + 1]):
            _moment(items[indices[i]], weights[s], ratios[s], moment)
            for j in range(K):
                seen[s, j] += moment[j] / count
