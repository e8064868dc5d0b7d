"""Figures of several panels that published studies have: boxes by degree, lines, diagonals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from headcount.plots._style import FAINT, INK, method_styles

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_GREY = "#ececec"
_TEXT, _SMALL = 8.0, 7.0  # points
_MOST_TICKS = 7  # of a horizontal axis
_CUT = 0.01  # share of the values below a logarithmic axis
_ROOM = 0.8  # share of the distance between two values that boxes fill


def figure_of(ax: Axes) -> Figure:
    """Figure that an axes is in."""
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    return figure


@dataclass(frozen=True)
class Panel:
    """One axes of a figure: for each series, the values at each x."""

    title: str
    series: Mapping[str, Mapping[float, NDArray[np.float64]]]
    grey: bool = False


@dataclass(frozen=True)
class Curves:
    """Lines of one axes: x and y by name, samples at each x, and points on the diagonal."""

    title: str
    lines: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    density: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    points: tuple[float, ...] = ()


def mean_curves(
    rows: pl.DataFrame, title: str, series: str, x: str, value: str, *, bins: int | None = None
) -> Curves:
    """Mean value of each series by x, or by equal intervals of x, and the samples in each.

    >>> rows = pl.DataFrame({"method": ["CC"] * 3, "shift": [0.0, 0.1, 0.9], "ae": [1, 3, 5]})
    >>> mean_curves(rows, "", "method", "shift", "ae", bins=2).lines
    {'CC': (array([0.225, 0.675]), array([2., 5.]))}
    """
    rows = rows.drop_nulls([x, value]).with_columns(pl.col(x).cast(pl.Float64).alias("_x"))
    width = None
    if bins is not None and rows.height:
        low, high = float(rows["_x"].to_numpy().min()), float(rows["_x"].to_numpy().max())
        width = (high - low) / bins or 1.0
        place = ((pl.col("_x") - low) / width).floor().clip(0, bins - 1)
        rows = rows.with_columns((low + (place + 0.5) * width).alias("_x"))
    grouped = rows.group_by(series, "_x").agg(pl.col(value).mean().cast(pl.Float64)).sort("_x")
    lines = {
        str(name): (of_series["_x"].to_numpy(), of_series[value].to_numpy())
        for (name,), of_series in grouped.group_by(series, maintain_order=True)
    }
    order = [str(name) for name in rows[series].unique(maintain_order=True)]
    counts = rows.group_by("_x").len().sort("_x")
    return Curves(
        title,
        {name: lines[name] for name in order},
        (counts["_x"].to_numpy(), counts["len"].to_numpy().astype(np.float64)),
    )


def line_panels(
    panels: Sequence[Curves],
    across: int,
    labels: tuple[str, str],
    *,
    log: bool = False,
    diagonal: bool = False,
    verticals: Sequence[float] = (),
    width: float = 8.0,
    height: float = 2.4,
) -> Figure:
    """Lines by method in panels of the same axes, in front of the density of samples.

    A dashed line is the diagonal, dotted ones are vertical, and points lie on the diagonal.
    """
    figure, axes = _panels(len(panels), across, width, height)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    styles = method_styles(names)
    for panel, ax in zip(panels, axes, strict=True):
        _draw_density(ax, panel.density)
        for name, (x, y) in panel.lines.items():
            style = styles[name]
            ax.plot(
                x, y, color=style.colour, linestyle=style.line, linewidth=1.1, markersize=2.8,
                **style.marks,
            )  # fmt: skip
        for place in verticals:
            ax.axvline(place, color=INK, linewidth=0.8, linestyle=":")
        if diagonal:
            ax.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, linestyle="--", zorder=0.5)
            ax.plot(
                panel.points, panel.points, "o", color="#56B4E9", markeredgecolor=INK, zorder=5
            )
        if log:
            ax.set_yscale("log", nonpositive="mask")
        elif all((y >= 0).all() for curves in panels for _, y in curves.lines.values()):
            ax.set_ylim(bottom=0)
        ax.set_title(panel.title, fontsize=_TEXT)
    _finish(figure, axes, across, labels)
    handles = [
        Line2D([], [], color=style.colour, linestyle=style.line, label=name, markersize=3.5,
               **style.marks)
        for name, style in styles.items()
    ]  # fmt: skip
    _legend(figure, handles, min(6, len(names)))
    return figure


def _draw_density(
    ax: Axes, density: tuple[NDArray[np.float64], NDArray[np.float64]] | None
) -> None:
    """Draw the number of samples at each x behind the lines, in green as in the papers."""
    if density is None or len(density[0]) < 2:
        return
    behind = ax.twinx()
    behind.fill_between(*density, color="#009E73", alpha=0.18, linewidth=0)
    behind.set_ylim(0, 1.6 * float(density[1].max()))
    behind.set_axis_off()
    ax.set_zorder(behind.get_zorder() + 1)
    ax.patch.set_visible(False)


def values_by(
    rows: pl.DataFrame, series: str, x: str, value: str
) -> dict[str, dict[float, NDArray[np.float64]]]:
    """Values of each series at each x, in order, without gaps.

    >>> rows = pl.DataFrame({"method": ["CC", "CC"], "degree": [0.5, 0.0], "ae": [0.2, 0.1]})
    >>> values_by(rows, "method", "degree", "ae")
    {'CC': {0.0: array([0.1]), 0.5: array([0.2])}}
    """
    grouped: dict[str, dict[float, NDArray[np.float64]]] = {}
    groups = rows.drop_nulls(value).group_by(series, x, maintain_order=True)
    measured = groups.agg(value).sort(x, maintain_order=True)
    for name, place, numbers in measured.select(series, x, value).iter_rows():
        grouped.setdefault(name, {})[place] = np.asarray(numbers)
    return grouped


def name_boxes(
    panels: Sequence[Panel], across: int, labels: tuple[str, str], **options: Any
) -> Figure:
    """Values of named series in panels of the same axes, one box for each; see `box_panels`."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    numbered = [
        Panel(
            panel.title,
            {"": {float(names.index(name)): np.concatenate(list(by_x.values()))
                  for name, by_x in panel.series.items()}},
            panel.grey,
        )
        for panel in panels
    ]  # fmt: skip
    figure = box_panels(numbered, across, labels, **options)
    for ax in figure.axes:
        ax.set_xticks(range(len(names)), names, rotation=90)
    return figure


