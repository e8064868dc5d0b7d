"""Replicates of a sample and of a training set, as more samples and other weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.drawing import draw_again
from headcount._threads import each_range
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling.samples import index_dtype, sort_by_code

__all__ = ["ClassDraws", "drawn_again", "onto_simplex", "rounded", "training_weights"]

_FEWEST_ITEMS_A_THREAD = 1 << 14


@dataclass(frozen=True, eq=False)
class ClassDraws:
    """Draws labelled items with replacement, class by class.

    Attributes
    ----------
    items : ndarray of shape (n,)
        Rows of the training set, class by class.
    edges : ndarray of shape (K + 1,)
        Where each class begins among them.
    mass : ndarray of shape (n + 1,) or None
        Weights of the items added up, from 0; None if all are equal.

    Examples
    --------
    >>> import numpy as np
    >>> draws = ClassDraws.of(Training(None, np.array([0, 1, 1, 1]), 2))
    >>> rng = np.random.default_rng(0)
    >>> sorted(draws.samples(np.array([[0.5, 0.5]]), np.array([4]), rng)[0].tolist())[:2]
    [0, 0]
    """

    items: NDArray[Any]
    edges: NDArray[np.int64]
    mass: NDArray[np.float64] | None

    @classmethod
    def of(cls, training: Training) -> ClassDraws:
        """Draws from a training set."""
        items, edges = sort_by_code(training.codes, training.n_classes)
        mass = None
        if training.weights is not None:
            mass = np.concatenate([[0.0], np.cumsum(training.weights[items])])
        return cls(items, edges, mass)

    @classmethod
    def by_membership(cls, memberships: NDArray[np.float64]) -> ClassDraws:
        """Draws from items whose classes are known as probabilities only, one row an item."""
        n, K = memberships.shape
        mass = np.concatenate([[0.0], np.cumsum(memberships.T.ravel())])
        return cls(np.tile(np.arange(n), K), np.arange(K + 1) * n, mass)

    def samples(
        self, shares: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator
    ) -> Samples:
        """One sample a row of `shares`, of that composition."""
        counts = rounded(shares, sizes, rng)
        n_pool = int(self.items.max()) + 1
        if self.mass is None:
            firsts = np.broadcast_to(self.edges[:-1], counts.shape)
            lasts = np.broadcast_to(self.edges[1:], counts.shape)
            return _drawn(counts, firsts, lasts, self.items, n_pool, rng)
        return self._weighted(counts, self.mass, n_pool, rng)

    def _weighted(
        self,
        counts: NDArray[np.int64],
        mass: NDArray[np.float64],
        n_pool: int,
        rng: np.random.Generator,
    ) -> Samples:
        strata = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
        low, high = mass[self.edges[:-1]][strata], mass[self.edges[1:]][strata]
        aims = low + rng.random(len(strata)) * (high - low)
        places = np.searchsorted(mass, aims, side="right") - 1
        # Rounding can carry an aim past the end of its class.
        places = np.minimum(places, self.edges[1:][strata] - 1)
        offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
        indices = self.items[places].astype(index_dtype(n_pool), copy=False)
        return Samples._trusted(indices, offsets, n_pool)


def rounded(
    shares: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Whole counts with the given sums that are `shares` times `sizes` on average.

    Each count is one of the two whole numbers around its due.
    """
    due = np.cumsum(shares, axis=1) * sizes[:, None]
    due[:, -1] = sizes
    ends = np.floor(due + rng.random((len(due), 1))).astype(np.int64)
    ends[:, -1] = sizes
    ends = np.minimum(ends, sizes[:, None])
    return np.diff(ends, axis=1, prepend=0)


def onto_simplex(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest shares to points, whose last axis has a number a class.

    Examples
    --------
    >>> import numpy as np
    >>> onto_simplex(np.array([[0.2, 0.8], [-0.1, 1.1], [0.4, 0.8]])).round(2)
    array([[0.2, 0.8],
           [0. , 1. ],
           [0.3, 0.7]])
    """
    ordered = -np.sort(-points, axis=-1)
    over = (np.cumsum(ordered, axis=-1) - 1) / np.arange(1, points.shape[-1] + 1)
    last = (ordered > over).sum(axis=-1, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(over, last, axis=-1), 0.0)


def drawn_again(samples: Samples, repeats: int, rng: np.random.Generator) -> Samples:
    """Each sample drawn anew from its own items so many times, one after the other."""
    firsts = np.repeat(samples.offsets[:-1], repeats)[:, None]
    lasts = np.repeat(samples.offsets[1:], repeats)[:, None]
    return _drawn(lasts - firsts, firsts, lasts, samples.indices, samples.n_pool, rng)


def _drawn(
    counts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    items: NDArray[Any],
    n_pool: int,
    rng: np.random.Generator,
) -> Samples:
    """Samples with so many items, drawn with replacement, of each range of `items`."""
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    drawn = np.empty(offsets[-1], index_dtype(n_pool))
    seeds = rng.integers(2**64, size=len(counts), dtype=np.uint64)
    ranges = (np.ascontiguousarray(firsts), np.ascontiguousarray(lasts))

    def work(start: int, stop: int) -> None:
        # Here, as other threads do not inherit it: the kernel relies on overflow.
        with np.errstate(over="ignore"):
            draw_again(start, stop, seeds, counts, *ranges, items, offsets, drawn)

    grain = 1 + _FEWEST_ITEMS_A_THREAD * len(counts) // max(1, len(drawn))
    each_range(work, len(counts), grain=grain)
    return Samples._trusted(drawn, offsets, n_pool)


def training_weights(
    training: Training, n: int, rng: np.random.Generator, *, by_class: bool = True
) -> NDArray[np.float64]:
    """Weights of the training items in `n` sets drawn anew from it, one row a set.

    Classes keep their total weight, unless items are drawn whatever their class. From a
    class of m items m - 1 are drawn: the means of such draws vary as much as those of m
    items do, where m draws would vary too little.
    """
    N, K = len(training.codes), training.n_classes
    codes = training.codes if by_class else np.zeros(N, np.int64)
    items, edges = sort_by_code(codes, K if by_class else 1)
    weights = np.zeros((n, N))
    given = np.ones(N) if training.weights is None else training.weights
    for first, last in pairwise(edges):
        size = last - first
        draws = max(1, size - 1)
        chosen = rng.integers(size, size=(n, draws)) + size * np.arange(n)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=n * size).reshape(n, size)
        rows = items[first:last]
        drawn = counts * given[rows]
        total = drawn.sum(axis=1, keepdims=True)
        # Only items without weight may have been drawn: keep to the set itself then.
        drawn = np.where(total > 0, drawn, given[rows])
        total = drawn.sum(axis=1, keepdims=True)
        weights[:, rows] = drawn * (given[rows].sum() / total)
    if not by_class:
        missing = ~_all_classes(weights, training)
        weights[missing] = given
    return weights


def _all_classes(weights: NDArray[np.float64], training: Training) -> NDArray[np.bool_]:
    """Which sets have some of every class."""
    of_class = training.codes[:, None] == np.arange(training.n_classes)
    return np.asarray(((weights @ of_class) > 0).all(axis=1))
