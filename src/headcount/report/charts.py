"""Rows of shares with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from headcount.analysis import Analysis, Part
from headcount.analysis.facts import words
from headcount.analysis.verdict import percent
from headcount.report.svg import drawing, nice_top, number, tag, text_at

__all__ = ["Row", "class_rows", "group_rows", "row_of", "rows_chart"]

_ROW, _AXIS = 52, 22


@dataclass(frozen=True)
class Row:
    """A share with its interval and the shares that it is compared with."""

    label: str
    share: float
    low: float
    high: float
    training: float
    counted: float | None
    truth: float | None
    items: int
    warned: bool = False

    @property
    def said(self) -> str:
        """Text that is shown on hovering."""
        lines = [
            f"{self.label}: {percent(self.share)}",
            f"{self.interval}",
            f"{self.items:,} items",
        ]
        if self.counted is not None:
            lines.append(f"classify and count: {percent(self.counted)}")
        lines.append(f"training: {percent(self.training)}")
        if self.truth is not None:
            lines.append(f"truth: {percent(self.truth)}")
        if self.warned:
            lines.append("unlike a mixture of the training classes")
        return "\n".join(lines)

    @property
    def interval(self) -> str:
        """Ends of the interval as text."""
        return f"{percent(self.low)} to {percent(self.high)}"

    @property
    def largest(self) -> float:
        """Largest of its shares."""
        others = (self.counted or 0.0, self.truth or 0.0)
        return max(self.high, self.training, *others)


def row_of(analysis: Analysis, part: Part, j: int, label: Any) -> Row:
    """Row of class j in a part."""
    counted, truth = part.classify_and_count, part.truth
    return Row(
        words(label),
        float(part.estimate.shares[j]),
        float(part.low[j]),
        float(part.high[j]),
        float(analysis.training[j]),
        None if counted is None else float(counted[j]),
        None if truth is None else float(truth[j]),
        part.estimate.n_items,
        part.is_broken,
    )


def class_rows(analysis: Analysis) -> list[Row]:
    """One row per class, for all items."""
    return [
        row_of(analysis, analysis.overall, j, label) for j, label in enumerate(analysis.classes)
    ]


def group_rows(analysis: Analysis, j: int) -> list[Row]:
    """One row per group, for class j."""
    return [row_of(analysis, part, j, part.name) for part in analysis.groups]


def rows_chart(rows: Sequence[Row], label: str) -> Markup:
    """Chart with one line per row: name, share, and an axis with interval and marks."""
    top = nice_top(max(row.largest for row in rows))
    height = _ROW * len(rows) + _AXIS
    grid = []
    for tick in np.linspace(0, top, 5):
        x = 100 * tick / top
        grid.append(_upright(x, 4, height - _AXIS + 4, "grid"))
        anchor = "start" if x == 0 else "end" if x == 100 else "middle"
        grid.append(text_at(x, height - 4, _tick(tick), anchor, "tick"))
    drawn = [_row(row, _ROW * i, top) for i, row in enumerate(rows)]
    return drawing(label, height, [*grid, *drawn], "rows")


def _tick(share: float) -> str:
    return f"{number(100 * share)}%"


def _row(row: Row, y: float, top: float) -> Markup:
    middle = y + 29

    def at(share: float) -> float:
        return 100 * share / top

    marks = [
        tag("rect", class_="hit", x="0", y=y, width="100%", height=_ROW),
        text_at(0, y + 16, _short(row.label), "start", "name"),
        text_at(100, y + 16, percent(row.share), "end", "value"),
        tag(
            "rect", class_="interval", x=_percent(at(row.low)), y=middle - 4,
            width=_percent(at(row.high - row.low)), height=8.0, rx=4.0,
        ),
        _upright(at(row.training), middle - 8, middle + 8, "reference"),
    ]  # fmt: skip
    if row.counted is not None:
        marks.append(_dot(at(row.counted), middle, 4, "cc"))
    marks.append(_dot(at(row.share), middle, 5, "estimate"))
    if row.truth is not None:
        marks.append(cross(at(row.truth), middle))
    if row.warned:
        marks.append(cross(100, middle, "warned"))
    return tag("g", tag("title", row.said), *marks, class_="mark")


def cross(x: float, y: float, class_: str = "truth") -> Markup:
    """Cross that marks the truth, or a warning."""
    lines = tag("path", d="M-4-4L4 4M-4 4L4-4", class_=class_)
    return tag("svg", lines, x=_percent(x), y=y, overflow="visible")


def _dot(x: float, y: float, r: float, class_: str) -> Markup:
    return tag("circle", class_=class_, cx=_percent(x), cy=y, r=r)


def _upright(x: float, y1: float, y2: float, class_: str) -> Markup:
    return tag("line", class_=class_, x1=_percent(x), x2=_percent(x), y1=y1, y2=y2)


def _percent(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def _short(label: str, longest: int = 34) -> str:
    return label if len(label) <= longest else f"{label[: longest - 1]}…"
