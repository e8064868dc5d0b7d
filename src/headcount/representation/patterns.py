"""Representation of items by joint patterns of a few of their features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.stratified_draws import GOLDEN, mix
from headcount.errors import HeadcountError
from headcount.representation.binning import Bins, SparseCodes
from headcount.representation.feature_table import Features
from headcount.representation.training import Training

__all__ = ["FeaturePatterns", "PatternTable"]


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Shares of the patterns of one subset of features in each class.

    Attributes
    ----------
    members : ndarray of int64
        Positions of the features among those that are binned.
    known : ndarray of uint64, shape (P,)
        Hashes of the patterns in training, sorted.
    shares : ndarray of shape (P + 1, K + 1)
        Share of each pattern in each class, and a one. The last row, all zero, is for
        patterns that are not in training.
    """

    members: NDArray[np.int64]
    known: NDArray[np.uint64]
    shares: NDArray[np.float64]

    @classmethod
    def count(
        cls, members: NDArray[np.int64], hashes: NDArray[np.uint64], training: Training
    ) -> PatternTable:
        """Count the patterns of the training items."""
        K, there = training.n_classes, training.class_weights > 0
        known, which = np.unique(hashes[there], return_inverse=True)
        cells = which * K + training.codes[there]
        shares = np.zeros((len(known) + 1, K + 1))
        counted = np.bincount(cells, training.class_weights[there], len(known) * K)
        shares[:-1, :K] = counted.reshape(len(known), K)
        shares[:-1, K] = 1
        return cls(members, known, shares)

    @property
    def overlap(self) -> NDArray[np.float64]:
        """Inner products of the pattern shares of the classes, (K, K)."""
        shares = self.shares[:-1, :-1]
        return np.asarray(shares.T @ shares, dtype=np.float64)

    def look_up(self, hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Row of `shares` for each pattern."""
        place = np.minimum(np.searchsorted(self.known, hashes), len(self.known) - 1)
        return self.shares[np.where(self.known[place] == hashes, place, len(self.known))]


@dataclass(frozen=True, eq=False)
class FeaturePatterns:
    """Joint patterns of random subsets of the features, each pattern a category.

    A pattern is identified by a 64-bit hash, the sum of a random word for every (feature,
    bin) in it. There is no table of all possible patterns, and items of a sparse matrix take
    as many steps as they have entries. Among a million patterns, the probability that any two
    have the same hash is below one in ten million.

    Parameters
    ----------
    bins : int
        Number of bins of a numeric feature; see `Bins`.
    n_subsets : int
        Number of subsets. If there are no more different subsets, each is used once.
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
        D = Features.of(training.items).header.n_columns
        subsets = self._draw(D)
        # Of very many features, only the drawn ones are binned.
        columns = np.unique(np.concatenate(subsets))
        bins = Bins.learn(training, self.bins, columns)
        members = [np.searchsorted(columns, subset) for subset in subsets]
        hashes = _Hashes.of(bins, training.items)
        tables = (PatternTable.count(each, hashes.over(each), training) for each in members)
        return replace(self, fitted=bins, tables=tuple(tables))

    def hashes(self, items: Any) -> _Hashes:
        """Hash the bins of the items, for use by subset."""
        assert self.fitted is not None
        return _Hashes.of(self.fitted, items)

    def _draw(self, D: int) -> list[NDArray[np.int64]]:
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
class _Hashes:
    """One word per feature and item, or `plain` for items without an entry."""

    words: NDArray[np.uint64] | sparse.csr_array
    plain: NDArray[np.uint64]

    @classmethod
    def of(cls, bins: Bins, items: Any) -> _Hashes:
        words = mix((np.arange(bins.edges[-1], dtype=np.uint64) + np.uint64(1)) * GOLDEN)
        codes = bins.of(items)
        if not isinstance(codes, SparseCodes):
            # The words of a feature are contiguous, as they are added feature by feature.
            return cls(words[codes.T], np.zeros(codes.shape[1], np.uint64))
        plain = words[codes.zeros]
        shape = (len(codes.rows) - 1, len(plain))
        change = words[codes.codes] - plain[codes.columns]
        table = sparse.csr_array((change, codes.columns, codes.rows), shape=shape)
        return cls(table, plain)

    def over(self, members: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Hash of each item's pattern of some features."""
        if isinstance(self.words, np.ndarray):
            return self.words[members].sum(axis=0, dtype=np.uint64)
        chosen = np.zeros(self.words.shape[1], np.uint64)
        chosen[members] = 1
        start = self.plain[members].sum(dtype=np.uint64)
        return np.asarray(self.words @ chosen + start, dtype=np.uint64)
