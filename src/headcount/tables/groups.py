"""Groups of items: by a column, by the period of a date, or as given; options naming them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from headcount._support.arrays import Array, Ints
from headcount._support.parameters import check_fraction
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels
from headcount.samples.samples import Samples
from headcount.tables.columns import (
    ORDERS,
    check_order,
    find_date_form,
    read_dates,
    short,
    without_marks,
)
from headcount.tables.readers import TableFile, as_table

PERIODS = {
    "year": "%Y", "quarter": "", "month": "%Y-%m", "week": "%G-W%V", "day": "%Y-%m-%d",
}  # fmt: skip
"""Periods of time by name, and how their dates are written."""
MOST_GROUPS = 50_000
"""Largest number of groups of an analysis."""
MISSING = "(missing)"
"""Group of rows without one."""
# Values that are looked at to decide whether a column holds dates.
_LOOKED_AT = 1000
# 2024-05, 2024-05-31, 2024-W12, 2024Q1, 2024-05-31T12:00: texts whose order is that of time.
_DATE = re.compile(r"\d{4}([-/.]?(\d{1,2}|[QW]\d{1,2})([-/.]\d{1,2})?([T ]\d{2}:.*)?)?")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


@dataclass(frozen=True, eq=False)
class Groups:
    """All items, then those of each group."""

    names: tuple[Any, ...]
    samples: Samples
    ordered: bool
    of_time: bool = False
    column: str = ""
    note: str = ""

    @classmethod
    def of(
        cls, groups: ArrayLike | None, n_items: int, order: Sequence[Any] | None = None
    ) -> Groups:
        """Groups given by one value per item.

        >>> groups = Groups.of(["2024-02", "2024-01", "2024-02"], 3)
        >>> groups.names, groups.ordered, groups.samples.sizes
        ((None, '2024-01', '2024-02'), True, array([3, 1, 2]))
        """
        if groups is None:
            return cls((None,), Samples.whole(n_items), False)
        names, codes = encode_labels(groups, name="groups")
        if len(codes) != n_items:
            raise HeadcountError(
                f"groups has {len(codes):,} values, but there are {n_items:,} items: pass one "
                "group per item."
            )
        ordered = order is not None or _is_sequence(names)
        names, codes = _reordered(names, codes, _sorted(names) if order is None else order)
        by_group = Samples.by_code(codes, len(names))
        samples = Samples(
            np.concatenate([np.arange(n_items), by_group.indices]),
            np.concatenate([[0], n_items + by_group.offsets]),
            n_pool=n_items,
        )
        return cls((None, *names.tolist()), samples, ordered)


def group_column(table: TableFile, by: str | None, date_column: str | None) -> str | None:
    """Column that groups come from; None if there are no groups."""
    if by is None:
        if date_column is not None:
            raise HeadcountError(
                "`date_column` has no use without `by`: add `by`, such as month."
            )
        return None
    if by in table.columns and date_column is None:
        return by
    if by not in PERIODS:
        if date_column is not None:
            raise HeadcountError(
                f"`by` is {by!r}; with `date_column` it must be one of {', '.join(PERIODS)}."
            )
        table.require([by], "which `by` names")
    if date_column is not None:
        table.require([date_column], "which `date_column` names")
        return date_column
    return only_date(table, by)


def read_groups(
    table: TableFile, by: str, column: str, date_order: str | None = None
) -> Groups:
    """Groups of the rows of a table."""
    names, notes = group_names(table.read([column])[column], by, table.name, date_order)
    n_missing = names.null_count()
    named = names.fill_null(MISSING)
    n_groups = named.n_unique()
    if n_groups > MOST_GROUPS:
        raise too_many_groups(by, n_groups)
    order = None if column == by else sorted(named.unique().to_list())
    if order and MISSING in order:
        order = [*(name for name in order if name != MISSING), MISSING]
    groups = Groups.of(np.asarray(named.to_list(), dtype=np.str_), len(named), order)
    if n_missing:
        notes.append(f"{n_missing:,} of {len(names):,} rows have no {column}: group {MISSING}.")
    return replace(groups, column=column, of_time=column != by, note=" ".join(notes))


def too_many_groups(by: str, n_groups: int) -> HeadcountError:
    """Error for a column with too many values."""
    return HeadcountError(
        f"`by` is {by!r}, which makes {n_groups:,} groups; at most {MOST_GROUPS:,} are "
        "allowed: choose a coarser one."
    )


def group_names(
    values: pl.Series, by: str, table: str, date_order: str | None = None
) -> tuple[pl.Series, list[str]]:
    """Group of each row by name, null where there is none, and notes."""
    column = values.name
    if column == by:
        return _texts(values), []
    texts = without_marks(values)
    form = find_date_form(texts, order=date_order, wanted=True)
    example = short(texts.drop_nulls().head(1).to_list()[0]) if texts.count() else "nothing"
    if form is None:
        raise HeadcountError(
            f"`by` is {by!r}, but column {column!r} of {table!r} does not hold dates "
            f"throughout (such as {example}): write them as 2024-05-31."
        )
    if form.order == "undecided" and by != "year":
        raise HeadcountError(
            f"`by` is {by!r}, but dates in column {column!r} of {table!r}, such as {example}, "
            "may have the day first or the month first: pass `date_order` day-first or "
            "month-first."
        )
    order = list(PERIODS)
    if order.index(by) > order.index(form.period) and form.period != "day":
        raise HeadcountError(
            f"`by` is {by!r}, but column {column!r} of {table!r} holds {form.period}s (such as "
            f"{example}): choose {form.period} or a longer period."
        )
    dates = read_dates(texts, form.form)
    notes = []
    if n_bad := dates.null_count() - texts.null_count():
        bad = short(texts.filter(texts.is_not_null() & dates.is_null())[0])
        notes.append(f"{n_bad:,} of {len(texts):,} values of {column} are not dates: {bad}.")
    if form.order in ORDERS and date_order is None:
        example = short(texts.filter(dates.is_not_null())[0])
        notes.append(f"The dates of {column}, such as {example}, were read {form.order}.")
    return _periods(dates, by), notes


def only_date(table: TableFile, by: str) -> str:
    """Name of the only column of dates of a table."""
    head = next(table.batches(table.columns, _LOOKED_AT), None)
    columns = [] if head is None else list(head.iter_columns())
    dates = [
        column.name for column in columns if find_date_form(without_marks(column)) is not None
    ]
    if not dates:  # numbers such as 202403
        dates = [
            column.name
            for column in columns
            if (form := find_date_form(without_marks(column), wanted=True)) is not None
            and form.form == "%Y%m"
        ]
    if len(dates) != 1:
        number = f"several ({', '.join(map(repr, dates))})" if dates else "none"
        raise HeadcountError(
            f"`by` is {by!r}, which needs one column of dates, but {table.name!r} has "
            f"{number}: name it by `date_column`."
        )
    return dates[0]


def _texts(values: pl.Series) -> pl.Series:
    texts = values.cast(pl.String, strict=False).str.strip_chars()
    return texts.set(texts == "", None)


def _periods(dates: pl.Series, by: str) -> pl.Series:
    if by == "quarter":
        year, quarter = dates.dt.year().cast(pl.String), dates.dt.quarter().cast(pl.String)
        return year + "-Q" + quarter
    return dates.dt.strftime(PERIODS[by])


def _reordered(names: Array, codes: Ints, order: Sequence[Any]) -> tuple[Array, Ints]:
    ordered = list(order)
    present = names.tolist()
    missing = sorted(set(present) - set(ordered))
    if missing or len(set(ordered)) != len(ordered):
        problem = f"misses {missing[0]!r}" if missing else "names a group twice"
        raise HeadcountError(f"order {problem}: name every group in it once.")
    # Groups without items have no shares, and no place.
    place = {name: i for i, name in enumerate(present)}
    places = [place[name] for name in ordered if name in place]
    return names[places], np.argsort(places)[codes]


def _sorted(names: Array) -> list[Any]:
    values = names.tolist()
    if not all(isinstance(name, str) for name in values):
        return values
    texts = [name for name in values if not _NUMBER.fullmatch(name)]
    return [*sorted((name for name in values if _NUMBER.fullmatch(name)), key=float), *texts]


def order_names(names: Sequence[Any], of_time: bool) -> tuple[list[Any], bool]:
    """Names of groups in the order to show them, and True if they are a sequence."""
    named = np.asarray([name for name in names if name != MISSING])
    ordered = of_time or _is_sequence(named)
    in_order = sorted(named.tolist()) if of_time else _sorted(named)
    return in_order + [MISSING] * (MISSING in names), ordered


def _is_sequence(names: Array) -> bool:
    if names.dtype.kind in "iufM":
        return True
    return all(
        isinstance(name, date) or (isinstance(name, str) and _DATE.fullmatch(name))
        for name in names.tolist()
    )


@dataclass(frozen=True)
class Options:
    """Choices of a caller besides the model; `column` is the one of the groups.

    Several columns of `by` are joined to one, of which `parts` are the names. Periods among
    them are made of the columns `made_of`.
    """

    by: Any = None
    date_column: str | None = None
    date_order: str | None = None
    separator: str | None = None
    weight: str | None = None
    cluster: str | None = None
    level: float = 0.95
    random_state: int = 0
    title: str | None = None
    column: str | None = None
    parts: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fraction("`level`", self.level)
        check_order(self.date_order)
        if self.by is None or isinstance(self.by, str):
            return
        names = list(self.by) if isinstance(self.by, list | tuple) else [self.by]
        names = [name for i, name in enumerate(names) if name not in names[:i]]
        if not all(isinstance(name, str) for name in names):
            raise HeadcountError(
                f"`by` is {self.by!r}; it must be the name of a column, or a list of names."
            )
        if len(names) > 1:
            object.__setattr__(self, "parts", tuple(names))
        object.__setattr__(self, "by", " and ".join(names) or None)

    def table(self, source: Any, name: str) -> TableFile:
        """Table of a path or frame, with a column of the groups if several make them."""
        table = as_table(source, name, self.separator)
        for part in self.parts:
            table = self._with_period(table, part)
        if not self.parts or not set(self.parts) <= set(table.columns):
            return table
        return table.joined(self.parts, str(self.by))

    def _with_period(self, table: TableFile, part: str) -> TableFile:
        """The table with a column of periods, if it lacks one and has the dates."""
        if part in table.columns or part not in PERIODS:
            return table
        if self.made_of and not set(self.made_of) <= set(table.columns):
            return table  # labelled items without dates
        column = group_column(table, part, self.date_column)
        assert column is not None
        dates = table.read([column])[column]
        periods, _ = group_names(dates, part, table.name, self.date_order)
        return table.with_periods(column, part, periods)

    def of_table(self, table: TableFile) -> Options:
        """The same options with the column of the groups; an error if a column is missing."""
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                table.require([name], f"which `{option}` names")
        if self.parts:
            table.require(self.parts, "which `by` names")
            return replace(self, column=self.by, made_of=table.made_of)
        return replace(self, column=group_column(table, self.by, self.date_column))

    @property
    def of_time(self) -> bool:
        """True if the groups are periods of time."""
        return self.column is not None and self.column != self.by

    def not_features(self) -> dict[str, str]:
        """Columns that must not become features, and why."""
        reasons = {}
        for name in (*self.parts, *self.made_of, self.column):
            if name is not None:
                reasons[name] = "the groups are made of it, so the model must not learn from it"
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                reasons[name] = f"it holds the {option}s of the items"
        return reasons

    def groups(self, table: TableFile) -> Groups | None:
        """Groups of a table; None if there are none."""
        if self.by is None or self.column is None:
            return None
        return read_groups(table, self.by, self.column, self.date_order)
