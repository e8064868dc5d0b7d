"""Plot of shares over groups, such as months."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.plots import data
from headcount.plots._frames import names_in_order
from headcount.plots._style import INK, PALE, draw_curve, method_styles, open_canvas, text_width

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from headcount.plots._style import Canvas, MethodStyle

__all__ = ["by_group"]

_HEIGHT = 2.6  # inches
_LONGEST = 14  # characters of a group's name
_SIDES = 0.75  # inches of a figure that are not along the axis
_SPREAD = 0.5  # part of the room of a group over which its classes are spread


def by_group(
    frame: Any,
    *,
    positive: Any = None,
    line: bool = True,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Draw shares over groups with their intervals, and with reference marks if there are any.

    Parameters
    ----------
    frame : frame with columns group, class, share, low, high, and perhaps reference
        One row per group and class, the groups in their order. The reference may be the true
        share.
    positive : class label, default=None
        Class to show. By default the last of two classes, or all of more.
    line : bool, default=True
        True joins the groups by a line with a band, for a sequence such as months; False draws
        a point and an interval for each.
    labels : mapping of str to str, default=None
        Texts to show instead of others: names of methods and classes, labels of axes.
    ax : matplotlib Axes, default=None
        Axes to draw into; a new figure by default.
    width : float, default=5.0
        Width of that figure in inches.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"group": ["2024-01", "2024-02"], "class": ["spam"] * 2, "share": [0.3, 0.4],
    ...          "low": [0.2, 0.3], "high": [0.4, 0.5]}
    >>> plots.by_group(frame).get_ylabel()
    'share of spam'
    """
    table = data.by_group(frame, positive=positive)
    classes, groups = names_in_order(table, "class"), names_in_order(table, "group")
    with_reference = "reference" in table.columns
    names = [*(classes if len(classes) > 1 else []), *(["reference"] if with_reference else [])]
    canvas = open_canvas(ax, width, _HEIGHT, legend=names, labels=labels, lines=line)
    symbols: dict[str, Artist] = {}
    for i, (name, style) in enumerate(method_styles(classes).items()):
        part = table.filter(table["class"] == name)
        x = np.array([groups.index(group) for group in part["group"]], dtype=np.float64)
        if not line:
            x += _SPREAD * ((i + 0.5) / len(classes) - 0.5)
        symbol = _shares(canvas.ax, x, part, style, line)
        if len(classes) > 1:
            symbols[name] = symbol
        if with_reference:
            (symbols["reference"],) = canvas.ax.plot(
                x, part["reference"].cast(float), linestyle="none", marker="D", markersize=3.5,
                markerfacecolor="white", markeredgecolor=style.colour, zorder=4,
            )  # fmt: skip
    canvas.tidy("", f"share of {classes[0]}" if len(classes) == 1 else "share")
    canvas.ax.yaxis.set_major_formatter("{x:.0%}")
    canvas.ax.grid(axis="y", color=PALE, linewidth=0.4)
    canvas.ax.set_axisbelow(True)
    canvas.ax.set_xlim(-0.5, len(groups) - 0.5)
    canvas.ax.set_ylim(bottom=0)
    _name_groups(canvas, groups, width)
    if "reference" in symbols:
        symbols["reference"] = symbols.pop("reference")  # last in the legend
    canvas.legend(symbols)
    return canvas.ax


def _shares(ax: Axes, x: Any, part: pl.DataFrame, style: MethodStyle, line: bool) -> Artist:
    low, high = part["low"].to_numpy(), part["high"].to_numpy()
    joined = line and len(part) > 1
    if joined:
        ax.fill_between(x, low, high, color=style.colour, alpha=0.22, linewidth=0)
    else:
        ax.vlines(x, low, high, colors=style.colour, alpha=0.6, linewidth=1.4)
    return draw_curve(ax, x, part["share"], style if joined else replace(style, line="none"))


def _name_groups(canvas: Canvas, groups: list[str], width: float) -> None:
    """Names of every n-th group, as many as fit."""
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in groups]
    if canvas.own is None:
        width = canvas.ax.bbox.width / canvas.ax.figure.dpi
    room = max(width - _SIDES, 0.5) / len(groups)
    widest = max(text_width(name, canvas.small) for name in short) + 0.12
    step = math.ceil(widest / room)
    canvas.ax.set_xticks(range(0, len(groups), step), short[::step], parse_math=False)
    canvas.ax.tick_params(axis="x", labelcolor=INK)
