"""Bins of features: quantiles of numbers, and values of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.accumulation import FIXED_POINT, bin_entries, count_entries
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.parts.training import Binned, Embedding, Features, Header, Training, is_missing
from headcount.samples.samples import Samples

_NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Bins of numbers. Bin b reaches up to and includes points[b]."""

    points: Floats

    @classmethod
    def between(cls, values: Floats, mass: Floats, bins: int) -> _Cuts:
        """Make bins of about equal mass from sorted distinct values and their masses."""
        if len(values) <= bins:
            return cls(values[:-1])
        # The middle of its mass decides, so that a frequent value gets a bin of its own.
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        bin_ = np.floor(bins * middle + 1e-9)
        return cls(values[:-1][np.diff(bin_) > 0])

    @property
    def n_bins(self) -> int:
        return len(self.points) + 1

    def codes(self, values: Array, label: str) -> Ints:
        if values.dtype != np.float64:
            raise HeadcountError(
                f"X has values in column {label} that are not numbers, such as {values[0]!r}, "
                "but the quantifier was fitted with numbers: pass the same columns in the same "
                "form."
            )
        return np.searchsorted(self.points, values, side="left")


@dataclass(frozen=True, eq=False)
class _CategoryBins:
    """One bin per category of the training set, and one for all others."""

    positions: dict[Any, int]

    @property
    def n_bins(self) -> int:
        return len(self.positions) + 1

    def codes(self, values: Array, label: str) -> Ints:
        unknown = len(self.positions)
        names = _names(values, label)
        return np.fromiter(
            (self.positions.get(name, unknown) for name in names), np.int64, len(values)
        )


