"""Plots of errors, and of comparisons: average ranks, and means with marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount._support.parameters import check_positive
from headcount.errors import HeadcountError
from headcount.plots import _style, data
from headcount.plots._style import FAINT, INK, PALE
from headcount.plots.share_plots import diagonal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from headcount._support.arrays import Floats


_MOST_BANDS = 4  # with more methods only the lines are drawn


@documented(diagonal)
def error_by_shift(
    frame: Any,
    *,
    bands: bool = True,
    bins: int = 10,
    fewest: int = 10,
    error: str = "error",
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Mean error by the shift of the samples, with the number of samples in the background.

    With up to four methods, bands show one standard deviation to each side. Samples are
    counted by their shift for the first method.

    Parameters
    ----------
    frame : frame with columns method, shift, error
        One row per method and sample.
    bins : int, default=10
        Number of groups of shifts.
    error : str, default="error"
        Name of the error in labels.

    Examples
    --------
    >>> from headcount import plots
    >>> errors = {"method": ["SLD"] * 3, "shift": [0.1, 0.2, 0.3],
    ...           "error": [0.01, 0.03, 0.02]}
    >>> len(plots.error_by_shift(errors).lines)
    1
    """
    groups = data.error_by_shift(frame, bins=bins)
    methods = _style.names_in_order(groups)
    canvas = _style.open_canvas(
        ax, width, 0.4 + 0.55 * width, legend=methods, labels=labels, lines=True
    )
    _samples_behind(canvas, groups.filter(groups["method"] == methods[0]))
    symbols: dict[str, Artist] = {}
    for method, style, method_groups in _style.by_method(groups):
        shift, mean, sd = (method_groups[name].to_numpy() for name in ("shift", "mean", "sd"))
        enough = _style.enough_samples(method_groups["n"].to_numpy(), fewest)
        if bands and len(methods) <= _MOST_BANDS:
            low = np.maximum(mean - sd, 0) if (mean >= 0).all() else mean - sd
            canvas.ax.fill_between(
                shift, low, mean + sd, where=enough, color=style.colour, alpha=0.18, linewidth=0
            )
        symbols[method] = _style.draw_curve(canvas.ax, shift, mean, style, enough)
    canvas.tidy("shift from training", f"mean {error}")
    _from_zero(canvas.ax, groups["mean"])
    canvas.legend(symbols)
    return canvas.ax


