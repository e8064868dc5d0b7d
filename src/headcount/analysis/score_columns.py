"""Columns of a table that hold the posteriors of a classifier."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data.column_kinds import Column, parse_texts
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.scores import check_scores

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ScoreColumns:
    """Names of the columns with posteriors."""

    names: tuple[str, ...]
    positive: int

    def read(self, table: TableFile) -> NDArray[np.float64]:
        """Posteriors of all classes, read and checked in batches."""
        made = [posteriors for posteriors, _ in self.read_batches(table)]
        if not made:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        return np.concatenate(made)

    def read_batches(
        self, table: TableFile, beside: str | None = None, rows: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], pl.Series | None]]:
        """Posteriors of all classes, batch by batch."""
        first_row = 0
        checks = [Column(name, "number", "", 0, 0) for name in self.names]
        columns = self.names if beside is None else (*self.names, beside)
        for batch in table.batches(columns, rows):
            numbers = [each.conform(batch[each.name], table.name, first_row) for each in checks]
            for column in numbers:
                if column.null_count():
                    row = first_row + int(column.is_null().arg_max() or 0) + 1
                    raise HeadcountError(
                        f"{table.name!r} has no score in column {column.name!r} (row {row:,}): "
                        "leave out items without scores."
                    )
            first_row += len(batch)
            posteriors = self._posteriors(numbers, repr(table.name))
            yield posteriors, None if beside is None else batch[beside]

    def _posteriors(self, given: Sequence[pl.Series], name: str) -> NDArray[np.float64]:
        if len(given) == 1:
            both = check_scores(given[0].to_numpy(), 2, name=name)
            return both if self.positive == 1 else np.ascontiguousarray(both[:, ::-1])
        return check_scores(np.column_stack(given), len(given), name=name)


def find_score_columns(
    table: TableFile, target: str, classes: list[Any], leave_out: Collection[str] = ()
) -> ScoreColumns:
    """Find the columns of the posteriors by their names."""
    names = tuple(map(str, classes))
    others = [name for name in table.columns if name != target and name not in leave_out]
    found = [name for name in names if name in others]
    if len(found) == len(names):
        return ScoreColumns(names, 1)
    if len(names) == 2 and len(found) == 1:
        return ScoreColumns((found[0],), names.index(found[0]))
    if len(names) == 2 and len(others) == 1:
        return ScoreColumns((others[0],), 1)
    fractions = _columns_of_fractions(table, others) if len(names) == 2 and others else []
    if len(fractions) == 1:
        return ScoreColumns((fractions[0],), 1)
    missing = [name for name in names if name not in others]
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
    found = []
    for name in names:
        values = parse_texts(first[name]).drop_nulls()
        if values.dtype.is_float() and len(values):
            inside = bool(values.is_between(0, 1).all())
            found += [name] * (inside and not bool(values.is_in([0.0, 1.0]).all()))
    return found
