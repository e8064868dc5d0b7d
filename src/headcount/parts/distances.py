"""Representation of items by their mean distance to the training items of each class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.distances import (
    add_distances,
    add_mean_distances,
    add_sparse_distances,
    squared_norms,
)
from headcount._support.arrays import Floats, Ints
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.parts.training import Dense, Features, Header, Training

_EMPTY = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class MeanDistance:
    """Mean Manhattan distance between the scores of an item and those of each class.

    The Manhattan distance is a sum over columns. For one column, all mean distances are
    computed by one sweep over sorted values, without visiting pairs of items.

    Parameters
    ----------
    by_rank : bool, default=False
        First replace each score by its rank among the training scores of its column (from 0
        to 1, the middle rank for ties).
    ordered : bool, default=False
        Take the cumulated posteriors of ordered classes: their Manhattan distance is the
        earth mover's distance of the posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> near = MeanDistance().fit(Training(scores, np.array([0, 1]), 2))
    >>> near.embed(scores).values.round(6)
    array([[0. , 1.4], [1.4, 0. ]])
    """

    by_rank: bool = False
    centres: Floats = field(default_factory=lambda: _EMPTY)
    codes: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    weights: Floats = field(default_factory=lambda: np.empty(0))
    mass: Floats = field(default_factory=lambda: np.empty(0))
    n_classes: int = 0
    ordered: bool = False

    def fit(self, training: Training) -> MeanDistance:
        """Store the training scores, each column sorted."""
        assert training.items is not None
        scores = self._columns(np.asarray(training.items, dtype=np.float64))
        within = training.class_weights
        mass = within * training.prior[training.codes]
        return MeanDistance(
            self.by_rank, scores, training.codes, within, mass, training.n_classes, self.ordered
        )

    def _columns(self, items: Floats) -> Floats:
        return np.cumsum(items, axis=1)[:, :-1] if self.ordered else items

    def embed(self, items: Floats) -> Dense:
        """Embed items given as posteriors."""
        items = self._columns(np.asarray(items, dtype=np.float64))
        out = np.zeros((len(items), self.n_classes))
        for column in range(self.centres.shape[1]):
            points, centres = items[:, column], self.centres[:, column]
            if self.by_rank:
                rank = _Ranks.among(centres, self.mass)
                points, centres = rank(points), rank(centres)
            order = np.argsort(centres, kind="stable")
            add_mean_distances(
                np.ascontiguousarray(points),
                np.argsort(points, kind="stable"),
                centres[order],
                self.codes[order],
                self.weights[order],
                out,
            )
        return Dense(out)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Share of the mass of the reference below a value, with ties counted half."""

    values: Floats
    upto: Floats

    @classmethod
    def among(cls, values: Floats, mass: Floats) -> _Ranks:
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.concatenate([[0.0], np.cumsum(mass[order])]))

    def __call__(self, values: Floats) -> Floats:
        left = self.upto[np.searchsorted(self.values, values, side="left")]
        right = self.upto[np.searchsorted(self.values, values, side="right")]
        return (left + right) / 2


@dataclass(frozen=True, eq=False)
class _FeatureDistance:
    """Mean distance of items, given as features, to the training items of each class."""

    header: Header | None = None
    centres: _Centres | _SparseCentres | _Columns | None = None

    def fit(self, training: Training) -> Self:
        """Store the training items."""
        features = Features.of(training.items)
        centres = self._kind(features).of(features, training)
        return replace(self, header=features.header, centres=centres)

    def embed(self, items: Any) -> Dense:
        """Embed items given as features."""
        assert self.header is not None
        assert self.centres is not None
        features = Features.of(items)
        self.header.check(features.header)
        return Dense(self.centres.distances(features))

    def _kind(self, features: Features) -> type[_Centres | _SparseCentres | _Columns]:
        return _Columns


class EuclideanDistance(_FeatureDistance):
    """Mean Euclidean distance between an item and the training items of each class.

    There is no table of pairs: memory grows with the number of items, not of pairs. For a
    single feature, distances are computed by sorting.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> near = EuclideanDistance().fit(Training(X, np.array([0, 1, 1]), 2))
    >>> near.embed(X).values
    array([[ 0. , 7.5], [ 5. , 2.5], [10. , 2.5]])
    """

    def _kind(self, features: Features) -> type[_Centres | _SparseCentres | _Columns]:
        if features.header.n_columns == 1:
            return _Columns
        return _SparseCentres if features.is_sparse else _Centres


class ManhattanDistance(_FeatureDistance):
    """Mean Manhattan distance between an item and the training items of each class.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> ManhattanDistance().fit(Training(X, np.array([0, 1, 1]), 2)).embed(X).values
    array([[ 0. , 10.5], [ 7. , 3.5], [14. , 3.5]])
    """


@dataclass(frozen=True, eq=False)
class _Columns:
    """Sums of distances along single features, each of them sorted."""

    sorted: MeanDistance

    @classmethod
    def of(cls, features: Features, training: Training) -> _Columns:
        return cls(MeanDistance().fit(replace(training, items=_dense(features))))

    def distances(self, features: Features) -> Floats:
        return self.sorted.embed(_dense(features)).values


