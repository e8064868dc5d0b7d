"""Mixtures of two class profiles matched to observed samples: a search over one share."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.divergence import LIKELIHOOD, curvatures, slopes, total

__all__ = ["match_two"]

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _derivatives(kind, base, diff, q, share, m, first, second):
    """Slope and curvature of the objective at `share` of the second class."""
    for b in range(q.size):
        m[b] = base[b] + share * diff[b]
    slopes(kind, q, m, first)
    curvatures(kind, q, m, second)
    slope = 0.0
    curvature = 0.0
    for b in range(q.size):
        slope += first[b] * diff[b]
        curvature += second[b] * diff[b] * diff[b]
    return slope, curvature


@njit(cache=True, nogil=True, error_model="numpy")
def _search(kind, base, diff, q, tilt, bend, tol, max_iter, m, first, second):
    """Bracketed Newton search; returns the share, the certificate and the steps taken."""
    low, curvature = _derivatives(kind, base, diff, q, 0.0, m, first, second)
    high, curvature = _derivatives(kind, base, diff, q, 1.0, m, first, second)
    low += tilt
    high += tilt + bend
    if low >= 0.0 and high > 0.0:
        return 0.0, 0.0, 0
    if high <= 0.0 and low < 0.0:
        return 1.0, 0.0, 0
    left, right, share, gap = 0.0, 1.0, 0.5, np.inf
    for step in range(1, max_iter + 1):
        slope, curvature = _derivatives(kind, base, diff, q, share, m, first, second)
        slope += tilt + share * bend
        curvature += bend
        # The certificate max_j g.(p - e_j) for the gradient (0, slope).
        gap = max(slope * share, -slope * (1.0 - share))
        # Near an end of the range the gap is small long before the share is accurate.
        move = slope / curvature if curvature > 0.0 else 0.0
        room = share if slope > 0.0 else 1.0 - share
        if gap <= tol and min(abs(move), room) <= 1e-9:
            return share, gap, step
        if slope > 0.0:
            right = share
        else:
            left = share
        share -= move
        if not left < share < right:
            share = 0.5 * (left + right)
    return share, gap, max_iter


@njit(cache=True, nogil=True, error_model="numpy")
def match_two(
    kind,
    profiles,
    seen,
    indices,
    offsets,
    weights,
    Q,
    tol,
    max_iter,
    start,
    stop,
    out,
    steps,
    gaps,
    values,
):
    """Best share of the second class for samples `start:stop`.

    Histograms: `profiles` is 2 x bins and `seen` has one row per sample. LIKELIHOOD:
    `profiles` is pool x 2 and a sample is its items, each with weight 1/n, or with its
    share of `weights`, which has one number per entry of `indices`, if it is not empty. If
    `seen` has a row, it is a number of items of each class that are added with certainty.
    """
    bend = Q[0, 0] - Q[0, 1] - Q[1, 0] + Q[1, 1]
    tilt = 0.5 * (Q[0, 1] + Q[1, 0]) - Q[0, 0]
    bins = profiles.shape[1]
    if kind == LIKELIHOOD:
        bins = 0
        for s in range(start, stop):
            bins = max(bins, offsets[s + 1] - offsets[s] + seen.shape[1])
    work = np.empty((6, bins))
    for s in range(start, stop):
        n = bins
        if kind == LIKELIHOOD:
            n = offsets[s + 1] - offsets[s]
            for i in range(n):
                item = indices[offsets[s] + i]
                work[0, i] = profiles[item, 0]
                work[1, i] = profiles[item, 1] - profiles[item, 0]
                work[2, i] = 1.0 / n
            mass = np.float64(n)
            if weights.size > 0:
                mass = 0.0
                for i in range(n):
                    mass += weights[offsets[s] + i]
                for i in range(n):
                    work[2, i] = weights[offsets[s] + i] / mass
            for k in range(seen.shape[1]):
                work[0, n + k] = 1.0 - k
                work[1, n + k] = 2.0 * k - 1.0
                work[2, n + k] = seen[0, k] / mass
            n += seen.shape[1]
        else:
            for b in range(bins):
                work[0, b] = profiles[0, b]
                work[1, b] = profiles[1, b] - profiles[0, b]
                work[2, b] = seen[s, b]
        base, diff, q = work[0, :n], work[1, :n], work[2, :n]
        m, first, second = work[3, :n], work[4, :n], work[5, :n]
        share, gap, step = _search(
            kind, base, diff, q, tilt, bend, tol, max_iter, m, first, second
        )
        out[s, 0] = 1.0 - share
        out[s, 1] = share
        steps[s] = step
        gaps[s] = gap
        for b in range(n):
            m[b] = base[b] + share * diff[b]
        values[s] = total(kind, q, m) + 0.5 * Q[0, 0] + share * (tilt + 0.5 * share * bend)
