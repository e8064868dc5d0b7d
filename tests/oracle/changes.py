"""The comparison of one feature with the mixture of its classes, item by item."""

from __future__ import annotations

import numpy as np


def indicators(values, levels):
    """One column for each value but the last."""
    return np.array([[float(value == level) for level in levels[:-1]] for value in values])


def misfit_of_known_shares(old, codes, new, levels, shares, floor):
    """Squared distance of a feature from the mixture with these shares, and its frequencies."""
    X, Z = indicators(old, levels), indicators(new, levels)
    expected, variance = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    noise = 0.0
    for k, share in enumerate(shares):
        members = X[codes == k]
        expected += share * members.mean(axis=0)
        factor = share / len(new) + share**2 / len(members)
        variance += factor * np.atleast_2d(np.cov(members.T))
        noise += share**2 / len(members)
    misfit = Z.mean(axis=0) - expected
    variance = (1 + floor) * variance + np.diag(np.maximum(misfit, 0)) * noise
    return float(misfit @ np.linalg.inv(variance) @ misfit), expected


def misfit_of_scores(old, codes, new, levels, scores, fit, prior, floor):
    """The same, with shares that a score of labelled items implies, by normal updating.

    `fit` has the mean score of each class, of the new items, and the shares for variances.
    """
    class_scores, new_score, shares = fit
    mean, covariance = prior
    X, Z = indicators(old, levels), indicators(new, levels)
    d = X.shape[1]
    joint = np.zeros((d + scores.shape[1],) * 2)
    noise = 0.0
    for k, share in enumerate(shares):
        members = np.column_stack([X, scores])[codes == k]
        joint += (share / len(new) + share**2 / len(members)) * np.cov(members.T)
        noise += share**2 / len(members)
    V, S = joint[:d, :d], joint[d:, d:]
    frequencies = np.column_stack([X[codes == k].mean(axis=0) for k in range(len(shares))])
    total = class_scores @ covariance @ class_scores.T + S
    gain = covariance @ class_scores.T @ np.linalg.inv(total)
    implied = mean + gain @ (new_score - class_scores @ mean)
    misfit = Z.mean(axis=0) - frequencies @ implied
    # misfit = rest (p - mean) + noise of the feature - frequencies gain noise of the score
    rest = frequencies @ (np.eye(len(shares)) - gain @ class_scores)
    combined = np.hstack([np.eye(d), -frequencies @ gain])
    variance = rest @ covariance @ rest.T + combined @ joint @ combined.T + floor * V
    variance += np.diag(np.maximum(misfit, 0)) * noise
    return float(misfit @ np.linalg.inv(variance) @ misfit), frequencies @ implied


def holm(p_values):
    """Adjusted p-values: the smallest times their number, and so on, never decreasing."""
    adjusted, largest = dict.fromkeys(range(len(p_values)), 1.0), 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = largest
    return [adjusted[i] for i in range(len(p_values))]
