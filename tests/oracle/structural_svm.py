"""Structural SVM by trying every labelling: slow and obvious."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize


def table_loss(loss, positive, said):
    """Loss in percent of calling `said` positive when `positive` are."""
    a, b = (positive & said).sum(), (~positive & said).sum()
    c, d = (positive & ~said).sum(), (~positive & ~said).sum()
    P, N, n = a + c, b + d, a + b + c + d
    p, q = (P + 0.5) / (n + 1), (a + b + 0.5) / (n + 1)
    kld = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    if loss == "error":
        return 100 * (b + c) / n
    if loss == "ae":
        return 100 * abs(c - b) / n
    if loss == "rae":
        return 50 * abs(c - b) * (1 / (P + 0.5) + 1 / (N + 0.5))
    if loss == "kld":
        return 100 * kld
    if loss == "nkld":
        return 100 * (2 * np.exp(kld) / (1 + np.exp(kld)) - 1)
    recall, balance = a / P, 1 - abs(c - b) / max(P, N)
    if recall + balance == 0:
        return 100.0
    return 100 * (1 - 2 * balance * recall / (balance + recall))


def labellings(n):
    return [np.array(said) for said in itertools.product([False, True], repeat=n)]


def violation(loss, positive, said, scores):
    """Loss less w . (Psi(y) - Psi(y')), with Psi(y) = (50 / n) sum y_i x_i."""
    signs = np.where(positive, 1, -1) - np.where(said, 1, -1)
    return table_loss(loss, positive, said) - 50 / len(scores) * (signs * scores).sum()


def largest_violation(loss, positive, scores):
    return max(violation(loss, positive, said, scores) for said in labellings(len(scores)))


def least_objective(loss, X, positive, C):
    """Minimum of |w|^2 / 2 + C xi, X with its constant column, by a general solver."""
    n, d = X.shape
    truth = np.where(positive, 1, -1)
    signs = [truth - np.where(said, 1, -1) for said in labellings(n)]
    planes = np.array([50 / n * s @ X for s in signs])
    losses = np.array([table_loss(loss, positive, said) for said in labellings(n)])
    found = minimize(
        lambda v: 0.5 * v[:-1] @ v[:-1] + C * v[-1],
        np.append(np.zeros(d), losses.max()),
        jac=lambda v: np.append(v[:-1], C),
        constraints={
            "type": "ineq",
            "fun": lambda v: planes @ v[:-1] - losses + v[-1],
            "jac": lambda v: np.column_stack([planes, np.ones(len(planes))]),
        },
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 1000},
    )
    assert found.success, found.message
    return found.fun
