"""Tables of a study as text that stands in a page, in Markdown, in LaTeX and in CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.evaluation.tables import in_latex, in_markdown, mark_in_latex
from headcount.report.writing import csv_text

if TYPE_CHECKING:
    import polars as pl

    from headcount.study.sections import Section

__all__ = ["Cell", "PrintedTable", "print_table"]

# Rows that sum up the others stay below them, however those are sorted.
_MEAN, _RANK = "mean", "mean rank"
_BEST = "best"
_DAGGERS = frozenset("†‡")


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table.

    Attributes
    ----------
    text : str
        The value, as people read it; empty if there is none.
    is_number : bool
        Whether it stands to the right.
    is_best : bool
        Whether it stands out.
    mark : str
        What comes behind it.
    """

    text: str
    is_number: bool = False
    is_best: bool = False
    mark: str = ""


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """A table in which every value is text already.

    Attributes
    ----------
    frame : polars.DataFrame
        The values.
    numeric : tuple of bool
        Which columns stand to the right.
    body, foot : tuple of rows of Cell
        The rows, and those that sum them up.
    """

    frame: pl.DataFrame
    numeric: tuple[bool, ...]
    body: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.frame.columns

    @property
    def is_wide(self) -> bool:
        """Whether it needs small letters."""
        return len(self.columns) > 12

    def to_markdown(self) -> str:
        """A Markdown table, the best in bold.

        Returns
        -------
        str
        """
        rule = ["---:" if number else "---" for number in self.numeric]
        rows = self._written(in_markdown, lambda text: f"**{text}**", in_markdown)
        lines = [[in_markdown(name) for name in self.columns], rule, *rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_latex(self) -> str:
        r"""A LaTeX ``tabular``, the best in bold; needs ``\usepackage{booktabs}``.

        Returns
        -------
        str
        """
        rows = self._written(in_latex, lambda text: rf"\textbf{{{text}}}", _latex_mark)
        lines = [rf"{' & '.join(row)} \\" for row in rows]
        if self.foot:
            lines.insert(len(self.body), r"\midrule")
        header = " & ".join(in_latex(name) for name in self.columns)
        sides = "".join("r" if number else "l" for number in self.numeric)
        top = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", rf"{header} \\", r"\midrule"]
        return "\n".join([*top, *lines, r"\bottomrule", r"\end{tabular}", ""])

    def to_csv(self) -> str:
        """The values as CSV, in full; no text can be taken for a formula.

        Returns
        -------
        str
        """
        return csv_text(self.columns, self.frame.rows())

    def _written(
        self,
        escape: Callable[[str], str],
        bold: Callable[[str], str],
        mark: Callable[[str], str],
    ) -> list[list[str]]:
        def written(cell: Cell) -> str:
            text = escape(" ".join(cell.text.split())) or ("-" if cell.is_number else "")
            return (bold(text) if cell.is_best else text) + mark(cell.mark)

        return [[written(cell) for cell in row] for row in (*self.body, *self.foot)]


def print_table(section: Section) -> PrintedTable:
    """The table of a section, its numbers with as many decimals as they deserve.

    Parameters
    ----------
    section : Section
        One that has a table.

    Returns
    -------
    PrintedTable

    Examples
    --------
    >>> import polars as pl
    >>> from headcount.study import Section
    >>> errors = pl.DataFrame({"method": ["MS", "CC"], "error": [0.04, 0.31]})
    >>> print(print_table(Section("Errors", table=errors, marks={(0, "error"): "best"}))
    ...       .to_markdown(), end="")
    | method | error |
    | --- | ---: |
    | MS | **0.040** |
    | CC | 0.310 |
    """
    frame = section.table
    assert frame is not None
    n_body = len(frame) - _foot_length(frame)
    marks = section.marks or {}
    foot = [str(name) for name in frame.to_series(0)[n_body:]] if frame.width else []
    columns = [_column(column, foot, marks) for column in frame]
    rows = tuple(zip(*columns, strict=True))
    numeric = tuple(dtype.is_numeric() for dtype in frame.dtypes)
    return PrintedTable(frame, numeric, rows[:n_body], rows[n_body:])


def _foot_length(frame: pl.DataFrame) -> int:
    names = [str(name) for name in frame.to_series(0)][::-1] if frame.width else []
    return next((i for i, name in enumerate(names) if name not in (_MEAN, _RANK)), 0)


def _column(
    column: pl.Series, foot: Sequence[str], marks: Mapping[tuple[int, str], str]
) -> list[Cell]:
    body = column[: len(column) - len(foot)]
    usual, of_ranks = _writer(body), _writer(column, decimals=2)
    writers = [usual] * len(body) + [of_ranks if each == _RANK else usual for each in foot]
    cells = []
    for i, (value, write) in enumerate(zip(column, writers, strict=True)):
        mark = marks.get((i, column.name), "")
        best = mark == _BEST
        text = write(value)
        cells.append(Cell(text, column.dtype.is_numeric(), best, "" if best else mark))
    return cells


def _writer(column: pl.Series, decimals: int | None = None) -> Callable[[Any], str]:
    if column.dtype.is_float():
        if decimals is None:
            decimals = _decimals(column.drop_nulls().to_numpy())
        return lambda x: "" if x is None or not np.isfinite(x) else f"{x:.{decimals}f}"
    if column.dtype.is_integer():
        return lambda x: "" if x is None else f"{x:,}"
    return _words


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    return str(value)


def _decimals(values: NDArray[np.float64]) -> int:
    """Three, or what shows three digits of the largest number."""
    known = np.abs(values[np.isfinite(values)])
    largest = known.max(initial=0.0)
    return 1 if largest >= 100 else 2 if largest >= 10 else 3 if largest >= 0.1 else 4


def _latex_mark(mark: str) -> str:
    if set(mark) <= _DAGGERS:
        return mark_in_latex(mark)
    return rf"\textsuperscript{{{in_latex(mark)}}}"
