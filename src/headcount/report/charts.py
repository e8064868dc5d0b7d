"""Charts of pages: SVG that stretches with the page and keeps its text as it is.

Places along the width are in percent, so that a drawing is as wide as the page lets it be.
Curves, which know no percent, are in an inner drawing that is stretched to the width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from headcount._support.arrays import Floats
from headcount._support.text import percent

# Width of what is stretched, in its own units.
WIDTH = 1000
# Height of a row of estimates, and of the axis below the rows.
_ROW, _AXIS = 52, 22
# Room above and below a drawing over groups; groups above which their intervals are one band.
_ABOVE, _BELOW, _MANY = 16, 24, 40
# Height of a histogram, and the values that its axis names.
_HISTOGRAM, _HISTOGRAM_TICKS = 180, (0.01, 0.05, 0.2, 0.5, 1.0)
# Groups above which each no longer has a row of its own in a chart, and panels are wide.
_MOST_GROUP_ROWS, _MOST_NARROW = 24, 20
# Characters of a label.
_LONGEST = 34


def tag(name: str, *children: str, **attributes: str | float) -> Markup:
    """Element; text in it is escaped, elements are not."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def number(value: float) -> str:
    """Number as short text; it must be finite, as browsers draw no others."""
    assert math.isfinite(value)
    return f"{value:.1f}".removesuffix(".0")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def drawing(label: str, height: float, children: Iterable[str], class_: str) -> Markup:
    """Drawing as wide as its container, with a label for screen readers."""
    return tag(
        "svg", tag("title", label), *children,
        class_=f"chart {class_}", role="img", width="100%", height=height,
    )  # fmt: skip


def stretched(height: float, *children: str) -> Markup:
    """Inner drawing, `WIDTH` wide, stretched to the width of the outer one."""
    return tag(
        "svg", *children,
        viewBox=f"0 0 {WIDTH} {number(height)}", preserveAspectRatio="none",
        width="100%", height=height,
    )  # fmt: skip


def path(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """Lines from point to point."""
    line = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=f"M{line}{'Z' if closed else ''}", class_=class_)


def text_at(x: float, y: float, text: str, anchor: str = "middle", class_: str = "") -> Markup:
    """Text at a percentage of the width."""
    more = {"class_": class_} if class_ else {}
    return tag("text", text, x=f"{number(x)}%", y=y, text_anchor=anchor, **more)


@dataclass(frozen=True)
class Axis:
    """Axis of four equal steps between two ends, in percent for shares."""

    low: float
    top: float
    in_percent: bool = False

    @classmethod
    def of_shares(cls, largest: float) -> Axis:
        """Axis from 0 for shares up to some size; its end is easy to quarter."""
        tops = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
        return cls(0.0, next((top for top in tops if top >= largest), 1.0), in_percent=True)

    @classmethod
    def around(cls, values: Sequence[float], most: float = np.inf) -> Axis:
        """Axis that contains all values and ends at `most` or below, if that contains them."""
        smallest, largest = min(values), max(values)
        power = 10.0 ** math.floor(math.log10(max(largest - smallest, 0.01) / 4))
        for step in (power * factor for factor in (1, 2, 2.5, 5, 10, 20)):
            low = math.floor(smallest / step + 1e-9) * step
            if low + 4 * step > most:
                low = min(low, most - 4 * step)
            if low + 4 * step >= largest - 1e-9:
                break
        return cls(round(low, 12), round(low + 4 * step, 12))

    def part(self, value: float) -> float:
        """Position of a value: 0 at the lower end, 1 at the upper."""
        return (value - self.low) / (self.top - self.low)

    @property
    def ticks(self) -> dict[float, str]:
        """The five ends of steps, with their texts."""
        ends = np.linspace(self.low, self.top, 5).tolist()
        return {
            end: f"{number(100 * end)}%" if self.in_percent else f"{end:.6g}" for end in ends
        }


@dataclass(frozen=True)
class Row:
    """An estimate with its interval and the values that it is compared with."""

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
    counted_name: str = "classify and count"

    @property
    def hint(self) -> str:
        """Text that is shown on hovering."""
        lines = ["do not rely on it"] * self.is_broken
        lines += [
            f"{self.label}: {self.text(self.value)}",
            f"{self.text(self.low)} to {self.text(self.high)}",
            f"{self.items:,} items",
        ]
        compared = {
            self.counted_name: self.counted, "training": self.training, "truth": self.truth,
        }  # fmt: skip
        lines += [
            f"{name}: {self.text(value)}"
            for name, value in compared.items()
            if value is not None
        ]
        return "\n".join(lines)

    @property
    def values(self) -> list[float]:
        """All values that are drawn."""
        values = (self.value, self.low, self.high, self.training, self.counted, self.truth)
        return [value for value in values if value is not None]


