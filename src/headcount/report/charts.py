"""Rows of estimates with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from headcount.analysis import Analysis, Part
from headcount.analysis.facts import words
from headcount.analysis.verdict import percent
from headcount.report.svg import Axis, drawing, tag, text_at

__all__ = [
    "Row",
    "class_rows",
    "cross",
    "flag",
    "group_rows",
    "mark_class",
    "rows_chart",
    "share_axis",
]

_ROW, _AXIS = 52, 22


@dataclass(frozen=True)
class Row:
    """An estimate with its interval and the values that it is compared with.

    Attributes
    ----------
    label : str
        Name of the class or group.
    value, low, high : float
        Estimate, and the ends of its interval.
    items : int
        Number of items.
    training, counted, truth : float or None
        Share in training, by classify and count, and the true value.
    is_broken : bool
        True if the estimate is not to be relied on.
    text : callable
        Text of a value.
    """

    label: str
    value: float
    low: float
    high: float
    items: int
    training: float | None = None
    counted: float | None = None
    truth: float | None = None
    is_broken: bool = False
    text: Callable[[float], str] = percent

    @property
    def hint(self) -> str:
        """Text that is shown on hovering."""
        lines = ["do not rely on it"] * self.is_broken
        lines += [
            f"{self.label}: {self.text(self.value)}",
            f"{self.text(self.low)} to {self.text(self.high)}",
            f"{self.items:,} items",
        ]
        others = {
            "classify and count": self.counted, "training": self.training, "truth": self.truth,
        }  # fmt: skip
        lines += [
            f"{name}: {self.text(value)}" for name, value in others.items() if value is not None
        ]
        return "\n".join(lines)

    @property
    def values(self) -> list[float]:
        """All values that are drawn."""
        known = (self.value, self.low, self.high, self.training, self.counted, self.truth)
        return [value for value in known if value is not None]


def share_axis(rows: Sequence[Row]) -> Axis:
    """Axis from 0 for the shares of rows."""
    return Axis.of_shares(max(value for row in rows for value in row.values))


def class_rows(analysis: Analysis, classes: Sequence[int]) -> list[Row]:
    """One row per class, for all items."""
    return [_row_of(analysis, analysis.overall, j, analysis.classes[j]) for j in classes]


def group_rows(analysis: Analysis, j: int) -> list[Row]:
    """One row per group, for class j."""
    return [_row_of(analysis, part, j, part.name) for part in analysis.groups]


def _row_of(analysis: Analysis, part: Part, j: int, label: Any) -> Row:
    counted, truth, training = part.classify_and_count, part.truth, float(analysis.training[j])
    return Row(
        words(label),
        float(part.estimate.shares[j]),
        float(part.low[j]),
        float(part.high[j]),
        part.estimate.n_items,
        training if np.isfinite(training) else None,
        None if counted is None else float(counted[j]),
        None if truth is None else float(truth[j]),
        part.is_broken,
    )


def rows_chart(rows: Sequence[Row], label: str, axis: Axis) -> Markup:
    """Chart with one line per row: name, estimate, and an axis with interval and marks."""
    height = _ROW * len(rows) + _AXIS
    grid = []
    for x, text in zip((0, 25, 50, 75, 100), axis.ticks.values(), strict=True):
        grid.append(_upright(x, 4, height - _AXIS + 4, "grid"))
        anchor = "start" if x == 0 else "end" if x == 100 else "middle"
        grid.append(text_at(x, height - 4, text, anchor, "tick"))
    drawn = [_row(row, _ROW * i, axis) for i, row in enumerate(rows)]
    return drawing(label, height, [*grid, *drawn], "rows")


def _row(row: Row, y: float, axis: Axis) -> Markup:
    middle = y + 29

    def at(value: float) -> float:
        return 100 * axis.part(value)

    marks = [flag("6", y + 11)] if row.is_broken else []
    marks += [
        tag("rect", class_="hit", x="0", y=y, width="100%", height=_ROW),
        tag(
            "text", _short(row.label), class_="name", x="16" if row.is_broken else "0", y=y + 16
        ),
        text_at(100, y + 16, row.text(row.value), "end", "value"),
        tag(
            "rect", class_="interval", x=_percent(at(row.low)), y=middle - 4,
            width=_percent(at(row.high) - at(row.low)), height=8.0, rx=4.0,
        ),
    ]  # fmt: skip
    if row.training is not None:
        marks.append(_upright(at(row.training), middle - 8, middle + 8, "reference"))
    if row.counted is not None:
        marks.append(_dot(at(row.counted), middle, 4, "cc"))
    marks.append(_dot(at(row.value), middle, 5, "estimate"))
    if row.truth is not None:
        marks.append(cross(_percent(at(row.truth)), middle))
    return tag("g", tag("title", row.hint), *marks, class_=mark_class(row))


def mark_class(row: Row) -> str:
    """Class of the group of a row's marks."""
    return "mark muted" if row.is_broken else "mark"


def cross(x: str, y: float) -> Markup:
    """Cross that marks the truth."""
    return _at(x, y, tag("path", d="M-4-4L4 4M-4 4L4-4", class_="truth"))


def flag(x: str, y: float) -> Markup:
    """Triangle that marks an estimate not to be relied on."""
    return _at(x, y, tag("path", d="M0-5.5L6 5H-6Z", class_="flag"))


def _at(x: str, y: float, mark: Markup) -> Markup:
    return tag("svg", mark, x=x, y=y, overflow="visible")


def _dot(x: float, y: float, r: float, class_: str) -> Markup:
    return tag("circle", class_=class_, cx=_percent(x), cy=y, r=r)


def _upright(x: float, y1: float, y2: float, class_: str) -> Markup:
    return tag("line", class_=class_, x1=_percent(x), x2=_percent(x), y1=y1, y2=y2)


def _percent(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def _short(label: str, longest: int = 34) -> str:
    return label if len(label) <= longest else f"{label[: longest - 1]}…"
