"""Methods on features as their formulas: one item, one pair, one pattern at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np

from tests.oracle.quantifiers import least_on_simplex, least_squares

# Bins


def upper_ends(values, weights, bins):
    """The largest number of each bin but the last; weights are whole numbers."""
    mass = Counter()
    for value, weight in zip(values, weights, strict=True):
        if weight:
            mass[value] += Fraction(int(weight))
    distinct = sorted(mass)
    if len(distinct) <= bins:
        return distinct[:-1]
    total, below, bin_of = sum(mass.values()), Fraction(0), {}
    for value in distinct:
        bin_of[value] = math.floor(bins * (below + mass[value] / 2) / total)
        below += mass[value]
    return [
        value
        for value, following in itertools.pairwise(distinct)
        if bin_of[value] < bin_of[following]
    ]


def bin_of_number(value, ends):
    for number, end in enumerate(ends):
        if value <= end:
            return number
    return len(ends)


def bins_of(train, weights, bins, table):
    """The bins of the rows of a table; a category is its own bin, or "unseen"."""
    columns = []
    for column in range(len(train[0])):
        known = [row[column] for row, weight in zip(train, weights, strict=True) if weight]
        values = [row[column] for row in table]
        if all(isinstance(value, (int, float)) for value in known):
            ends = upper_ends([row[column] for row in train], weights, bins)
            columns.append([bin_of_number(value, ends) for value in values])
        else:
            columns.append([value if value in known else "unseen" for value in values])
    return list(zip(*columns, strict=True))


def shares_of(things, weights, names):
    mass = Counter()
    for thing, weight in zip(things, weights, strict=True):
        mass[thing] += float(weight)
    return np.array([mass[name] for name in names]) / sum(mass.values())


# Methods


def hdx_cost(train, codes, sample, bins, combine="stacked", weights=None):
    """What HDx minimises, as a function of the shares."""
    weights = np.ones(len(train)) if weights is None else weights
    binned = bins_of(train, weights, bins, train)
    seen = bins_of(train, weights, bins, sample)
    K = max(codes) + 1
    features = []
    for column in range(len(train[0])):
        names = sorted({row[column] for row in [*binned, *seen]}, key=str)
        own = [row[column] for row in seen]
        q = shares_of(own, np.ones(len(own)), names)
        of_class = np.array(
            [
                shares_of(
                    [row[column] for row, code in zip(binned, codes, strict=True) if code == j],
                    [weight for weight, code in zip(weights, codes, strict=True) if code == j],
                    names,
                )
                for j in range(K)
            ]
        )
        features.append((q, of_class))

    def cost(p):
        squares = [1 - np.sum(np.sqrt(q * (p @ of_class))) for q, of_class in features]
        squares = np.maximum(squares, 0)
        return squares.sum() if combine == "stacked" else np.sqrt(squares).mean()

    return cost


def hdx(train, codes, sample, bins, weights=None):
    cost = hdx_cost(train, codes, sample, bins, weights=weights)
    return least_on_simplex(cost, max(codes) + 1)


def readme(train, codes, sample, subsets, bins, weights=None):
    """`subsets` lists the features of each set."""
    weights = np.ones(len(train)) if weights is None else weights
    K = max(codes) + 1
    binned = bins_of(train, weights, bins, train)
    seen = bins_of(train, weights, bins, sample)
    answers = []
    for subset in subsets:
        patterns = [tuple(row[column] for column in subset) for row in binned]
        present = [pattern for pattern, weight in zip(patterns, weights, strict=True) if weight]
        names = sorted(set(present), key=str)
        own = [tuple(row[column] for column in subset) for row in seen]
        own = [pattern for pattern in own if pattern in names]
        if not own:
            continue
        profiles = [
            shares_of(
                [pattern for pattern, code in zip(patterns, codes, strict=True) if code == j],
                [weight for weight, code in zip(weights, codes, strict=True) if code == j],
                names,
            )
            for j in range(K)
        ]
        q = shares_of(own, np.ones(len(own)), names)
        answers.append(least_squares(np.array(profiles), q))
    if not answers:
        mass = np.bincount(codes, weights)
        return mass / mass.sum()
    return np.mean(answers, axis=0)


def mean_euclidean(points, centres, codes, weights, n_classes):
    out = np.zeros((len(points), n_classes))
    for i, point in enumerate(points):
        for j in range(n_classes):
            own = [c for c in range(len(centres)) if codes[c] == j]
            mass = math.fsum(weights[c] for c in own)
            out[i, j] = math.fsum(weights[c] / mass * math.dist(point, centres[c]) for c in own)
    return out


def ed(train, codes, sample, weights=None):
    """The closed form for two classes, a search for three."""
    weights = np.ones(len(train)) if weights is None else np.asarray(weights, float)
    K = max(codes) + 1
    to_class = mean_euclidean(train, train, codes, weights, K)
    A = np.array(
        [
            np.average(to_class[codes == j], axis=0, weights=weights[codes == j])
            for j in range(K)
        ]
    )
    s = mean_euclidean(sample, train, codes, weights, K).mean(axis=0)
    if K == 2:
        B = -A[0, 0] + 2 * A[0, 1] - A[1, 1]
        t = -s[0] + A[0, 1] + s[1] - A[1, 1]
        first = float(np.clip(t / B, 0, 1))
        return np.array([first, 1 - first])
    return least_on_simplex(lambda p: 2 * s @ p - p @ A @ p, K)
