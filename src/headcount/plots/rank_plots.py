"""Plots of comparisons: average ranks, and means with marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount.plots import data
from headcount.plots._style import (
    FAINT,
    INK,
    Canvas,
    font_size,
    method_styles,
    open_canvas,
    text_width,
)
from headcount.plots.error_plots import error_by_shift
from headcount.plots.share_plots import diagonal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@documented(diagonal)
def critical_difference(
    ranks: Mapping[str, float],
    difference: float,
    *,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Average ranks on a line, with bars that join methods without significant difference.

    Parameters
    ----------
    ranks : mapping of str to float
        Average rank of each method. 1 is the best possible rank.
    difference : float
        Smallest significant difference of average ranks.

    Examples
    --------
    >>> from headcount import plots
    >>> ax = plots.critical_difference({"SLD": 1.4, "PACC": 1.9, "CC": 3.0}, difference=0.8)
    >>> [text.get_text() for text in ax.texts][:2]
    ['CD = 0.80', '1.4']
    """
    table = data.critical_difference(ranks, difference)
    n = len(table)
    bars = _levels(_spans(table))
    rows = math.ceil(n / 2)
    top = 0.45 + 0.32 * len(set(bars.values()))  # depth of the first name, in rows
    canvas = open_canvas(ax, width, 0.65 + 0.18 * (top + rows), labels=labels)
    axes = canvas.ax
    right = max(float(n), 1 + difference)
    axes.set(xlim=(1, right), ylim=(top + rows - 0.5, 0))
    _rank_axis(canvas, n, difference)
    for i, (method, rank) in enumerate(table.select("method", "rank").rows()):
        on_left = i < rows
        depth = top + (i if on_left else n - 1 - i)
        _name(canvas, method, rank, depth, 1 if on_left else right, on_left)
    for (low, high), level in bars.items():
        axes.plot(
            [low - 0.004 * right, high + 0.004 * right], [0.35 + 0.32 * level] * 2,
            color=INK, linewidth=2.6, solid_capstyle="butt", clip_on=False, zorder=3,
        )  # fmt: skip
    return axes


def _rank_axis(canvas: Canvas, n_methods: int, difference: float) -> None:
    """Draw the line of ranks, and above it the length of the critical difference."""
    from matplotlib.transforms import ScaledTranslation

    ax = canvas.ax
    canvas.tidy()
    ax.xaxis.set_ticks_position("top")
    ax.set_xticks(range(1, n_methods + 1, math.ceil(n_methods / 9)))
    ax.set_yticks([])
    for side, spine in ax.spines.items():
        spine.set_visible(side == "top")
        spine.set_color(INK)
    # Ranks horizontally. Vertically, points above the axes to make room for the numbers.
    rise = 10 + 1.4 * font_size(canvas.small)
    above = ax.get_xaxis_transform()
    ax.plot(
        [1, 1 + difference], [1, 1], color=INK, linewidth=1.2, marker="|", markersize=6,
        transform=above + ScaledTranslation(0, rise / 72, ax.figure.dpi_scale_trans),
        clip_on=False,
    )  # fmt: skip
    ax.annotate(
        f"CD = {difference:.2f}", (1 + difference / 2, 1), (0, rise + 3), above,
        textcoords="offset points", ha="center", va="bottom", fontsize=canvas.small, color=INK,
    )  # fmt: skip


def _name(
    canvas: Canvas, method: str, rank: float, depth: float, edge: float, on_left: bool
) -> None:
    """Draw a line from a rank down and outwards to the name."""
    ax = canvas.ax
    ax.plot([rank, rank, edge], [0, depth, depth], color=FAINT, linewidth=0.7, clip_on=False)
    side, away = ("right", -1) if on_left else ("left", 1)
    number = f"{rank:.1f}"
    beyond = 6 + 72 * text_width(number, canvas.small)
    for text, distance, colour in ((number, 3, FAINT), (canvas.named(method), beyond, INK)):
        ax.annotate(
            text, (edge, depth), (away * distance, 0), textcoords="offset points", ha=side,
            va="center_baseline", fontsize=canvas.small, color=colour, parse_math=False,
        )  # fmt: skip


def _spans(table: pl.DataFrame) -> list[tuple[float, float]]:
    """First and last rank of each group."""
    spans: dict[int, tuple[float, float]] = {}
    for rank, groups in table.select("rank", "groups").rows():
        for group in groups:
            spans[group] = (spans.get(group, (rank,))[0], rank)
    return [spans[group] for group in sorted(spans)]


def _levels(spans: Sequence[tuple[float, float]]) -> dict[tuple[float, float], int]:
    """Level of each bar, the first on which it does not overlap others."""
    ends: list[float] = []
    levels = {}
    for low, high in spans:
        level = next((i for i, end in enumerate(ends) if end < low), len(ends))
        ends[level : level + 1] = [high]
        levels[low, high] = level
    return levels


@documented(error_by_shift, diagonal)
def means(
    frame: Any,
    *,
    error: str = "error",
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Means of the methods with intervals, followed by marks of significance.

    Parameters
    ----------
    frame : frame with columns method, mean, low, high, and optionally mark
        One row per method, from top to bottom.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"method": ["SLD", "CC"], "mean": [0.02, 0.08], "low": [0.01, 0.06],
    ...          "high": [0.03, 0.1], "mark": ["", "†"]}
    >>> [text.get_text() for text in plots.means(frame).texts]
    ['†']
    """
    table = data.means(frame)
    canvas = open_canvas(ax, width, 0.5 + 0.19 * len(table), labels=labels)
    axes, colour = canvas.ax, method_styles(["mean"])["mean"].colour
    at = range(len(table))
    axes.hlines(at, table["low"], table["high"], colors=colour, linewidth=1.4)
    axes.plot(table["mean"], at, linestyle="none", marker="o", markersize=4.5, color=colour)
    for i, (high, mark) in enumerate(table.select("high", "mark").rows()):
        if mark:
            axes.annotate(
                mark, (high, i), (4, 0), textcoords="offset points", va="center",
                fontsize=canvas.text, color=INK,
            )  # fmt: skip
    canvas.tidy(f"mean {error}")
    canvas.names_down(table["method"].to_list())
    return axes
