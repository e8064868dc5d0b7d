"""One page with sections, from plain data: a heading, a headline, sections and downloads.

Sections are made of the blocks below: paragraphs, tables, charts, legends and notes. All of
them escape the text that they are given.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headcount._support.files import check_writable, write_bytes
from headcount._support.text import csv_text

# Notes that a list shows at most.
_MOST_NOTES = 12


def _glyph(content: str, width: int = 16) -> str:
    return f'<svg width="{width}" height="14" aria-hidden="true">{content}</svg>'


_CROSS = _glyph('<path class="truth" d="M4 3L12 11M4 11L12 3"/>')
_LINE = _glyph('<line class="truth" x1="0" x2="14" y1="7" y2="7"/>', 18)
_ESTIMATE = (
    '<rect class="interval" x="1" y="3" width="24" height="8" rx="4"/>'
    '<circle class="estimate" cx="13" cy="7" r="5"/>'
)
_BAND = (
    '<rect class="band" x="0" y="2" width="22" height="10"/><path class="line" d="M0 7H22"/>'
)
GLYPHS = {
    "estimate": _glyph(_ESTIMATE, 26),
    "truth": _CROSS,
    "truth line": _CROSS + _LINE,
    "flag": _glyph('<path class="flag" d="M8 1.5L14 12H2Z"/>'),
    "reference": _glyph('<line class="reference" x1="8" x2="8" y1="0" y2="14"/>'),
    "reference line": _glyph('<line class="reference" x1="0" x2="16" y1="7" y2="7"/>'),
    "counted": _glyph('<circle class="cc" cx="8" cy="7" r="4"/>'),
    "counted line": _glyph('<path class="cc" d="M0 7H16"/>'),
    "alert": _glyph('<line class="alert" x1="8" x2="8" y1="0" y2="14"/>'),
    "sample": _glyph('<rect class="sample" x="0" y="1" width="16" height="12"/>'),
    "band": _glyph(_BAND, 22),
    "own": _glyph('<rect class="own" x="0" y="1" width="16" height="12"/>'),
}
"""Marks of legends, by name."""


def now() -> str:
    """Date and time, as pages and results state it."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True)
class Page:
    """One HTML file that loads nothing and is readable without scripts.

    The downloads are a table, `columns` and `rows`, and `content` as JSON. With `counts`, a
    switch hides what is marked as classify and count.
    """

    title: str
    eyebrow: Sequence[str]
    headline: Markup
    sections: Sequence[Markup]
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    content: Any
    counts: bool = False

    def to_html(self) -> str:
        """Text of the file."""
        values = {
            "title": self.title,
            "eyebrow": " · ".join(self.eyebrow),
            "headline": self.headline,
            "sections": Markup("\n").join(filter(None, self.sections)),
            "counts": self.counts,
        }
        table = packed_csv(self.columns, map(rounded, map(list, self.rows)))
        data = {"csv_gzip": table, "analysis": rounded(self.content)}
        return rendered("page.html", values, data=data)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically."""
        file = Path(path)
        check_writable(file, "path", (".html", ".htm"))
        write_bytes(file, self.to_html().encode("utf-8", "replace"))


class Reported(ABC):
    """Base of results that have a page."""

    @abstractmethod
    def page(self) -> Page:
        """Page that `report` writes."""

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page to share: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or path
            File that ends in .html, in a folder that exists.
        """
        self.page().write(path)


@dataclass(frozen=True)
class Note:
    """Warning or note, with the groups that it is about, if there are any."""

    about: str
    text: str


@dataclass(frozen=True)
class PageColumn:
    """Column of a table: its heading and class; `names` if its cells are names of the rows."""

    heading: str
    css: str = ""
    names: bool = False


def headline(
    status: str,
    answer: str,
    sentences: Sequence[str],
    *,
    question: str = "",
    muted: bool = False,
    n_leads: int = 1,
    links: Mapping[str, str] | None = None,
) -> Markup:
    """First words of a page: the answer, and sentences, the first of which stand out."""
    lines = [paragraph(question, "question")] if question else []
    lines.append(paragraph(answer, "mark-word"))
    for i, sentence in enumerate(sentences):
        css = "lead" if i < n_leads else "muted" if muted else ""
        lines.append(paragraph(sentence, css))
    for target, text in (links or {}).items():
        lines.append(Markup('<p><a href="#{}">{}</a></p>').format(target, text))
    return element("div", *lines, css=f"verdict {status}")


