"""Training sets drawn from one labelled pool: what they have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from headcount.items.arrays import (
    check_features,
    check_labels,
    check_lengths,
    count_rows,
    take_rows,
)
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.parts.aggregation import Aggregation, Moments, MomentSolver
from headcount.parts.distances import EuclideanDistance
from headcount.parts.solvers import EnergyDistance, Solution
from headcount.parts.training import Binned, Dense, Training
from headcount.quantifiers.base import Quantifier, is_simple
from headcount.quantifiers.features import MatchedHistograms, MeanOverSubsets, SubsetVotes
from headcount.quantifiers.learners import Trained
from headcount.samples.samples import Samples
from headcount_studies.comparison.whole_pool import (
    NeighbourLists,
    distances_to_sets,
    joint_codes,
)

# Numbers held for a block of sample means of patterns: 64 MB.
_BLOCK_NUMBERS = 8_000_000

Rows = NDArray[np.int64]
Solve = Callable[[Samples], Solution]


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Items of a pool, with what is known about them.

    Attributes
    ----------
    training : Training
        All items of the pool.
    categorical : bool
        True if features are categories, given by whole numbers.
    seed : int or None
        Seed of the lots that decide between equally near items; None leaves it open.
    """

    training: Training
    categorical: bool = False
    seed: int | None = None


class SharedTraining(Protocol):
    """Computations on a pool that serve all training sets drawn from it."""

    def fit_many(self, training_sets: Sequence[Rows]) -> Sequence[Solve]:
        """Functions that solve samples of the pool, one per training set."""


class TrainingPool:
    """Fit a quantifier on many training sets, and predict samples, of one labelled pool.

    `ED` measures each distance between two items once, `PWK` searches the neighbours of an
    item once, `HDx` and `ReadMe` number the values of categories once. Other quantifiers, and
    these where the items do not allow it, are fitted on each training set by itself.

    Shares are those of a quantifier that was fitted on the training set alone; those of `ED`
    to about 1e-5, as distances are then in single precision.

    >>> import numpy as np
    >>> import headcount as hc
    >>> from headcount_studies.comparison.training_pool import TrainingPool
    >>> X, y = np.array([[0, 0], [3, 4], [0, 1], [3, 5]]), np.array(["a", "b", "a", "b"])
    >>> predict, _ = TrainingPool(hc.ED(), X, y).fit_many([[0, 1], [2, 3]])
    >>> predict(hc.Samples.whole(4)).round(1)
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
        self.quantifier = quantifier
        self.X = check_features(X)
        self.classes, codes = check_labels(y)
        check_lengths("X", count_rows(self.X), codes)
        items = Training(self.X, codes, len(self.classes))
        self.pool = LabelledPool(items, categorical, random_state)

    @cached_property
    def _shared(self) -> SharedTraining | None:
        if not is_simple(self.quantifier):
            return None
        return shared_training(self.quantifier._aggregation(), self.pool)

    def fit_many(
        self, training_sets: Sequence[ArrayLike]
    ) -> list[Callable[[Samples], NDArray[np.float64]]]:
        """Fit the quantifier on each training set."""
        row_sets = [np.asarray(rows, dtype=np.int64) for rows in training_sets]
        if self._shared is None:
            return [
                _Alone(self.quantifier, self._items, self._labels, rows) for rows in row_sets
            ]
        return [partial(_prevalence, solve) for solve in self._shared.fit_many(row_sets)]

    @cached_property
    def _items(self) -> Any:
        """The items as a quantifier takes them: categories as texts."""
        return np.asarray(self.X).astype(str) if self.pool.categorical else self.X

    @cached_property
    def _labels(self) -> NDArray[Any]:
        return self.classes[self.pool.training.codes]


@dataclass(frozen=True, eq=False)
class _Alone:
    """A quantifier that is fitted on one training set when it is first called."""

    quantifier: Quantifier
    X: Any
    y: NDArray[Any]
    rows: Rows

    @cached_property
    def fitted(self) -> Quantifier:
        copy: Quantifier = clone(self.quantifier)
        return copy.fit(take_rows(self.X, self.rows), self.y[self.rows])

    def __call__(self, samples: Samples) -> NDArray[np.float64]:
        return self.fitted.predict_many(self.X, samples)


def _prevalence(solve: Solve, samples: Samples) -> NDArray[np.float64]:
    return solve(samples).prevalence


def shared_training(aggregation: Aggregation, pool: LabelledPool) -> SharedTraining | None:
    """Computations that training sets of a pool can share; None if there are none."""
    items = pool.training.items
    if isinstance(aggregation, MatchedHistograms | MeanOverSubsets) and pool.categorical:
        if isinstance(aggregation, MatchedHistograms):
            codes, edges = _numbered(np.asarray(items))
            return _SharedHistograms(pool.training, codes, edges, aggregation.solver_of(edges))
        columns = np.asarray(items).T.astype(np.int64)
        patterns = [
            joint_codes(columns[subset]) for subset in aggregation.patterns.draw(len(columns))
        ]
        return _SharedPatterns(pool.training, *_numbered(np.column_stack(patterns)))
    if isinstance(aggregation, Moments) and isinstance(aggregation.solver, EnergyDistance):
        is_table = isinstance(items, np.ndarray) and items.dtype.kind in "iuf"
        distances = isinstance(aggregation.representation, EuclideanDistance)
        if pool.categorical or not is_table or not distances:
            return None
        return _SharedDistances(pool.training, aggregation.solver)
    if isinstance(aggregation, Trained):
        learner = aggregation.scorer.classifier
        if not isinstance(learner, ProportionWeightedKNN) or pool.seed is None:
            return None
        if items is None or not NeighbourLists.takes(items):
            return None
        lists = NeighbourLists(items, pool.training.codes, random_state=pool.seed)
        return _SharedNeighbours(lists, learner, aggregation.then.fit(pool.training))
    return None


@dataclass(frozen=True, eq=False)
class _SharedHistograms:
    """Values of categories, numbered once; a training set or a sample is counts of them."""

    pool: Training
    codes: NDArray[np.integer[Any]]
    edges: NDArray[np.int64]
    solver: MomentSolver

    def fit_many(self, training_sets: Sequence[Rows]) -> list[partial[Solution]]:
        return [partial(self._solve, rows) for rows in training_sets]

    def _solve(self, rows: Rows, samples: Samples) -> Solution:
        histograms = _indicators(self.codes, self.edges)
        profiles = histograms.means(_class_samples(self.pool, rows))
        return self.solver.solve(profiles, histograms.means(samples))


def _class_samples(pool: Training, rows: Rows) -> Samples:
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

    def fit_many(self, training_sets: Sequence[Rows]) -> list[partial[Solution]]:
        return [partial(self._solve, rows) for rows in training_sets]

    def _solve(self, rows: Rows, samples: Samples) -> Solution:
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

    def fit_many(self, training_sets: Sequence[Rows]) -> list[partial[Solution]]:
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

    def _solve(
        self, weights: NDArray[np.float32], distances: NDArray[np.float32], samples: Samples
    ) -> Solution:
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
