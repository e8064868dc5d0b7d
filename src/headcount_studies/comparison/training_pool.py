"""Training sets drawn from one labelled pool: what they have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_positive
from headcount.items.arrays import (
    check_features,
    check_labels,
    check_lengths,
    count_rows,
    take_rows,
)
from headcount.learn.neighbours import ProportionWeightedKNN, leading_class, vote_weights
from headcount.parts.aggregation import Aggregation, Moments, MomentSolver
from headcount.parts.distances import EuclideanDistance
from headcount.parts.solvers import EnergyDistance, Solution
from headcount.parts.training import Binned, Dense, Training
from headcount.quantifiers.base import Quantifier, is_simple
from headcount.quantifiers.features import MatchedHistograms, MeanOverSubsets, SubsetVotes
from headcount.quantifiers.learners import Trained
from headcount.samples.samples import Samples

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


def distances_to_sets(X: Array, weights: Floats32) -> Floats32:
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


# Numbers held for a block of sample means of patterns: 64 MB.
_BLOCK_NUMBERS = 8_000_000

Solve = Callable[[Samples], Solution]


class TrainingPool:
    """Fit a quantifier on many training sets, and predict samples, of one labelled pool.

    `ED` measures each distance between two items once, `PWK` searches the neighbours of an
    item once, `HDx` and `ReadMe` number the values of categories once. Other quantifiers, and
    these where the items do not allow it, are fitted on each training set by itself.

    Shares are those of a quantifier that was fitted on the training set alone; those of `ED`
    to about 1e-5, as distances are then in single precision.

    >>> import headcount as hc
    >>> X, y = np.array([[0, 0], [3, 4], [0, 1], [3, 5]]), np.array(["a", "b", "a", "b"])
    >>> predict, _ = TrainingPool(hc.ED(), X, y).fit_many([[0, 1], [2, 3]])
    >>> predict(Samples.whole(4)).round(1)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        quantifier: Quantifier,
        X: Any,
        y: ArrayLike,
        *,
        categorical: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.quantifier, self.X, self.categorical = quantifier, check_features(X), categorical
        self.classes, codes = check_labels(y)
        check_lengths("X", count_rows(self.X), codes)
        self.training = Training(self.X, codes, len(self.classes))
        self.seed = random_state  # of the lots between equally near items; None: left open

    @cached_property
    def _shared(self) -> Any:
        """Computations that training sets can share; None if there are none."""
        if not is_simple(self.quantifier):
            return None
        aggregation, training = self.quantifier._aggregation(), self.training
        items = training.items
        if isinstance(aggregation, MatchedHistograms) and self.categorical:
            codes, edges = _numbered(np.asarray(items))
            return _SharedHistograms(training, codes, edges, aggregation.solver_of(edges))
        if isinstance(aggregation, MeanOverSubsets) and self.categorical:
            columns = np.asarray(items).T.astype(np.int64)
            subsets = aggregation.patterns.draw(len(columns))
            patterns = np.column_stack([joint_codes(columns[subset]) for subset in subsets])
            return _SharedPatterns(training, *_numbered(patterns))
        if isinstance(aggregation, Moments) and isinstance(aggregation.solver, EnergyDistance):
            is_table = isinstance(items, np.ndarray) and items.dtype.kind in "iuf"
            distances = isinstance(aggregation.representation, EuclideanDistance)
            if is_table and distances and not self.categorical:
                return _SharedDistances(training, aggregation.solver)
        if isinstance(aggregation, Trained) and self.seed is not None:
            learner = aggregation.scorer.classifier
            if isinstance(learner, ProportionWeightedKNN) and NeighbourLists.takes(items):
                lists = NeighbourLists(items, training.codes, random_state=self.seed)
                return _SharedNeighbours(lists, learner, aggregation.then.fit(training))
        return None

    def fit_many(self, training_sets: Sequence[ArrayLike]) -> list[Callable[[Samples], Floats]]:
        """Fit the quantifier on each training set."""
        row_sets = [np.asarray(rows, dtype=np.int64) for rows in training_sets]
        if self._shared is None:
            # As a quantifier takes them: categories are texts.
            X = np.asarray(self.X).astype(str) if self.categorical else self.X
            y = self.classes[self.training.codes]
            return [_Alone(self.quantifier, X, y, rows) for rows in row_sets]
        return [partial(_prevalence, solve) for solve in self._shared.fit_many(row_sets)]


@dataclass(frozen=True, eq=False)
class _Alone:
    """A quantifier that is fitted on one training set when it is first called."""

    quantifier: Quantifier
    X: Any
    y: NDArray[Any]
    rows: Ints

    @cached_property
    def fitted(self) -> Quantifier:
        copy: Quantifier = clone(self.quantifier)
        return copy.fit(take_rows(self.X, self.rows), self.y[self.rows])

    def __call__(self, samples: Samples) -> Floats:
        return self.fitted.predict_many(self.X, samples)


def _prevalence(solve: Solve, samples: Samples) -> Floats:
    return solve(samples).prevalence


