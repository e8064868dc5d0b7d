"""Chart of a value over a sequence of groups, or over many."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from headcount.report.charts import Row, cross, flag, mark_class
from headcount.report.svg import WIDTH, Axis, drawing, path, stretched, tag, text_at

__all__ = ["trend_chart"]

_ABOVE, _BELOW = 16, 24
# Groups above which their intervals are one band.
_MANY = 40


def trend_chart(
    rows: Sequence[Row], label: str, axis: Axis, *, line: bool, wide: bool, height: float
) -> Markup:
    """Estimates with intervals, left to right.

    Parameters
    ----------
    rows : sequence of Row
        One per group.
    label : str
        Description for screen readers.
    axis : Axis
        Upright axis.
    line : bool
        True joins the groups, which are a sequence.
    wide : bool
        True leaves room for more names below.
    height : float
        Height in pixels.
    """
    scale = _Scale(len(rows), axis, wide, height)
    many = len(rows) > _MANY
    curves = [_band(rows, scale)] if many and line else []
    if line:
        counted = [(i, row.counted) for i, row in enumerate(rows) if row.counted is not None]
        curves += [_curve(counted, scale, "cc")] if counted else []
        curves += [_curve([(i, row.value) for i, row in enumerate(rows)], scale, "line")]
        truth = [(i, row.truth) for i, row in enumerate(rows) if row.truth is not None]
        curves += [_curve(truth, scale, "truth")] if truth and many else []
    points = [_point(row, i, scale, many=many, line=line) for i, row in enumerate(rows)]
    return drawing(
        label,
        scale.height,
        [
            *_grid(scale, rows[0].training),
            stretched(scale.height, *curves),
            *points,
            *_names(rows, scale, 7 if wide else 4),
        ],
        "trend",
    )


class _Scale:
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


def _grid(scale: _Scale, training: float | None) -> list[Markup]:
    lines = []
    for tick, text in scale.axis.ticks.items():
        y = scale.y(tick)
        lines.append(tag("line", class_="grid", x1="0", x2="100%", y1=y, y2=y))
        lines.append(tag("text", text, x="0", y=y - 3, class_="tick"))
    if training is None:
        return lines
    y = scale.y(training)
    reference = tag("line", class_="reference", x1="0", x2="100%", y1=y, y2=y)
    return [*lines, reference]


def _band(rows: Sequence[Row], scale: _Scale) -> Markup:
    upper = [scale.point(i, row.high) for i, row in enumerate(rows)]
    lower = [scale.point(i, row.low) for i, row in enumerate(rows)]
    return path([*upper, *reversed(lower)], "band", closed=True)


def _curve(points: Sequence[tuple[int, float]], scale: _Scale, class_: str) -> Markup:
    return path([scale.point(i, value) for i, value in points], class_)


def _point(row: Row, i: int, scale: _Scale, *, many: bool, line: bool) -> Markup:
    x = f"{scale.x(i):.2f}%"
    column = {"x": f"{scale.x(i) - scale.step / 2:.2f}%", "width": f"{scale.step:.2f}%"}
    marks = [tag("rect", class_="hit", y="0", height=scale.height - _BELOW, **column)]
    if row.is_broken:
        # Above all marks of the group, clear of the axis.
        drawn = (row.high, row.counted, row.truth)
        top = max(value for value in drawn if value is not None)
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


def _names(rows: Sequence[Row], scale: _Scale, most: int) -> list[Markup]:
    """Names of every n-th group, as many as fit."""
    names = []
    for i in range(0, len(rows), -(-len(rows) // most)):
        label = rows[i].label
        short = label if len(label) <= 10 else f"{label[:9]}…"
        anchor = "end" if scale.x(i) > 95 else "middle"
        names.append(text_at(scale.x(i), scale.height - 6, short, anchor, "tick"))
    return names
