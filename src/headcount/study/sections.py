"""What a study has to show, before it is a page, a table in LaTeX or a picture."""

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
    """One table or figure of a report, or some words.

    Parameters
    ----------
    title : str
        A heading.
    text : str
        Plain paragraphs, with an empty line between them.
    table : polars.DataFrame, default=None
        Texts and numbers.
    figure : callable, default=None
        Called without arguments, draws a matplotlib figure and returns it.
    marks : mapping of (int, str) to str, default=None
        For cells of the table, by row number and column name: ``"best"`` sets the cell in
        bold, any other text, such as a dagger, is put behind it.

    Examples
    --------
    >>> from headcount.study import Section
    >>> Section("What was run", "Two methods on three datasets.").table is None
    True
    """

    title: str
    text: str = ""
    table: pl.DataFrame | None = None
    figure: Callable[[], Figure] | None = None
    marks: Mapping[tuple[int, str], str] | None = None
