"""Slow and obvious accuracy prediction."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def table(true, predicted, K):
    found = np.zeros((K, K))
    for i, j in zip(true, predicted, strict=True):
        found[i, j] += 1 / len(true)
    return found


def f1_of_class(table, k):
    tp = table[k, k]
    fp = table[:, k].sum() - tp
    fn = table[k].sum() - tp
    return 1.0 if tp + fp + fn < 1e-12 else 2 * tp / (2 * tp + fp + fn)


def leap_objective(x, rates, shares, predicted, first):
    """Squares of the equations of LEAP (first=1) or of O-LEAP (first=0)."""
    K = len(rates)
    x = x.reshape(K, K)
    total = 0.0
    for i in range(first, K):
        for j in range(first, K):
            total += (x[i, j] - rates[i, j] * x[i].sum()) ** 2
    for k in range(first, K):
        total += (x[:, k].sum() - predicted[k]) ** 2
        total += (x[k].sum() - shares[k]) ** 2
    return total


def leap(rates, shares, predicted, first):
    """The same minimised over tables by a solver that knows nothing of it."""
    K = len(rates)
    start = (shares[:, None] * rates).ravel()
    best = minimize(
        leap_objective,
        start / start.sum(),
        args=(rates, shares, predicted, first),
        method="SLSQP",
        bounds=[(0, 1)] * K * K,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return best.x.reshape(K, K)


def expected_table(posteriors, predicted, K):
    found = np.zeros((K, K))
    for p, j in zip(posteriors, predicted, strict=True):
        for i in range(K):
            found[i, j] += p[i] / len(posteriors)
    return found


def prior_corrected(posteriors, prior, steps=5000):
    """Posteriors brought to the shares of a sample by expectation maximisation."""
    shares = prior.copy()
    for _ in range(steps):
        moved = posteriors * (shares / prior)
        moved /= moved.sum(axis=1, keepdims=True)
        shares = moved.mean(axis=0)
    return moved


def threshold_accuracy(sure, right, sure_of_sample):
    """ATC where no two items are equally sure."""
    return np.mean(sure_of_sample > _threshold(sure, right))


def _threshold(sure, right):
    n_right = int(sum(right))
    ordered = np.sort(sure)[::-1]
    return ordered[n_right] if n_right < len(ordered) else -np.inf


def threshold_table(sure, right, sure_of_sample, posteriors):
    """ATC, item by item: unsure ones are divided between the classes not predicted."""
    K = posteriors.shape[1]
    table, threshold = np.zeros((K, K)), _threshold(sure, right)
    for how_sure, row in zip(sure_of_sample, posteriors, strict=True):
        predicted = int(row.argmax())
        if how_sure > threshold:
            table[predicted, predicted] += 1
            continue
        left = sum(row[k] for k in range(K) if k != predicted)
        for k in range(K):
            if k != predicted:
                table[k, predicted] += row[k] / left if left else 1 / (K - 1)
    return table / len(posteriors)


def log_linear_weights(slices, wanted, steps=20000, rate=0.5):
    """Weights exp(b . slice) of items whose weighted mean slice is the wanted one."""
    b = np.zeros(slices.shape[1])
    for _ in range(steps):
        w = np.exp(slices @ b)
        w /= w.sum()
        b += rate * (wanted - w @ slices)
    return w
