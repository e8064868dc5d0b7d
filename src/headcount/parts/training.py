"""Training items, embeddings of items, and the statistics that samples are reduced to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.accumulation import add_codes, add_rows, count_codes, sum_rows
from headcount._support.arrays import Array, Floats, Ints, divided_by_sums
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.items.arrays import as_narwhals
from headcount.samples.samples import Samples


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled items, in the form that a method uses.

    Attributes
    ----------
    items : Any
        Posteriors (n, K), predicted classes (n,), both, or features; a list for members of a
        committee. Outputs of a classifier are out-of-fold. None if the labels alone are used.
    codes : ndarray of int64, shape (n,)
        Positions of the true classes in the list of classes.
    n_classes : int
        Number of classes.
    weights : ndarray of float64, shape (n,), or None
        Weights of the items. None if all are equal.
    copied : ndarray of int64, shape (n,), or None
        Rows of the labelled items that these are moved copies of. None if they are no copies.

    Examples
    --------
    >>> import numpy as np
    >>> Training(None, np.array([0, 1, 1, 1]), 2).prior
    array([0.25, 0.75])
    """

    items: Any
    codes: Ints
    n_classes: int
    weights: Floats | None = None
    copied: Ints | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def prior(self) -> Floats:
        """Weighted shares of the classes."""
        mass = np.bincount(self.codes, self.weights, self.n_classes)
        return np.asarray(mass / mass.sum(), dtype=np.float64)

    @cached_property
    def class_weights(self) -> Floats:
        """Weight of each item within its class. Those of a class sum to 1."""
        weights = np.ones(len(self.codes)) if self.weights is None else self.weights
        mass = np.bincount(self.codes, weights, self.n_classes)
        return np.asarray(weights / mass[self.codes], dtype=np.float64)

    @cached_property
    def effective_size(self) -> float:
        """Number of equally weighted items whose mean has the same variance."""
        if self.weights is None:
            return float(len(self.codes))
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @cached_property
    def class_sizes(self) -> Ints:
        """Effective number of items of each class, rounded."""
        if self.weights is None:
            return np.bincount(self.codes, minlength=self.n_classes)
        mass = np.bincount(self.codes, self.weights, self.n_classes)
        squares = np.bincount(self.codes, self.weights**2, self.n_classes)
        return np.rint(mass**2 / squares).astype(np.int64)

    @property
    def are_posteriors(self) -> bool:
        """True if the items are posteriors of all classes, not predictions or features."""
        items = self.items
        if items is None or isinstance(items, list):
            return False
        return bool(items.shape[1:] == (self.n_classes,) and items.dtype.kind == "f")

    def class_means(self, embedding: Embedding) -> Floats:
        """Mean of the embedded training items, one row per class."""
        by_class = Samples.by_code(self.codes, self.n_classes)
        return embedding.means(by_class, self.weights)


# Number of values in a batch of sample statistics: 64 MB.
_BATCH_NUMBERS = 8_000_000


class Embedder(Protocol):
    """Turns items into vectors."""

    def embed(self, items: Any) -> Embedding:
        """The items as vectors whose mean describes a sample."""


class RowMap(Protocol):
    """Turns items into positive numbers, one per class."""

    def ratios(self, items: Array) -> Floats:
        """Numbers of each item, up to a factor."""


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of a representation over the items of a sample. Its sums are exact.

    Attributes
    ----------
    representation : Representation
        Fitted representation.
    """

    representation: Embedder


@dataclass(frozen=True, eq=False)
class CellsOf:
    """The distribution of the posteriors in a sample, in narrow cells.

    Each cell has the number of its items and the sum of their posteriors.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    before : RowMap or None
        Likelihood whose values have cells, divided by their sum; None for the posteriors
        themselves. Needed if it is not a smooth function of the posteriors.
    """

    n_classes: int
    before: RowMap | None = None

    def rows(self, items: Array) -> Floats:
        """Numbers of each item that have cells; each row sums to 1."""
        if self.before is None:
            return np.ascontiguousarray(items, np.float64)
        return divided_by_sums(np.asarray(self.before.ratios(items), np.float64))


Reduction = MeanOf | CellsOf


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Cells of samples, each as a row that stands for a number of items.

    Attributes
    ----------
    rows : ndarray of shape (m, K)
        Mean of the items of each cell, or an item.
    weights : ndarray of shape (m,) or None
        Number of rows of the pool that each one stands for; None if that is 1.
    samples : Samples
        Rows of each sample, one sample after the other. ``samples.copies`` is the number of
        rows of the pool per item.
    """

    rows: Floats
    weights: Floats | None
    samples: Samples