@dataclass(frozen=True, eq=False)
class _SharedHistograms:
    """Values of categories, numbered once; a training set or a sample is counts of them."""

    pool: Training
    codes: NDArray[np.integer[Any]]
    edges: NDArray[np.int64]
    solver: MomentSolver

    def fit_many(self, training_sets: Sequence[Ints]) -> list[partial[Solution]]:
        return [partial(self._solve, rows) for rows in training_sets]

    def _solve(self, rows: Ints, samples: Samples) -> Solution:
        histograms = _indicators(self.codes, self.edges)
        profiles = histograms.means(_class_samples(self.pool, rows))
        return self.solver.solve(profiles, histograms.means(samples))


def _class_samples(pool: Training, rows: Ints) -> Samples:
    """A training set as one sample of the pool per class."""
    codes = pool.codes[rows]
    by_class = [rows[codes == k] for k in range(pool.n_classes)]
    return Samples.from_arrays(by_class, n_pool=len(pool))


def _numbered(
    table: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.integer[Any]], NDArray[np.int64]]:
    """Columns in the smallest integer type, and where each starts in a common numbering."""
    edges = np.concatenate([[0], np.cumsum(table.max(axis=0).astype(np.int64) + 1)])
    return table.astype(np.min_scalar_type(table.max()), copy=False), edges


def _indicators(codes: NDArray[np.integer[Any]], edges: NDArray[np.int64]) -> Binned:
    """Items as indicators of the values of some columns."""
    starts = (edges[:-1] - edges[0]).astype(np.int32)
    return Binned(codes.astype(np.int32) + starts, int(edges[-1] - edges[0]))


@dataclass(frozen=True, eq=False)
class _SharedPatterns:
    """Patterns of categories, numbered once for each set of features."""

    pool: Training
    codes: NDArray[np.integer[Any]]
    edges: NDArray[np.int64]

    def fit_many(self, training_sets: Sequence[Ints]) -> list[partial[Solution]]:
        return [partial(self._solve, rows) for rows in training_sets]

    def _solve(self, rows: Ints, samples: Samples) -> Solution:
        classes = _class_samples(self.pool, rows)
        votes = SubsetVotes.none(len(samples), self.pool.n_classes)
        for first, last in self._blocks(len(samples)):
            edges = self.edges[first : last + 1]
            patterns = _indicators(self.codes[:, first:last], edges)
            of_classes, of_samples = patterns.means(classes), patterns.means(samples)
            for first_pattern, end in pairwise(edges - edges[0]):
                trained = of_classes[:, first_pattern:end].any(axis=0)
                profiles = of_classes[:, first_pattern:end][:, trained]
                means = of_samples[:, first_pattern:end][:, trained]
                votes.cast(profiles @ profiles.T, means @ profiles.T, means.sum(axis=1))
        return votes.mean(classes.sizes / len(rows))

    def _blocks(self, n_samples: int) -> Iterator[tuple[int, int]]:
        """Ranges of sets whose patterns are few enough to be counted at once."""
        most = max(1, _BLOCK_NUMBERS // n_samples)
        first = 0
        while first < len(self.edges) - 1:
            end = np.searchsorted(self.edges, self.edges[first] + most, side="right")
            last = max(int(end) - 1, first + 1)
            yield first, last
            first = last


@dataclass(frozen=True, eq=False)
class _SharedDistances:
    """Distances between all items of the pool, each measured once."""

    pool: Training
    solver: MomentSolver

    def fit_many(self, training_sets: Sequence[Ints]) -> list[partial[Solution]]:
        codes, K = self.pool.codes, self.pool.n_classes
        weights = np.zeros((len(codes), len(training_sets) * K), np.float32)
        for number, rows in enumerate(training_sets):
            weights[rows, number * K + codes[rows]] = 1
        weights /= weights.sum(axis=0)
        distances = distances_to_sets(np.asarray(self.pool.items), weights)
        return [
            partial(self._solve, weights[:, first : first + K], distances[:, first : first + K])
            for first in range(0, weights.shape[1], K)
        ]

    def _solve(self, weights: Floats32, distances: Floats32, samples: Samples) -> Solution:
        profiles = (weights.T @ distances).astype(np.float64)
        means = Dense(distances.astype(np.float64)).means(samples)
        return self.solver.solve(profiles, means)


@dataclass(frozen=True, eq=False)
class _SharedNeighbours:
    """Neighbours of all items of the pool, searched once."""

    lists: NeighbourLists
    learner: ProportionWeightedKNN
    then: Aggregation

    def fit_many(self, training_sets: Sequence[NDArray[np.int64]]) -> list[partial[Solution]]:
        k, alpha = self.learner.n_neighbors, self.learner.alpha
        labels = self.lists.predict(training_sets, n_neighbors=k, alpha=alpha)
        return [partial(self.then.solve, predicted) for predicted in labels]


@njit(cache=True, nogil=True, error_model="numpy")
def count_near(near: Any, member: Any, k: int, start: int, stop: int, out: Any) -> None:
    """Count classes of the k nearest members by item; a list too short has -1 first.

    `member` holds the class plus one of each item that is a member, and zero for others.
    """
    for i in range(start, stop):
        out[i, :] = 0
        n_near = 0
        for j in range(near.shape[1]):
            code = member[near[i, j]]
            if code > 0:
                out[i, code - 1] += 1
                n_near += 1
                if n_near == k:
                    break
        if n_near < k:
            out[i, 0] = -1
