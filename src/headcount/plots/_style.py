"""Style of the plots (colours, sizes, legends) and box plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount._support.frames import pl
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headcount._support.arrays import Bools, Floats, Ints

INK, FAINT, PALE = "#1f2328", "#6e7781", "#d8dce1"

# The colours of Okabe and Ito, distinct for every kind of colour vision. Grey replaces their
# yellow, which is hard to see on white paper.
_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#1f2328", "#8c939b",
)  # fmt: skip
# With eight colours these make 24 different combinations.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "*", "h")
_LINES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
_HATCHES = ("", "////////", "........", "xxxxxxxx")

_TEXT, _SMALL = 8.0, 7.0  # points
_INCH = 72.0
_HANDLE = 2.2  # width of a legend's symbol, in font sizes
_DASHED = 3.3  # the same of dashed lines
_BETWEEN = 1.2  # distance between columns of a legend, in font sizes
FADED = 0.25  # opacity of groups with few samples
_LEGEND = 0.94  # largest width of a legend, as a share of the width of the figure


@dataclass(frozen=True)
class MethodStyle:
    """Colour, line and marker of a method. 24 methods have different styles."""

    colour: str
    marker: str
    line: Any
    hatch: str
    hollow: bool

    @property
    def marks(self) -> dict[str, Any]:
        """Options of matplotlib for the markers: filled, or hollow."""
        fill = "white" if self.hollow else self.colour
        return {
            "marker": self.marker, "markerfacecolor": fill, "markeredgecolor": self.colour,
            "markeredgewidth": 1.0 if self.hollow else 0.0,
        }  # fmt: skip


def method_styles(methods: Sequence[str]) -> dict[str, MethodStyle]:
    """Style of each method, by its position."""
    return {
        method: MethodStyle(
            _COLOURS[i % len(_COLOURS)],
            _MARKERS[i % len(_MARKERS)],
            _LINES[i // len(_COLOURS) % len(_LINES)],
            _HATCHES[i // len(_COLOURS) % len(_HATCHES)],
            i // len(_COLOURS) % 2 == 1,
        )
        for i, method in enumerate(methods)
    }


def by_method(table: pl.DataFrame) -> Iterator[tuple[str, MethodStyle, pl.DataFrame]]:
    """Methods in order of appearance, with their styles and rows."""
    for method, style in method_styles(names_in_order(table)).items():
        yield method, style, table.filter(table["method"] == method)


def enough_samples(n: Ints, fewest: int) -> Bools:
    """Groups with at least `fewest` samples; all if none has as many."""
    check_count("fewest", fewest)
    enough = n >= fewest
    return enough if enough.any() else np.ones(len(n), dtype=np.bool_)


def draw_curve(
    ax: Axes, x: Any, y: Any, style: MethodStyle, enough: Bools | None = None
) -> Artist:
    """Draw a line with markers, faded where there are not enough samples; return its symbol."""
    options: dict[str, Any] = {
        "color": style.colour, "linestyle": style.line, "linewidth": 1.3,
        "markersize": 4.0 if style.hollow else 3.5,
    }  # fmt: skip
    y = np.asarray(y, dtype=np.float64)
    if enough is None or enough.all():
        (line,) = ax.plot(x, y, **options, **style.marks)
        return line
    ax.plot(x, y, **options, **style.marks, alpha=FADED, zorder=1.5)
    (line,) = ax.plot(x, np.where(enough, y, np.nan), **options, **style.marks)
    return line


def lighter(colour: str, amount: float) -> tuple[float, float, float]:
    """Mix a colour with white: 0 leaves it unchanged, 1 is white."""
    from matplotlib.colors import to_rgb

    red, green, blue = (channel + (1 - channel) * amount for channel in to_rgb(colour))
    return red, green, blue


@dataclass(frozen=True)
class Canvas:
    """Axes to draw on, with font sizes."""

    ax: Axes
    figure: Figure | None
    text: float | None
    small: float | None
    labels: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> str:
        """Text to show for a name."""
        return self.labels.get(name, name)

    def tidy(self, x: str = "", y: str = "") -> None:
        """Label the axes, and hide two sides of the frame."""
        ax = self.ax
        self.label(x, y)
        ax.tick_params(length=3, width=0.6, color=FAINT, labelcolor=INK)
        if self.small is not None:
            ax.tick_params(labelsize=self.small)
        for side, spine in ax.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(FAINT)
            spine.set_linewidth(0.6)

    def label(self, x: str, y: str) -> None:
        """Label the axes."""
        options: dict[str, Any] = {"fontsize": self.text, "color": INK, "parse_math": False}
        self.ax.set_xlabel(self.named(x), **options)
        self.ax.set_ylabel(self.named(y), **options)

    def names_down(self, names: Sequence[str]) -> None:
        """Write names along the vertical axis, the first on top, one unit apart."""
        ax = self.ax
        ax.set_yticks(range(len(names)), [self.named(name) for name in names], parse_math=False)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)

    def legend(self, symbols: Mapping[str, Artist]) -> None:
        """Draw a legend above the axes, in as many columns as fit."""
        if not symbols:
            return
        from matplotlib.lines import Line2D

        ax, names = self.ax, [self.named(name) for name in symbols]
        # Long enough to show how a line is dashed.
        dashed = any(
            isinstance(symbol, Line2D) and symbol.is_dashed() for symbol in symbols.values()
        )
        handle = _DASHED if dashed else _HANDLE
        options: dict[str, Any] = {
            "fontsize": self.small,
            "frameon": False,
            "borderpad": 0.2,
            "labelspacing": 0.25,
            "columnspacing": _BETWEEN,
            "handlelength": handle - 0.5,
            "handletextpad": 0.5,
        }
        # Names are set afterwards, as matplotlib leaves out labels that begin with "_".
        entries = list(symbols.values()), [str(i) for i in range(len(names))]
        if self.figure is not None:
            width = _LEGEND * self.figure.get_figwidth()
            columns = legend_columns(names, width, self.small, handle)
            legend = self.figure.legend(
                *entries, loc="outside upper left", ncols=columns, **options
            )
        else:
            width = ax.bbox.width / ax.figure.dpi
            columns = legend_columns(names, width, self.small, handle)
            legend = ax.legend(
                *entries, loc="lower left", bbox_to_anchor=(0, 1.02), ncols=columns,
                borderaxespad=0, **options,
            )  # fmt: skip
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_parse_math(False)
            text.set_text(name)
            text.set_color(INK)


def legend_columns(
    names: Sequence[str], width: float, size: float | None, handle: float = _HANDLE
) -> int:
    """Largest number of legend columns that fit in a width, with entries filled downwards."""
    size = font_size(size)
    symbol, gap = handle * size / _INCH, _BETWEEN * size / _INCH
    widths = [symbol + text_width(name, size) for name in names]
    for rows in range(1, len(names)):
        columns = [widths[i : i + rows] for i in range(0, len(names), rows)]
        if sum(max(column) + gap for column in columns) - gap <= width:
            return len(columns)
    return 1


def text_width(text: str, size: float | None) -> float:
    """Width of a line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / _INCH


