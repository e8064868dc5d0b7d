"""Columns of a table that hold the posteriors of a classifier."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from headcount._support.arrays import Floats, Ints
from headcount.errors import HeadcountError
from headcount.estimates.statistics.streams import PosteriorColumns
from headcount.tables.columns import Column, parse_texts
from headcount.tables.readers import TableFile


class ScoreColumns(PosteriorColumns):
    """Columns of a table file with posteriors, which may be written as texts."""

    def numbers(self, column: pl.Series, table: str, first_row: int) -> pl.Series:
        """Values of a column as numbers."""
        return Column(column.name, "number", "", 0, 0).conform(column, table, first_row)

    def read(self, table: TableFile) -> Floats:
        """Posteriors of all classes, read and checked in batches."""
        batches = [posteriors for posteriors, _ in self.read_batches(table)]
        if not batches:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        return np.concatenate(batches)

    def read_batches(
        self, table: TableFile, beside: str | None = None, rows: int | None = None
    ) -> Iterator[tuple[Floats, pl.Series | None]]:
        """Posteriors of all classes, batch by batch, and the values of another column."""
        first_row = 0
        columns = self.names if beside is None else (*self.names, beside)
        for batch in table.batches(columns, rows):
            posteriors = self.of_batch(batch, table.name, first_row)
            first_row += len(batch)
            yield posteriors, None if beside is None else batch[beside]


def find_score_columns(
    table: TableFile,
    target: str,
    classes: list[Any],
    codes: Ints,
    leave_out: Collection[str] = (),
) -> ScoreColumns:
    """Find the columns of the posteriors by their names.

    A single column that is not named after a class is of the class whose rows, which `codes`
    tells for the rows of the table, have the higher scores.
    """
    names = tuple(map(str, classes))
    columns = [name for name in table.columns if name != target and name not in leave_out]
    scores = ScoreColumns.named_after(names, columns)
    if scores is not None:
        return scores
    single = columns
    if len(names) == 2 and len(columns) > 1:
        single = _columns_of_fractions(table, columns)
    if len(names) == 2 and len(single) == 1:
        scores = ScoreColumns((single[0],), 1)
        _check_no_decisions(table, single[0], names)
        of_second = scores.read(table)[:, 1]
        is_reversed = of_second[codes == 0].mean() > of_second[codes == 1].mean()
        return replace(scores, positive=0) if is_reversed else scores
    missing = [name for name in names if name not in columns]
    one = ", or leave one column with those of the positive class" if len(names) == 2 else ""
    raise HeadcountError(
        f"{table.name!r} has no column for the class {missing[0]!r}, which column {target!r} "
        f"holds: its columns are {', '.join(map(repr, table.columns[:8]))}; name a column of "
        f"posteriors after each class{one}."
    )


def has_score_columns(
    table: TableFile, target: str, classes: list[Any], leave_out: Collection[str]
) -> bool:
    """True if columns are named after a class, or have numbers from 0 to 1."""
    columns = [name for name in table.columns if name != target and name not in leave_out]
    named = ScoreColumns.named_after(tuple(map(str, classes)), columns) is not None
    return named or bool(columns and _columns_of_fractions(table, columns))


def _check_no_decisions(table: TableFile, name: str, classes: tuple[str, ...]) -> None:
    first = next(iter(table.batches([name])), None)
    if first is None or first[name].dtype != pl.String:
        return
    if set(first[name].drop_nulls().to_list()) <= set(classes):
        raise HeadcountError(
            f"Column {name!r} of {table.name!r} holds decisions, not posteriors: name it by "
            "--prediction of headcount accuracy, or by --verdict of headcount judge or monitor."
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
