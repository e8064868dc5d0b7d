"""Representation of items by joint patterns of a few of their features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount.errors import HeadcountError
from headcount.representation.binning import Bins, SparseCodes
from headcount.representation.feature_table import Features
from headcount.representation.training import Training

# Keys of patterns are looked up in a table if there are no more of them; else they are sorted.
_MOST_KEYS = 2**16
_LARGEST_KEY = 2**62
# Numbers of joint patterns may have gaps up to this size.
_LARGEST_NUMBER = 1_000_000


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Shares of the patterns of one subset of features in each class.

    Attributes
    ----------
    members : ndarray of int64
        Features, as positions among those that are binned.
    strides : ndarray of int64
        Factors of their bins; the key of a pattern is the sum of the products.
    n_keys : int
        Number of possible keys, 0 to n_keys - 1; 0 if keys are not limited.
    known : ndarray of int64, shape (P,)
        Keys of the patterns seen in training, rising.
    shares : ndarray of shape (P + 1, K + 1)
        Share of each pattern in each class, and a one. The last row, all zero, is for
        patterns that are not in training.
    """

    members: NDArray[np.int64]
    strides: NDArray[np.int64]
    n_keys: int
    known: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def count(
        cls, members: NDArray[np.int64], codes: _ColumnCodes, sizes: NDArray[np.int64],
        training: Training,
    ) -> PatternTable:  # fmt: skip
        """Count the patterns of the training items; `sizes` are the bins of each column."""
        strides, n_keys = _strides(sizes[members])
        K, there = training.n_classes, training.class_weights > 0
        keys = codes.keys(members, strides)[there]
        if n_keys:
            met = np.bincount(keys, minlength=n_keys) > 0
            known, which = np.flatnonzero(met), (np.cumsum(met) - 1)[keys]
        else:
            known, which = np.unique(keys, return_inverse=True)
        cells = which * K + training.codes[there]
        shares = np.zeros((len(known) + 1, K + 1))
        counted = np.bincount(cells, training.class_weights[there], len(known) * K)
        shares[:-1, :K] = counted.reshape(len(known), K)
        shares[:-1, K] = 1
        return cls(members, strides, n_keys, known, shares)

    @property
    def overlap(self) -> NDArray[np.float64]:
        """Inner products of the pattern shares of the classes, (K, K)."""
        shares = self.shares[:-1, :-1]
        return np.asarray(shares.T @ shares, dtype=np.float64)

    def look_up(self, codes: _ColumnCodes) -> NDArray[np.float64]:
        """Row of `shares` for each item."""
        keys, P = codes.keys(self.members, self.strides), len(self.known)
        if self.n_keys:
            places = np.full(self.n_keys, P)
            places[self.known] = np.arange(P)
            return self.shares[places[keys]]
        place = np.minimum(np.searchsorted(self.known, keys), P - 1)
        return self.shares[np.where(self.known[place] == keys, place, P)]


def _strides(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
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

    def draw(self, n_columns: int) -> list[NDArray[np.int64]]:
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
    """Bins of items, numbered within each column.

    Attributes
    ----------
    codes : ndarray of shape (d, n), or CSR array of shape (n, d)
        Bins; of a sparse table, what is to be added to the bin of zero.
    zeros : ndarray of shape (d,)
        Bins of zero; all 0 for a dense table.
    """

    codes: NDArray[np.int32] | sparse.csr_array
    zeros: NDArray[np.int64]

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

    def keys(self, members: NDArray[np.int64], strides: NDArray[np.int64]) -> NDArray[np.int64]:
        """Key of each item's pattern of some features; products wrap around."""
        if isinstance(self.codes, np.ndarray):
            keys = np.zeros(self.codes.shape[1], np.int64)
            for member, stride in zip(members, strides, strict=True):
                keys += self.codes[member] * stride
            return keys
        factors = np.zeros(self.codes.shape[1], np.int64)
        factors[members] = strides
        return np.asarray(self.codes @ factors + (self.zeros * factors).sum(), dtype=np.int64)


def joint_codes(columns: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Number the joint patterns of a few columns of whole numbers, without gaps.

    Parameters
    ----------
    columns : ndarray of int, shape (m, n)
        Values from 0 on, one row per column of a table with n items.

    Returns
    -------
    ndarray of int64, shape (n,)
        Pattern of each item, from 0 on, in the order of the values.

    Examples
    --------
    >>> import numpy as np
    >>> joint_codes(np.array([[0, 2, 0, 2], [1, 0, 1, 3]]))
    array([0, 1, 0, 2])
    """
    numbers = np.zeros(columns.shape[1], np.int64)
    for column in columns:
        numbers = numbers * (int(column.max()) + 1) + column
        if numbers.max() > _LARGEST_NUMBER:
            numbers = np.unique(numbers, return_inverse=True)[1]
    met = np.zeros(numbers.max() + 1, np.int64)
    met[numbers] = 1
    return (np.cumsum(met) - 1)[numbers]
