"""Structural SVM: the most violating labelling under the Q loss, and the dual problem."""

from __future__ import annotations

import numpy as np
from numba import njit

_DEEPEST = 128


@njit(cache=True, nogil=True, error_model="numpy")
def q_loss(true, balance, positives):
    """Q loss in percent, from `true` positives and the balance 1 - |c - b| / max(P, N)."""
    recall = true / positives
    if balance + recall <= 0.0:
        return 100.0
    return 100.0 * (1.0 - 2.0 * balance * recall / (balance + recall))


@njit(cache=True, nogil=True, error_model="numpy")
def worst_counts_for_q(of_positives, of_negatives, scale, true, false):
    """Counts (a, b) that maximise loss + scale * (best a positives + best b negatives).

    `of_positives[a]` is the sum of the a largest scores of positives, `of_negatives`
    likewise. The search starts from the labelling (`true`, `false`).

    For each number k = a + b of predicted positives, the balance is fixed. Up to the a of
    the k largest scores, the sum of scores rises in a and the loss falls. On a range of a,
    no value exceeds the sum at its end plus the loss at its beginning. Ranges that cannot
    contain the maximum are dropped, the others are halved.
    """
    P, N = of_positives.size - 1, of_negatives.size - 1
    firsts, lasts = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    balance = 1.0 - abs(P - true - false) / max(P, N)
    best = q_loss(true, balance, P) + scale * (of_positives[true] + of_negatives[false])
    top = 0  # positives among the k largest scores
    for k in range(P + N + 1):
        if k > 0 and top < P:
            b = k - 1 - top
            gain = of_positives[top + 1] - of_positives[top]
            if b == N or gain >= of_negatives[b + 1] - of_negatives[b]:
                top += 1
        balance = 1.0 - abs(P - k) / max(P, N)
        firsts[0], lasts[0] = max(0, k - N), top
        waiting = 1
        while waiting > 0:
            waiting -= 1
            first, last = firsts[waiting], lasts[waiting]
            highest = scale * (of_positives[last] + of_negatives[k - last])
            if highest + q_loss(first, balance, P) <= best:
                continue
            middle = (first + last) // 2
            value = scale * (of_positives[middle] + of_negatives[k - middle])
            value += q_loss(middle, balance, P)
            if value > best:
                best, true, false = value, middle, k - middle
            if middle > first:
                firsts[waiting], lasts[waiting] = first, middle - 1
                waiting += 1
            if middle < last:
                firsts[waiting], lasts[waiting] = middle + 1, last
                waiting += 1
    return true, false


@njit(cache=True, nogil=True, error_model="numpy")
def solve_planes(gram, losses, weights, n, tol, max_steps, slopes):
    """Maximise weights . losses - weights . gram weights / 2 over weights of the same sum.

    Only the first n planes are used. `gram` holds their inner products. Weights stay at
    least 0. Each step moves weight to the plane with the steepest slope, from the plane for
    which the objective gains most. It ends when no plane with weight has a slope more than
    `tol` below the steepest. Writes the slopes losses - gram weights; returns the steps.
    """
    for j in range(n):
        slopes[j] = losses[j]
        for k in range(n):
            slopes[j] -= gram[j, k] * weights[k]
    for step in range(max_steps):
        up = 0
        for j in range(1, n):
            if slopes[j] > slopes[up]:
                up = j
        down, widest, most, move = -1, 0.0, 0.0, 0.0
        for j in range(n):
            gap = slopes[up] - slopes[j]
            if weights[j] > 0.0 and gap > 0.0:
                widest = max(widest, gap)
                curvature = gram[up, up] + gram[j, j] - 2.0 * gram[up, j]
                length = weights[j]
                if curvature * length > gap:
                    length = gap / curvature
                promise = length * (gap - 0.5 * curvature * length)
                if promise > most:
                    down, most, move = j, promise, length
        if down < 0 or widest <= tol:
            return step
        weights[up] += move
        weights[down] = 0.0 if move == weights[down] else weights[down] - move
        for j in range(n):
            slopes[j] -= move * (gram[j, up] - gram[j, down])
    return max_steps
