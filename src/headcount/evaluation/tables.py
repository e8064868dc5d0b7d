"""Tables of numbers as people print them: text, Markdown, LaTeX, the best in each marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headcount._text import text_table

__all__ = ["DIGITS", "Table", "in_latex", "in_markdown", "lowest", "mark_in_latex"]

Floats: TypeAlias = NDArray[np.float64]
_Wrap: TypeAlias = Callable[[str], str]

DIGITS = 4
_TIE = 1e-12
_MARKS_IN_LATEX = {"†": r"\dagger", "‡": r"\ddagger"}
_SPECIAL_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def lowest(values: Floats, axis: int) -> NDArray[np.bool_]:
    """Which numbers are the lowest along an axis; missing ones never are."""
    known = np.where(np.isnan(values), np.inf, values)
    return np.isfinite(known) & (known <= known.min(axis=axis, keepdims=True) + _TIE)


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers in rows and columns, some of them the best, some with a mark.

    Attributes
    ----------
    corner : str
        What the rows are.
    rows, columns : tuple of str
        Their names.
    values : ndarray of shape (R, C)
        The numbers; missing ones are NaN.
    best : ndarray of bool of shape (R, C)
        Those to stand out.
    spread : ndarray of shape (R, C), optional
        Printed behind each number, after a plus-minus sign.
    marks : sequence of R sequences of C strings, optional
        Printed after the numbers, such as a dagger.
    title : str
        What the numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.evaluation.tables import Table, lowest
    >>> errors = np.array([[0.01, 0.2], [0.03, 0.1]])
    >>> table = Table("method", ("SLD", "CC"), ("ae", "rae"), errors, lowest(errors, axis=0))
    >>> print(table.to_text(digits=2))
    method     ae    rae
    ------  -----  -----
    SLD     0.01*  0.20
    CC      0.03   0.10*
    >>> print(table.to_markdown(digits=2))
    | method | ae | rae |
    | --- | ---: | ---: |
    | SLD | **0.01** | 0.20 |
    | CC | 0.03 | **0.10** |
    """

    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    best: NDArray[np.bool_]
    spread: Floats | None = None
    marks: Sequence[Sequence[str]] | None = None
    title: str = ""

    def to_text(self, digits: int = DIGITS) -> str:
        """Plain text; a star follows the best."""
        numbers, stars = self._cells(digits, " ± ", str), self._suffixes()
        header = [self.corner, *self.columns]
        body = [
            [name, *(a + b for a, b in zip(row, after, strict=True))]
            for name, row, after in zip(self.rows, numbers, stars, strict=True)
        ]
        lines = text_table(header, body, ruled=True)
        return "\n".join(([self.title] if self.title else []) + lines)

    def to_markdown(self, digits: int = DIGITS) -> str:
        """A Markdown table, the best in bold."""
        cells = self._cells(digits, " ± ", lambda text: f"**{text}**", str)
        names = [in_markdown(name) for name in (self.corner, *self.columns)]
        lines = [names, ["---", *["---:"] * len(self.columns)]]
        lines += [[in_markdown(name), *row] for name, row in zip(self.rows, cells, strict=True)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{in_markdown(self.title)}**\n\n{table}" if self.title else table

    def to_latex(self, digits: int = DIGITS) -> str:
        r"""A LaTeX ``tabular``, the best in bold; needs ``\usepackage{booktabs}``."""
        cells = self._cells(
            digits, r" $\pm$ ", lambda text: rf"\textbf{{{text}}}", mark_in_latex
        )
        header = " & ".join(in_latex(name) for name in (self.corner, *self.columns))
        lines = [
            " & ".join([in_latex(name), *row])
            for name, row in zip(self.rows, cells, strict=True)
        ]
        return "\n".join(
            ([f"% {self.title}"] if self.title else [])
            + [rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}", r"\toprule"]
            + [rf"{header} \\", r"\midrule", *(rf"{line} \\" for line in lines)]
            + [r"\bottomrule", r"\end{tabular}"]
        )

    def _cells(
        self, digits: int, plus_minus: str, bold: _Wrap, mark: _Wrap | None = None
    ) -> list[list[str]]:
        """The numbers as strings, the best in bold, with their marks if `mark` writes them."""
        cells = []
        for i in range(len(self.rows)):
            row = []
            for j in range(len(self.columns)):
                text = _number(self.values[i, j], digits)
                text = bold(text) if self.best[i, j] else text
                if self.spread is not None and not np.isnan(self.spread[i, j]):
                    text += plus_minus + _number(self.spread[i, j], digits)
                row.append(text + (mark(self._mark(i, j)) if mark else ""))
            cells.append(row)
        return cells

    def _mark(self, i: int, j: int) -> str:
        return "" if self.marks is None else self.marks[i][j]

    def _suffixes(self) -> list[list[str]]:
        """Stars and marks in plain text, filled up so that the numbers stay aligned."""
        after = [
            [("*" if self.best[i, j] else "") + self._mark(i, j) for j in range(columns)]
            for i, columns in enumerate([len(self.columns)] * len(self.rows))
        ]
        widths = [max(map(len, column)) for column in zip(*after, strict=True)]
        return [
            [text.ljust(width) for text, width in zip(row, widths, strict=True)]
            for row in after
        ]


def _number(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def in_markdown(text: str) -> str:
    """The text with nothing in it that Markdown would take for its own."""
    return re.sub(r"([|*_<>\\`])", r"\\\1", text)


def in_latex(text: str) -> str:
    """The text with nothing in it that LaTeX would take for its own."""
    return "".join(_SPECIAL_IN_LATEX.get(character, character) for character in text)


def mark_in_latex(mark: str) -> str:
    """Daggers as a superscript."""
    return f"$^{{{''.join(_MARKS_IN_LATEX.get(m, m) for m in mark)}}}$" if mark else ""
