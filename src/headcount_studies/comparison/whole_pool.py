"""Neighbours, distances and patterns in a pool, for many training sets drawn from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.distances import count_near
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_positive
from headcount.learn.neighbours import leading_class, vote_weights

Floats32 = NDArray[np.float32]

# Pairs of items at a time: 64 MB of distances.
_BLOCK_PAIRS = 1 << 24
_LONGEST_LIST = 1024
# Average number of members in a list, per neighbour wanted, that makes lists worth while.
_ENOUGH = 3
# Squared distances up to this are exact in single precision, with room for lots.
_LARGEST_SQUARE = 2**22
# Numbers of joint patterns may have gaps up to this size.
_LARGEST_NUMBER = 1_000_000


class NeighbourLists:
    """Proportion-weighted nearest neighbours in many training sets of one pool of items.

    An item's nearest neighbours in a training set are the first of its neighbours in the pool
    that are in the training set. Lists of a thousand nearly always suffice. Where a list is
    too short, because the training set is small, distances to it are measured directly.

    Features are whole numbers, so many items are equally near. Random numbers, drawn once for
    the pool, decide between them.
    """

    def __init__(self, X: Array, y: Ints, random_state: int) -> None:
        self.items = _centred(X).astype(np.float32)
        self.y, self.n_classes = y, int(y.max()) + 1
        squares = np.einsum("ij,ij->i", self.items, self.items)
        # Squared distances differ by 1 at least.
        lots = np.random.default_rng(random_state).permutation(len(y)) / (2 * len(y))
        self.offsets = squares + lots.astype(np.float32)

    @staticmethod
    def takes(X: Any) -> bool:
        """True for a dense array of whole numbers of moderate size."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf":
            return False
        if X.dtype.kind == "f" and not np.array_equal(X, np.rint(X)):
            return False
        largest = np.abs(_centred(X)).max(axis=0)
        return bool((largest**2).sum() * 4 <= _LARGEST_SQUARE)

    def predict(
        self, training_sets: Sequence[Ints], *, n_neighbors: int = 10, alpha: float = 1.0
    ) -> list[NDArray[np.int32]]:
        """Classes of all items of the pool, by the neighbours in each training set of rows."""
        k = check_count("n_neighbors", n_neighbors)
        check_positive("alpha", alpha)
        return [
            leading_class(counts * vote_weights(self.y[rows], alpha)).astype(np.int32)
            for rows, counts in zip(training_sets, self.counts(training_sets, k), strict=True)
        ]

    def counts(self, training_sets: Sequence[Ints], k: int) -> list[NDArray[np.int16]]:
        """Classes of the k nearest neighbours of every item, (n, K), by training set."""
        n = len(self.y)
        members = np.zeros((len(training_sets), n), np.min_scalar_type(self.n_classes))
        for member, rows in zip(members, training_sets, strict=True):
            member[rows] = self.y[rows] + 1
        out = [np.full((n, self.n_classes), -1, np.int16) for _ in training_sets]
        length = min(n, _LONGEST_LIST)
        listed = [
            t for t, rows in enumerate(training_sets) if len(rows) * length >= _ENOUGH * k * n
        ]
        if listed:
            self._count_by_lists(listed, members, k, length, out)
        for counts, rows in zip(out, training_sets, strict=True):
            short = np.flatnonzero(counts[:, 0] < 0)
            counts[short] = self._count_directly(short, rows, k)
        return out

    def _count_by_lists(
        self,
        listed: list[int],
        members: Array,
        k: int,
        length: int,
        out: list[NDArray[np.int16]],
    ) -> None:
        step = max(1, _BLOCK_PAIRS // len(self.y))
        for first in range(0, len(self.y), step):
            rows = np.arange(first, min(first + step, len(self.y)))
            near = _nearest(self._distances(rows, slice(None)), length)

            def work(
                start: int, stop: int, near: NDArray[np.int32] = near, rows: Ints = rows
            ) -> None:
                for t in listed[start:stop]:
                    count_near(
                        near, members[t], k, 0, len(near), out[t][rows[0] : rows[-1] + 1]
                    )

            each_range(work, len(listed))

    def _count_directly(self, items: Ints, rows: Ints, k: int) -> NDArray[np.int16]:
        k = min(k, len(rows))
        counts = np.empty((len(items), self.n_classes), np.int16)
        step = max(1, _BLOCK_PAIRS // len(rows))
        for first in range(0, len(items), step):
            block = slice(first, first + step)
            near = self.y[rows[_nearest(self._distances(items[block], rows), k)]]
            for c in range(self.n_classes):
                counts[block, c] = (near == c).sum(axis=1)
        return counts

    def _distances(self, rows: Ints, columns: Ints | slice) -> Floats32:
        """Squared distances up to a constant per row, with the lots that break ties."""
        table = self.items[rows] @ self.items[columns].T
        table *= -2
        table += self.offsets[columns]
        return table


def _centred(X: Array) -> Floats:
    """Whole numbers around zero: single precision is then exact for longer."""
    return np.asarray(X - np.floor(X.mean(axis=0)), dtype=np.float64)


def _nearest(table: Floats32, length: int) -> NDArray[np.int32]:
    """Columns of the smallest values of each row, in order."""
    if length < table.shape[1]:
        nearest = np.argpartition(table, length - 1, axis=1)[:, :length]
        table = np.take_along_axis(table, nearest, axis=1)
        order = np.argsort(table, axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)
    else:
        nearest = np.argsort(table, axis=1)
    return nearest.astype(np.int32)


def distances_to_sets(X: Array, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weighted sums of the Euclidean distances of each item to all others, for many weights.

    Each distance is measured once, in single precision.
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
        rows = np.arange(len(table))
        table[rows, first + rows] = 0
        out[block] = table @ weights
    return out


def joint_codes(columns: NDArray[np.integer[Any]]) -> Ints:
    """Number the joint patterns of a few columns of whole numbers, without gaps."""
    numbers = np.zeros(columns.shape[1], np.int64)
    for column in columns:
        numbers = numbers * (int(column.max()) + 1) + column
        if numbers.max() > _LARGEST_NUMBER:
            numbers = np.unique(numbers, return_inverse=True)[1]
    met = np.zeros(numbers.max() + 1, np.int64)
    met[numbers] = 1
    return (np.cumsum(met) - 1)[numbers]
