"""Plot of the shares of three classes in a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount.errors import HeadcountError
from headcount.plots import data
from headcount.plots._style import (
    FAINT,
    INK,
    PALE,
    Canvas,
    by_method,
    names_in_order,
    open_canvas,
)
from headcount.plots.share_plots import diagonal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_GRID = (0.2, 0.4, 0.6, 0.8)
_FEW = 30  # up to this number, points are drawn large


@documented(diagonal)
def simplex(
    shares: ArrayLike | Mapping[str, ArrayLike],
    *,
    classes: Sequence[Any],
    truth: ArrayLike | None = None,
    points: bool = True,
    level: float | None = 0.95,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 4.0,
) -> Axes:
    """Shares of three classes as points of a triangle, and the region that holds most of them.

    Parameters
    ----------
    shares : array of shape (n, 3), or mapping of names to such arrays
        Estimated shares of several samples, or of resamples of one sample.
    classes : sequence of three
        Names of the classes: the lower left, the lower right and the upper corner.
    truth : array of 3 shares, default=None
        True shares, marked by a cross.
    points : bool, default=True
        Draw the shares themselves.
    level : float, default=0.95
        Share of the points inside the region. None draws no region.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount import plots
    >>> shares = np.random.default_rng(0).dirichlet([20, 10, 5], size=100)
    >>> ax = plots.simplex(shares, classes=["a", "b", "c"])
    >>> len(ax.patches)  # the region
    1
    """
    from matplotlib.lines import Line2D

    if len(classes) != 3:
        raise HeadcountError(f"classes has {len(classes)} names; a triangle needs 3.")
    table = data.simplex(shares, level=0.95 if level is None else level)
    methods = names_in_order(table)
    named = [method for method in methods if method]
    legend = [*named, *(["truth"] if truth is not None else [])]
    canvas = open_canvas(ax, width, 0.3 + 0.8 * width, legend=legend, labels=labels)
    _frame(canvas, [str(label) for label in classes])
    symbols: dict[str, Artist] = {}
    for method, style, rows in by_method(table):
        if level is not None:
            region = hull(rows.filter(rows["inside"]).select("x", "y").to_numpy())
            canvas.ax.fill(
                *region.T, facecolor=style.colour, alpha=0.25, edgecolor=style.colour,
                linewidth=1.2, zorder=2,
            )  # fmt: skip
        positions = rows.select("x", "y").to_numpy() if points else np.empty((0, 2))
        canvas.ax.plot(
            *positions.T, linestyle="none",
            markersize=2.5 if len(rows) > _FEW else 4.5,
            alpha=0.4 if len(rows) > _FEW else 0.9,
            color=style.colour, zorder=3, **style.marks,
        )  # fmt: skip
        if method:
            symbols[method] = Line2D(
                [], [], linestyle="none", markersize=5, color=style.colour, **style.marks
            )
    if truth is not None:
        (symbols["truth"],) = canvas.ax.plot(
            *data.on_triangle(truth, "truth").T, linestyle="none", marker="X", markersize=7,
            markerfacecolor=INK, markeredgecolor="white", zorder=4,
        )  # fmt: skip
    canvas.legend(symbols)
    return canvas.ax


def _frame(canvas: Canvas, classes: Sequence[str]) -> None:
    """Draw triangle, grid, shares along the sides and names at the corners."""
    ax, corners = canvas.ax, np.eye(3)
    ax.set_axis_off()
    ax.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 0.88))
    if canvas.own is None:  # names within the axes, as there may be a legend above
        ax.set(xlim=(-0.06, 1.06), ylim=(-0.15, 0.97))
    outline = data.on_triangle(corners[[0, 1, 2, 0]], "corners")
    ax.plot(*outline.T, color=FAINT, linewidth=0.8, zorder=1)
    # The share of a class is read on the side that leads to its corner, anticlockwise.
    beside = ((-3, 2, "right", "bottom"), (0, -3, "center", "top"), (3, 0, "left", "center"))
    for j, (right, up, ha, va) in enumerate(beside):
        before, after = corners[j - 1], corners[(j + 1) % 3]
        for share in _GRID:
            ends = share * corners[j] + (1 - share) * np.array([before, after])
            line = data.on_triangle(ends, "grid")
            ax.plot(*line.T, color=PALE, linewidth=0.6, zorder=0)
            ax.annotate(
                f"{share:.0%}", line[0], (right, up), textcoords="offset points", ha=ha, va=va,
                fontsize=canvas.small, color=FAINT,
            )  # fmt: skip
    below = -6 - 1.3 * (canvas.small or 10)  # under the shares
    places = ((-8, below, "left"), (8, below, "right"), (0, 4, "center"))
    for corner, name, (dx, dy, ha) in zip(outline[:3], classes, places, strict=True):
        ax.annotate(
            canvas.named(name), corner, (dx, dy), textcoords="offset points", ha=ha,
            va="top" if dy < 0 else "bottom", fontsize=canvas.text, color=INK,
            fontweight="bold", parse_math=False,
        )  # fmt: skip


def hull(points: Floats) -> Floats:
    """Corners of the convex hull of points in the plane, in order."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    return np.array(_half(ordered)[:-1] + _half(ordered[::-1])[:-1] or ordered)


def _half(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """One side of the hull of sorted points, turning left only."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        while len(corners) > 1:
            (ax, ay), (bx, by) = corners[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            corners.pop()
        corners.append((x, y))
    return corners