def font_size(size: float | None) -> float:
    """Font size in points, the user's setting if it is None."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def open_canvas(
    ax: Axes | None,
    width: float,
    height: float,
    legend: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    *,
    lines: bool = False,
) -> Canvas:
    """Return a canvas with the user's axes, or with new axes in a new figure."""
    labels = check_labels(labels)
    if ax is not None:
        return Canvas(ax, None, None, None, labels)
    from headcount.plots._notebook import ShownAxes, ShownFigure

    if legend:
        texts = [labels.get(name, name) for name in legend]
        handle = _DASHED if lines and len(legend) > len(_COLOURS) else _HANDLE
        columns = legend_columns(texts, _LEGEND * width, _SMALL, handle)
        height += math.ceil(len(legend) / columns) * 1.35 * _SMALL / _INCH
    # Not created by pyplot, which would keep a reference and may need a display.
    figure = ShownFigure(figsize=(width, height), layout="constrained")
    return Canvas(figure.add_subplot(axes_class=ShownAxes), figure, _TEXT, _SMALL, labels)


def check_labels(labels: Any) -> Mapping[str, str]:
    """Labels of the user, checked."""
    if labels is None:
        return {}
    if not isinstance(labels, Mapping) or not all(
        isinstance(text, str) for pair in labels.items() for text in pair
    ):
        raise HeadcountError(
            f"labels is {labels!r}; it must map texts of the plot to others: pass for instance "
            "{'SLD': 'EMQ'}."
        )
    return labels


