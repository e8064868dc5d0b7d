"""Families of methods, the order of their errors, and the figures of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from headcount import plots
from headcount.plots._style import FAINT, INK, PALE, method_styles
from headcount_studies.comparison.classifiers import CLASSIFIERS
from headcount_studies.engine.spec import Spec
from headcount_studies.figures import figure_of
from headcount_studies.tables import FLAGGED, PublishedAgreement, plain_name

_ADJUSTED, _MATCHING, _CLASSIFIERS, _OTHER = (
    "adjusted counts",
    "distribution matching",
    "classifiers for quantification",
    "other",
)
FAMILIES = {
    plain_name(method): family
    for family, methods in {
        _ADJUSTED: ("AC", "PAC", "TSX", "TS50", "TSMax", "MS"),
        _MATCHING: (
            "GAC", "GPAC", "DyS", "FMM", "readme", "HDx", "HDy", "FM", "ED", "EM", "CDE",
        ),
        _CLASSIFIERS: (
            "CC", "PCC", "SVM-K", "SVM-Q", "RBF-K", "RBF-Q", "PWK", "QF", "QF-AC",
        ),
    }.items()
    for method in methods
}  # fmt: skip
"""Family of each method in the paper."""

# Methods of the paper's tuned classifiers are named after the untuned ones.
_TUNED_SUFFIXES = tuple(f"-{kind}" for kind in CLASSIFIERS)


def families_of(methods: Sequence[str]) -> dict[str, str]:
    """Family of each method, in the order of the families, which decides their colours.

    >>> families_of(["my own", "CC", "MS-LR"])
    {'MS-LR': 'adjusted counts', 'CC': 'classifiers for quantification', 'my own': 'other'}
    """
    families = {
        method: FAMILIES.get(plain_name(_untuned(method)), _OTHER) for method in methods
    }
    order = (_ADJUSTED, _MATCHING, _CLASSIFIERS, _OTHER)
    return dict(sorted(families.items(), key=lambda pair: order.index(pair[1])))


def _untuned(method: str) -> str:
    return method.rpartition("-")[0] if method.endswith(_TUNED_SUFFIXES) else method


def errors_of(spec: Spec, results: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Errors of all runs that did not fail, methods in the order of the spec.

    Those with tuned classifiers follow the same method with the default one.
    """
    names = [method.name for method in spec.methods]
    bases = list(dict.fromkeys(map(_untuned, names)))
    order = pl.Enum(sorted(names, key=lambda name: bases.index(_untuned(name))))
    return (
        results.lazy()
        .select(pl.col("method").cast(order), pl.col(metric).fill_nan(None).alias("error"))
        .drop_nulls()
        .sort("method", maintain_order=True)
        .collect()
    )


WIDTH = 8.0  # inches of what takes the whole width of a page
_TEXT, _SMALL = 8.0, 7.0  # points
_ACROSS = 6
_LEAST = 5e-4  # smaller errors are drawn here: papers print three decimals
_LEGEND = {"frameon": False, "fontsize": _SMALL, "handlelength": 1.2, "columnspacing": 1.5}


def letter_figure(errors: pl.DataFrame, *, linear_below: float, error: str) -> Figure:
    """Distribution of all errors of each method, coloured by family."""
    families = families_of(errors["method"].unique().to_list())
    axes = plots.letter_values(
        errors, families=families, linear_below=linear_below, error=error, width=WIDTH
    )
    return figure_of(axes)


def letter_panels(
    groups: Mapping[str, pl.DataFrame], *, linear_below: float, error: str
) -> Figure:
    """The same for several groups of errors side by side, on the same scale."""
    names = [
        errors["method"].unique(maintain_order=True).to_list() for errors in groups.values()
    ]
    families = families_of(list(dict.fromkeys(name for methods in names for name in methods)))
    height = 0.9 + 0.17 * max(map(len, names))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = [figure.add_subplot(1, len(groups), i + 1) for i in range(len(groups))]
    for i, (ax, (title, errors)) in enumerate(zip(axes, groups.items(), strict=True)):
        plots.letter_values(
            errors, families=families, linear_below=linear_below, error=error, ax=ax
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


def scatter_panels(agreed: PublishedAgreement, *, partial: Sequence[str], error: str) -> Figure:
    """Our errors against published ones: one panel per method, one dot per dataset."""
    methods = agreed.methods["method"].to_list()
    families = families_of(methods)
    colours = _colours(families)
    across = min(_ACROSS, len(methods))
    down = math.ceil(len(methods) / across)
    figure = Figure(figsize=(WIDTH, 0.8 + 1.32 * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    values = agreed.pairs.select("ours", "published").to_numpy().clip(_LEAST)
    ends = values.min() / 1.4, values.max() * 1.4
    for ax, row in zip(axes, agreed.methods.iter_rows(named=True), strict=False):
        pairs = agreed.pairs.filter(agreed.pairs["method"] == row["method"])
        _scatter(ax, pairs, partial, colours[families[row["method"]]], ends)
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
    handles = [
        Patch(facecolor=colour, label=kind) for kind, colour in _colours(families).items()
    ]
    options: dict[str, Any] = _LEGEND
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), **options)
