"""Plots of true and estimated shares, by sample or by group, or of three classes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount._support.parameters import check_share
from headcount.errors import HeadcountError
from headcount.plots import _style, data
from headcount.plots._style import FAINT, INK, PALE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ZERO: dict[str, Any] = {
    "color": FAINT, "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 0.5,
}  # fmt: skip
_DOUBTFUL = "do not rely on it"
_MOST_BANDS = 4  # with more methods only the lines are drawn


def diagonal(
    frame: Any,
    *,
    positive: Any = None,
    training: float | None = None,
    bands: bool = True,
    spread: float = 0.9,
    bins: int = 25,
    fewest: int = 10,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Estimated against true shares, all methods in one plot.

    The line is the median over the samples with a true share. With up to four methods, a
    band holds most of the samples. A method without error lies on the diagonal.

    Parameters
    ----------
    frame : frame with columns method, class, true, estimated
        One row per method, sample and class.
    positive : class label, default=None
        Class to show. By default the last of two classes, or all of more than two.
    training : float, default=None
        Share of the class in the training set, to mark by a point on the diagonal.
    bands : bool, default=True
        Draw the bands. False draws the lines alone.
    spread : float, default=0.9
        Share of the samples in the bands.
    bins : int, default=25
        Number of groups of true shares.
    fewest : int, default=10
        Groups with fewer samples are faded, unless all have fewer.
    labels : mapping of str to str, default=None
        Texts to show instead of others: names of methods and classes, labels of axes.
    ax : matplotlib Axes, default=None
        Axes to draw on. By default those of a new figure.
    width : float, default=5.0
        Width of the new figure in inches.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"method": ["SLD"] * 4, "class": ["b", "a"] * 2,
    ...          "true": [0.2, 0.8, 0.6, 0.4], "estimated": [0.25, 0.75, 0.6, 0.4]}
    >>> plots.diagonal(frame).get_xlabel()
    'true share of a'
    """
    groups = data.diagonal(frame, positive=positive, spread=spread, bins=bins)
    methods = _style.names_in_order(groups)
    canvas = _style.open_canvas(
        ax, width, width - 0.15, legend=methods, labels=labels, lines=True
    )
    symbols: dict[str, Artist] = {}
    for method, style, method_groups in _style.by_method(groups):
        band = bands and len(methods) <= _MOST_BANDS
        symbols[method] = _estimates(canvas.ax, method_groups, style, band, fewest)
    of = _shown_class(frame, positive)
    _share_axes(canvas, f"true share{of}", "estimated share")
    _mark_training(canvas, training)
    canvas.legend(symbols)
    return canvas.ax


@documented(diagonal)
def diagonal_panels(
    frame: Any,
    *,
    positive: Any = None,
    training: float | None = None,
    bands: bool = True,
    spread: float = 0.9,
    bins: int = 25,
    fewest: int = 10,
    labels: Mapping[str, str] | None = None,
    width: float = 7.0,
) -> Figure:
    """Estimated against true shares, each method in a separate panel.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"method": ["SLD", "CC"], "class": ["a", "a"], "true": [0.2, 0.2],
    ...          "estimated": [0.25, 0.4]}
    >>> len(plots.diagonal_panels(frame).axes)
    2
    """
    groups = data.diagonal(frame, positive=positive, spread=spread, bins=bins)
    methods = _style.names_in_order(groups)
    most = max(1, math.floor(width / 1.15))
    across = math.ceil(len(methods) / math.ceil(len(methods) / most))  # rows of equal length
    figure, panels = _style.open_panels(len(methods), across, width, labels)
    style = replace(_style.method_styles(methods)[methods[0]], marker="")
    for i, (method, panel) in enumerate(zip(methods, panels, strict=True)):
        method_groups = groups.filter(groups["method"] == method)
        _estimates(panel.ax, method_groups, style, bands, fewest)
        _share_axes(panel, "", "")
        _mark_training(panel, training)
        title = panel.ax.set_title(panel.named(method), fontsize=panel.text, color=INK, pad=3)
        title.set_parse_math(False)
        panel.ax.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
        panel.ax.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
        lowest = i + across >= len(methods)
        panel.ax.tick_params(labelbottom=lowest, labelleft=i % across == 0)
    named, of = panels[0].named, _shown_class(frame, positive)
    figure.supxlabel(named(f"true share{of}"), fontsize=panels[0].text, color=INK)
    figure.supylabel(named("estimated share"), fontsize=panels[0].text, color=INK)
    return figure


