"""Nearest neighbours: those of every item listed once for all training sets.

An item's nearest neighbours in a training set are the first of its neighbours in the whole
dataset that are in the training set. Lists of a thousand nearly always suffice; where one
does not, because the training set is small, distances to it are measured directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.neighbour_counts import count_near
from headcount._parameters import check_count, check_positive
from headcount._threads import each_range
from headcount.representation import Binned
from headcount.sampling import Samples
from headcount.study.comparison.draws import Trial
from headcount.study.comparison.estimates import attempted
from headcount.study.comparison.groups import Answers, Bench, made, wanted
from headcount.study.spec import MethodSpec
from headcount.study.task import task_seed

__all__ = ["Neighbours", "by_neighbours"]

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]

# Pairs of items at a time: 64 MB of distances.
_BLOCK_PAIRS = 1 << 24
_LONGEST_LIST = 1024
# A list should hold so many times the neighbours wanted, on average.
_ENOUGH = 3
_ROUNDING = 1e-9


class Neighbours:
    """Counts the classes of nearest neighbours in training sets of one dataset.

    Features are whole numbers, so many items are equally far away: which come first is
    drawn by lot, once for the dataset.

    Parameters
    ----------
    codes : ndarray of shape (n, d)
        Features as small whole numbers.
    y : ndarray of shape (n,)
        Classes.
    seed : int
        Of the lots.
    """

    def __init__(self, codes: NDArray[Any], y: Ints, seed: int) -> None:
        # Centring keeps numbers small, so that single precision is exact for longer.
        self.items = (codes - np.floor(codes.mean(axis=0))).astype(np.float32)
        self.y, self.n_classes = y, int(y.max()) + 1
        self.squares = np.einsum("ij,ij->i", self.items, self.items)
        # Squared distances differ by 1 at least.
        lots = np.random.default_rng(seed).permutation(len(y)) / (2 * len(y))
        self.offsets = self.squares + lots.astype(np.float32)

    def counts(self, trainings: Sequence[Ints], k: int) -> list[NDArray[np.int16]]:
        """For each training set: how many of every item's k nearest are of each class."""
        n = len(self.y)
        members = np.zeros((len(trainings), n), np.uint8)
        for member, rows in zip(members, trainings, strict=True):
            member[rows] = self.y[rows] + 1
        out = [np.full((n, self.n_classes), -1, np.int16) for _ in trainings]
        length = min(n, _LONGEST_LIST)
        listed = [
            t for t, rows in enumerate(trainings) if len(rows) * length >= _ENOUGH * k * n
        ]
        if listed:
            self._count_by_lists(listed, members, k, length, out)
        for found, rows in zip(out, trainings, strict=True):
            short = np.flatnonzero(found[:, 0] < 0)
            found[short] = self._count_directly(short, rows, k)
        return out

    def _count_by_lists(
        self,
        listed: list[int],
        members: NDArray[np.uint8],
        k: int,
        length: int,
        out: list[NDArray[np.int16]],
    ) -> None:
        step = max(1, _BLOCK_PAIRS // len(self.y))
        for first in range(0, len(self.y), step):
            rows = np.arange(first, min(first + step, len(self.y)))
            near = self._nearest(self.distances(rows, slice(None)), length)

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
        found = np.empty((len(items), self.n_classes), np.int16)
        step = max(1, _BLOCK_PAIRS // len(rows))
        for first in range(0, len(items), step):
            block = slice(first, first + step)
            near = self.y[rows[self._nearest(self.distances(items[block], rows), k)]]
            for c in range(self.n_classes):
                found[block, c] = (near == c).sum(axis=1)
        return found

    def distances(self, rows: Ints, columns: Ints | slice) -> Floats32:
        """Squared distances up to a constant a row, with the lots that break ties."""
        table = self.items[rows] @ self.items[columns].T
        table *= -2
        table += self.offsets[columns]
        return table

    @staticmethod
    def _nearest(table: Floats32, length: int) -> NDArray[np.int32]:
        """The nearest of each row, in order."""
        if length < table.shape[1]:
            nearest = np.argpartition(table, length - 1, axis=1)[:, :length]
            table = np.take_along_axis(table, nearest, axis=1)
            order = np.argsort(table, axis=1)
            nearest = np.take_along_axis(nearest, order, axis=1)
        else:
            nearest = np.argsort(table, axis=1)
        return nearest.astype(np.int32)


def by_neighbours(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of PWK: count the classes that weighted neighbours vote for."""
    y, K = bench.dataset.y, bench.dataset.n_classes
    seed = task_seed(bench.drawer.seed, bench.dataset.name, "ties")
    neighbours = Neighbours(bench.binned, y, seed)
    trainings = [bench.drawer.training(trial) for trial in trials]
    counts = lru_cache(partial(neighbours.counts, trainings))
    for number, (trial, rows) in enumerate(zip(trials, trainings, strict=True)):
        samples = bench.drawer.testing(trial)
        found = {}
        for method in wanted(methods, trial):
            estimate = partial(_estimate, method, counts, number, y[rows])
            found[method.name] = attempted(estimate, samples, K)
        yield Answers(trial, len(rows), samples, found)


def _estimate(
    method: MethodSpec,
    counts: Callable[[int], list[NDArray[np.int16]]],
    number: int,
    codes: Ints,
    samples: Samples,
) -> NDArray[np.float64]:
    parameters = made(method).get_params()
    k = check_count("n_neighbors", parameters["n_neighbors"])
    own = np.bincount(codes)
    weights = (own / own.min()) ** (-1.0 / check_positive("alpha", parameters["alpha"]))
    votes = counts(k)[number] * weights
    leading = votes >= (1 - _ROUNDING) * votes.max(axis=1, keepdims=True)
    said = leading.argmax(axis=1).astype(np.int32)[:, None]
    return Binned(said, len(own)).means(samples)
