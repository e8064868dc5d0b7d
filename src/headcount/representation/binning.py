"""Features in bins: numbers cut where the training items lie, categories as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.feature_bins import bin_entries, count_entries
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.representation.embedding import Binned, Embedding
from headcount.representation.features import Features, Header, is_missing
from headcount.representation.training import Training
from headcount.sampling import Samples

__all__ = ["Bins", "FeatureHistograms", "SparseCodes"]

_NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Bins of numbers: bin b reaches up to points[b], and includes it."""

    points: NDArray[np.float64]

    @classmethod
    def between(
        cls, values: NDArray[np.float64], mass: NDArray[np.float64], bins: int
    ) -> _Cuts:
        """Bins of about equal mass, given distinct values in order and their masses."""
        if len(values) <= bins:
            return cls(values[:-1])
        # By the middle of its mass, a frequent value is parted from the others on both sides.
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        bin_ = np.floor(bins * middle + 1e-9)
        return cls(values[:-1][np.diff(bin_) > 0])

    @property
    def n_bins(self) -> int:
        return len(self.points) + 1

    def codes(self, values: NDArray[Any], label: str) -> NDArray[np.int64]:
        if values.dtype != np.float64:
            raise HeadcountError(
                f"X has values in column {label} that are not numbers, such as {values[0]!r}, "
                "where numbers were when the quantifier was fitted: pass the same columns in "
                "the same form."
            )
        return np.searchsorted(self.points, values, side="left")


@dataclass(frozen=True, eq=False)
class _Categories:
    """A bin for each category that was seen, and one for all others."""

    positions: dict[Any, int]

    @property
    def n_bins(self) -> int:
        return len(self.positions) + 1

    def codes(self, values: NDArray[Any], label: str) -> NDArray[np.int64]:
        others = len(self.positions)
        names = _names(values, label)
        return np.fromiter(
            (self.positions.get(name, others) for name in names), np.int64, len(values)
        )


def _names(values: NDArray[Any], label: str) -> list[Any]:
    names = [None if is_missing(value) else value for value in values.tolist()]
    try:
        set(names)
    except TypeError:
        raise HeadcountError(
            f"X has values in column {label} that are neither numbers nor names of "
            f"categories, such as {names[0]!r}: turn them into columns of such, or drop it."
        ) from None
    return names


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Bins of a table that leaves out its zeros, numbered through all columns.

    Attributes
    ----------
    rows : ndarray of int64, shape (n + 1,)
        Item i has the entries ``rows[i]:rows[i + 1]``.
    columns, codes : ndarray of int32
        Column and bin of each entry.
    zeros : ndarray of int32
        For each column, the bin that zero is in.
    n_bins : int
        Bins of all columns together.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int32]
    codes: NDArray[np.int32]
    zeros: NDArray[np.int32]
    n_bins: int

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.n_bins

    def means(
        self, samples: Samples, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
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


@dataclass(frozen=True, eq=False)
class Bins:
    """How columns of a table are cut into bins, learnt from training items alone.

    Numbers are cut into bins of about equal mass; with no more distinct values than bins,
    each value has its own. Categories (texts, booleans with gaps, whatever a frame calls
    categorical) keep theirs, a missing one counting as one of them; all that were not
    seen in training share a bin.

    Attributes
    ----------
    header : Header
        All columns of the table.
    columns : ndarray of int64
        Positions of those that are binned.
    rules : tuple
        How each of them is.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["red", 1.0], ["blue", 2.0], ["red", 3.0], ["red", 9.0]], dtype=object)
    >>> Bins.learn(Training(X, np.array([0, 0, 1, 1]), 2), 2).codes(X)
    array([[0, 3], [1, 3], [0, 4], [0, 4]], dtype=int32)
    """

    header: Header
    columns: NDArray[np.int64]
    rules: tuple[_Cuts | _Categories, ...]

    @classmethod
    def learn(
        cls, training: Training, bins: int, columns: NDArray[np.int64] | None = None
    ) -> Bins:
        """Learn the bins of some columns, or of all."""
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
    def edges(self) -> NDArray[np.int64]:
        """Where the bins of each column begin in the count through all of them."""
        return np.concatenate([[0], np.cumsum([rule.n_bins for rule in self.rules])])

    def of(self, X: Any) -> NDArray[np.int32] | SparseCodes:
        """Bins of the items, in the form their table has."""
        return self.sparse_codes(X) if sparse.issparse(X) else self.codes(X)

    def codes(self, X: Any) -> NDArray[np.int32]:
        """Bins of the items, one column per column, numbered through all of them."""
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
                "X is sparse, but had columns of categories when the quantifier was fitted: "
                "pass a frame or an array with the same columns."
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
    features: Features, position: int, weights: NDArray[np.float64], bins: int
) -> _Cuts | _Categories:
    values, there = features.column(position), weights > 0
    if values.dtype == np.float64:
        distinct, which = np.unique(values[there], return_inverse=True)
        return _Cuts.between(distinct, _sums(weights[there], which), bins)
    names = dict.fromkeys(_names(values[there], features.header.label(position)))
    return _Categories({name: code for code, name in enumerate(names)})


def _rules_of_sparse(
    table: Any, weights: NDArray[np.float64], bins: int
) -> tuple[_Cuts | _Categories, ...]:
    there = weights > 0
    columns = _canonical(table[np.flatnonzero(there)].tocsc())
    weights, n = weights[there], int(there.sum())
    rules = []
    for left, right in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        own = weights[columns.indices[left:right]]
        values = columns.data[left:right].astype(np.float64)
        if right - left < n:
            values, own = np.append(values, 0.0), np.append(own, weights.sum() - own.sum())
        distinct, which = np.unique(values, return_inverse=True)
        rules.append(_Cuts.between(distinct, _sums(own, which), bins))
    return tuple(rules)


def _sums(weights: NDArray[np.float64], which: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.asarray(np.bincount(which, weights), dtype=np.float64)


def _canonical(table: Any) -> Any:
    """Each entry once and in order, leaving the given matrix alone."""
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


@dataclass(frozen=True, eq=False)
class FeatureHistograms:
    """Histograms of all features, one after the other; no smoothing.

    Parameters
    ----------
    bins : int
        Bins of a feature of numbers; see `Bins`.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    >>> fitted = FeatureHistograms(2).fit(Training(X, np.array([0, 0, 1, 1]), 2))
    >>> fitted.embed(X[:2]).means(Samples.whole(2))
    array([[1., 0., 1., 0.]])
    """

    bins: int
    fitted: Bins | None = None

    def fit(self, training: Training) -> FeatureHistograms:
        """Learn the bins."""
        return replace(self, fitted=Bins.learn(training, self.bins))

    def embed(self, items: Any) -> Embedding:
        """Items given as features."""
        assert self.fitted is not None
        codes = self.fitted.of(items)
        if isinstance(codes, SparseCodes):
            return codes
        return Binned(codes, int(self.fitted.edges[-1]))
