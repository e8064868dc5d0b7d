"""Figures of several panels that published studies have: boxes by degree, lines, diagonals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_GREY = "#ececec"
_TEXT, _SMALL = 8.0, 7.0  # points
_MOST_TICKS = 7  # of a horizontal axis
_ROOM = 0.8  # share of the distance between two values that boxes fill


@dataclass(frozen=True)
class Panel:
    """One axes of a figure: for each series, the values at each x."""

    title: str
    series: Mapping[str, Mapping[float, NDArray[np.float64]]]
    grey: bool = False


def values_by(
    rows: pl.DataFrame, series: str, x: str, value: str
) -> dict[str, dict[float, NDArray[np.float64]]]:
    """Values of each series at each x, in order, without gaps.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"method": ["CC", "CC"], "degree": [0.5, 0.0], "ae": [0.2, 0.1]})
    >>> values_by(rows, "method", "degree", "ae")
    {'CC': {0.0: array([0.1]), 0.5: array([0.2])}}
    """
    grouped: dict[str, dict[float, NDArray[np.float64]]] = {}
    measured = rows.drop_nulls(value).group_by(series, x).agg(value).sort(x)
    for name, place, numbers in measured.select(series, x, value).iter_rows():
        grouped.setdefault(name, {})[place] = np.asarray(numbers)
    return grouped


def box_panels(
    panels: Sequence[Panel],
    across: int,
    labels: tuple[str, str],
    *,
    width: float = 8.0,
    height: float = 1.9,
    symmetric: bool = False,
) -> Figure:
    """Boxes by degree in panels of the same axes; whiskers as Tukey's, outliers as dots.

    The vertical axis starts at zero, or is symmetric around it.
    """
    figure, axes = _panels(len(panels), across, width, height)
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    places = sorted({x for panel in panels for of in panel.series.values() for x in of})
    sizes = [
        float(np.abs(values).max(initial=0))
        for panel in panels
        for of in panel.series.values()
        for values in of.values()
    ]
    top = max(sizes, default=1.0) or 1.0
    room = _ROOM / max(1, len(names))
    for panel, ax in zip(panels, axes, strict=True):
        for i, name in enumerate(names):
            of = panel.series.get(name, {})
            positions = [places.index(x) + (i + 0.5) * room - _ROOM / 2 for x in of]
            _draw_boxes(ax, list(of.values()), positions, 0.9 * room, COLOURS[i])
        ax.set_title(panel.title, fontsize=_TEXT)
        ax.set_facecolor(_GREY if panel.grey else "white")
        ax.set_xlim(-0.6, len(places) - 0.4)
        ax.set_ylim(-1.05 * top if symmetric else 0, 1.05 * top)
        if symmetric:
            ax.axhline(0, color="0.4", linewidth=0.7, linestyle="--", zorder=0)
        step = _step(places)
        ax.set_xticks(range(0, len(places), step), [f"{x:g}" for x in places[::step]])
    _finish(figure, axes, across, labels)
    if len(names) > 1:
        _legend(figure, {name: COLOURS[i] for i, name in enumerate(names)})
    return figure


def _step(places: Sequence[float]) -> int:
    """Distance between labelled values, so that zero has a label."""
    step = max(1, math.ceil((len(places) - 1) / (_MOST_TICKS - 1)))
    while 0.0 in places and places.index(0.0) % step:
        step += 1
    return step


def _draw_boxes(
    ax: Axes,
    values: list[NDArray[np.float64]],
    positions: list[float],
    width: float,
    colour: str,
) -> None:
    if not values:
        return
    line: dict[str, Any] = {"color": colour, "linewidth": 0.7}
    ax.boxplot(
        values, positions=positions, widths=width, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "linewidth": 0.5, "alpha": 0.75},
        whiskerprops=line, capprops=line, medianprops={"color": "black", "linewidth": 0.9},
        flierprops={"marker": ".", "markersize": 1.2, "markerfacecolor": "black",
                    "markeredgecolor": "none"},
    )  # fmt: skip


def _panels(n: int, across: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    down = math.ceil(n / across)
    figure = Figure(figsize=(width, 0.7 + height * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for ax in grid.flat[n:]:
        ax.set_visible(False)
    for ax in grid.flat[:n]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=_SMALL, length=3, width=0.6)
    return figure, list(grid.flat[:n])


def _finish(figure: Figure, axes: Sequence[Axes], across: int, labels: tuple[str, str]) -> None:
    figure.supxlabel(labels[0], fontsize=_TEXT)
    figure.supylabel(labels[1], fontsize=_TEXT)
    for ax in axes[-across:]:
        ax.tick_params(labelbottom=True)


def _legend(figure: Figure, colours: Mapping[str, Any]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), fontsize=_SMALL,
        frameon=False,
    )  # fmt: skip
