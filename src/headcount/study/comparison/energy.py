"""Energy distance of features: all pairs of items of a dataset measured once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Dense
from headcount.sampling import Samples
from headcount.solve import EnergyDistance
from headcount.study.comparison.draws import Trial
from headcount.study.comparison.estimates import attempted
from headcount.study.comparison.groups import Answers, Bench, wanted
from headcount.study.spec import MethodSpec

__all__ = ["by_energy", "mean_distances"]

# Pairs of items at a time: 64 MB of distances.
_BLOCK_PAIRS = 1 << 24


def by_energy(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of ED: for all trials the mean distances to each class at one go."""
    y, K = bench.dataset.y, bench.dataset.n_classes
    weights = np.zeros((len(y), len(trials) * K), np.float32)
    for number, trial in enumerate(trials):
        rows = bench.drawer.training(trial)
        weights[rows, number * K + y[rows]] = 1
    weights /= weights.sum(axis=0)
    distances = mean_distances(bench.dataset.X, weights)
    for number, trial in enumerate(trials):
        own = slice(number * K, (number + 1) * K)
        profiles = (weights[:, own].T @ distances[:, own]).astype(np.float64)
        items = Dense(distances[:, own].astype(np.float64))
        samples = bench.drawer.testing(trial)
        estimate = partial(_estimate, profiles, items)
        found = {m.name: attempted(estimate, samples, K) for m in wanted(methods, trial)}
        yield Answers(trial, int((weights[:, own] > 0).sum()), samples, found)


def _estimate(
    profiles: NDArray[np.float64], items: Dense, samples: Samples
) -> NDArray[np.float64]:
    return EnergyDistance().solve(profiles, items.means(samples)).prevalence


def mean_distances(X: NDArray[np.float64], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weighted sums of the Euclidean distances of each item to all others.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The items.
    weights : ndarray of shape (n, m)
        What the distances to each item count, in each of m sums.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> mean_distances(np.array([[0.0], [3.0]]), np.eye(2, dtype=np.float32))
    array([[0., 3.],
           [3., 0.]], dtype=float32)
    """
    # Centred, so that squares are small and little is lost when they are subtracted.
    items = (X - X.mean(axis=0)).astype(np.float32)
    squares = np.einsum("ij,ij->i", items, items)
    out = np.empty((len(items), weights.shape[1]), np.float32)
    step = max(1, _BLOCK_PAIRS // len(items))
    for first in range(0, len(items), step):
        block = slice(first, first + step)
        table = items[block] @ items.T
        table *= -2
        table += squares
        table += squares[block, None]
        np.maximum(table, 0, out=table)
        np.sqrt(table, out=table)
        own = np.arange(len(table))
        table[own, first + own] = 0
        out[block] = table @ weights
    return out