def _names(values: Array, label: str) -> list[Any]:
    names = [None if is_missing(value) else value for value in values.tolist()]
    try:
        set(names)
    except TypeError:
        raise HeadcountError(
            f"X has values in column {label} that are neither numbers nor names of "
            f"categories, such as {names[0]!r}: convert the column, or drop it."
        ) from None
    return names


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Bins of a sparse table, numbered consecutively over all columns."""

    rows: Ints
    columns: NDArray[np.int32]
    codes: NDArray[np.int32]
    zeros: NDArray[np.int32]
    n_bins: int

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.n_bins

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        """Share of the items of each sample in each bin."""
        weights = _NO_WEIGHTS if weights is None else weights
        homes = self.zeros[self.columns]
        out = np.empty((len(samples), self.n_bins))

        def work(start: int, stop: int) -> None:
            count_entries(
                self.rows, self.codes, homes, self.zeros, weights,
                samples.indices, samples.offsets, start, stop, out,
            )  # fmt: skip

        entries = len(self.codes) / (len(self.rows) - 1) + 1
        each_range(work, len(samples), grain=int(1 + 80_000 / (samples.sizes.mean() * entries)))
        return out

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups."""
        counts, one = np.diff(self.rows), np.int64(FIXED_POINT)
        sums[:, 0, self.zeros] += one * np.bincount(groups, minlength=len(sums))[:, None]
        of_entry = np.repeat(groups, counts)
        np.add.at(sums[:, 0], (of_entry, self.codes), one)
        np.add.at(sums[:, 0], (of_entry, self.zeros[self.columns]), -one)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of the columns of a table, determined by the training items.

    Numbers are divided into bins of about equal mass. If there are no more distinct values
    than bins, each value has its own bin. Categories (texts, booleans with missing values and
    categorical columns of a frame) have one bin each. A missing category counts as a
    category. All categories that are not in the training set share a bin.
    """

    header: Header
    columns: Ints
    rules: tuple[_Cuts | _CategoryBins, ...]

    @classmethod
    def learn(cls, training: Training, bins: int, columns: Ints | None = None) -> Bins:
        """Determine the bins of some columns, by default of all."""
        features = Features.of(training.items)
        if columns is None:
            columns = np.arange(features.header.n_columns)
        weights = np.ones(len(training.codes)) if training.weights is None else training.weights
        if features.is_sparse:
            rules = _rules_of_sparse(features.table[:, columns], weights, bins)
        else:
            rules = tuple(_rule_of(features, j, weights, bins) for j in columns.tolist())
        return cls(features.header, columns, rules)

    @cached_property
    def edges(self) -> Ints:
        """Number of the first bin of each column."""
        return np.concatenate([[0], np.cumsum([rule.n_bins for rule in self.rules])])

    def of(self, X: Any) -> NDArray[np.int32] | SparseCodes:
        """Bins of the items, sparse for a sparse table."""
        return self.sparse_codes(X) if sparse.issparse(X) else self.codes(X)

    def codes(self, X: Any) -> NDArray[np.int32]:
        """Bins of the items, numbered consecutively over all columns."""
        features = Features.of(X)
        self.header.check(features.header)
        out = np.empty((features.table.shape[0], len(self.columns)), np.int32)
        for channel, (position, rule) in enumerate(zip(self.columns, self.rules, strict=True)):
            values = features.column(int(position))
            out[:, channel] = rule.codes(values, self.header.label(int(position)))
            out[:, channel] += np.int32(self.edges[channel])
        return out

    def sparse_codes(self, X: Any) -> SparseCodes:
        """Bins of the items of a CSR matrix."""
        self.header.check(Features.of(X).header)
        cuts = [rule.points for rule in self.rules if isinstance(rule, _Cuts)]
        if len(cuts) < len(self.rules):
            raise HeadcountError(
                "X is sparse, but the quantifier was fitted with columns of categories: pass a "
                "frame or an array with the same columns."
            )
        table = _canonical(X[:, self.columns])
        columns = table.indices.astype(np.int32)
        codes = np.empty(table.nnz, np.int32)
        starts = np.concatenate([[0], np.cumsum([len(points) for points in cuts])])
        values = table.data.astype(np.float64)
        bin_entries(values, columns, np.concatenate(cuts), starts, codes)
        codes += self.edges[columns].astype(np.int32)
        zeros = [np.searchsorted(points, 0.0, side="left") for points in cuts]
        return SparseCodes(
            table.indptr.astype(np.int64),
            columns,
            codes,
            (self.edges[:-1] + zeros).astype(np.int32),
            int(self.edges[-1]),
        )


def _rule_of(
    features: Features, position: int, weights: Floats, bins: int
) -> _Cuts | _CategoryBins:
    values, has_weight = features.column(position), weights > 0
    if values.dtype == np.float64:
        distinct, which = np.unique(values[has_weight], return_inverse=True)
        return _Cuts.between(distinct, _sums(weights[has_weight], which), bins)
    names = dict.fromkeys(_names(values[has_weight], features.header.label(position)))
    return _CategoryBins({name: code for code, name in enumerate(names)})


def _rules_of_sparse(
    table: Any, weights: Floats, bins: int
) -> tuple[_Cuts | _CategoryBins, ...]:
    has_weight = weights > 0
    columns = _canonical(table[np.flatnonzero(has_weight)].tocsc())
    weights, n = weights[has_weight], int(has_weight.sum())
    rules = []
    for left, right in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        column_weights = weights[columns.indices[left:right]]
        values = columns.data[left:right].astype(np.float64)
        if right - left < n:
            values, column_weights = (
                np.append(values, 0.0),
                np.append(column_weights, weights.sum() - column_weights.sum()),
            )
        distinct, which = np.unique(values, return_inverse=True)
        rules.append(_Cuts.between(distinct, _sums(column_weights, which), bins))
    return tuple(rules)


def _sums(weights: Floats, which: NDArray[np.intp]) -> Floats:
    return np.asarray(np.bincount(which, weights), dtype=np.float64)


def _canonical(table: Any) -> Any:
    """Sum duplicate entries and sort them, without changing the given matrix."""
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


@dataclass(frozen=True, eq=False)
class FeatureHistograms:
    """Concatenated histograms of all features, without smoothing.

    Parameters
    ----------
    bins : int
        Number of bins of a numeric feature; see `Bins`.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    >>> fitted = FeatureHistograms(2).fit(Training(X, np.array([0, 0, 1, 1]), 2))
    >>> fitted.embed(X[:2]).means(Samples.whole(2))
    array([[1., 0., 1., 0.]])
    """

    bins: int
    fitted: Bins | None = None

    def fit(self, training: Training) -> FeatureHistograms:
        """Determine the bins."""
        return replace(self, fitted=Bins.learn(training, self.bins))

    def embed(self, items: Any) -> Embedding:
        """Embed items given as features."""
        assert self.fitted is not None
        codes = self.fitted.of(items)
        if isinstance(codes, SparseCodes):
            return codes
        return Binned(codes, int(self.fitted.edges[-1]))


# Keys of patterns are looked up in a table if there are no more of them; else they are sorted.
_MOST_KEYS = 2**16
_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Shares of the patterns of one subset of features in each class."""

    members: Ints
    strides: Ints
    n_keys: int
    known: Ints
    shares: Floats

    @classmethod
    def count(
        cls, members: Ints, codes: _ColumnCodes, sizes: Ints,
        training: Training,
    ) -> PatternTable:  # fmt: skip
        """Count the patterns of the training items; `sizes` are the bins of each column."""
        strides, n_keys = _strides(sizes[members])
        K, has_weight = training.n_classes, training.class_weights > 0
        keys = codes.keys(members, strides)[has_weight]
        if n_keys:
            met = np.bincount(keys, minlength=n_keys) > 0
            patterns, which = np.flatnonzero(met), (np.cumsum(met) - 1)[keys]
        else:
            patterns, which = np.unique(keys, return_inverse=True)
        cells = which * K + training.codes[has_weight]
        shares = np.zeros((len(patterns) + 1, K + 1))
        counted = np.bincount(cells, training.class_weights[has_weight], len(patterns) * K)
        shares[:-1, :K] = counted.reshape(len(patterns), K)
        shares[:-1, K] = 1
        return cls(members, strides, n_keys, patterns, shares)

    @property
    def overlap(self) -> Floats:
        """Inner products of the pattern shares of the classes, (K, K)."""
        shares = self.shares[:-1, :-1]
        return np.asarray(shares.T @ shares, dtype=np.float64)

    def look_up(self, codes: _ColumnCodes) -> Floats:
        """Row of `shares` for each item."""
        keys, P = codes.keys(self.members, self.strides), len(self.known)
        if self.n_keys:
            places = np.full(self.n_keys, P)
            places[self.known] = np.arange(P)
            return self.shares[places[keys]]
        place = np.minimum(np.searchsorted(self.known, keys), P - 1)
        return self.shares[np.where(self.known[place] == keys, place, P)]


