"""Files of statistics: made of tables on several machines, merged, and analysed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcount._files import input_files
from headcount._parameters import check_fraction
from headcount.analysis.analysis import Analysis
from headcount.analysis.from_tables import as_table, checked_model
from headcount.analysis.groups import MOST_GROUPS, group_column, too_many_groups
from headcount.analysis.large_tables import (
    analyse_statistics,
    empty_statistics,
    summarise_table,
)
from headcount.data.dates import check_order
from headcount.errors import HeadcountError
from headcount.statistics import Statistics

__all__ = ["ENDING", "analyse_files", "merge_files", "summarise"]

ENDING = ".hcs"
"""Ending of files of statistics."""
_MOST_NAMES = 6


def summarise(
    new: Any,
    *,
    model: Any,
    by: str | None = None,
    date_column: str | None = None,
    separator: str | None = None,
    date_order: str | None = None,
) -> Statistics:
    """Read tables once, in batches, into statistics that merge with those of other tables.

    This is what the command ``headcount statistics make`` does.

    Parameters
    ----------
    new : frame, path or list of paths
        Table of the items.
    model : path, TableModel or ScoreModel
        File written by `Analysis.save`, or ``Analysis.model``.
    by, date_column : str, default=None
        Groups, as for `analyse`.
    separator, date_order : str, default=None
        As for `analyse`.

    Returns
    -------
    Statistics
        By group. `analyse_files` makes an analysis of its files.
    """
    check_order(date_order)
    table = as_table(new, "new", separator)
    column = group_column(table, by, date_column)
    fitted = checked_model(model, column, ())
    return summarise_table(fitted, table, by, column, date_order).statistics


def merge_files(files: Sequence[str | os.PathLike[str]]) -> Statistics:
    """Merge files of statistics.

    Parameters
    ----------
    files : sequence of str or path
        Files, patterns or folders.

    Returns
    -------
    Statistics
    """
    return _merged(_found(files), None)


def analyse_files(
    files: Sequence[str | os.PathLike[str]],
    *,
    model: Any,
    level: float = 0.95,
    random_state: int = 0,
    title: str | None = None,
) -> Analysis:
    """Estimate the shares of the classes, and those of groups, from files of statistics.

    Parameters
    ----------
    files : sequence of str or path
        Files, patterns or folders.
    model : path, TableModel or ScoreModel
        Model that the statistics were made with.
    level : float, default=0.95
        Probability that an interval contains the share.
    random_state : int, default=0
        Random seed.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    Analysis
    """
    check_fraction("`level`", level)
    fitted, paths = checked_model(model, None, ()), _found(files)
    together = _merged(paths, empty_statistics(fitted))
    if len(together.groups) > MOST_GROUPS:
        raise too_many_groups("a column", len(together.groups))
    names = ", ".join(path.name for path in paths[:_MOST_NAMES])
    facts = {"Labelled table": fitted.training, "Statistics": f"{names}, {together.n:,} rows"}
    analysis = analyse_statistics(
        fitted,
        together,
        data_facts=facts,
        title=title or f"{fitted.target} in {paths[0].name}",
        level=level,
        random_state=random_state,
    )
    return replace(analysis, columns=fitted.column_facts(), model=fitted)


def _found(files: Sequence[str | os.PathLike[str]]) -> list[Path]:
    return [path for each in files for path in input_files(each, (ENDING,))]


def _merged(paths: Sequence[Path], start: Statistics | None) -> Statistics:
    together = start
    for path in paths:
        own = Statistics.load(path)
        try:
            together = own if together is None else together.merge(own)
        except HeadcountError as error:
            raise HeadcountError(f"{path.name!r}: {error}") from None
    assert together is not None
    return together
