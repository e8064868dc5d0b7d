"""Figures of the comparison of quantification methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount import plots
from headcount.plots._style import FAINT, INK, PALE, method_styles
from headcount_studies.comparison.claims import families_of
from headcount_studies.published_tables import FLAGGED, Agreement

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["letter_figure", "letter_panels", "rank_figure", "scatter_panels"]

_WIDTH = 8.0  # inches of what takes the whole width of a page
_TEXT, _SMALL = 8.0, 7.0  # points
_ACROSS = 6
_LEAST = 5e-4  # smaller errors are drawn here: papers print three decimals
_LEGEND = {"frameon": False, "fontsize": _SMALL, "handlelength": 1.2, "columnspacing": 1.5}


def rank_figure(ranks: Mapping[str, float], difference: float) -> Figure:
    """A critical-difference diagram.

    Parameters
    ----------
    ranks : mapping of str to float
        Mean rank of each method.
    difference : float
        Critical difference of mean ranks.

    Returns
    -------
    matplotlib Figure
    """
    return _figure(plots.critical_difference(ranks, difference, width=_WIDTH))


def letter_figure(errors: pl.DataFrame, *, linear_below: float, error: str) -> Figure:
    """Distribution of all errors of each method, coloured by family.

    Parameters
    ----------
    errors : polars.DataFrame
        Columns method and error; methods in the order of the figure.
    linear_below : float
        Start of the logarithmic scale.
    error : str
        Name of the error.

    Returns
    -------
    matplotlib Figure
    """
    families = families_of(errors["method"].unique().to_list())
    drawn = plots.letter_values(
        errors, families=families, linear_below=linear_below, error=error, width=_WIDTH
    )
    return _figure(drawn)


def letter_panels(
    groups: Mapping[str, pl.DataFrame], *, linear_below: float, error: str
) -> Figure:
    """The same for several groups of errors side by side, on the same scale.

    Parameters
    ----------
    groups : mapping of str to polars.DataFrame
        Columns method and error of each panel, by title.
    linear_below : float
        Start of the logarithmic scale.
    error : str
        Name of the error.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    names = [part["method"].unique(maintain_order=True).to_list() for part in groups.values()]
    families = families_of(list(dict.fromkeys(name for each in names for name in each)))
    height = 0.9 + 0.17 * max(map(len, names))
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = [figure.add_subplot(1, len(groups), i + 1) for i in range(len(groups))]
    for i, (ax, (title, part)) in enumerate(zip(axes, groups.items(), strict=True)):
        plots.letter_values(
            part, families=families, linear_below=linear_below, error=error, ax=ax
        )
        _small(ax, title, error)
        if (legend := ax.get_legend()) is not None:
            legend.remove()
        if i and names[i] == names[0]:
            ax.set_yticklabels([])
    widest = max(axes, key=lambda ax: ax.get_xlim()[1])
    ends, ticks = widest.get_xlim(), widest.get_xticks()
    for ax in axes:
        ax.set_xticks(ticks)
        ax.set_xlim(ends)
    _family_legend(figure, families)
    return figure


def scatter_panels(found: Agreement, *, partial: Sequence[str], error: str) -> Figure:
    """Our errors against published ones: one panel per method, one dot per dataset.

    Parameters
    ----------
    found : Agreement
        Errors of both.
    partial : sequence of str
        Datasets of which only a part is available: drawn hollow.
    error : str
        Name of the error.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    methods = found.methods["method"].to_list()
    families = families_of(methods)
    colours = _colours(families)
    across = min(_ACROSS, len(methods))
    down = math.ceil(len(methods) / across)
    figure = Figure(figsize=(_WIDTH, 0.8 + 1.32 * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    values = found.pairs.select("ours", "published").to_numpy().clip(_LEAST)
    ends = values.min() / 1.4, values.max() * 1.4
    for ax, row in zip(axes, found.methods.iter_rows(named=True), strict=False):
        part = found.pairs.filter(found.pairs["method"] == row["method"])
        _scatter(ax, part, partial, colours[families[row["method"]]], ends)
        mark = f"  {row['difference']:+.0%}" if row["flagged"] else ""
        _small(ax, row["method"] + mark, "")
    for ax in axes[len(methods) :]:
        ax.set_visible(False)
    # The last panels of a row that is not full are above the hidden ones.
    for ax in axes[max(0, len(methods) - across) : len(methods)]:
        ax.tick_params(labelbottom=True)
    figure.supxlabel(f"published {error}", fontsize=_TEXT, color=INK)
    figure.supylabel(f"our {error}", fontsize=_TEXT, color=INK)
    _family_legend(figure, families)
    return figure


def _scatter(
    ax: Axes,
    pairs: pl.DataFrame,
    partial: Sequence[str],
    colour: str,
    ends: tuple[float, float],
) -> None:
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    line = np.array(ends)
    ax.fill_between(
        line, line * (1 - FLAGGED), line * (1 + FLAGGED), color=PALE, alpha=0.6, linewidth=0
    )
    ax.plot(line, line, color=FAINT, linewidth=0.6)
    hollow = pairs["dataset"].is_in(list(partial)).to_numpy()
    x, y = (pairs[name].to_numpy().clip(_LEAST) for name in ("published", "ours"))
    ax.scatter(x[~hollow], y[~hollow], s=9, color=colour, linewidth=0, alpha=0.8, zorder=2)
    ax.scatter(
        x[hollow], y[hollow], s=9, facecolor="none", edgecolor=colour, linewidth=0.8, zorder=2
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.tick_params(length=2, width=0.5)


def _small(ax: Axes, title: str, x: str) -> None:
    ax.set_title(title, fontsize=_TEXT, color=INK, loc="left", pad=3, parse_math=False)
    ax.set_xlabel(x, fontsize=_TEXT)
    ax.tick_params(labelsize=_SMALL, color=FAINT, labelcolor=INK)
    for spine in ax.spines.values():
        spine.set_color(FAINT)
        spine.set_linewidth(0.6)


def _colours(families: Mapping[str, str]) -> dict[str, str]:
    """Colour per family, as in `plots.letter_values`."""
    kinds = list(dict.fromkeys(families.values()))
    return {kind: style.colour for kind, style in method_styles(kinds).items()}


def _family_legend(figure: Figure, families: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=c, label=kind) for kind, c in _colours(families).items()]
    options: dict[str, Any] = _LEGEND
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), **options)


def _figure(ax: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    return figure