def warnings_link(notes: Sequence[Note]) -> dict[str, str]:
    """Link of a headline to the warnings, if there are any."""
    if not notes:
        return {}
    return {"warnings": f"{len(notes)} warning{'' if len(notes) == 1 else 's'}"}


def section(title: str, *content: str, name: str = "", css: str = "") -> Markup:
    """Section with a heading."""
    return element("section", _line("h2", title), *content, name=name, css=css)


def element(kind: str, *content: str, name: str = "", css: str = "") -> Markup:
    """Element of HTML with an id and a class; empty content is left out."""
    inside = Markup("\n").join(filter(None, content))
    attributes = _attribute("id", name) + _class(css)
    return Markup(f"<{kind}{attributes}>\n{{}}\n</{kind}>").format(inside)


def paragraph(text: str, css: str = "", name: str = "") -> Markup:
    """Paragraph; nothing for an empty text."""
    return _line("p", text, _class(css) + _attribute("id", name))


def _line(kind: str, text: str, attributes: str = "") -> Markup:
    """Element with a text; nothing for an empty text."""
    return Markup(f"<{kind}{attributes}>{{}}</{kind}>").format(text) if text else Markup("")


def _attribute(key: str, value: str) -> Markup:
    return Markup(' {}="{}"').format(key, value) if value else Markup("")


def _class(css: str) -> Markup:
    return _attribute("class", css)


def note(text: str, css: str = "", name: str = "") -> Markup:
    """Paragraph in small print."""
    return paragraph(text, f"note {css}".rstrip(), name)


def bullets(sentences: Sequence[str]) -> Markup:
    """List of sentences."""
    return element("ul", *(_line("li", sentence) for sentence in sentences))


def advice(sentences: Sequence[str]) -> Markup:
    """Section on what to do."""
    return section("What to do", bullets(sentences), name="advice")


def folded(summary: str, *content: str) -> Markup:
    """Content that opens on a click."""
    return element("details", _line("summary", summary), *content)


def legend(*marks: tuple[str, str]) -> Markup:
    """Legend: names of `GLYPHS`, and what they mean."""
    lines = []
    for glyph, text in marks:
        style = ' class="cc-legend"' if text == "classify and count" else ""
        lines.append(Markup(f"<li{style}>{GLYPHS[glyph]}{{}}</li>").format(text))
    return Markup('<ul class="legend" aria-label="Legend">\n{}\n</ul>').format(
        Markup("\n").join(lines)
    )


def estimate_legend(
    level: str,
    *,
    line: bool = False,
    training: bool = False,
    counted: bool = False,
    truth: bool = False,
    flagged: bool = False,
    counted_name: str = "classify and count",
) -> Markup:
    """Legend of estimates with intervals and what they are compared with."""
    of_line = " line" if line else ""
    marks = [("estimate", f"estimate, {level} interval")]
    marks += [(f"reference{of_line}", "share in training")] * training
    marks += [(f"counted{of_line}", counted_name)] * counted
    marks += [("truth", "truth")] * truth
    return legend(*marks, *([("flag", "do not rely on it")] * flagged))


def figure(chart: str, caption: str = "", *, scrolls: bool = False) -> Markup:
    """Chart with a caption."""
    inside = Markup('<div class="scroll" tabindex="0">{}</div>').format(chart)
    return Markup("<figure>{}{}</figure>").format(
        _line("figcaption", caption), inside if scrolls else chart
    )


def panels(
    charts: Sequence[tuple[str, str]], *, wide: bool = False, scrolls: bool = False
) -> Markup:
    """Charts with captions, beside each other where there is room."""
    figures = [figure(chart, caption, scrolls=scrolls) for caption, chart in charts]
    return element("div", *figures, css="panels wide" if wide else "panels")


def scrolled(table: str, css: str = "") -> Markup:
    """Table that scrolls if it is too wide, or, with the class tall, too long."""
    return Markup('<div class="{}" tabindex="0">{}</div>').format(
        f"scroll {css}".rstrip(), table
    )


