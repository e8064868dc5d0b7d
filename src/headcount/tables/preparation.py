"""Preparation of the columns of a table as numeric features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from headcount._support.execution import track
from headcount._support.text import first_of
from headcount.errors import HeadcountError
from headcount.tables.columns import (
    Categories,
    Column,
    DateParts,
    Flags,
    Texts,
    infer_column,
    short,
)
from headcount.tables.readers import TableFile, batch_rows

# Values of a category that are rarer share one feature with those not seen in training.
_RARE = 5
_MOST_CATEGORIES = 100
_MOST_WORDS = 50_000

# Columns whose notes are shown.
_MOST_NOTES = 5


@dataclass(frozen=True)
class Preparation:
    r"""Conversion of the columns of a table to features, determined by the training table."""

    columns: tuple[Column, ...]  # kind and treatment of each column

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that become features."""
        return tuple(column.name for column in self.columns if column.is_used)

    def facts(self) -> dict[str, str]:
        """Description of each column, by its name."""
        return {column.name: column.describe() for column in self.columns}

    def pipeline(self) -> ColumnTransformer:
        """Create an unfitted transformer of frames with these columns."""
        by_kind = {
            kind: [column.name for column in self.columns if column.kind == kind]
            for kind in ("number", "flag", "date", "category")
        }
        transformers = [
            (kind, _MAKERS[kind](), names) for kind, names in by_kind.items() if names
        ]
        transformers += [
            (f"text {column.name}".replace("__", "_"), _words(column), [column.name])
            for column in self.columns
            if column.kind == "text"
        ]
        return ColumnTransformer(transformers)

    def notes(self) -> tuple[str, ...]:
        """Notes about columns of the training table; of many columns, on the first."""
        notes = [column.note for column in self.columns if column.note]
        if len(notes) <= _MOST_NOTES:
            return tuple(notes)
        more = f"{len(notes) - _MOST_NOTES} more columns have such notes."
        return (*notes[:_MOST_NOTES], more)

    def conform(self, frame: pl.DataFrame, tally: Tally | None = None) -> pl.DataFrame:
        """Give the columns of another table the types of the training table."""
        converted = []
        for column in self.columns:
            if not column.is_used:
                continue
            values, wrong = column.read(frame[column.name])
            converted.append(values)
            if tally is not None:
                tally.add(column, frame[column.name], values, wrong)
        return frame.select(converted)

    def of_table(self, table: TableFile, dates: str | None = None) -> Preparation:
        """Preparation with the formats of dates and numbers that another table has."""
        names = [column.name for column in self.columns if column.kind in ("number", "date")]
        head = next(table.batches(names), None) if names else None
        if head is None:
            return self
        columns = []
        for column in self.columns:
            if column.kind == "number":
                column = column.of_table(head[column.name])
            elif column.kind == "date" and (
                column.order or column.read(head[column.name])[1].any()
            ):
                # The rows that show the order may be anywhere.
                column = column.of_table(table.read([column.name])[column.name], dates)
            columns.append(column)
        return Preparation(tuple(columns))


