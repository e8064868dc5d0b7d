"""Calibration as the formulas read: loops, and a minimiser that is given no gradient."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm


def softmax_row(logits):
    largest = max(logits)
    powers = [math.exp(z - largest) for z in logits]
    return [power / sum(powers) for power in powers]


def log_loss(posteriors, codes, weights):
    total = 0.0
    for row, code, weight in zip(posteriors, codes, weights, strict=True):
        total -= weight * math.log(row[code])
    return total / sum(weights)


def soft_log_loss(posteriors, targets, weights):
    total = 0.0
    for row, target, weight in zip(posteriors, targets, weights, strict=True):
        for p, t in zip(row, target, strict=True):
            total -= weight * t * math.log(p)
    return total / sum(weights)


def unpack(method, theta, n_classes):
    """Slopes and biases of all classes."""
    method = method.removesuffix("-centred")
    if method == "ts":
        return [theta[0]] * n_classes, [0.0] * n_classes
    if method == "bcts":
        return [theta[0]] * n_classes, list(theta[1:])
    if method == "nbvs":
        return list(theta), [0.0] * n_classes
    return list(theta[:n_classes]), list(theta[n_classes:])


def scaled(method, theta, scores):
    slopes, biases = unpack(method, theta, len(scores[0]))
    rows = []
    for row in scores:
        logs = [math.log(p) for p in row]
        mean = sum(logs) / len(logs) if method.endswith("-centred") else 0.0
        logits = [w * (x - mean) + b for w, x, b in zip(slopes, logs, biases, strict=True)]
        rows.append(softmax_row(logits))
    return rows


def _search(objective, start):
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-9})
    polished = minimize(
        objective, found.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    return min((found, polished), key=lambda result: result.fun).x


def fit_scaled(method, scores, codes, weights):
    n_classes = len(scores[0])
    sizes = {"ts": 1, "bcts": 1 + n_classes, "nbvs": n_classes, "vs": 2 * n_classes}
    start = np.zeros(sizes[method.removesuffix("-centred")])
    return _search(lambda theta: log_loss(scaled(method, theta, scores), codes, weights), start)


def platt_targets(codes, weights):
    """Targets of (other, own) class, softened as in Platt (1999)."""
    positive = sum(w for c, w in zip(codes, weights, strict=True) if c == 1)
    negative = sum(w for c, w in zip(codes, weights, strict=True) if c == 0)
    high, low = (positive + 1) / (positive + 2), 1 / (negative + 2)
    return [(1 - high, high) if c == 1 else (1 - low, low) for c in codes]


def sigmoid_rows(theta, second):
    rows = []
    for p in second:
        z = theta[0] * math.log(p / (1 - p)) + theta[1]
        rows.append((1 / (1 + math.exp(z)), 1 / (1 + math.exp(-z))))
    return rows


def fit_sigmoid(second, codes, weights):
    targets = platt_targets(codes, weights)
    return _search(
        lambda theta: soft_log_loss(sigmoid_rows(theta, second), targets, weights),
        np.zeros(2),
    )


def pool_adjacent_violators(values, outcomes, weights):
    """Sorted distinct values and the best monotone heights at them."""
    distinct = sorted(set(values))
    blocks = []
    for value in distinct:
        pairs = [
            (o, w) for v, o, w in zip(values, outcomes, weights, strict=True) if v == value
        ]
        mass = sum(w for _, w in pairs)
        blocks.append([sum(o * w for o, w in pairs) / mass, mass, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, mass, count = blocks.pop()
            below = blocks[-1]
            below[0] = (below[0] * below[1] + mean * mass) / (below[1] + mass)
            below[1] += mass
            below[2] += count
    heights = [mean for mean, _, count in blocks for _ in range(count)]
    return distinct, heights


def interpolate(value, knots, heights):
    if value <= knots[0]:
        return heights[0]
    for i in range(1, len(knots)):
        if value <= knots[i]:
            share = (value - knots[i - 1]) / (knots[i] - knots[i - 1])
            return heights[i - 1] + share * (heights[i] - heights[i - 1])
    return heights[-1]


def isotonic(scores, codes, weights, new):
    """Calibrated posteriors of ``new``, for three classes or more."""
    n_classes = len(scores[0])
    fits = [
        pool_adjacent_violators(
            [row[k] for row in scores], [float(code == k) for code in codes], weights
        )
        for k in range(n_classes)
    ]
    rows = []
    for row in new:
        heights = [interpolate(p, *fit) for p, fit in zip(row, fits, strict=True)]
        total = sum(heights)
        rows.append([h / total for h in heights] if total > 0 else [1 / n_classes] * n_classes)
    return rows


def fit_drawn_together(scores, codes, weights, widths_of_slopes, widths_of_biases):
    """Slopes and biases with normal priors, averaged by Laplace's evidence."""
    K, n = len(scores[0]), sum(weights) ** 2 / sum(weight**2 for weight in weights)

    def common(slope):
        loss = log_loss(scaled("ts", slope, scores), codes, weights)
        return n * loss - norm.logpdf(slope[0], 1, 100)

    temperature = minimize(common, [1.0], options={"gtol": 1e-6}).x[0]
    fits, evidence = [], []
    for of_biases in widths_of_biases:
        for of_slopes in widths_of_slopes:
            centre = np.array([1.0] + [0.0] * 2 * K)
            widths = np.array([100.0] + [of_slopes] * K + [of_biases] * K)

            def likelihood(theta):
                slopes = temperature * (theta[0] + theta[1 : K + 1])
                vector = np.concatenate([slopes, theta[K + 1 :]])
                return -n * log_loss(scaled("vs", vector, scores), codes, weights)

            def joint(theta, centre=centre, widths=widths, likelihood=likelihood):
                return likelihood(theta) + norm.logpdf(theta, centre, widths).sum()

            best = minimize(
                lambda theta, joint=joint: -joint(theta), centre, options={"gtol": 1e-4}
            ).x
            steps = 1e-3 * np.eye(len(best))
            curvature = [
                [
                    sum(
                        -a * b * joint(best + a * step + b * other)
                        for a in (1, -1)
                        for b in (1, -1)
                    )
                    / 4e-6
                    for other in steps
                ]
                for step in steps
            ]
            spread = len(best) * math.log(2 * math.pi) - np.linalg.slogdet(curvature)[1]
            fits.append(best)
            evidence.append(joint(best) + spread / 2)
    share = np.array(softmax_row(evidence))
    theta = share @ np.array(fits)
    return np.concatenate([temperature * (theta[0] + theta[1 : K + 1]), theta[K + 1 :]])
