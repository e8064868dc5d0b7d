"""Plots of an estimate, and of predicted accuracy by true accuracy and by shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount.plots._style import INK, method_styles, open_canvas, read
from headcount.plots.error_plots import error_by_shift
from headcount.plots.share_plots import diagonal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headcount.accuracy.estimates import AccuracyEstimate


# Largest number of classes whose table is plotted with numbers.
_MOST_NUMBERS = 8


@documented(diagonal)
def plot_estimates(
    frame: Any,
    *,
    metric: str = "accuracy",
    spread: float = 0.9,
    bins: int = 20,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Plot estimated against true accuracy of samples, all methods in one plot.

    The line is the median over the samples of a true accuracy; with up to four methods a band
    contains most of them. Correct estimates lie on the diagonal.

    Parameters
    ----------
    frame : frame with columns method, true, estimated
        One row per method and sample.
    metric : str, default="accuracy"
        Name of the metric.
    bins : int, default=20
        Number of groups of true values.

    Examples
    --------
    >>> from headcount import accuracy
    >>> frame = {"method": ["LEAP"] * 3, "true": [0.7, 0.8, 0.9],
    ...          "estimated": [0.72, 0.79, 0.9]}
    >>> accuracy.plot_estimates(frame).get_xlabel()
    'true accuracy'
    """
    table = read(frame, ("method",), ("true", "estimated"))
    ax = diagonal(
        table.with_columns(pl.lit(metric).alias("class")),
        spread=spread, bins=bins, ax=ax, width=width,
    )  # fmt: skip
    low = min(table["true"].min(), table["estimated"].min())  # type: ignore[type-var]
    ax.set_xlim(max(0.0, float(low) - 0.05), 1.0)  # type: ignore[arg-type]
    ax.set_ylim(max(0.0, float(low) - 0.05), 1.0)  # type: ignore[arg-type]
    ax.set_xlabel(f"true {metric}")
    ax.set_ylabel(f"estimated {metric}")
    return ax


@documented(plot_estimates)
def plot_errors(
    frame: Any,
    *,
    metric: str = "accuracy",
    bins: int = 10,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Plot the mean error of estimated accuracy by the shift of the samples.

    Parameters
    ----------
    frame : frame with columns method, shift, true, estimated
        One row per method and sample.
    bins : int, default=10
        Number of groups of shifts.

    Examples
    --------
    >>> from headcount import accuracy
    >>> frame = {"method": ["LEAP"] * 3, "shift": [0.0, 0.2, 0.4],
    ...          "true": [0.9, 0.8, 0.7], "estimated": [0.9, 0.79, 0.72]}
    >>> accuracy.plot_errors(frame).get_ylabel()
    'mean error of accuracy'
    """
    table = read(frame, ("method",), ("shift", "true", "estimated"))
    errors = table.with_columns((pl.col("estimated") - pl.col("true")).abs().alias("error"))
    return error_by_shift(errors, bins=bins, error=f"error of {metric}", ax=ax, width=width)


def plot_estimate(estimate: AccuracyEstimate, level: float | None, ax: Axes | None) -> Axes:
    """Plot the table, or the metric alone, with the interval as the title."""
    low, high = estimate.interval(level)
    head = f"{estimate.metric} {estimate.value:.3f} ({low:.3f} to {high:.3f})"
    if estimate.table is None:
        canvas = open_canvas(ax, 4.0, 1.0)
        colour = method_styles(["value"])["value"].colour
        canvas.ax.hlines([0], low, high, colors=INK, linewidth=1.4)
        canvas.ax.plot([estimate.value], [0], "o", color=colour)
        canvas.tidy(estimate.metric)
        canvas.names_down([estimate.method])
    else:
        names = [str(name) for name in estimate.classes.tolist()]
        side = 1.2 + 0.4 * len(names)
        canvas = open_canvas(ax, side, side)
        _plot_table(canvas.ax, estimate.table, canvas.small)
        canvas.tidy("predicted", "true")
        canvas.ax.set_xticks(range(len(names)), names, parse_math=False)
        canvas.ax.set_yticks(range(len(names)), names, parse_math=False)
    canvas.ax.set_title(head, fontsize=canvas.text, color=INK, parse_math=False)
    return canvas.ax


def _plot_table(ax: Any, table: Any, size: float | None) -> None:
    ax.imshow(table, cmap="Blues", vmin=0.0, vmax=max(float(table.max()), 1e-9))
    if len(table) > _MOST_NUMBERS:
        return
    for (i, j), share in np.ndenumerate(table):
        colour = "white" if share > 0.6 * table.max() else INK
        ax.text(j, i, f"{share:.1%}", ha="center", va="center", color=colour, fontsize=size)