def open_panels(
    n: int, across: int, width: float, labels: Mapping[str, str] | None = None
) -> tuple[Figure, list[Canvas]]:
    """Create a figure with n square axes, filled row by row."""
    from headcount.plots._notebook import ShownAxes, ShownFigure

    down = math.ceil(n / across)
    side = (width - 0.6) / across
    size = (width, 0.45 + down * (side + 0.12))
    figure = ShownFigure(figsize=size, layout="constrained")
    axes = [figure.add_subplot(down, across, i + 1, axes_class=ShownAxes) for i in range(n)]
    return figure, [Canvas(ax, figure, _TEXT, _SMALL, check_labels(labels)) for ax in axes]


_ROOM = 0.8  # share of the distance between groups that is filled with boxes


def lying_boxes(
    boxes: pl.DataFrame, ax: Axes | None, width: float, labels: Mapping[str, str] | None
) -> Canvas:
    """Draw one box per method, from top to bottom."""
    methods = names_in_order(boxes)
    canvas = open_canvas(ax, width, 0.55 + 0.19 * len(methods), labels=labels)
    axes, colour = canvas.ax, method_styles(methods)[methods[0]].colour
    for i, row in enumerate(boxes.iter_rows(named=True)):
        axes.hlines(i, row["low"], row["high"], colors=colour, linewidth=1)
        axes.barh(
            i, row["q3"] - row["q1"], 0.6, row["q1"],
            facecolor=lighter(colour, 0.45), edgecolor=colour, linewidth=0.8, zorder=2,
        )  # fmt: skip
        axes.vlines(row["median"], i - 0.3, i + 0.3, colors=INK, linewidth=1.2, zorder=3)
    canvas.tidy()
    canvas.names_down(methods)
    return canvas


def grouped_boxes(
    boxes: pl.DataFrame,
    ax: Axes | None,
    width: float,
    labels: Mapping[str, str] | None,
    fewest: int,
) -> Canvas:
    """Draw groups from left to right, with one box per method in each."""
    methods = names_in_order(boxes)
    canvas = open_canvas(ax, width, 0.5 + 0.42 * width, legend=methods, labels=labels)
    edges = boxes.select("left", "right").unique().sort("left")
    place = {left: i for i, left in enumerate(edges["left"])}
    room = _ROOM / len(methods)
    symbols = {}
    for i, (method, style, method_boxes) in enumerate(by_method(boxes)):
        offset = (i + 0.5) * room - _ROOM / 2
        x = np.array([place[left] + offset for left in method_boxes["left"]])
        bars = _standing(canvas.ax, method_boxes, x, 0.86 * room, style)
        for box, enough in zip(
            bars, enough_samples(method_boxes["n"].to_numpy(), fewest), strict=True
        ):
            box.set_alpha(None if enough else FADED)
        symbols[method] = bars
    canvas.tidy()
    _label_groups(canvas, edges)
    canvas.legend(symbols)
    return canvas


