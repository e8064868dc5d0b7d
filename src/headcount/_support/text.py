"""Tables as plain text, Markdown, LaTeX, HTML and CSV, and text that is safe to print."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from markupsafe import Markup, escape

# Shorter texts are kept on one line in HTML.
_SHORT = 12
_MARKS_IN_LATEX = {"†": r"\dagger", "‡": r"\ddagger"}
_SPECIAL_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
# Numbers, which are no formulas though they may start with a sign.
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?%?")
# Characters at which spreadsheets start a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Cell:
    """Entry of a table."""

    text: str  # the value as text; empty if it is missing
    is_best: bool = False  # true prints it in bold, or with a star in plain text
    mark: str = ""  # printed after the value, such as a dagger
    spread: str = ""  # printed after the value and a plus-minus sign


@dataclass(frozen=True, eq=False)
class Table:
    """Table whose values are text already, for every format it is printed in."""

    columns: Sequence[str]  # names of the columns
    rows: Sequence[Sequence[Cell]]  # the cells
    numeric: Sequence[bool]  # true for columns of numbers, which are aligned right
    foot: Sequence[Sequence[Cell]] = ()  # rows below the others, such as means
    title: str = ""  # printed above the table
    missing: str = "-"  # printed for empty cells in columns of numbers, except in HTML

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        rows: Iterable[Iterable[object]],
        numeric: Sequence[bool] | None = None,
        missing: str = "-",
    ) -> Table:
        """Table of cells or plain values; by default, all columns but the first are numbers."""
        cells = [[c if isinstance(c, Cell) else Cell(str(c)) for c in row] for row in rows]
        if numeric is None:
            numeric = [i > 0 for i in range(len(columns))]
        return cls(columns, cells, numeric, missing=missing)

    def to_text(self, *, ruled: bool = True) -> str:
        """Plain text; a star follows the best."""
        cells = self._cells(printable, " ± ", str, None)
        # Filled up to the same length, so that the numbers stay aligned.
        after = [
            [("*" if cell.is_best else "") + printable(cell.mark) for cell in row]
            for row in (*self.rows, *self.foot)
        ]
        widths = [max(map(len, column)) for column in zip(*after, strict=True)]
        body = [
            [a + b.ljust(width) for a, b, width in zip(row, ends, widths, strict=True)]
            for row, ends in zip(cells, after, strict=True)
        ]
        lines = _lines([printable(name) for name in self.columns], body, self.numeric, ruled)
        return "\n".join(([self.title] if self.title else []) + lines)

    def to_markdown(self) -> str:
        """Markdown table, the best in bold."""
        cells = self._cells(_in_markdown, " ± ", lambda text: f"**{text}**", _in_markdown)
        rule = ["---:" if number else "---" for number in self.numeric]
        lines = [[_in_markdown(name) for name in self.columns], rule, *cells]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{_in_markdown(self.title)}**\n\n{table}" if self.title else table

    def to_latex(self) -> str:
        r"""LaTeX ``tabular``, the best in bold; needs ``\usepackage{booktabs}``."""
        bold = r"\textbf{%s}".__mod__
        cells = self._cells(_in_latex, r" $\pm$ ", bold, _mark_in_latex)
        lines = [rf"{' & '.join(row)} \\" for row in cells]
        if self.foot:
            lines.insert(len(self.rows), r"\midrule")
        header = " & ".join(_in_latex(name) for name in self.columns)
        sides = "".join("r" if number else "l" for number in self.numeric)
        return "\n".join(
            ([f"% {' '.join(self.title.split())}"] if self.title else [])
            + [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", rf"{header} \\", r"\midrule"]
            + [*lines, r"\bottomrule", r"\end{tabular}"]
        )

    def to_html(self, *, css_class: str = "", label: str = "") -> Markup:
        """HTML ``table``, everything escaped; the title is left out."""
        named = {"class": css_class, "aria-label": label}
        attributes = "".join(f' {key}="{escape(text)}"' for key, text in named.items() if text)
        head = "".join(
            f'<th scope="col"{"" if number else _class("words")}>{escape(name)}</th>'
            for name, number in zip(self.columns, self.numeric, strict=True)
        )
        pieces = [f"<table{attributes}>", f"<thead><tr>{head}</tr></thead>"]
        for tag, rows in (("tbody", self.rows), ("tfoot", self.foot)):
            if rows or tag == "tbody":
                lines = [f"<tr>{self._row_in_html(row)}</tr>" for row in rows]
                pieces += [f"<{tag}>", *lines, f"</{tag}>"]
        return Markup("\n".join([*pieces, "</table>"]))

    def _row_in_html(self, row: Sequence[Cell]) -> str:
        cells = []
        for i, (cell, number) in enumerate(zip(row, self.numeric, strict=True)):
            names = [] if number else ["words"]
            names += ["short"] * (not number and len(cell.text) < _SHORT)
            names += ["best"] * cell.is_best
            text = escape(cell.text)
            text = Markup("<strong>{}</strong>").format(text) if cell.is_best else text
            text += Markup(" ± {}").format(cell.spread) if cell.spread else ""
            text += Markup("<sup>{}</sup>").format(cell.mark) if cell.mark else ""
            tag, scope = ("td", "") if i else ("th", ' scope="row"')
            cells.append(f"<{tag}{scope}{_class(*names)}>{text}</{tag}>")
        return "".join(cells)

    def _cells(
        self,
        escaped: Callable[[str], str],
        plus_minus: str,
        bold: Callable[[str], str],
        mark: Callable[[str], str] | None,
    ) -> list[list[str]]:
        """Cells as strings; without their marks if `mark` is None."""

        def written(cell: Cell, number: bool) -> str:
            text = escaped(" ".join(cell.text.split())) or (self.missing if number else "")
            text = bold(text) if cell.is_best else text
            text += plus_minus + escaped(cell.spread) if cell.spread else ""
            return text + mark(cell.mark) if mark else text

        return [
            [written(cell, number) for cell, number in zip(row, self.numeric, strict=True)]
            for row in (*self.rows, *self.foot)
        ]


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_texts: int = 1,
) -> list[str]:
    """Lines of a table of plain strings, texts to the left and numbers to the right."""
    head, *body = [[printable(cell) for cell in row] for row in (header, *rows)]
    return _lines(head, body, [i >= n_texts for i in range(len(head))], ruled=False)


def html_result(title: str, tables: Sequence[Table], notes: Sequence[str]) -> Markup:
    """Title, tables and notes of a result, for notebooks."""
    items = [Markup("<li>{}</li>").format(note) for note in notes]
    return Markup("\n").join(
        [
            Markup("<p>{}</p>").format(title),
            *(table.to_html(label=table.title or title) for table in tables),
            *([Markup("<ul>"), *items, Markup("</ul>")] if items else []),
        ]
    )


class ShownAsPrinted:
    """Base of results that notebooks show as they are printed: a heading and notes."""

    def _repr_html_(self) -> Markup:
        head, *lines = str(self).split("\n")
        return html_result(head, [], lines)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]], **style: Any) -> str:
    """Table as CSV in which no text can be taken for a formula."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, **style)
    writer.writerow([_no_formula(name) for name in header])
    writer.writerows([[_no_formula(value) for value in row] for row in rows])
    return buffer.getvalue()


