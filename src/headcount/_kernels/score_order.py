"""Loops over items in the order of their scores: thresholds, labels in turn, distributions."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.matching import least_absolute


@njit(cache=True, nogil=True, error_model="numpy")
def _select(values, n, k):
    """K-th smallest of the first n values, which are reordered (Hoare's selection)."""
    left, right = 0, n - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break
    return values[k]


@njit(cache=True, nogil=True, error_model="numpy")
def median_sweep(
    codes, indices, offsets, thresholds, false_rates, spreads, n_codes, start, stop, out
):
    """Median over thresholds of (share at or above - false rate) / spread, per sample.

    The code of an item is the number of thresholds at or below its score. `thresholds` are the
    numbers of the thresholds, with `false_rates` and `spreads` in the same order.
    """
    counts = np.empty(n_codes)
    ratios = np.empty(thresholds.size)
    middle = thresholds.size // 2
    for s in range(start, stop):
        for c in range(n_codes):
            counts[c] = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            counts[codes[indices[i]]] += 1.0
        above = 0.0
        for c in range(n_codes - 1, -1, -1):
            above += counts[c]
            counts[c] = above  # items with a code of c or more
        size = np.float64(offsets[s + 1] - offsets[s])
        for t in range(thresholds.size):
            ratios[t] = (counts[thresholds[t] + 1] / size - false_rates[t]) / spreads[t]
        upper = _select(ratios, thresholds.size, middle)
        if thresholds.size % 2 == 0:
            lower = ratios[0]
            for t in range(1, middle):
                lower = max(lower, ratios[t])
            upper = 0.5 * (lower + upper)
        out[s] = upper


@njit(cache=True, nogil=True, error_model="numpy")
def _likeliest(row, weights):
    """Class with the largest posterior times weight, on a tie the first one."""
    best = 0
    for j in range(1, row.size):
        if row[j] * weights[j] > row[best] * weights[best]:
            best = j
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _label(posteriors, ranks, rows, first, prior, counts, weights):
    """Label all items of a sample and fill `counts`; the first `first` items with weights 1.

    The weight of a class is its share over its share in training. Items that have no label
    yet are counted with the training shares. Items of one rank are labelled together.
    """
    K, n = prior.size, rows.size
    for j in range(K):
        counts[j] = 0.0
        weights[j] = 1.0
    for i in range(first):
        counts[_likeliest(posteriors[rows[i]], weights)] += 1.0
    i = first
    while i < n:
        for j in range(K):
            weights[j] = counts[j] / prior[j] + (n - i)
        rank = ranks[rows[i]]
        while i < n and ranks[rows[i]] == rank:
            counts[_likeliest(posteriors[rows[i]], weights)] += 1.0
            i += 1


@njit(cache=True, nogil=True, error_model="numpy")
def label_in_turn(
    posteriors, ranks, places, indices, offsets, prior, n_sure, share, soft, start, stop, out
):
    """Shares for samples `start:stop`.

    Rows of `posteriors` are in order of descending confidence. Rows of equal confidence have
    the same rank. Item i of the pool is row places[i]. Items in the first `n_sure` rows, and
    at least the fraction `share` of a sample, are labelled by their posteriors alone.
    """
    K = prior.size
    counts, weights = np.empty(K), np.empty(K)
    for s in range(start, stop):
        n = offsets[s + 1] - offsets[s]
        rows = np.empty(n, np.int64)
        for i in range(n):
            rows[i] = places[indices[offsets[s] + i]]
        rows.sort()
        target = n * share
        first = 0
        while first < n and (
            rows[first] < n_sure
            or first < target
            or (first > 0 and ranks[rows[first]] == ranks[rows[first - 1]])
        ):
            first += 1
        _label(posteriors, ranks, rows, first, prior, counts, weights)
        for j in range(K):
            weights[j] = counts[j] / prior[j]
            out[s, j] = 0.0
        for i in range(n):
            row = posteriors[rows[i]]
            if soft:
                mass = 0.0
                for j in range(K):
                    mass += row[j] * weights[j]
                for j in range(K):
                    out[s, j] += row[j] * weights[j] / mass
            else:
                out[s, _likeliest(row, weights)] += 1.0
        total = 0.0
        for j in range(K):
            total += out[s, j]
        for j in range(K):
            out[s, j] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def iterate_threshold(
    scores, indices, offsets, prior, tol, max_iter, start, stop, out, steps, changes
):
    """Share of positives for samples `start:stop`.

    An item is positive if its score exceeds c0 / (c0 + c1), where c0 and c1 are the ratios
    of the current shares to those in training.
    """
    for s in range(start, stop):
        n = offsets[s + 1] - offsets[s]
        ordered = np.empty(n)
        for i in range(n):
            ordered[i] = scores[indices[offsets[s] + i]]
        ordered.sort()
        threshold = 0.5
        change = np.inf
        n_steps = 0
        share = 0.0
        while n_steps < max_iter and change > tol:
            share = (n - np.searchsorted(ordered, threshold, side="right")) / n
            against, towards = (1.0 - share) / (1.0 - prior), share / prior
            before = threshold
            threshold = against / (against + towards)
            change = abs(threshold - before)
            n_steps += 1
        out[s] = share
        steps[s] = n_steps
        changes[s] = change


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
