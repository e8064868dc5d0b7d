"""Box plots, horizontal or vertical side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.plots._frames import names_in_order
from headcount.plots._style import (
    FADED,
    FAINT,
    INK,
    PALE,
    Canvas,
    MethodStyle,
    enough_samples,
    lighter,
    method_styles,
    open_canvas,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["grouped_boxes", "lying_boxes"]

_ROOM = 0.8  # share of the distance between groups that is filled with boxes


def lying_boxes(
    boxes: pl.DataFrame, ax: Axes | None, width: float, labels: Mapping[str, str] | None
) -> Canvas:
    """Draw one box per method, from top to bottom."""
    methods = names_in_order(boxes)
    canvas = open_canvas(ax, width, 0.55 + 0.19 * len(methods), labels=labels)
    drawn, colour = canvas.ax, method_styles(methods)[methods[0]].colour
    for i, row in enumerate(boxes.iter_rows(named=True)):
        drawn.hlines(i, row["low"], row["high"], colors=colour, linewidth=1)
        drawn.barh(
            i, row["q3"] - row["q1"], 0.6, row["q1"],
            facecolor=lighter(colour, 0.45), edgecolor=colour, linewidth=0.8, zorder=2,
        )  # fmt: skip
        drawn.vlines(row["median"], i - 0.3, i + 0.3, colors=INK, linewidth=1.2, zorder=3)
    canvas.tidy()
    canvas.names_down(methods)
    return canvas


def grouped_boxes(
    boxes: pl.DataFrame,
    ax: Axes | None,
    width: float,
    labels: Mapping[str, str] | None,
    fewest: int,
) -> Canvas:
    """Draw groups from left to right, with one box per method in each."""
    methods = names_in_order(boxes)
    canvas = open_canvas(ax, width, 0.5 + 0.42 * width, legend=methods, labels=labels)
    edges = boxes.select("left", "right").unique().sort("left")
    place = {left: i for i, left in enumerate(edges["left"])}
    each = _ROOM / len(methods)
    symbols = {}
    for i, (method, style) in enumerate(method_styles(methods).items()):
        part = boxes.filter(boxes["method"] == method)
        offset = (i + 0.5) * each - _ROOM / 2
        x = np.array([place[left] + offset for left in part["left"]])
        drawn = _standing(canvas.ax, part, x, 0.86 * each, style)
        for box, enough in zip(
            drawn, enough_samples(part["n"].to_numpy(), fewest), strict=True
        ):
            box.set_alpha(None if enough else FADED)
        symbols[method] = drawn
    canvas.tidy()
    _label_groups(canvas, edges)
    canvas.legend(symbols)
    return canvas


def _standing(
    ax: Axes, boxes: pl.DataFrame, x: NDArray[np.float64], width: float, style: MethodStyle
) -> Any:
    low, q1, median, q3, high = (
        boxes[name].to_numpy() for name in ("low", "q1", "median", "q3", "high")
    )
    ax.vlines(x, low, high, colors=style.colour, linewidth=0.8)
    drawn = ax.bar(
        x, q3 - q1, width, q1,
        facecolor=lighter(style.colour, 0.45), edgecolor=style.colour, linewidth=0.6,
        hatch=style.hatch, zorder=2,
    )  # fmt: skip
    ax.hlines(median, x - width / 2, x + width / 2, colors=INK, linewidth=1, zorder=3)
    return drawn


def _label_groups(canvas: Canvas, edges: pl.DataFrame) -> None:
    """Label groups by their value, or by the limits between them if they are ranges."""
    ax, n = canvas.ax, len(edges)
    ax.set_xlim(-0.5, n - 0.5)
    for between in range(n - 1):
        ax.axvline(between + 0.5, color=PALE, linewidth=0.6, zorder=0)
    if edges["left"].equals(edges["right"]):
        ax.set_xticks(range(n), [f"{value:g}" for value in edges["left"]])
        ax.tick_params(axis="x", length=0)
        return
    limits = [*edges["left"], edges["right"][-1]]
    ax.set_xticks(np.arange(n + 1) - 0.5, [f"{limit:g}" for limit in limits])
    ax.tick_params(axis="x", color=FAINT)