def printable(value: object) -> str:
    r"""Text in one line, with characters that could control a terminal as JSON writes them."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or category(sign) == "Zs" else f"\\u{ord(sign):04x}"
        for sign in text
    )


# Characters that control a terminal or the direction of text; line feeds and tabs are kept.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    """Text with control characters as JSON writes them; line feeds and tabs stay."""
    return _CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def first_of(names: Iterable[Any], most: int) -> str:
    """The first names, and how many more there are: "a, b and 2 more"."""
    texts = list(map(str, names))
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def percent(share: float) -> str:
    """Share as a percentage: "12.3%"."""
    return f"{share:.1%}"


def chance(p_value: float | None) -> str:
    """p-value as text: "p = 0.034", "p < 0.0001" or "not tested"."""
    if p_value is None:
        return "not tested"
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def _lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], ruled: bool
) -> list[str]:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = [["-" * width for width in widths]] if ruled else []
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in [header, *rule, *rows]
    ]


def _no_formula(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    is_formula = text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def _class(*names: str) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _in_markdown(text: str) -> str:
    return re.sub(r"([|*_<>\\`])", r"\\\1", text)


def _in_latex(text: str) -> str:
    return "".join(_SPECIAL_IN_LATEX.get(character, character) for character in text)


def _mark_in_latex(mark: str) -> str:
    """Daggers as they are written in formulas, other marks as superscript text."""
    if not mark:
        return ""
    if set(mark) <= _MARKS_IN_LATEX.keys():
        return f"$^{{{''.join(_MARKS_IN_LATEX[sign] for sign in mark)}}}$"
    return rf"\textsuperscript{{{_in_latex(mark)}}}"