def _strides(sizes: Ints) -> tuple[Ints, int]:
    """Factors that give every pattern a key of its own, and the number of keys if limited."""
    total = prod(sizes.tolist())
    if total > _LARGEST_KEY:
        # Random factors, modulo 2^64: among a million patterns the chance that any two share
        # a key is below one in a million.
        rng = np.random.default_rng(len(sizes))
        words = rng.integers(-(2**63), 2**63 - 1, len(sizes), dtype=np.int64, endpoint=True)
        return words | 1, 0
    strides = np.cumprod(np.append(1, sizes[::-1]))[:-1][::-1]
    return strides.astype(np.int64), total if total <= _MOST_KEYS else 0


@dataclass(frozen=True, eq=False)
class FeaturePatterns:
    """Joint patterns of random subsets of the features, each pattern a category.

    A pattern has a whole number as its key, a sum over its features: no table of all possible
    patterns is made unless it is small, and an item of a sparse matrix takes as many steps as
    it has entries.

    Parameters
    ----------
    bins : int
        Number of bins of a numeric feature; see `Bins`.
    n_subsets : int
        Number of subsets; if there are no more than that, each is used once.
    subset_size : int or None
        Number of features in a subset. By default floor(log2 D + 1) of D.
    seed : int
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> fitted = FeaturePatterns(2, 50, 2, 0).fit(Training(X, np.array([0, 0, 1, 1]), 2))
    >>> fitted.tables[0].overlap  # class 0 has two patterns, class 1 another
    array([[0.5, 0. ], [0. , 1. ]])
    """

    bins: int
    n_subsets: int
    subset_size: int | None
    seed: int
    fitted: Bins | None = None
    tables: tuple[PatternTable, ...] = ()

    def fit(self, training: Training) -> FeaturePatterns:
        """Draw the subsets and count their patterns in each class."""
        subsets = self.draw(Features.of(training.items).header.n_columns)
        # Of very many features only those drawn are looked at.
        columns = np.unique(np.concatenate(subsets))
        bins = Bins.learn(training, self.bins, columns)
        codes, sizes = _ColumnCodes.of(bins, training.items), np.diff(bins.edges)
        tables = (
            PatternTable.count(np.searchsorted(columns, subset), codes, sizes, training)
            for subset in subsets
        )
        return replace(self, fitted=bins, tables=tuple(tables))

    def codes(self, items: Any) -> _ColumnCodes:
        """Bins of the items, for `PatternTable.look_up`."""
        assert self.fitted is not None
        return _ColumnCodes.of(self.fitted, items)

    def draw(self, n_columns: int) -> list[Ints]:
        """Draw the subsets of the columns of a table."""
        D = n_columns
        # floor(log2 D + 1) is the number of binary digits of D.
        size = D.bit_length() if self.subset_size is None else self.subset_size
        if size > D:
            raise HeadcountError(
                f"subset_size is {size}, but X has {D:,} columns: pass at most that many."
            )
        if comb(D, size) <= self.n_subsets:
            return [np.array(subset) for subset in combinations(range(D), size)]
        rng = np.random.default_rng(self.seed)
        return [rng.choice(D, size, replace=False) for _ in range(self.n_subsets)]


@dataclass(frozen=True, eq=False)
class _ColumnCodes:
    """Bins of items, numbered within each column."""

    codes: NDArray[np.int32] | sparse.csr_array
    zeros: Ints

    @classmethod
    def of(cls, bins: Bins, items: Any) -> _ColumnCodes:
        codes, starts = bins.of(items), bins.edges[:-1]
        if not isinstance(codes, SparseCodes):
            # Keys are sums over columns: a column's codes lie side by side.
            local = np.ascontiguousarray(codes.T)
            local -= starts[:, None].astype(np.int32)
            return cls(local, np.zeros(len(starts), np.int64))
        change = codes.codes.astype(np.int64) - codes.zeros[codes.columns]
        shape = (len(codes.rows) - 1, len(starts))
        table = sparse.csr_array((change, codes.columns, codes.rows), shape=shape)
        return cls(table, codes.zeros - starts)

    def keys(self, members: Ints, strides: Ints) -> Ints:
        """Key of each item's pattern of some features; products wrap around."""
        if isinstance(self.codes, np.ndarray):
            keys = np.zeros(self.codes.shape[1], np.int64)
            for member, stride in zip(members, strides, strict=True):
                keys += self.codes[member] * stride
            return keys
        factors = np.zeros(self.codes.shape[1], np.int64)
        factors[members] = strides
        return np.asarray(self.codes @ factors + (self.zeros * factors).sum(), dtype=np.int64)
