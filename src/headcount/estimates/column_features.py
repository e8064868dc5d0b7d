"""Columns of two tables as features with a few values each: bins, frequent values, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from headcount._support.arrays import Array, Floats, Ints

# Bins of a numeric column, values of a category with a bin of their own, and words of a text
# column. Values and words are those that are most frequent in both tables together: if they
# were chosen by the labelled table alone, their frequencies there would be biased upwards.
_BINS, _MOST_VALUES, _MOST_WORDS = 8, 20, 2_000
_FEWEST_TEXTS = 5

OTHER, ONCE, MISSING = "other values", "values that occur once", "missing"
"""Labels of values that are counted together."""


@dataclass(frozen=True, eq=False)
class NumberedColumn:
    """A feature of labelled and new items as codes; the last code is the reference."""

    old: NDArray[np.uint8]
    new: NDArray[np.uint8]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as features: its values, or of a text its length and its words."""

    name: str
    kind: Literal["number", "category", "text"]
    numbered: NumberedColumn | None
    numbers: tuple[Floats, Floats] | None = None
    words: tuple[str, ...] = ()
    has_word: tuple[Any, Any] | None = None


def code_column(name: str, old: pl.Series, new: pl.Series, *, is_text: bool) -> Coded:
    """Divide a column of labelled and new items into features."""
    if is_text:
        old, new = (side.cast(pl.String).fill_null("") for side in (old, new))
        words, has_word = _words_of(old, new)
        lengths = _floats(old.str.count_matches(r"\w+")), _floats(new.str.count_matches(r"\w+"))
        return Coded(name, "text", _bins(*lengths), lengths, words, has_word)
    if old.dtype.is_numeric() and new.dtype.is_numeric():
        numbers = _floats(old), _floats(new)
        return Coded(name, "number", _bins(*numbers), numbers)
    return Coded(name, "category", _values(old.cast(pl.String), new.cast(pl.String)))


def _floats(column: pl.Series) -> Floats:
    return np.asarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy(), np.float64)


