"""Sections of a study, printed and drawn, for its page and files."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headcount._text import Table, csv_text
from headcount_studies.page.tables import study_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from headcount_studies.engine.sections import Section

__all__ = ["Picture", "StudyPart", "study_parts"]

_DPI = 200
_SHOWN = 130  # pixels of a page for an inch of a figure: letters of 7 points are readable
_COLOURS = 256


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, and its size in a page."""

    png: bytes
    width: int
    height: int

    @property
    def base64(self) -> str:
        """Content for a data URL."""
        return base64.b64encode(self.png).decode()


@dataclass(frozen=True)
class StudyPart:
    """Section whose table and figure are printed and drawn.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens; no two parts share one.
    title : str
        Heading.
    paragraphs : tuple of str
        Text.
    frame : polars.DataFrame or None
        Values of the table.
    table : Table or None
        The table.
    picture : Picture or None
        The figure.
    """

    name: str
    title: str
    paragraphs: tuple[str, ...]
    frame: pl.DataFrame | None
    table: Table | None
    picture: Picture | None

    def tables(self) -> dict[str, str]:
        """The table in every format, by the ending of its file; empty if there is none."""
        if self.table is None or self.frame is None:
            return {}
        return {
            "md": f"{self.table.to_markdown()}\n",
            "tex": f"{replace(self.table, title=self.title).to_latex()}\n",
            "csv": csv_text(self.frame.columns, self.frame.rows()),
        }


def study_parts(sections: Iterable[Section]) -> list[StudyPart]:
    """Print and draw sections.

    Parameters
    ----------
    sections : iterable of Section
        Sections of a study.

    Returns
    -------
    list of StudyPart

    Examples
    --------
    >>> from headcount_studies import Section
    >>> [part.name for part in study_parts([Section("Mean NKLD"), Section("Mean, NKLD!")])]
    ['mean-nkld', 'mean-nkld-2']
    """
    parts: list[StudyPart] = []
    for section in sections:
        name = _file_name(section.title, {part.name for part in parts})
        table = None if section.table is None else study_table(section)
        picture = None if section.figure is None else _picture(section.figure())
        paragraphs = tuple(text.strip() for text in re.split(r"\n\s*\n", section.text))
        paragraphs = tuple(text for text in paragraphs if text)
        parts.append(StudyPart(name, section.title, paragraphs, section.table, table, picture))
    return parts


def _file_name(title: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80] or "section"
    # Parts of the page itself have names as well.
    taken = taken | {"failures", "how", "csv", "json", "theme", "tip", "data"}
    names = [plain, *(f"{plain}-{i}" for i in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


def _picture(figure: Figure) -> Picture:
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_DPI, facecolor="white")
    with Image.open(drawn) as image:
        # Plots have few colours: with a palette they take a third of the place.
        small = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="png", optimize=True)
    width, height = (round(_SHOWN * side / _DPI) for side in small.size)
    return Picture(packed.getvalue(), width, height)
