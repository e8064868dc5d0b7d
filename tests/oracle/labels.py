"""Estimates from labels, slow and obvious."""

from __future__ import annotations

import math

import numpy as np


def corrected(posteriors, prior, shares):
    """Bayes' rule, item by item."""
    found = []
    for row in posteriors:
        likely = [p / q * s for p, q, s in zip(row, prior, shares, strict=True)]
        total = sum(likely)
        found.append([part / total for part in likely] if total > 0 else list(shares))
    return np.array(found)


def factor(class_means, shares, variances):
    """Covariance of classes and posteriors over the variance of the posteriors."""
    K = len(shares)
    covariance = 0.0
    for k in range(K):
        mean = sum(shares[j] * class_means[j][k] for j in range(K))
        covariance += shares[k] * class_means[k][k] - shares[k] * mean
    return min(max(covariance / sum(variances), 0.0), 1.0)


def stratified(values, strata, sizes):
    """Mean over a pool of values seen in strata, and its variance (Cochran, chapter 5)."""
    total = sum(sizes)
    mean, variance = 0.0, 0.0
    for h, size in enumerate(sizes):
        own = [value for value, stratum in zip(values, strata, strict=True) if stratum == h]
        n, weight = len(own), size / total
        mean += weight * sum(own) / n
        if n > 1:
            spread = sum((value - sum(own) / n) ** 2 for value in own) / (n - 1)
            variance += weight**2 * (1 - n / size) * spread / n
    return mean, variance


def clustered(values, clusters, size):
    """Mean of a simple random sample, and its variance from totals of clusters."""
    n, names = len(values), sorted(set(clusters))
    mean = sum(values) / n
    totals = [
        sum(v - mean for v, c in zip(values, clusters, strict=True) if c == name)
        for name in names
    ]
    G = len(names)
    return mean, (1 - n / size) * G / (G - 1) * sum(t**2 for t in totals) / n**2


def difference_ends(residuals, weights, predicted, chances, t, level):
    """Ends of the interval of one mean from a simple random sample of a large pool.

    ``chances`` are the probabilities of the outcome 1.
    """
    n = len(residuals)
    mean = sum(w * e for w, e in zip(weights, residuals, strict=True))
    parts = [
        w * (e - mean) * math.sqrt(n / (n - 1)) for w, e in zip(weights, residuals, strict=True)
    ]
    second, third = sum(part**2 for part in parts), sum(part**3 for part in parts)

    def reach(sign):
        likely = [1 - p if sign > 0 else p for p in chances]
        mass = [q * math.sqrt(1 - q) for q in likely]
        total = sum(w * m for w, m in zip(weights, mass, strict=True))
        unit = sum(w * w * m for w, m in zip(weights, mass, strict=True)) / total
        room = -math.log(1 - level) * unit
        one_sided = min(max(sign * third / second / unit, 0.0), 1.0) if second > 0 else 1.0
        return max(room, math.sqrt(t**2 * second + one_sided * room**2))

    return predicted + mean - reach(-1), predicted + mean + reach(1)


def clopper_pearson(count, n, level):
    """Ends by bisection of the binomial tails."""
    tail = (1 - level) / 2

    def at_least(p):
        return sum(_binomial(k, n, p) for k in range(count, n + 1))

    def at_most(p):
        return sum(_binomial(k, n, p) for k in range(count + 1))

    low = 0.0 if count == 0 else _root(lambda p: at_least(p) - tail)
    high = 1.0 if count == n else _root(lambda p: tail - at_most(p))
    return low, high


def _binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def _root(rising):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def hypergeometric(count, n, size, level):
    """All totals that neither tail contradicts, tried one by one."""
    tail = (1 - level) / 2
    kept = []
    for total in range(size + 1):
        chances = [_hypergeometric(k, n, size, total) for k in range(n + 1)]
        if sum(chances[count:]) > tail and sum(chances[: count + 1]) > tail:
            kept.append(total)
    return min(kept) / size, max(kept) / size


def _hypergeometric(k, n, size, total):
    return math.comb(total, k) * math.comb(size - total, n - k) / math.comb(size, n)


def rogan_gladen(seen, sensitivity, specificity):
    return (seen + specificity - 1) / (sensitivity + specificity - 1)


def fieller(seen, size, right, wrong, sizes, z):
    """Shares on a fine grid that the verdicts do not contradict.

    ``right`` and ``wrong`` are the numbers of positive verdicts in the positive and the
    negative class, of ``sizes`` items.
    """

    def spread(count, n):
        p = (count + 1) / (n + 2)
        return p * (1 - p) / n

    sens, false = right / sizes[0], wrong / sizes[1]
    t = np.linspace(-3, 4, 70_001)
    gap = seen - (t * sens + (1 - t) * false)
    noise = t**2 * spread(right, sizes[0]) + (1 - t) ** 2 * spread(wrong, sizes[1])
    kept = t[gap**2 <= z**2 * (noise + spread(seen * size, size))]
    return kept.min(), kept.max()


def betting(values, size, variance, level):
    """Means on a grid against which no bet wins too much."""
    kept = []
    for step in range(2001):
        mean = step / 2000
        ours, theirs, richest, possible = 1.0, 1.0, 0.0, True
        for i, value in enumerate(values):
            left = (size * mean - sum(values[:i])) / (size - i)
            possible = possible and -1e-12 <= left <= 1 + 1e-12
            left = min(max(left, 1e-9), 1 - 1e-9)
            squares = sum(
                (values[j] - (sum(values[:j]) / j if j else values[0])) ** 2 for j in range(i)
            )
            guess = max((10 * variance + squares) / (10 + i), 1e-6)
            bet = math.sqrt(2 * math.log(40) / (len(values) * guess))
            ours *= 1 + min(bet, 0.75 / left) * (value - left)
            theirs *= 1 - min(bet, 0.75 / (1 - left)) * (value - left)
            richest = max(richest, (ours + theirs) / 2)
        if possible and richest < 1 / (1 - level):
            kept.append(mean)
    return max(min(kept) - 1 / 2000, 0.0), min(max(kept) + 1 / 2000, 1.0)