def box_panels(
    panels: Sequence[Panel],
    across: int,
    labels: tuple[str, str],
    *,
    width: float = 8.0,
    height: float = 1.9,
    symmetric: bool = False,
    log: bool = False,
) -> Figure:
    """Boxes by degree in panels of the same axes; whiskers as Tukey's, outliers as dots.

    The vertical axis starts at zero, is symmetric around it, or is logarithmic, without the
    smallest hundredth of the values, which a logarithm would spread out.
    """
    figure, axes = _panels(len(panels), across, width, height)
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    series = [by_x for panel in panels for by_x in panel.series.values()]
    places = sorted({x for by_x in series for x in by_x})
    sizes = np.abs(
        np.concatenate([[0.0], *(values for by_x in series for values in by_x.values())])
    )
    top = float(sizes.max()) or 1.0
    room = _ROOM / max(1, len(names))
    for panel, ax in zip(panels, axes, strict=True):
        for i, name in enumerate(names):
            by_x = panel.series.get(name, {})
            positions = [places.index(x) + (i + 0.5) * room - _ROOM / 2 for x in by_x]
            _draw_boxes(ax, list(by_x.values()), positions, 0.9 * room, COLOURS[i])
        ax.set_title(panel.title, fontsize=_TEXT)
        ax.set_facecolor(_GREY if panel.grey else "white")
        ax.set_xlim(-0.6, len(places) - 0.4)
        if log and sizes.any():
            ax.set_yscale("log", nonpositive="mask")
            ax.set_ylim(bottom=float(np.quantile(sizes[sizes > 0], _CUT)))
        else:
            ax.set_ylim(-1.05 * top if symmetric else 0, 1.05 * top)
        if symmetric:
            ax.axhline(0, color="0.4", linewidth=0.7, linestyle="--", zorder=0)
        step = _step(places)
        ax.set_xticks(range(0, len(places), step), [f"{x:g}" for x in places[::step]])
    _finish(figure, axes, across, labels)
    if len(names) > 1:
        handles = [Patch(color=COLOURS[i], label=name) for i, name in enumerate(names)]
        _legend(figure, handles, len(handles))
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
    down = math.ceil(n / across)
    figure = Figure(figsize=(width, 0.7 + height * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for ax in grid.flat[n:]:
        ax.set_visible(False)
    for ax in grid.flat[:n]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="both", labelsize=_SMALL, length=3, width=0.6)
    return figure, list(grid.flat[:n])


def _finish(figure: Figure, axes: Sequence[Axes], across: int, labels: tuple[str, str]) -> None:
    figure.supxlabel(labels[0], fontsize=_TEXT)
    figure.supylabel(labels[1], fontsize=_TEXT)
    for ax in axes[-across:]:
        ax.tick_params(labelbottom=True)


def _legend(figure: Figure, handles: Sequence[Artist], across: int) -> None:
    figure.legend(
        handles=handles, loc="outside upper center", ncols=across, fontsize=_SMALL,
        frameon=False,
    )  # fmt: skip