def _standing(
    ax: Axes, boxes: pl.DataFrame, x: Floats, width: float, style: MethodStyle
) -> Any:
    low, q1, median, q3, high = (
        boxes[name].to_numpy() for name in ("low", "q1", "median", "q3", "high")
    )
    ax.vlines(x, low, high, colors=style.colour, linewidth=0.8)
    bars = ax.bar(
        x, q3 - q1, width, q1,
        facecolor=lighter(style.colour, 0.45), edgecolor=style.colour, linewidth=0.6,
        hatch=style.hatch, zorder=2,
    )  # fmt: skip
    ax.hlines(median, x - width / 2, x + width / 2, colors=INK, linewidth=1, zorder=3)
    return bars


def _label_groups(canvas: Canvas, edges: pl.DataFrame) -> None:
    """Label groups by their value, or by the limits between them if they are ranges."""
    ax, n = canvas.ax, len(edges)
    ax.set_xlim(-0.5, n - 0.5)
    for between in range(n - 1):
        ax.axvline(between + 0.5, color=PALE, linewidth=0.6, zorder=0)
    if edges["left"].equals(edges["right"]):
        ax.set_xticks(range(n), [f"{value:g}" for value in edges["left"]])
        ax.tick_params(axis="x", length=0)
        return
    limits = [*edges["left"], edges["right"][-1]]
    ax.set_xticks(np.arange(n + 1) - 0.5, [f"{limit:g}" for limit in limits])
    ax.tick_params(axis="x", color=FAINT)


# Checks of the frames that plots take.


def read(
    frame: Any, text: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Read columns from a frame and check their types and values."""
    table = _as_polars(frame)
    for name in (*text, *numbers):
        if name not in table.columns:
            raise HeadcountError(
                f"frame has no column {name!r}: it needs {', '.join([*text, *numbers])}."
            )
    if not len(table):
        raise HeadcountError("frame has no rows: pass at least one.")
    present = [name for name in optional if name in table.columns]
    try:
        table = table.select(
            *(pl.col(name).cast(pl.String) for name in text),
            *(pl.col(name).cast(pl.Float64) for name in numbers),
            *present,
        )
    except pl.exceptions.PolarsError:
        raise HeadcountError(
            f"frame has values that are not numbers in {', '.join(numbers)}: pass numbers."
        ) from None
    for name in (*text, *numbers):
        wrong = table[name].is_null()
        if name in numbers:
            wrong = wrong | ~table[name].is_finite()
        if wrong.any():
            raise HeadcountError(
                f"frame has missing or infinite values in {name!r}: remove those rows."
            )
    return table


def _as_polars(frame: Any) -> pl.DataFrame:
    import narwhals.stable.v2 as nw

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        try:
            return pl.DataFrame(dict(frame), strict=False)  # 1 and 2.0 may be mixed
        except (pl.exceptions.PolarsError, TypeError, ValueError):
            raise HeadcountError(
                "frame has columns that do not form a table: pass columns of equal length."
            ) from None
    native = nw.from_native(frame, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native.to_polars()
    hint = "collect it first" if isinstance(native, nw.LazyFrame) else "pass a frame"
    raise HeadcountError(f"frame is {type(frame).__name__}, not a frame with rows: {hint}.")


def names_in_order(table: pl.DataFrame, column: str = "method") -> list[str]:
    """Distinct names in a column, in order of appearance."""
    return table[column].unique(maintain_order=True).to_list()


def of_class(table: pl.DataFrame, positive: Any) -> pl.DataFrame:
    """Rows of the class ``positive``, by default of the last of two classes, or all rows."""
    classes = names_in_order(table, "class")
    if positive is None:
        if len(classes) != 2:
            return table
        positive = classes[-1]
    if str(positive) not in classes:
        raise HeadcountError(
            f"positive is {positive!r}; it must be one of the classes, {', '.join(classes)}."
        )
    return table.filter(pl.col("class") == str(positive))