def table(
    columns: Sequence[PageColumn],
    rows: Iterable[Sequence[str]],
    *,
    name: str,
    css: str = "sortable",
    muted: Sequence[bool] = (),
) -> Markup:
    """Table that the element with the id name-caption describes; some rows may be muted."""
    head = [
        Markup('<th scope="col"{}>{}</th>').format(_class(column.css), column.heading)
        for column in columns
    ]
    lines = []
    for i, row in enumerate(rows):
        is_muted = i < len(muted) and muted[i]
        cells, scope = [], ' scope="row"'
        for column, cell in zip(columns, row, strict=True):
            if column.names:
                cells.append(Markup(f"<th{scope}>{{}}</th>").format(cell))
                scope = ""
            else:
                style = "bad" if column.heading == FLAG.heading else column.css
                cells.append(Markup("<td{}>{}</td>").format(_class(style), cell))
        line = Markup("").join(cells)
        lines.append(Markup("<tr{}>{}</tr>").format(_class("muted" if is_muted else ""), line))
    return Markup(
        '<table id="{name}" class="{css}" aria-labelledby="{name}-caption">\n'
        "<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    ).format(name=name, css=css, head=Markup("").join(head), body=Markup("\n").join(lines))


FLAG = PageColumn("Rely on it?", "words")
"""Column of the flags of estimates that are not to be relied on."""


def flag(is_broken: bool) -> Markup:
    """Cell of `FLAG`."""
    return Markup('<span aria-hidden="true">▲</span> no') if is_broken else Markup("")


def facts(caption: str, values: Mapping[str, Any]) -> Markup:
    """Table of names and values."""
    rows = [
        Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(name, value)
        for name, value in values.items()
    ]
    return Markup('<table class="facts">{}<tbody>\n{}\n</tbody></table>').format(
        _line("caption", caption), Markup("\n").join(rows)
    )


def pair(*content: str, css: str = "pair") -> Markup:
    """Blocks beside each other where there is room."""
    return element("div", *content, css=css)


def notes_list(notes: Sequence[Note]) -> Markup:
    """List of notes, the first dozen of them."""
    lines = [
        _line("li", _line("strong", item.about) + Markup(" " * bool(item.about)) + item.text)
        for item in notes[:_MOST_NOTES]
    ]
    hidden = len(notes) - _MOST_NOTES
    more = note(f"{hidden} more are in the downloads.") if hidden > 0 else Markup("")
    return Markup('<ul class="warnings">\n{}\n</ul>{}').format(Markup("\n").join(lines), more)


def warnings_section(notes: Sequence[Note]) -> Markup:
    """Section of warnings; nothing if there are none."""
    return section("Warnings", notes_list(notes), name="warnings") if notes else Markup("")


def notes_section(notes: Sequence[Note]) -> Markup:
    """Section of notes on the data; nothing if there are none."""
    if not notes:
        return Markup("")
    return section("Notes on the data", notes_list(notes), name="notes", css="calm")


def hidden_rows(n_hidden: int, what: str = "more rows") -> Markup:
    """Note on rows that are in the downloads only; nothing if there are none."""
    return note(f"{n_hidden:,} {what} are in the downloads.") if n_hidden > 0 else Markup("")


# A script ends at its closing tag, wherever that is; old browsers end lines at U+2028.
_UNSAFE = str.maketrans(
    {sign: f"\\u{ord(sign):04x}" for sign in ("<", ">", "&", "\u2028", "\u2029")}
)


@cache
def asset(name: str) -> str:
    """Text of a file that comes with the reports."""
    folder = files("headcount.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    r"""JSON that can stand inside a script element of a page."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def packed_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV table, compressed, for the download of a page."""
    # The mark at the start shows spreadsheets that the text is UTF-8. Warnings, which are on
    # every row of a group, would be most of the page: compressed they are next to nothing.
    table = ("\ufeff" + csv_text(header, rows)).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(table, mtime=0)).decode()


def rounded(value: Any) -> Any:
    """The same plain value with numbers of six digits; None for those that are not finite."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def content_policy(style: str, script: str, *, images: bool = False) -> str:
    """Policy that lets a browser use one style and one script, and load nothing."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        f"{'img-src data:; ' if images else ''}base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def rendered(
    name: str,
    values: Mapping[str, Any],
    *,
    data: Mapping[str, Any],
    filters: Mapping[str, Callable[..., Any]] | None = None,
    styles: Sequence[str] = ("page.css",),
    images: bool = False,
) -> str:
    """Page of a template, which escapes all values and raises an error for missing ones."""
    style, script = "".join(map(asset, styles)), asset("page.js")
    return str(
        _template(name, *(filters or {}).items()).render(
            style=Markup(style),
            script=Markup(script),
            policy=content_policy(style, script, images=images),
            data=Markup(script_json(data)),
            **values,
        )
    )


@cache
def _template(name: str, *filters: tuple[str, Callable[..., Any]]) -> Any:
    # Imported here, as only pages need it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )  # fmt: skip
    environment.filters |= dict(filters)
    return environment.get_template(name)