@documented(error_by_shift, diagonal)
def supremacy(
    frame: Any,
    *,
    bins: int = 10,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Share of the samples on which each method has the smallest error, by shift.

    The width of a bar is that of its group of shifts. A method that is seldom the best may
    still be good on average: see `error_by_shift`.

    Parameters
    ----------
    frame : frame with columns method, sample, shift, error
        One row per method and sample.

    Examples
    --------
    >>> from headcount import plots
    >>> errors = {"method": ["SLD", "CC"] * 2, "sample": [0, 0, 1, 1],
    ...           "shift": [0.1, 0.1, 0.3, 0.3], "error": [0.01, 0.03, 0.02, 0.01]}
    >>> len(plots.supremacy(errors).patches)
    4
    """
    groups = data.supremacy(frame, bins=bins)
    methods = _style.names_in_order(groups)
    canvas = _style.open_canvas(ax, width, 0.4 + 0.5 * width, legend=methods, labels=labels)
    left, right = (groups[name].to_numpy() for name in ("left", "right"))
    values = np.unique(left)
    gap = np.diff(values).min() if len(values) > 1 else 0.1
    single = bool((left == right).all())
    foot = dict.fromkeys(values.tolist(), 0.0)
    symbols: dict[str, Artist] = {}
    for method, style, bars in _style.by_method(groups):
        for row in bars.iter_rows(named=True):
            at, span = row["left"], row["right"] - row["left"]
            start, wide = (at - 0.45 * gap, 0.9 * gap) if single else (at, span)
            (bar,) = canvas.ax.bar(
                start, row["share"], wide, bottom=foot[at], align="edge", color=style.colour,
                hatch=style.hatch, edgecolor="white", linewidth=0.6,
            )  # fmt: skip
            foot[at] += row["share"]
            symbols.setdefault(method, bar)
    canvas.tidy("shift from training", "samples on which it is the best")
    canvas.ax.set_ylim(0, 1)
    canvas.ax.yaxis.set_major_formatter("{x:.0%}")
    canvas.legend(symbols)
    return canvas.ax


def _from_zero(ax: Axes, errors: pl.Series) -> None:
    """Start the axis of errors at zero, unless there are negative ones."""
    if (errors >= 0).all():
        ax.set_ylim(bottom=0)


def _samples_behind(canvas: _style.Canvas, groups: pl.DataFrame) -> None:
    """Draw the number of samples by shift, on a separate axis in the background."""
    from matplotlib.ticker import MaxNLocator

    behind = canvas.ax.twinx()
    left, right = groups["left"].to_numpy(), groups["right"].to_numpy()
    if (left == right).all():
        gap = np.diff(left).min() if len(left) > 1 else 0.1
        left, right = left - 0.4 * gap, right + 0.4 * gap
    behind.bar(
        left, groups["n"], right - left, align="edge", color=_style.lighter(PALE, 0.35),
        edgecolor="white", linewidth=0.5,
    )  # fmt: skip
    behind.set_ylabel(canvas.named("samples"), fontsize=canvas.text, color=FAINT)
    behind.tick_params(length=0, labelcolor=FAINT, labelsize=canvas.small)
    behind.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    behind.set_ylim(0, 1.6 * groups["n"].to_numpy().max())
    for spine in behind.spines.values():
        spine.set_visible(False)
    canvas.ax.set_zorder(behind.get_zorder() + 1)
    canvas.ax.patch.set_visible(False)


@documented(error_by_shift, diagonal)
def error_boxes(
    frame: Any,
    *,
    bins: int = 5,
    fewest: int = 10,
    error: str = "error",
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Errors by degree of shift, one box per method: quartiles, and whiskers over 90%.

    Examples
    --------
    >>> from headcount import plots
    >>> errors = {"method": ["CC", "SLD"] * 2, "shift": [0.1, 0.1, 0.3, 0.3],
    ...           "error": [0.05, 0.01, 0.2, 0.02]}
    >>> len(plots.error_boxes(errors).patches)
    4
    """
    boxes = data.error_boxes(frame, bins=bins)
    canvas = _style.grouped_boxes(boxes, ax, width, labels, fewest)
    canvas.label("shift from training", error)
    _from_zero(canvas.ax, boxes["low"])
    return canvas.ax


@documented(error_by_shift, diagonal)
def letter_values(
    frame: Any,
    *,
    families: Mapping[str, str] | None = None,
    linear_below: float | None = None,
    error: str = "error",
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Distribution of the errors as letter values, which show the tails as well.

    The widest box holds 1/2 of the errors, the next ones 3/4, 7/8 and so on, as long as
    there are enough errors. The few errors beyond are dots.

    Parameters
    ----------
    frame : frame with columns method, error
        One row per method and sample.
    families : mapping of str to str, default=None
        Family of each method. Families have the same colour. By default one colour for all.
    linear_below : float, default=None
        Error below which the scale is linear, marked by a dotted line. Above it the scale
        is logarithmic. By default the whole scale is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount import plots
    >>> errors = {"method": ["SLD"] * 64, "error": np.random.default_rng(0).random(64)}
    >>> len(plots.letter_values(errors).patches)
    3
    """
    letters = data.letter_values(frame)
    methods = _style.names_in_order(letters)
    colours, kinds = _family_colours(methods, families)
    canvas = _style.open_canvas(
        ax, width, 0.5 + 0.19 * len(methods), legend=list(kinds), labels=labels
    )
    errors = _style.read(frame, ("method",), ("error",))
    for i, method in enumerate(methods):
        method_letters = letters.filter(letters["method"] == method)
        method_errors = errors.filter(errors["method"] == method)["error"].to_numpy()
        _draw_letters(canvas.ax, i, method_letters, method_errors, colours[method])
    canvas.tidy(error)
    canvas.names_down(methods)
    low, high = errors["error"].to_numpy().min(), errors["error"].to_numpy().max()
    if linear_below is not None:
        _log_above(canvas.ax, check_positive("linear_below", linear_below), high)
    if low >= 0:
        canvas.ax.set_xlim(0, 1.1 * high if high > 0 else None)
    canvas.legend({kind: _patch(colour) for kind, colour in kinds.items()})
    return canvas.ax


def _log_above(ax: Axes, threshold: float, high: float) -> None:
    """Set a scale that is linear up to a threshold and logarithmic above."""
    ax.set_xscale("symlog", linthresh=threshold)
    powers = 10.0 ** np.arange(math.floor(math.log10(threshold)), 1 + math.log10(high + 1e-9))
    fine = np.outer(powers, (1, 2, 5)).ravel()
    above = [tick for ticks in (fine, powers) for tick in [ticks[ticks > 1.5 * threshold]]]
    ticks = above[0] if (above[0] <= high).sum() <= 5 else above[1]
    ax.set_xticks([0, threshold / 2, threshold, *ticks[ticks <= high]])
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.axvline(threshold, color=FAINT, linewidth=0.8, linestyle=":")


def _draw_letters(ax: Axes, at: int, letters: pl.DataFrame, errors: Any, colour: str) -> None:
    depth = len(letters)
    for i, (low, high) in enumerate(letters.select("low", "high").rows()[:0:-1]):
        rank = depth - 1 - i  # 1 for the box of half the errors
        shade = _style.lighter(colour, 0.12 + 0.7 * (rank - 1) / max(depth - 1, 1))
        ax.barh(
            at, high - low, 0.8 * (1 - (rank - 1) / depth), low,
            facecolor=shade, edgecolor="white", linewidth=0.3, zorder=2,
        )  # fmt: skip
    median = letters["low"][0]
    ax.vlines(median, at - 0.4, at + 0.4, colors=INK, linewidth=1.2, zorder=3)
    beyond = errors[(errors < letters["low"][-1]) | (errors > letters["high"][-1])]
    ax.plot(
        beyond, np.full(len(beyond), at), linestyle="none", marker="o", markersize=1.6,
        markeredgewidth=0, color=colour, zorder=2,
    )  # fmt: skip


def _family_colours(
    methods: list[str], families: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Colours of the methods, and of the families for the legend."""
    if families is None:
        colour = _style.method_styles(["all"])["all"].colour
        return dict.fromkeys(methods, colour), {}
    missing = [method for method in methods if method not in families]
    if missing:
        raise HeadcountError(f"families has none for {missing[0]!r}: pass one per method.")
    kinds = list(dict.fromkeys(families[method] for method in methods))
    styles = _style.method_styles(kinds)
    of_kind = {kind: styles[kind].colour for kind in kinds}
    return {method: of_kind[families[method]] for method in methods}, of_kind


def _patch(colour: str) -> Artist:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour)


@documented(error_by_shift, diagonal)
def learning_curves(
    frame: Any,
    *,
    error: str = "error",
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Mean error by training size, with bars of one standard error to each side.

    Parameters
    ----------
    frame : frame with columns method, size, error
        One row per method, training size and sample (or training set).

    Returns
    -------
    matplotlib Axes
        Sizes are on a logarithmic scale if the largest is five times the smallest.

    Examples
    --------
    >>> from headcount import plots
    >>> errors = {"method": ["SLD"] * 4, "size": [100, 100, 1000, 1000],
    ...           "error": [0.05, 0.06, 0.02, 0.01]}
    >>> plots.learning_curves(errors).get_xscale()
    'log'
    """
    curves = data.learning_curves(frame)
    methods = _style.names_in_order(curves)
    canvas = _style.open_canvas(
        ax, width, 0.4 + 0.5 * width, legend=methods, labels=labels, lines=True
    )
    symbols: dict[str, Artist] = {}
    for method, style, curve in _style.by_method(curves):
        size, mean, se = (curve[name].to_numpy() for name in ("size", "mean", "se"))
        canvas.ax.vlines(size, mean - se, mean + se, colors=style.colour, linewidth=0.9)
        symbols[method] = _style.draw_curve(canvas.ax, size, mean, style)
    sizes = curves["size"].unique().sort().to_numpy()
    if sizes[0] > 0 and sizes[-1] >= 5 * sizes[0]:
        _log_sizes(canvas, sizes)
    canvas.tidy("items in training", f"mean {error}")
    canvas.legend(symbols)
    return canvas.ax


def _log_sizes(canvas: _style.Canvas, sizes: Floats) -> None:
    """Set a logarithmic axis labelled with the sizes themselves, as far as they fit."""
    ax = canvas.ax
    ax.set_xscale("log")
    inches = ax.bbox.width / ax.figure.dpi / math.log(sizes[-1] / sizes[0])
    named = sizes[:1].tolist()
    for size in sizes[1:].tolist():
        needed = _style.text_width(f"{size:,.0f}00", canvas.small)
        if math.log(size / named[-1]) * inches >= needed:
            named.append(size)
    ax.set_xticks(named, [f"{size:,.0f}" for size in named])
    ax.set_xticks([], minor=True)


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
    canvas = _style.open_canvas(ax, width, 0.65 + 0.18 * (top + rows), labels=labels)
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


def _rank_axis(canvas: _style.Canvas, n_methods: int, difference: float) -> None:
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
    rise = 10 + 1.4 * _style.font_size(canvas.small)
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
    canvas: _style.Canvas, method: str, rank: float, depth: float, edge: float, on_left: bool
) -> None:
    """Draw a line from a rank down and outwards to the name."""
    ax = canvas.ax
    ax.plot([rank, rank, edge], [0, depth, depth], color=FAINT, linewidth=0.7, clip_on=False)
    side, away = ("right", -1) if on_left else ("left", 1)
    number = f"{rank:.1f}"
    beyond = 6 + 72 * _style.text_width(number, canvas.small)
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
    canvas = _style.open_canvas(ax, width, 0.5 + 0.19 * len(table), labels=labels)
    axes, colour = canvas.ax, _style.method_styles(["mean"])["mean"].colour
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
