"""Groups of a table's rows: by a column, or by the month of a date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data.column_kinds import infer_column
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Groups", "find_column", "read_groups"]

_PERIODS = {
    "year": "%Y", "quarter": "", "month": "%Y-%m", "week": "%G-W%V", "day": "%Y-%m-%d",
}  # fmt: skip
_MOST_GROUPS = 1000
_MISSING = "(missing)"
# Values that are looked at to tell whether a column holds dates.
_LOOKED_AT = 1000


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each row.

    Attributes
    ----------
    names : ndarray of shape (n,)
        The groups, as texts or whole numbers.
    column : str
        Where they come from.
    order : list or None
        The groups one after the other, if they follow one another.
    note : str
        What the reader ought to know; empty if nothing.
    """

    names: NDArray[Any]
    column: str
    order: list[str] | None
    note: str


def find_column(table: TableFile, by: str | None, date: str | None) -> str | None:
    """The column that groups come from; None if there are none.

    Parameters
    ----------
    table : TableFile
        The new items.
    by : str or None
        A column, or else a period of time.
    date : str or None
        Column of the dates, for a period.

    Returns
    -------
    str or None
    """
    if by is None:
        if date is not None:
            raise HeadcountError(
                "--date has no use without --by: add --by month, for instance."
            )
        return None
    if by in table.columns and date is None:
        return by
    if by not in _PERIODS:
        if date is not None:
            raise HeadcountError(
                f"--by is {by!r}; with --date it must be one of {', '.join(_PERIODS)}."
            )
        table.require([by], "which --by names")
    if date is not None:
        table.require([date], "which --date names")
        return date
    return _only_date(table, by)


def read_groups(table: TableFile, by: str, column: str) -> Groups:
    """The group of each row of a table.

    Parameters
    ----------
    table : TableFile
        The new items.
    by, column
        As given to and found by `find_column`.

    Returns
    -------
    Groups
    """
    values = table.read([column])[column]
    known = infer_column(values)
    if column == by:
        names = _texts(values)
    elif known.kind != "date":
        raise HeadcountError(
            f"--by is {by!r}, but column {column!r} of {table.name!r} does not hold dates "
            f"throughout (such as {values.drop_nulls().head(1).to_list()}): write them as "
            "2024-05-31."
        )
    else:
        names = _periods(known.conform(values, table.name), by)
    n_missing = names.null_count()
    named = names.fill_null(_MISSING)
    n_groups = named.n_unique()
    if n_groups > _MOST_GROUPS:
        raise HeadcountError(
            f"--by {by} makes {n_groups:,} groups, at most {_MOST_GROUPS:,} are allowed: "
            "choose a coarser one."
        )
    note = ""
    if n_missing:
        note = f"{n_missing:,} of {len(names):,} rows have no {column}: group {_MISSING}."
    order = None if column == by else sorted(named.unique().to_list())
    if order and _MISSING in order:
        order = [*(each for each in order if each != _MISSING), _MISSING]
    return Groups(np.asarray(named.to_list(), dtype=np.str_), column, order, note)


def _only_date(table: TableFile, by: str) -> str:
    head = next(table.batches(table.columns, _LOOKED_AT), None)
    dates = [] if head is None else [c.name for c in head.iter_columns() if _is_date(c)]
    if len(dates) != 1:
        found = f"several ({', '.join(map(repr, dates))})" if dates else "none"
        raise HeadcountError(
            f"--by is {by!r}, which needs one column of dates, but {table.name!r} has {found}: "
            "name it by --date."
        )
    return dates[0]


def _is_date(values: pl.Series) -> bool:
    return infer_column(values).kind == "date"


def _texts(values: pl.Series) -> pl.Series:
    import polars as pl

    texts = values.cast(pl.String, strict=False).str.strip_chars()
    return texts.set(texts == "", None)


def _periods(dates: pl.Series, by: str) -> pl.Series:
    import polars as pl

    if by == "quarter":
        year, quarter = dates.dt.year().cast(pl.String), dates.dt.quarter().cast(pl.String)
        return year + "-Q" + quarter
    return dates.dt.strftime(_PERIODS[by])