@dataclass
class Tally:
    """Counts of values of a table that could not be used as they are."""

    n_rows: int = 0  # number of rows that were counted
    missing: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(
        self, column: Column, texts: pl.Series, converted: pl.Series, wrong: pl.Series
    ) -> None:
        """Count the values of a column in a batch."""
        name = column.name
        n_wrong = int(wrong.sum())
        counts = (converted.null_count() - n_wrong, n_wrong, column.n_unseen(converted))
        for count, to in zip(counts, (self.missing, self.unreadable, self.unseen), strict=True):
            to[name] = to.get(name, 0) + count
        if n_wrong and name not in self.examples:
            self.examples[name] = short(texts.filter(wrong)[0])

    def check(self, table: str) -> None:
        """Raise an error if most values of a column could not be read."""
        for name, count in self.unreadable.items():
            if 2 * count > self.n_rows:
                raise HeadcountError(
                    f"{count:,} of {self.n_rows:,} values of column {name!r} of {table!r} "
                    f"cannot be read as in training, such as {self.examples[name]}: correct "
                    "the column, or leave it out."
                )

    def notes(self, table: str) -> tuple[str, ...]:
        """Sentences about the values, with their numbers."""
        n = f"{self.n_rows:,}"
        sentences = [
            f"{count:,} of {n} values of {name} in {table} could not be read, such as "
            f"{self.examples[name]}, and count as missing."
            for name, count in self.unreadable.items()
            if count
        ]
        unseen = {name: count for name, count in self.unseen.items() if count}
        if len(unseen) == 1:
            ((name, count),) = unseen.items()
            sentences.append(
                f"{count:,} of {n} values of {name} in {table} were never seen in training."
            )
        elif unseen:
            sentences.append(
                f"values in {table}, of {n} each, were never seen in training: "
                f"{_by_column(unseen)}."
            )
        if missing := {name: count for name, count in self.missing.items() if count}:
            sentences.append(
                f"values missing in {table}, of {n} each, were filled in from training: "
                f"{_by_column(missing)}."
            )
        return tuple(sentences)


def _by_column(counts: dict[str, int]) -> str:
    """Counts by column, of which five are named."""
    listed = first_of((f"{name} {count:,}" for name, count in counts.items()), 5)
    return f"{listed} columns" if len(counts) > 5 else listed


def prepare(
    frame: pl.DataFrame,
    *,
    leave_out: Mapping[str, str] | None = None,
    name: str = "The table",
    dates: str | None = None,
) -> Preparation:
    """Infer the kinds and treatments of the columns of a training table."""
    out = leave_out or {}
    columns = tuple(
        infer_column(frame[label], out.get(label), dates=dates) for label in frame.columns
    )
    preparation = Preparation(columns)
    if not preparation.used:
        why = "; ".join(f"{column.name}: {column.treatment}" for column in columns[:5])
        raise HeadcountError(
            f"{name} has no column that can be used as a feature{f' ({why})' if why else ''}: "
            "add columns with features."
        )
    return preparation


def prepared_batches(
    preparation: Preparation,
    table: TableFile,
    dates: str | None,
    tally: Tally,
    beside: str | None = None,
) -> Iterator[tuple[pl.DataFrame, pl.Series | None]]:
    """Rows of a table as they were prepared for training, batch by batch."""
    names = list(preparation.used)
    table.require(names, "which the training table has")
    preparation = preparation.of_table(table, dates)
    n_batches = -(-table.count_rows() // batch_rows(len(names)))
    columns = names if beside is None else [*names, beside]
    read = table.batches(columns, batch_rows(len(names)))
    batches = track(read, n_batches, f"Reading {table.name}")
    # Closed, so that an interrupt removes the progress bar from the terminal.
    with closing(batches):
        for batch in batches:
            tally.n_rows += len(batch)
            prepared = preparation.conform(batch.select(names), tally)
            yield prepared, None if beside is None else batch[beside]


def _numbers() -> Pipeline:
    return make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )


def _flags() -> Pipeline:
    imputer = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    return make_pipeline(Flags(), imputer, StandardScaler())


def _dates() -> Pipeline:
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(DateParts(), imputer, StandardScaler())


def _categories() -> Pipeline:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_RARE,
        max_categories=_MOST_CATEGORIES,
    )
    return make_pipeline(Categories(), encoder)


def _words(column: Column) -> Pipeline:
    least = 2 if column.n_values >= 200 else 1
    return make_pipeline(
        Texts(), TfidfVectorizer(min_df=least, max_features=_MOST_WORDS, sublinear_tf=True)
    )


_MAKERS: dict[str, Any] = {
    "number": _numbers,
    "flag": _flags,
    "date": _dates,
    "category": _categories,
}