def _bins(old: Floats, new: Floats) -> NumberedColumn | None:
    """Bins of equal frequency in both tables together, and one for missing values."""
    numbers = np.concatenate([old, new])
    present = ~np.isnan(numbers)
    ordered = np.sort(numbers[present])
    steps = np.flatnonzero(np.diff(ordered))
    if len(steps) < _BINS:
        edges = ordered[steps]
        labels = [f"{value:.4g}" for value in (*edges, *ordered[-1:])]
    else:
        edges = np.unique(ordered[np.arange(1, _BINS) * (len(ordered) - 1) // _BINS])
        ends = [f"{edge:.4g}" for edge in edges]
        between = [f"{low} to {high}" for low, high in pairwise(ends)]
        labels = [f"up to {ends[0]}", *between, f"above {ends[-1]}"]
    codes = np.where(present, np.searchsorted(edges, numbers), len(labels))
    return _numbered(codes, [*labels, MISSING], len(old))


def _values(old: pl.Series, new: pl.Series) -> NumberedColumn | None:
    """Frequent values, one bin for others and one for values that occur once."""
    column = pl.concat([old.alias(""), new.alias("")])
    counts = column.drop_nulls().value_counts(name="count").sort("count", "", descending=True)
    repeated = pl.col("count") > 1
    frequent = counts.filter(repeated)[""].head(_MOST_VALUES).to_list()
    single = counts.filter(~repeated)[""].to_list()
    labels = [*frequent, OTHER, ONCE, MISSING]
    n = len(frequent)
    places = dict.fromkeys(single, n + 1) | {value: i for i, value in enumerate(frequent)}
    codes = column.replace_strict(places, default=n, return_dtype=pl.Int64)
    return _numbered(np.where(column.is_null(), n + 2, codes.to_numpy()), labels, len(old))


def _numbered(codes: Array, labels: list[str], n_old: int) -> NumberedColumn | None:
    """Codes of the values that occur, the most frequent one last; None if there is one."""
    counts = np.bincount(codes, minlength=len(labels))
    occurring = np.flatnonzero(counts)
    occurring = np.append(occurring[occurring != counts.argmax()], counts.argmax())
    if len(occurring) < 2:
        return None
    place = np.zeros(len(labels), np.int64)
    place[occurring] = np.arange(len(occurring))
    codes = place[codes].astype(np.uint8)
    return NumberedColumn(codes[:n_old], codes[n_old:], tuple(labels[i] for i in occurring))


def _words_of(old: pl.Series, new: pl.Series) -> tuple[tuple[str, ...], tuple[Any, Any]]:
    """Most frequent words of both tables together, and which texts have them."""
    texts, n = [*old.to_list(), *new.to_list()], len(old) + len(new)
    none = sparse.csr_array((n, 0))
    try:
        counter = CountVectorizer(binary=True, dtype=np.float64)
        has_word = sparse.csr_array(counter.fit_transform(texts))
    except ValueError:  # no text has a word
        return (), (none[: len(old)], none[len(old) :])
    counts = np.asarray(has_word.sum(axis=0)).ravel()
    usual = (counts >= _FEWEST_TEXTS) & (counts < n)
    frequent = np.argsort(np.where(usual, -counts, 0), kind="stable")[:_MOST_WORDS]
    frequent = frequent[usual[frequent]]
    words = counter.get_feature_names_out()[frequent]
    has_word = has_word[:, frequent]
    return tuple(words.tolist()), (has_word[: len(old)], has_word[len(old) :])


@dataclass(frozen=True, eq=False)
class CodedItems:
    """Features of items: rows of codes, of which the last is the reference, or sparse words."""

    codes: Any
    n_values: Ints

    def of(self, rows: Ints) -> CodedItems:
        """Features of some of the items."""
        codes = self.codes[rows] if sparse.issparse(self.codes) else self.codes[:, rows]
        return replace(self, codes=codes)

    def counts(self, groups: Ints, n_groups: int) -> Floats:
        """Number of items with each value: features, values, groups."""
        if sparse.issparse(self.codes):
            return self.sums(np.eye(n_groups)[groups])
        out = np.zeros((len(self.n_values), int(self.n_values.max()) - 1, n_groups))
        for j, codes in enumerate(self.codes):
            size = int(self.n_values[j])
            table = np.bincount(
                codes.astype(np.int64) * n_groups + groups, minlength=size * n_groups
            )
            out[j, : size - 1] = table.reshape(size, n_groups)[:-1]
        return out

    def sums(self, values: Floats) -> Floats:
        """Sums over the items with each value: features, values, columns of `values`."""
        if sparse.issparse(self.codes):
            return np.asarray(self.codes.T @ values)[:, None, :]
        out = np.zeros((len(self.n_values), int(self.n_values.max()) - 1, values.shape[1]))
        for j, codes in enumerate(self.codes):
            size = int(self.n_values[j])
            for k, column in enumerate(values.T):
                out[j, : size - 1, k] = np.bincount(codes, column, size)[:-1]
        return out

    def scores(self, weights: Floats) -> Floats:
        """Sums over features of the weights of an item's values."""
        if sparse.issparse(self.codes):
            return np.asarray(self.codes @ weights[:, 0])
        out = np.zeros((self.codes.shape[1], weights.shape[2]))
        for j in np.flatnonzero(weights.any(axis=(1, 2))):
            size = int(self.n_values[j])
            table = np.concatenate([weights[j, : size - 1], np.zeros_like(weights[j, :1])])
            out += table[self.codes[j]]
        return out


def features_of(coded: Sequence[Coded]) -> list[tuple[CodedItems, CodedItems]]:
    """Features of labelled and new items: values of columns, then words of texts."""
    blocks = []
    numbered = [column.numbered for column in coded if column.numbered is not None]
    if numbered:
        n_values = np.array([len(feature.labels) for feature in numbered])
        old, new = (
            np.stack([getattr(feature, side) for feature in numbered])
            for side in ("old", "new")
        )
        blocks.append((CodedItems(old, n_values), CodedItems(new, n_values)))
    pairs = [column.has_word for column in coded if column.has_word and column.words]
    if pairs:
        old, new = (sparse.hstack(side, "csr") for side in zip(*pairs, strict=True))
        n_values = np.full(old.shape[1], 2)
        blocks.append((CodedItems(old, n_values), CodedItems(new, n_values)))
    return blocks
