"""Posterior distributions of the shares, by integration on a grid or by weighted draws."""

from __future__ import annotations

import numpy as np


def of_two_classes(ratios, prior, n_points=4000, temperature=1.0):
    """Mean and standard deviation of the realised share of the second class, on a grid."""
    share = (np.arange(n_points) + 0.5) / n_points
    low, high = np.outer(1 - share, ratios[:, 0]), np.outer(share, ratios[:, 1])
    logs = np.log(low + high).sum(axis=1) / temperature
    logs += (prior[0] - 1) * np.log(1 - share) + (prior[1] - 1) * np.log(share)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    chances = high / (low + high)
    means, spreads = chances.mean(axis=1), (chances * (1 - chances)).sum(axis=1)
    return _moments(weights, means, spreads / len(ratios) ** 2)


def of_counts(known, seen, prior, n_draws=200_000, seed=0):
    """The same for counts in bins: rates drawn from training, weighted by the sample."""
    rng = np.random.default_rng(seed)
    low, high = (rng.dirichlet(counts + 1, n_draws) for counts in known)
    share = rng.beta(prior[1], prior[0], n_draws)[:, None]
    mixed = (1 - share) * low + share * high
    logs = np.log(mixed) @ seen
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1 / (weights**2).sum() > 1000
    chances, size = share * high / mixed, seen.sum()
    return _moments(weights, chances @ seen / size, (chances * (1 - chances)) @ seen / size**2)


def _moments(weights, means, variances):
    mean = weights @ means
    return mean, np.sqrt(weights @ ((means - mean) ** 2 + variances))
