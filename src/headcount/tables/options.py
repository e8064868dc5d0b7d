"""Options that all functions of tables share: how to read a table, and its groups."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from headcount._support.parameters import check_fraction
from headcount.errors import HeadcountError
from headcount.tables.columns import check_order
from headcount.tables.groups import PERIODS, Groups, group_column, group_names, read_groups
from headcount.tables.readers import TableFile, frame_table, open_tables


def as_table(source: Any, name: str, separator: str | None = None) -> TableFile:
    """Table of a path, of paths, or of a frame, which messages call by a name."""
    if isinstance(source, TableFile):
        return source
    if isinstance(source, str | os.PathLike):
        return open_tables([source], separator=separator)
    if isinstance(source, list | tuple) and all(
        isinstance(path, str | os.PathLike) for path in source
    ):
        return open_tables(source, separator=separator)
    return frame_table(source, name)


@dataclass(frozen=True)
class Options:
    """What a caller chooses besides the model; `column` is what the groups are made of.

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
