"""An estimate as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.plots._style import INK, method_styles, open_canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headcount.accuracy.estimates import AccuracyEstimate

__all__ = ["draw_estimate"]

# Tables of more classes have no room for numbers.
_MOST_NUMBERS = 8


def draw_estimate(estimate: AccuracyEstimate, level: float | None, ax: Axes | None) -> Axes:
    """The table, or the measure alone, with the interval in words above it."""
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
        _draw_table(canvas.ax, estimate.table, canvas.small)
        canvas.tidy("predicted", "true")
        canvas.ax.set_xticks(range(len(names)), names, parse_math=False)
        canvas.ax.set_yticks(range(len(names)), names, parse_math=False)
    canvas.ax.set_title(head, fontsize=canvas.text, color=INK, parse_math=False)
    return canvas.ax


def _draw_table(ax: Any, table: Any, size: float | None) -> None:
    ax.imshow(table, cmap="Blues", vmin=0.0, vmax=max(float(table.max()), 1e-9))
    if len(table) > _MOST_NUMBERS:
        return
    for (i, j), share in np.ndenumerate(table):
        colour = "white" if share > 0.6 * table.max() else INK
        ax.text(j, i, f"{share:.1%}", ha="center", va="center", color=colour, fontsize=size)
