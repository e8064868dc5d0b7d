"""Layers of networks, item by item."""

from __future__ import annotations

import math

import numpy as np


def linear_votes(bag, bins):
    """Histogram of each feature of a bag (items, features); two bins share each vote."""
    n, d = bag.shape
    votes = np.zeros((d, bins))
    for item in bag:
        for feature, value in enumerate(item):
            for number in range(bins):
                distance = abs(value - number / (bins - 1)) * (bins - 1)
                votes[feature, number] += max(0.0, 1 - distance) / n
    return votes


def hard_votes(bag, centres, widths):
    """Mean votes of a bag for bins with centres and widths (features, bins)."""
    votes = np.zeros(centres.shape)
    for item in bag:
        for feature, value in enumerate(item):
            for number in range(centres.shape[1]):
                distance = abs(value - centres[feature, number])
                vote = 1.01 ** (widths[feature, number] - distance)
                votes[feature, number] += vote / len(bag) if vote > 1 else 0
    return votes


def log_density(point, centre, covariance):
    """Logarithm of a Gaussian density, by the inverse of its covariance."""
    away = point - centre
    squared = away @ np.linalg.inv(covariance) @ away
    size = len(point) * math.log(2 * math.pi) + math.log(np.linalg.det(covariance))
    return -0.5 * (squared + size)


def normalised_then_averaged(bags, scale, shift, eps):
    """Batch normalisation of all items of bags (bags, items, features), then means."""
    items = bags.reshape(-1, bags.shape[-1])
    mean, variance = items.mean(axis=0), items.var(axis=0)
    each = [(bag - mean) / np.sqrt(variance + eps) * scale + shift for bag in bags]
    return np.array([bag.mean(axis=0) for bag in each])


def attention(queries, keys, values):
    """Attention of one head: softmax of scaled products, weighted sum of values."""
    found = []
    for query in queries:
        weights = np.exp([query @ key / math.sqrt(len(query)) for key in keys])
        found.append(sum(w * v for w, v in zip(weights / weights.sum(), values, strict=True)))
    return np.array(found)
