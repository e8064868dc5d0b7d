"""Sections of the report of a study, before they are rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["Section"]


@dataclass(frozen=True)
class Section:
    """One section of a report: text, a table, a figure.

    Parameters
    ----------
    title : str
        Heading.
    text : str
        Plain paragraphs, separated by empty lines.
    table : polars.DataFrame, default=None
        Table of texts and numbers.
    figure : callable, default=None
        Function without arguments that returns a matplotlib figure.
    marks : mapping of (int, str) to str, default=None
        Marks of cells of the table, by row number and column name: ``"best"`` sets the cell
        in bold, any other text, such as a dagger, is appended to it.

    Examples
    --------
    >>> from headcount_studies import Section
    >>> Section("Experiments", "Two methods on three datasets.").table is None
    True
    """

    title: str
    text: str = ""
    table: pl.DataFrame | None = None
    figure: Callable[[], Figure] | None = None
    marks: Mapping[tuple[int, str], str] | None = None