def share_axis(rows: Sequence[Row]) -> Axis:
    """Axis from 0 for the shares of rows."""
    return Axis.of_shares(max(value for row in rows for value in row.values))


def rows_chart(rows: Sequence[Row], label: str, axis: Axis) -> Markup:
    """Chart with one line per row: name, estimate, and an axis with interval and marks."""
    height = _ROW * len(rows) + _AXIS
    grid = []
    for x, text in zip((0, 25, 50, 75, 100), axis.ticks.values(), strict=True):
        grid.append(_upright(x, 4, height - _AXIS + 4, "grid"))
        anchor = "start" if x == 0 else "end" if x == 100 else "middle"
        grid.append(text_at(x, height - 4, text, anchor, "tick"))
    marks = [_row(row, _ROW * i, axis) for i, row in enumerate(rows)]
    return drawing(label, height, [*grid, *marks], "rows")


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


def _level(y: float, class_: str) -> Markup:
    return tag("line", class_=class_, x1="0", x2="100%", y1=y, y2=y)


def _percent(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def _short(label: str, most: int = _LONGEST) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def trend_chart(
    rows: Sequence[Row],
    label: str,
    axis: Axis,
    *,
    line: bool,
    wide: bool,
    height: float,
    alerts: Sequence[int] = (),
) -> Markup:
    """Estimates with intervals, left to right: joined if `line`, alerts as upright lines."""
    scale = _Plane(len(rows), axis, wide, height)
    is_dense = len(rows) > _MANY
    curves = [_band(rows, scale)] if is_dense and line else []
    if line:
        counted = [(i, row.counted) for i, row in enumerate(rows) if row.counted is not None]
        curves += [_curve(counted, scale, "cc")] if counted else []
        curves += [_curve([(i, row.value) for i, row in enumerate(rows)], scale, "line")]
        truth = [(i, row.truth) for i, row in enumerate(rows) if row.truth is not None]
        curves += [_curve(truth, scale, "truth")] if truth and is_dense else []
    points = [
        _trend_mark(row, i, scale, many=is_dense, line=line) for i, row in enumerate(rows)
    ]
    return drawing(
        label,
        scale.height,
        [
            *_trend_grid(scale, rows[0].training),
            *(_alert(scale, i) for i in alerts),
            stretched(scale.height, *curves),
            *points,
            *_group_labels(rows, scale, 7 if wide else 4),
        ],
        "trend",
    )


def _alert(scale: _Plane, i: int) -> Markup:
    x = f"{scale.x(i):.2f}%"
    return tag("line", class_="alert", x1=x, x2=x, y1=_ABOVE, y2=scale.height - _BELOW)


class _Plane:
    """Positions of groups and values."""

    def __init__(self, n_groups: int, axis: Axis, wide: bool, height: float) -> None:
        self.axis = axis
        self.height = height
        self.margin = 6.0 if wide else 13.0
        self.step = (96 - self.margin) / max(1, n_groups - 1)
        self.alone = n_groups == 1

    def x(self, i: int) -> float:
        """Position of a group in percent."""
        return 50.0 if self.alone else self.margin + self.step * i

    def y(self, value: float) -> float:
        """Position of a value in pixels."""
        return self.height - _BELOW - (self.height - _BELOW - _ABOVE) * self.axis.part(value)

    def point(self, i: int, value: float) -> tuple[float, float]:
        """Position in the units of the stretched drawing."""
        return WIDTH / 100 * self.x(i), self.y(value)


def _trend_grid(scale: _Plane, training: float | None) -> list[Markup]:
    lines = []
    for tick, text in scale.axis.ticks.items():
        y = scale.y(tick)
        lines.append(_level(y, "grid"))
        lines.append(tag("text", text, x="0", y=y - 3, class_="tick"))
    return lines if training is None else [*lines, _level(scale.y(training), "reference")]


def _band(rows: Sequence[Row], scale: _Plane) -> Markup:
    upper = [scale.point(i, row.high) for i, row in enumerate(rows)]
    lower = [scale.point(i, row.low) for i, row in enumerate(rows)]
    return path([*upper, *reversed(lower)], "band", closed=True)


def _curve(points: Sequence[tuple[int, float]], scale: _Plane, class_: str) -> Markup:
    return path([scale.point(i, value) for i, value in points], class_)


def _trend_mark(row: Row, i: int, scale: _Plane, *, many: bool, line: bool) -> Markup:
    x = f"{scale.x(i):.2f}%"
    column = {"x": f"{scale.x(i) - scale.step / 2:.2f}%", "width": f"{scale.step:.2f}%"}
    marks = [tag("rect", class_="hit", y="0", height=scale.height - _BELOW, **column)]
    if row.is_broken:
        # Above all marks of the group, clear of the axis.
        values = (row.high, row.counted, row.truth)
        top = max(value for value in values if value is not None)
        marks.append(flag(x, scale.y(top) - 11))
    if many and line:
        return tag("g", tag("title", row.hint), *marks, class_=mark_class(row))
    ends = {"y1": scale.y(row.high), "y2": scale.y(row.low)}
    marks.append(tag("line", class_="whisker", x1=x, x2=x, **ends))
    if row.counted is not None and not line:
        marks.append(tag("circle", class_="cc", cx=x, cy=scale.y(row.counted), r=3.0))
    radius = 2.0 if many else 4.0
    marks.append(tag("circle", class_="estimate", cx=x, cy=scale.y(row.value), r=radius))
    if row.truth is not None and not many:
        marks.append(cross(x, scale.y(row.truth)))
    return tag("g", tag("title", row.hint), *marks, class_=mark_class(row))


def _group_labels(rows: Sequence[Row], scale: _Plane, most: int) -> list[Markup]:
    """Names of every n-th group, as many as fit."""
    names = []
    for i in range(0, len(rows), -(-len(rows) // most)):
        label = rows[i].label
        anchor = "end" if scale.x(i) > 95 else "middle"
        names.append(text_at(scale.x(i), scale.height - 6, _short(label, 10), anchor, "tick"))
    return names


def histogram_chart(
    name: str, edges: Floats, of_class: Floats, sample: Floats, mixture: Floats, n_items: int
) -> Markup:
    """Scores of a class: bars for the sample; a line, with its noise, for the mixture."""
    # Rounding can put all of it a little above 1.
    expected = np.clip(mixture, 0, 1)
    noise = 2 * np.sqrt(expected * (1 - expected) / n_items)
    above, below = mixture + noise, np.maximum(mixture - noise, 0)
    top = max(float(sample.max()), float(above.max()))

    def y(share: float) -> float:
        height = _HISTOGRAM - _BELOW - _ABOVE
        return float(_HISTOGRAM - _BELOW - height * np.sqrt(share / top))

    def steps(shares: Floats) -> list[tuple[float, float]]:
        ends = WIDTH * edges
        return [
            (float(x), y(float(share)))
            for share, left, right in zip(shares, ends[:-1], ends[1:], strict=True)
            for x in (left, right)
        ]

    floor = y(0.0)
    ground = [(float(WIDTH), floor), (0.0, floor)]
    curves = [
        path([*steps(sample), *ground], "sample", closed=True),
        path([*steps(of_class), *ground], "own", closed=True),
        path([*steps(above), *reversed(steps(below))], "band", closed=True),
        path(steps(mixture), "line"),
    ]
    hints = [
        f"score {low:.2f} to {high:.2f}\n"
        f"new items: {share:.1%}\nexpected from the labelled ones: {due:.1%}"
        for low, high, share, due in zip(edges[:-1], edges[1:], sample, mixture, strict=True)
    ]
    label = f"Scores of {name}: the new items and what the labelled ones give"
    # Ticks lie upon the bars, which would hide them.
    return drawing(
        label,
        _HISTOGRAM,
        [stretched(_HISTOGRAM, *curves), *_histogram_grid(top, y), *_hover(hints)],
        "hist",
    )


def _histogram_grid(top: float, y: Callable[[float], float]) -> list[Markup]:
    lines = []
    for tick in _HISTOGRAM_TICKS:
        if tick <= top:
            at = y(tick)
            lines.append(_level(at, "grid"))
            lines.append(text_at(100, at - 3, f"{100 * tick:.0f}%", "end", "tick"))
    for place, anchor in ((0.0, "start"), (50.0, "middle"), (100.0, "end")):
        lines.append(text_at(place, _HISTOGRAM - 6, number(place / 100), anchor, "tick"))
    return lines


def _hover(hints: Sequence[str]) -> list[Markup]:
    width = 100 / len(hints)
    return [
        tag(
            "rect", tag("title", hint), class_="hit mark", x=f"{number(i * width)}%", y="0",
            width=f"{number(width)}%", height=float(_HISTOGRAM - _BELOW),
        )
        for i, hint in enumerate(hints)
    ]  # fmt: skip


def group_chart(
    rows: Sequence[Row], label: str, axis: Axis, *, ordered: bool, n_panels: int = 1
) -> Markup:
    """Chart of groups: one line each if they are few and no sequence, else left to right."""
    if not ordered and len(rows) <= _MOST_GROUP_ROWS:
        return rows_chart(rows, label, axis)
    wide, height = is_wide(n_panels, len(rows)), 260 if n_panels == 1 else 190
    return trend_chart(rows, label, axis, line=ordered, wide=wide, height=height)


def is_wide(n_panels: int, n_groups: int) -> bool:
    """True if panels need the whole width."""
    return n_panels == 1 or n_groups > _MOST_NARROW
