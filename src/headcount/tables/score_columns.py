"""Columns of a table that hold the posteriors of a classifier."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.items.arrays import check_scores
from headcount.tables.columns import Column, parse_texts
from headcount.tables.readers import TableFile


@dataclass(frozen=True)
class ScoreColumns:
    """Columns with posteriors: one per class, or that of one of two, at position `positive`.

    >>> import polars as pl
    >>> columns = ScoreColumns.named_after(["no", "yes"], ["yes", "month"])
    >>> columns.of_batch(pl.DataFrame({"yes": [0.75, None]}), "new", missing=True)
    array([[0.25, 0.75],
           [ nan,  nan]])
    """

    names: tuple[str, ...]
    positive: int = 1

    @classmethod
    def named_after(
        cls, classes: Sequence[Any], columns: Collection[str]
    ) -> ScoreColumns | None:
        """Columns named after all classes, or after one of two; None if there are none."""
        names = tuple(map(str, classes))
        present = [name for name in names if name in columns]
        if len(present) == len(names):
            return cls(names)
        if len(names) == 2 and len(present) == 1:
            return cls((present[0],), names.index(present[0]))
        return None

    def of_batch(
        self, batch: pl.DataFrame, table: str, first_row: int = 0, *, missing: bool = False
    ) -> NDArray[np.float64]:
        """Posteriors of all classes of the rows of a frame, (n, K).

        Rows without a score are NaN if scores may be `missing`; else they are an error.
        """
        numbers = [
            Column(name, "number", "", 0, 0).conform(batch[name], table, first_row)
            for name in self.names
        ]
        for column in numbers:
            if column.null_count() and not missing:
                row = first_row + int(column.is_null().arg_max() or 0) + 1
                raise HeadcountError(
                    f"{table!r} has no score in column {column.name!r} (row {row:,}): "
                    "leave out items without scores."
                )
        if not any(column.null_count() for column in numbers):
            return self._checked(numbers, table)
        scored = np.logical_and.reduce([column.is_not_null().to_numpy() for column in numbers])
        posteriors = np.full((len(batch), max(2, len(self.names))), np.nan)
        if scored.any():
            posteriors[scored] = self._checked(
                [column.filter(scored) for column in numbers], table
            )
        return posteriors

    def _checked(self, numbers: Sequence[pl.Series], table: str) -> NDArray[np.float64]:
        if len(numbers) == 1:
            both_classes = check_scores(numbers[0].to_numpy(), 2, name=repr(table))
            if self.positive == 1:
                return both_classes
            return np.ascontiguousarray(both_classes[:, ::-1])
        return check_scores(np.column_stack(numbers), len(numbers), name=repr(table))

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