Reduced = Sequence[Floats | WeightedRows]
"""Values of the reductions of a model: means, one row per sample, or weighted rows."""


def reduce_in_batches(
    reductions: Sequence[Reduction], items: Any, samples: Samples
) -> Iterator[tuple[Reduced, Ints]]:
    """Statistics of samples of items, exact, and the numbers of items."""
    embeddings = {
        place: reduction.representation.embed(items)
        for place, reduction in enumerate(reductions)
        if isinstance(reduction, MeanOf)
    }
    rows = {
        place: items if reduction.before is None else reduction.before.ratios(items)
        for place, reduction in enumerate(reductions)
        if isinstance(reduction, CellsOf)
    }
    width = sum(embedding.width for embedding in embeddings.values())
    step = len(samples) if rows or not width else max(1, _BATCH_NUMBERS // width)
    for first in range(0, len(samples), step):
        batch = samples[first : first + step]
        yield (
            [
                embeddings[place].means(batch)
                if place in embeddings
                else WeightedRows(rows[place], None, batch)
                for place in range(len(reductions))
            ],
            batch.n_items,
        )


LARGEST_SUMMAND = 1024.0
"""Largest absolute value of an item that sums are taken of, in fixed point."""
_NO_WEIGHTS = np.empty(0)
# Number of items to sum that justifies another thread.
_GRAIN_ITEMS = 20_000


class Embedding(Protocol):
    """Items of a pool, of which the means over samples can be computed."""

    @property
    def width(self) -> int:
        """Length of a mean vector."""

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        """Mean vector of each sample. `weights` has one entry per item."""

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups, in whole numbers.

        `groups` has one number per item. If there are several rows per item, all first rows
        come first. ``sums[group, 0]`` are multiples of 2**-30, and ``sums[group, 1]`` are the
        remainders, multiples of 2**-61.
        """


@dataclass(frozen=True, eq=False)
class Dense:
    """Items as rows of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> Dense(np.array([[0.0, 1.0], [1.0, 0.0]])).means(Samples.whole(2))
    array([[0.5, 0.5]])
    """

    values: Floats

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.values.shape[1]

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        """Mean vector of each sample."""
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        weights = _NO_WEIGHTS if weights is None else weights
        out = np.empty((len(samples), self.width))

        def work(start: int, stop: int) -> None:
            sum_rows(values, weights, samples.indices, samples.offsets, start, stop, out)

        each_range(work, len(samples), grain=_grain(samples, self.width))
        return out

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups."""
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        largest = max(values.max(), -values.min())
        if not largest <= LARGEST_SUMMAND:
            raise HeadcountError(
                f"A value of the items is {largest:.3g}; sums of a representation allow values "
                f"up to {LARGEST_SUMMAND:.0f}: scale the features."
            )
        add_rows(values, groups, sums)


@dataclass(frozen=True, eq=False)
class Binned:
    """Items as indicators: each item is in one bin of each channel.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, channels)
        Bins of each item, numbered consecutively over all channels.
    n_bins : int
        Total number of bins of all channels.
    cumulative : bool, default=False
        Return cumulative sums of the means: the share of items in a bin or before it.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> Binned(np.array([[0], [2], [2], [1]], dtype=np.int32), 3).means(Samples.whole(4))
    array([[0.25, 0.25, 0.5 ]])
    """

    codes: NDArray[np.int32]
    n_bins: int
    cumulative: bool = False

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.n_bins

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        """Share of the items of each sample in each bin."""
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        weights = _NO_WEIGHTS if weights is None else weights
        out = np.empty((len(samples), self.n_bins))

        def work(start: int, stop: int) -> None:
            count_codes(codes, weights, samples.indices, samples.offsets, start, stop, out)

        each_range(work, len(samples), grain=_grain(samples, codes.shape[1]))
        return np.cumsum(out, axis=1) if self.cumulative else out

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups."""
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        if not self.cumulative:
            add_codes(codes, groups, sums)
            return
        increments = np.zeros_like(sums)
        add_codes(codes, groups, increments)
        sums += np.cumsum(increments, axis=2)


def _grain(samples: Samples, width: int) -> int:
    """Number of samples that justifies another thread."""
    return max(1, int(_GRAIN_ITEMS * 4 // max(1.0, samples.sizes.mean() * width)))


# Names of the types of None and of the missing values of pandas, without importing pandas.
_MISSING = ("NoneType", "NAType", "NaTType")


@dataclass(frozen=True)
class Header:
    """Number of columns of a table, and their names if they have any."""

    n_columns: int
    names: tuple[Any, ...] | None = None

    def check(self, other: Header) -> None:
        """Reject a table whose columns differ from those in training."""
        if other.n_columns != self.n_columns:
            raise HeadcountError(
                f"X has {other.n_columns:,} columns, but the quantifier was fitted with "
                f"{self.n_columns:,}: pass the same columns in the same order."
            )
        if self.names is None or other.names is None:
            return
        for position, (old, new) in enumerate(zip(self.names, other.names, strict=True)):
            if old != new:
                raise HeadcountError(
                    f"X has the column {new!r} at position {position}, but the quantifier was "
                    f"fitted with {old!r} there: pass the same columns in the same order."
                )

    def label(self, position: int) -> str:
        """Name of a column in messages."""
        return repr(position if self.names is None else self.names[position])


@dataclass(frozen=True, eq=False)
class Features:
    """Checked features (`headcount.items.check_features`), accessible by column."""

    table: Any
    header: Header

    @classmethod
    def of(cls, X: Any) -> Features:
        """Wrap an array, a CSR matrix or a frame. Texts, without columns, are rejected."""
        frame = None if sparse.issparse(X) else as_narwhals(X, "X")
        if isinstance(frame, nw.DataFrame):
            return cls(frame, Header(len(frame.columns), tuple(frame.columns)))
        if X.ndim == 1:
            raise HeadcountError(
                "X is a list of texts, but this method needs columns of features: convert the "
                "texts to numbers, for example with scikit-learn's TfidfVectorizer."
            )
        return cls(X, Header(X.shape[1]))

    @property
    def is_sparse(self) -> bool:
        """True if the table is sparse."""
        return bool(sparse.issparse(self.table))

    def column(self, position: int) -> Array:
        """Return one column, as float64 if it has numbers, otherwise as objects."""
        if isinstance(self.table, nw.DataFrame):
            series = self.table[:, position]
            if isinstance(series.dtype, nw.Categorical | nw.Enum):
                # Categories may be numbers, but their order and distances have no meaning.
                return np.asarray(series.to_numpy()).astype(object)
            values = np.asarray(series.to_numpy())
        else:
            values = self.table[:, position]
        return self._plain(values, position)

    def numbers(self) -> Floats:
        """Return the table as a C-contiguous matrix. Columns must be numbers."""
        if isinstance(self.table, np.ndarray) and self.table.dtype.kind in "biuf":
            return np.ascontiguousarray(self.table, dtype=np.float64)
        out = np.empty((self.table.shape[0], self.header.n_columns))
        for position in range(self.header.n_columns):
            values = self.column(position)
            if values.dtype != np.float64:
                raise HeadcountError(
                    f"X has values in column {self.header.label(position)} that are not "
                    f"numbers, such as {values[0]!r}, but numbers are needed: encode the "
                    "column, for example with scikit-learn's OneHotEncoder, or drop it."
                )
            out[:, position] = values
        return out

    def _plain(self, values: Array, position: int) -> Array:
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        label = self.header.label(position)
        if values.dtype.kind in "mM":
            raise _has_dates(label)
        objects = values.astype(object)
        types = set(map(type, objects.tolist()))
        kinds = tuple(type_ for type_ in types if type_.__name__ not in _MISSING)
        if any(issubclass(kind, date | time | timedelta) for kind in kinds):
            raise _has_dates(label)
        if not kinds or not all(issubclass(kind, Real | Decimal) for kind in kinds):
            return objects
        if kinds == (bool,) and len(types) > 1:
            return objects  # true, false and missing: three categories
        numbers = np.array([np.nan if is_missing(value) else value for value in objects], float)
        wrong = ~np.isfinite(numbers)
        if wrong.any():
            raise HeadcountError(
                f"X has {int(wrong.sum()):,} missing or infinite numbers in column {label}, "
                f"the first at row {int(wrong.argmax())}: fill them in or drop these rows."
            )
        return numbers


def _has_dates(label: str) -> HeadcountError:
    return HeadcountError(
        f"X has dates or times in column {label}: convert them to numbers or drop the column."
    )


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and NA."""
    return type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)