def _mark_training(canvas: _style.Canvas, share: float | None) -> None:
    """Point on the diagonal at the share of the class in the training set."""
    if share is not None:
        share = check_share("training", share)
        canvas.ax.plot(share, share, "o", color=INK, markersize=5, zorder=5)


@documented(diagonal)
def calibration(
    frame: Any,
    *,
    bins: int = 10,
    fewest: int = 10,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Observed shares of the positive class against the posteriors of classifiers.

    Posteriors that are calibrated lie on the diagonal. Lines below it are overconfident, bars
    are 95% intervals. Methods such as `SLD` and `PCC` rely on calibrated posteriors.

    Parameters
    ----------
    frame : frame with columns method, score, positive
        One row per classifier and item: the posterior of the positive class, out of sample,
        and 1 for items of the class, 0 for others.
    bins : int, default=10
        Number of groups of scores.
    fewest : int, default=10
        Groups with fewer items are faded, unless all have fewer.

    Examples
    --------
    >>> from headcount import plots
    >>> scores = {"method": ["forest"] * 4, "score": [0.1, 0.2, 0.8, 0.9],
    ...           "positive": [0, 0, 1, 1]}
    >>> plots.calibration(scores, bins=2).get_xlabel()
    'predicted share'
    """
    groups = data.calibration(frame, bins=bins)
    methods = _style.names_in_order(groups)
    canvas = _style.open_canvas(
        ax, width, width - 0.15, legend=methods, labels=labels, lines=True
    )
    symbols: dict[str, Artist] = {}
    for method, style, method_groups in _style.by_method(groups):
        score, low, high = (method_groups[name].to_numpy() for name in ("score", "low", "high"))
        enough = _style.enough_samples(method_groups["n"].to_numpy(), fewest)
        canvas.ax.vlines(score, low, high, color=style.colour, alpha=0.5, linewidth=1.0)
        symbols[method] = _style.draw_curve(
            canvas.ax, score, method_groups["share"], style, enough
        )
    _share_axes(canvas, "predicted share", "observed share")
    canvas.legend(symbols)
    return canvas.ax


@documented(diagonal)
def bias_boxes(
    frame: Any,
    *,
    positive: Any = None,
    bins: int = 1,
    fewest: int = 10,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Signed errors by method: boxes show quartiles, whiskers 90% of the samples.

    Parameters
    ----------
    bins : int, default=1
        Number of groups of true shares to show separately. 1 for all together.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"method": ["SLD"] * 3, "class": ["a"] * 3, "true": [0.1, 0.5, 0.9],
    ...          "estimated": [0.1, 0.4, 0.9]}
    >>> plots.bias_boxes(frame).get_xlabel()
    'estimated - true share of a'
    """
    boxes = data.bias_boxes(frame, positive=positive, bins=bins)
    of = _shown_class(frame, positive)
    if bins == 1:
        canvas = _style.lying_boxes(boxes, ax, width, labels)
        canvas.label(f"estimated - true share{of}", "")
        canvas.ax.axvline(0, **_ZERO)
    else:
        canvas = _style.grouped_boxes(boxes, ax, width, labels, fewest)
        canvas.label(f"true share{of}", "estimated - true share")
        canvas.ax.axhline(0, **_ZERO)
    return canvas.ax


@documented(diagonal)
def bars(
    frame: Any,
    *,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Shares of the classes with intervals, and with reference marks if given.

    Parameters
    ----------
    frame : frame with columns class, share, low, high, and optionally reference
        One row per class. The reference may be the share in training or the true share.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"class": ["a", "b"], "share": [0.3, 0.7], "low": [0.2, 0.6],
    ...          "high": [0.4, 0.8]}
    >>> len(plots.bars(frame).patches)
    2
    """
    table = data.bars(frame)
    with_reference = "reference" in table.columns
    n = len(table)
    names = ["estimate", "interval", *(["reference"] if with_reference else [])]
    canvas = _style.open_canvas(ax, width, 0.5 + 0.24 * n, legend=names, labels=labels)
    axes, colour = canvas.ax, _style.method_styles(["share"])["share"].colour
    boxes = axes.barh(range(n), table["share"], 0.6, color=_style.lighter(colour, 0.55))
    lines = axes.hlines(range(n), table["low"], table["high"], colors=INK, linewidth=1.4)
    symbols: dict[str, Any] = {"estimate": boxes, "interval": lines}
    if with_reference:
        (symbols["reference"],) = axes.plot(
            table["reference"].cast(float), range(n), linestyle="none", marker="D",
            markersize=4.5, markerfacecolor="white", markeredgecolor="#D55E00", zorder=4,
        )  # fmt: skip
    canvas.tidy("share")
    canvas.names_down(table["class"].to_list())
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter("{x:.0%}")
    canvas.legend(symbols)
    return axes


def _estimates(
    ax: Axes, rows: pl.DataFrame, style: _style.MethodStyle, band: bool, fewest: int
) -> Artist:
    true, enough = rows["true"].to_numpy(), _style.enough_samples(rows["n"].to_numpy(), fewest)
    if band:
        ax.fill_between(
            true, rows["low"], rows["high"], where=enough, color=style.colour, alpha=0.22,
            linewidth=0,
        )  # fmt: skip
        if len(rows) == 1:  # a band of one point has no width
            ax.vlines(true, rows["low"], rows["high"], color=style.colour, alpha=0.5)
    if len(rows) == 1 and not style.marker:
        style = replace(style, marker="o")
    return _style.draw_curve(ax, true, rows["estimated"], style, enough)


def _share_axes(canvas: _style.Canvas, x: str, y: str) -> None:
    """Set both axes to the range from 0 to 1, and draw the diagonal."""
    ax = canvas.ax
    ax.plot([0, 1], [0, 1], color=INK, linestyle=(0, (4, 3)), linewidth=0.8, zorder=1)
    canvas.tidy(x, y)
    ax.grid(color=PALE, linewidth=0.4)
    ax.set_axisbelow(True)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_major_formatter("{x:.0%}")


def _shown_class(frame: Any, positive: Any) -> str:
    """Text after "share" in labels: the class, if only one is shown."""
    classes = _style.names_in_order(
        _style.of_class(_style.read(frame, ("class",), ()), positive), "class"
    )
    return f" of {classes[0]}" if len(classes) == 1 else ""


_HEIGHT = 2.6  # inches
_LONGEST = 14  # characters of a group's name
_SIDES = 0.75  # inches of a figure that are not along the axis
_SPREAD = 0.5  # part of the room of a group over which its classes are spread


@documented(diagonal)
def by_group(
    frame: Any,
    *,
    positive: Any = None,
    line: bool = True,
    compared: Sequence[str] = (),
    doubtful: Collection[Any] = (),
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Draw shares over groups with their intervals, and with reference marks if there are any.

    Parameters
    ----------
    frame : frame with columns group, class, share, low, high, and perhaps reference
        One row per group and class, the groups in their order. The reference may be the true
        share.
    line : bool, default=True
        True joins the groups by a line with a band, for a sequence such as months; False draws
        a point and an interval for each.
    compared : sequence of str, default=()
        Further columns of shares of a single class, to be compared with the first.
    doubtful : collection, default=()
        Groups that are marked as not to be relied on.

    Examples
    --------
    >>> from headcount import plots
    >>> frame = {"group": ["2024-01", "2024-02"], "class": ["spam"] * 2, "share": [0.3, 0.4],
    ...          "low": [0.2, 0.3], "high": [0.4, 0.5]}
    >>> plots.by_group(frame).get_ylabel()
    'share of spam'
    """
    table = data.by_group(frame, positive=positive, compared=compared)
    classes, groups = (
        _style.names_in_order(table, "class"),
        _style.names_in_order(table, "group"),
    )
    with_reference = "reference" in table.columns
    named = classes if len(classes) > 1 or compared else []
    unsure = [place for place, name in enumerate(groups) if name in set(map(str, doubtful))]
    names = [*named, *compared, *(["reference"] if with_reference else [])]
    names += [_DOUBTFUL] if unsure else []
    canvas = _style.open_canvas(ax, width, _HEIGHT, legend=names, labels=labels, lines=line)
    symbols: dict[str, Artist] = {}
    for i, (name, style) in enumerate(_style.method_styles(classes).items()):
        rows = table.filter(table["class"] == name)
        x = np.array([groups.index(group) for group in rows["group"]], dtype=np.float64)
        if not line:
            x += _SPREAD * ((i + 0.5) / len(classes) - 0.5)
        symbol = _shares(canvas.ax, x, rows, style, line)
        if named:
            symbols[name] = symbol
        styles = _style.method_styles([name, *compared])
        for column in compared:
            symbols[column] = _style.draw_curve(canvas.ax, x, rows[column], styles[column])
            symbols[column].set(alpha=0.7, linewidth=1.0 if line else 0.0, zorder=1.8)
        if with_reference:
            (symbols["reference"],) = canvas.ax.plot(
                x, rows["reference"].cast(float), linestyle="none", marker="D", markersize=3.5,
                markerfacecolor="white", markeredgecolor=style.colour, zorder=4,
            )  # fmt: skip
    canvas.tidy("", f"share of {classes[0]}" if len(classes) == 1 else "share")
    canvas.ax.yaxis.set_major_formatter("{x:.0%}")
    canvas.ax.grid(axis="y", color=PALE, linewidth=0.4)
    canvas.ax.set_axisbelow(True)
    canvas.ax.set_xlim(-0.5, len(groups) - 0.5)
    canvas.ax.set_ylim(bottom=0)
    _name_groups(canvas, groups, width)
    if "reference" in symbols:
        symbols["reference"] = symbols.pop("reference")  # last in the legend
    for place in unsure:
        symbols[_DOUBTFUL] = canvas.ax.axvspan(
            place - 0.5, place + 0.5, facecolor=PALE, edgecolor="white", hatch="//",
            alpha=0.6, zorder=0,
        )  # fmt: skip
    canvas.legend(symbols)
    return canvas.ax


def _shares(
    ax: Axes, x: Any, rows: pl.DataFrame, style: _style.MethodStyle, line: bool
) -> Artist:
    low, high = rows["low"].to_numpy(), rows["high"].to_numpy()
    joined = line and len(rows) > 1
    if joined:
        ax.fill_between(x, low, high, color=style.colour, alpha=0.22, linewidth=0)
    else:
        ax.vlines(x, low, high, colors=style.colour, alpha=0.6, linewidth=1.4)
    return _style.draw_curve(
        ax, x, rows["share"], style if joined else replace(style, line="none")
    )


def _name_groups(canvas: _style.Canvas, groups: list[str], width: float) -> None:
    """Names of every n-th group, as many as fit."""
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in groups]
    if canvas.figure is None:
        width = canvas.ax.bbox.width / canvas.ax.figure.dpi
    room = max(width - _SIDES, 0.5) / len(groups)
    widest = max(_style.text_width(name, canvas.small) for name in short) + 0.12
    step = math.ceil(widest / room)
    canvas.ax.set_xticks(range(0, len(groups), step), short[::step], parse_math=False)
    canvas.ax.tick_params(axis="x", labelcolor=INK)


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
    methods = _style.names_in_order(table)
    named = [method for method in methods if method]
    legend = [*named, *(["truth"] if truth is not None else [])]
    canvas = _style.open_canvas(ax, width, 0.3 + 0.8 * width, legend=legend, labels=labels)
    _frame(canvas, [str(label) for label in classes])
    symbols: dict[str, Artist] = {}
    for method, style, rows in _style.by_method(table):
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


def _frame(canvas: _style.Canvas, classes: Sequence[str]) -> None:
    """Draw triangle, grid, shares along the sides and names at the corners."""
    ax, corners = canvas.ax, np.eye(3)
    ax.set_axis_off()
    ax.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 0.88))
    if canvas.figure is None:  # names within the axes, as there may be a legend above
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
