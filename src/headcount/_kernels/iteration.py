"""Compiled loops of methods that label items, or move a threshold, step by step."""

from __future__ import annotations

import numpy as np
from numba import njit


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
