"""Logistic regression as the formulas read: the whole Hessian, every class with a row."""

from __future__ import annotations

import numpy as np


def posteriors(X, theta):
    """One column per class."""
    logits = X @ theta[:, :-1].T + theta[:, -1]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def objective(X, codes, weights, theta):
    """Weighted sum of the losses plus half the squared length of the coefficients."""
    logits = X @ theta[:, :-1].T + theta[:, -1]
    largest = logits.max(axis=1)
    logs = np.log(np.exp(logits - largest[:, None]).sum(axis=1)) + largest
    losses = logs - logits[np.arange(len(X)), codes]
    return weights @ losses + (theta[:, :-1] ** 2).sum() / 2


def derivatives(X, codes, weights, theta):
    K, p = theta.shape
    Z, P = np.column_stack([X, np.ones(len(X))]), posteriors(X, theta)
    penalty = np.ones(p)
    penalty[-1] = 0
    gradient = (weights[:, None] * (P - np.eye(K)[codes])).T @ Z + penalty * theta
    hessian = np.zeros((K, p, K, p))
    for a in range(K):
        for b in range(K):
            curvature = weights * P[:, a] * ((a == b) - P[:, b])
            hessian[a, :, b] = Z.T @ (curvature[:, None] * Z) + (a == b) * np.diag(penalty)
    return gradient, hessian.reshape(K * p, K * p)


def fit(X, codes, weights, n_classes, intercept=True):
    """Coefficients and intercepts, one row per class; of two classes one for the second.

    Newton's method, steps halved until the objective falls.
    """
    binary = n_classes == 2
    d = X.shape[1]
    # One row w for the second of two classes is a row of -u and one of u, with w = 2su for
    # features times s. Both rows have the penalty u'u = w'w / 4ss, which is w'w / 2 for this s.
    stretch = np.sqrt(1 / 2) if binary else 1.0
    X = X * stretch
    theta = np.zeros((n_classes, d + 1))
    value = objective(X, codes, weights, theta)
    free = np.tile(np.r_[np.ones(d, bool), intercept], n_classes)
    for _ in range(200):
        gradient, hessian = derivatives(X, codes, weights, theta)
        step = np.zeros(theta.size)
        # Of intercepts only differences matter: the least-squares solution is one of many.
        step[free] = np.linalg.lstsq(hessian[np.ix_(free, free)], gradient.ravel()[free])[0]
        length = 1.0
        while length > 1e-12:
            tried = theta - length * step.reshape(theta.shape)
            if objective(X, codes, weights, tried) < value:
                break
            length /= 2
        else:
            break
        theta, value = tried, objective(X, codes, weights, tried)
    coef, constant = theta[:, :-1] * stretch, theta[:, -1] - theta[:, -1].mean() * intercept
    if binary:
        return (coef[1:] - coef[:1]), constant[1:] - constant[:1]
    return coef, constant
