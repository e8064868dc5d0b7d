"""Scores of two classes in order: distances between distribution functions and quantiles."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.matching import least_absolute

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@njit(cache=True, nogil=True, error_model="numpy")
def _ordered(scores, indices, first, last):
    """Scores of one sample, ascending."""
    ordered = np.empty(last - first)
    for i in range(first, last):
        ordered[i - first] = scores[indices[i]]
    ordered.sort()
    return ordered


@njit(cache=True, nogil=True, error_model="numpy")
def _next(centres, i, scores, j):
    """Smaller one of the next entries of two ascending arrays, one of which may be used up."""
    if i == centres.size or (j < scores.size and scores[j] <= centres[i]):
        return scores[j]
    return centres[i]


@njit(cache=True, nogil=True, error_model="numpy")
def match_distributions(centres, masses, scores, indices, offsets, start, stop, out, values):
    """Minimise the area between the distribution functions of sample and mixture.

    `centres` are the training scores, ascending, and `masses` (n, 2) their weights in each
    class, which sum to 1. The share of the second class goes to `out`, the area to `values`.
    """
    n = centres.size
    for s in range(start, stop):
        ordered = _ordered(scores, indices, offsets[s], offsets[s + 1])
        m = ordered.size
        corners, weights = np.empty(n + m), np.empty(n + m)
        gaps, spreads = np.empty(n + m), np.empty(n + m)
        low = high = 0.0
        i = j = count = n_corners = 0
        here = _next(centres, i, ordered, j)
        while True:
            while i < n and centres[i] <= here:
                low += masses[i, 0]
                high += masses[i, 1]
                i += 1
            while j < m and ordered[j] <= here:
                j += 1
            if i == n and j == m:
                break
            after = _next(centres, i, ordered, j)
            gap, spread = j / m - low, high - low
            gaps[count] = gap * (after - here)
            spreads[count] = spread * (after - here)
            count += 1
            if spread != 0.0:
                corners[n_corners] = gap / spread
                weights[n_corners] = abs(spread) * (after - here)
                n_corners += 1
            here = after
        share = least_absolute(corners, weights, n_corners)
        out[s] = share
        area = 0.0
        for k in range(count):
            area += abs(gaps[k] - share * spreads[k])
        values[s] = area


@njit(cache=True, nogil=True, error_model="numpy")
def quantile_means(centres, masses, share, out):
    """Mean scores of the groups between quantiles, in a mixture of two classes.

    `share` is that of the second class; there are as many groups of equal mass as `out` has
    entries.
    """
    groups = out.size
    for g in range(groups):
        out[g] = 0.0
    g = 0
    room = 1.0 / groups
    for i in range(centres.size):
        remaining = (1.0 - share) * masses[i, 0] + share * masses[i, 1]
        while remaining > room and g < groups - 1:
            out[g] += room * centres[i]
            remaining -= room
            g += 1
            room = 1.0 / groups
        out[g] += remaining * centres[i]
        room -= remaining
    for g in range(groups):
        out[g] *= groups


@njit(cache=True, nogil=True, error_model="numpy")
def _distance(centres, masses, share, observed, work):
    quantile_means(centres, masses, share, work)
    total = 0.0
    for g in range(observed.size):
        total += (work[g] - observed[g]) ** 2
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def match_quantiles(
    centres, masses, grid, tol, scores, indices, offsets, start, stop, out, steps, values
):  # fmt: skip
    """Minimise the squared distance between the mean scores of groups between quantiles.

    `grid` holds these means for equally spaced shares from 0 to 1. The best of them is
    improved between its neighbours by golden sections.
    """
    points, groups = grid.shape
    observed, work = np.empty(groups), np.empty(groups)
    for s in range(start, stop):
        ordered = _ordered(scores, indices, offsets[s], offsets[s + 1])
        quantile_means(ordered, np.full((ordered.size, 2), 1.0 / ordered.size), 0.5, observed)
        best, least = 0, np.inf
        for k in range(points):
            total = 0.0
            for g in range(groups):
                total += (grid[k, g] - observed[g]) ** 2
            if total < least:
                best, least = k, total
        low, high = max(best - 1, 0) / (points - 1), min(best + 1, points - 1) / (points - 1)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left = _distance(centres, masses, left, observed, work)
        at_right = _distance(centres, masses, right, observed, work)
        n_steps = 0
        while high - low > tol:
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = _distance(centres, masses, left, observed, work)
            else:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = _distance(centres, masses, right, observed, work)
            n_steps += 1
        out[s], values[s] = best / (points - 1), least
        # The ends of the grid, where the minimum may lie, are never reached by sections.
        for share, value in ((left, at_left), (right, at_right)):
            if value < values[s]:
                out[s], values[s] = share, value
        steps[s] = n_steps


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
            rank, positives, negatives = ranks[i], 0.0, 0.0
            while i >= first and ranks[i] == rank:
                positives += positive[i]
                negatives += negative[i]
                i -= 1
            pairs += negatives * (above + positives / 2)
            above += positives
            below += negatives
            if positives > 0:
                precision += positives * above / (above + below)
        out[s, 0] = pairs / (above * below) if above > 0 and below > 0 else np.nan
        out[s, 1] = precision / above if above > 0 else np.nan