@dataclass(frozen=True, eq=False)
class _Centres:
    """Training items sorted by class, padded for the kernel."""

    values: Floats
    weights: Floats
    edges: Ints

    @classmethod
    def of(cls, features: Features, training: Training) -> _Centres:
        order, edges = _by_class(training)
        table = _dense(features)
        n, width = table.shape
        # Padded with zeros to a multiple of four columns and an even number of rows.
        values = np.zeros((n + n % 2, -(-width // 4) * 4))
        values[:n, :width] = table[order]
        weights = np.zeros(len(values))
        weights[:n] = training.class_weights[order]
        return cls(values, weights, edges)

    def distances(self, features: Features) -> Floats:
        points = _dense(features)
        out = np.zeros((len(points), len(self.edges) - 1))

        def work(start: int, stop: int) -> None:
            add_distances(points, self.values, self.weights, self.edges, start, stop, out)

        each_range(work, len(points), grain=max(4, 1_000_000 // self.values.size))
        _check_finite(out)
        return out


@dataclass(frozen=True, eq=False)
class _SparseCentres:
    """Sparse training items sorted by class."""

    table: sparse.csr_array
    by_column: sparse.csc_array
    norms: Floats
    weights: Floats
    edges: Ints

    @classmethod
    def of(cls, features: Features, training: Training) -> _SparseCentres:
        order, edges = _by_class(training)
        table = _sparse(features)[order]
        weights = training.class_weights[order]
        norms = squared_norms(table.indptr.astype(np.int64), table.data)
        return cls(table, sparse.csc_array(table), norms, weights, edges)

    def distances(self, features: Features) -> Floats:
        points = _sparse(features)
        entries = _entries(points)
        norms = squared_norms(entries[0], entries[2])
        out = np.zeros((points.shape[0], len(self.edges) - 1))
        centres = (*_entries(self.table), *_entries(self.by_column))

        def work(start: int, stop: int) -> None:
            add_sparse_distances(
                *entries,
                *centres,
                norms,
                self.norms,
                self.weights,
                self.edges,
                start,
                stop,
                out,
            )

        each_range(work, points.shape[0], grain=1 + 200_000 // len(self.norms))
        _check_finite(out)
        return out


def _by_class(training: Training) -> tuple[Ints, Ints]:
    """Training items sorted by class, and the start of each class."""
    counts = np.bincount(training.codes, minlength=training.n_classes)
    order = np.argsort(training.codes, kind="stable")
    return order, np.concatenate([[0], np.cumsum(counts)])


def _dense(features: Features) -> Floats:
    if features.is_sparse:
        return np.asarray(features.table.toarray(), dtype=np.float64)
    return features.numbers()


def _sparse(features: Features) -> sparse.csr_array:
    source = features.table if features.is_sparse else features.numbers()
    table = sparse.csr_array(source, dtype=np.float64)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _entries(
    table: sparse.csr_array | sparse.csc_array,
) -> tuple[Ints, NDArray[np.int32], Floats]:
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data


def _check_finite(distances: Floats) -> None:
    finite = np.isfinite(distances).all(axis=1)
    if not finite.all():
        raise HeadcountError(
            f"X has numbers in row {int(finite.argmin())} whose squares overflow: divide its "
            "columns by their scale."
        )


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """Random Fourier features: cosines and sines of random projections of the features.

    Inner products of the vectors are Gaussian kernels of the items, up to an error that falls
    with the root of the number of projections. Least squares of their means is therefore
    kernel mean matching, in time that is linear in the number of items.

    Parameters
    ----------
    n_projections : int
        Number of projections; each has a cosine and a sine.
    bandwidth : float or None
        Standard deviation of the kernel. None is the root of the sum of the variances of the
        training features.
    seed : int
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> fitted = FourierFeatures(2000, 5.0, 0).fit(Training(X, np.array([0, 1, 1]), 2))
    >>> vectors = fitted.embed(X).values
    >>> (vectors @ vectors.T).round(1)  # exp(-1/2) and exp(-2)
    array([[1. , 0.6, 0.1], [0.6, 1. , 0.6], [0.1, 0.6, 1. ]])

    References
    ----------
    Rahimi & Recht, NIPS 2007.
    """

    n_projections: int
    bandwidth: float | None
    seed: int
    header: Header | None = None
    directions: Floats | None = None

    def fit(self, training: Training) -> FourierFeatures:
        """Draw the projections."""
        features = Features.of(training.items)
        shape = (features.header.n_columns, self.n_projections)
        directions = np.random.default_rng(self.seed).normal(size=shape)
        bandwidth = _spread(features, training) if self.bandwidth is None else self.bandwidth
        return replace(self, header=features.header, directions=directions / bandwidth)

    def embed(self, items: Any) -> Dense:
        """Embed items given as features."""
        assert self.header is not None
        assert self.directions is not None
        features = Features.of(items)
        self.header.check(features.header)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = np.asarray(_table(features) @ self.directions)
        finite = np.isfinite(angles).all(axis=1)
        if not finite.all():
            raise HeadcountError(
                f"X has numbers in row {int(finite.argmin())} that are too large to be "
                "projected: divide its columns by their scale."
            )
        waves = np.hstack([np.cos(angles), np.sin(angles)])
        return Dense(waves / np.sqrt(self.n_projections))


def _table(features: Features) -> Any:
    return features.table if features.is_sparse else features.numbers()


def _spread(features: Features, training: Training) -> float:
    """Root of the sum of the variances of the features; 1 if they are constant."""
    weights = np.ones(len(training.codes)) if training.weights is None else training.weights
    weights = weights / weights.sum()
    table = _table(features)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = table.multiply(table) if features.is_sparse else table**2
        variance = float(np.sum(squares.T @ weights - (table.T @ weights) ** 2))
    return float(np.sqrt(variance)) if 0 < variance < np.inf else 1.0
