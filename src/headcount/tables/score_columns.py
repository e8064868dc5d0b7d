"""Columns of a table that hold the posteriors of a classifier."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.estimates.statistics.streams import PosteriorColumns
from headcount.tables.columns import Column, parse_texts
from headcount.tables.readers import TableFile


class ScoreColumns(PosteriorColumns):
    """Columns of a table file with posteriors, which may be written as texts."""

    def numbers(self, column: pl.Series, table: str, first_row: int) -> pl.Series:
        """Values of a column as numbers."""
        return Column(column.name, "number", "", 0, 0).conform(column, table, first_row)

    def read(self, table: TableFile) -> NDArray[np.float64]:
        """Posteriors of all classes, read and checked in batches."""
        batches = [posteriors for posteriors, _ in self.read_batches(table)]
        if not batches:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        return np.concatenate(batches)

    def read_batches(
        self, table: TableFile, beside: str | None = None, rows: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], pl.Series | None]]:
        """Posteriors of all classes, batch by batch, and the values of another column."""
        first_row = 0
        columns = self.names if beside is None else (*self.names, beside)
        for batch in table.batches(columns, rows):
            posteriors = self.of_batch(batch, table.name, first_row)
            first_row += len(batch)
            yield posteriors, None if beside is None else batch[beside]


def find_score_columns(
    table: TableFile, target: str, classes: list[Any], leave_out: Collection[str] = ()
) -> ScoreColumns:
    """Find the columns of the posteriors by their names."""
    names = tuple(map(str, classes))
    columns = [name for name in table.columns if name != target and name not in leave_out]
    scores = ScoreColumns.named_after(names, columns)
    if scores is not None:
        return scores
    if len(names) == 2 and len(columns) == 1:
        return ScoreColumns((columns[0],), 1)
    fractions = _columns_of_fractions(table, columns) if len(names) == 2 and columns else []
    if len(fractions) == 1:
        return ScoreColumns((fractions[0],), 1)
    missing = [name for name in names if name not in columns]
    one = ", or leave one column with those of the positive class" if len(names) == 2 else ""
    raise HeadcountError(
        f"{table.name!r} has no column for the class {missing[0]!r}, which column {target!r} "
        f"holds: its columns are {', '.join(map(repr, table.columns[:8]))}; name a column of "
        f"posteriors after each class{one}."
    )


def _columns_of_fractions(table: TableFile, names: list[str]) -> list[str]:
    """Columns with numbers from 0 to 1 that are not all whole, in the first rows."""
    first = next(iter(table.batches(names)), None)
    if first is None:
        return []
    fractions = []
    for name in names:
        values = parse_texts(first[name]).drop_nulls()
        if values.dtype.is_float() and len(values):
            inside = bool(values.is_between(0, 1).all())
            fractions += [name] * (inside and not bool(values.is_in([0.0, 1.0]).all()))
    return fractions
