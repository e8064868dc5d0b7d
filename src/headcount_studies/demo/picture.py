"""Picture of the demo: truth, estimate with its interval, classify and count."""

from __future__ import annotations

import io
from calendar import month_abbr
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["DARK", "LIGHT", "Series", "Theme", "draw"]

_DPI = 150
_SIZE = (6.2, 4.7)


@dataclass(frozen=True)
class Theme:
    """Colours; blue and orange are told apart with every kind of colour vision."""

    paper: str
    ink: str
    faint: str
    line: str
    ours: str
    counted: str
    warning: str


LIGHT = Theme("#ffffff", "#1d2126", "#626a73", "#e4e5e2", "#0b6aa8", "#b0713a", "#b3261e")
DARK = Theme("#14171a", "#e7e9ea", "#9aa3ac", "#2a2f34", "#63b6ec", "#d29a62", "#ff8a80")


@dataclass(frozen=True, eq=False)
class Series:
    """Share of a class over a sequence of periods.

    Attributes
    ----------
    title, subtitle : str
        Headings.
    periods : tuple of str
        Names of the periods.
    share, low, high : ndarray of shape (n,)
        Estimates, and the ends of their intervals.
    counted, truth : ndarray of shape (n,)
        Shares by classify and count, and true shares.
    broken : ndarray of shape (n,)
        True where the test of the assumption warns.
    training : float
        Share in training.
    method : str
        Name of the quantifier.
    """

    title: str
    subtitle: str
    periods: tuple[str, ...]
    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counted: NDArray[np.float64]
    truth: NDArray[np.float64]
    broken: NDArray[np.bool_]
    training: float
    method: str

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.share - self.truth).mean())

    @property
    def counted_error(self) -> float:
        """Mean absolute error of classify and count."""
        return float(np.abs(self.counted - self.truth).mean())

    @property
    def held(self) -> NDArray[np.bool_]:
        """True for intervals that contain the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    def misses(self, period: str) -> str:
        """Intervals that miss the truth, and what the test of the assumption made of them."""
        missed, warned = ~self.held, self.broken
        if not missed.any():
            return f"The test of the assumption warns of {warned.sum()} {period}s."
        off = np.where(missed, np.abs(self.share - self.truth), 0)
        silent = [self.periods[i] for i in np.flatnonzero(missed & ~warned)]
        text = (
            f"{missed.sum()} intervals miss it, and the estimate is off by up to "
            f"{100 * off.max():.1f} points ({self.periods[int(off.argmax())]}). Without "
            f"labels, the test of the assumption warns of {(missed & warned).sum()} of these "
            f"{period}s"
        )
        text += f", but not of {', '.join(silent)}." if silent else "."
        if (warned & ~missed).any():
            text += f" It also warns of {(warned & ~missed).sum()} where the interval holds."
        return text


def draw(shown: Sequence[Series], theme: Theme) -> bytes:
    """Draw one panel per series, side by side.

    Parameters
    ----------
    shown : sequence of Series
        The series.
    theme : Theme
        The colours.

    Returns
    -------
    bytes
        A PNG.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(
        figsize=(_SIZE[0] * len(shown), _SIZE[1]),
        layout=ConstrainedLayoutEngine(wspace=0.06),
        facecolor=theme.paper,
    )
    for number, series in enumerate(shown, 1):
        _panel(figure.add_subplot(1, len(shown), number), series, theme)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


def _panel(axes: Axes, series: Series, theme: Theme) -> None:
    at = np.arange(len(series.periods))
    axes.set_facecolor(theme.paper)
    axes.axhline(series.training, color=theme.faint, linewidth=1, linestyle=(0, (3, 3)))
    axes.fill_between(at, series.low, series.high, color=theme.ours, alpha=0.22, linewidth=0)
    axes.plot(at, series.counted, color=theme.counted, linewidth=1.6, alpha=0.75)
    axes.plot(at, series.share, color=theme.ours, linewidth=2.2)
    fill = np.where(series.held, theme.ink, theme.paper).tolist()
    axes.scatter(at, series.truth, s=26, color=fill, edgecolor=theme.ink, zorder=4)
    highest = np.maximum(series.high, series.truth)
    top = 1.3 * float(highest.max())
    axes.set(ylim=(0, top), xlim=(-0.5, len(at) - 0.5))
    if series.broken.any():
        # Above all marks of the period, clear of the axis.
        height = highest[series.broken] + 0.045 * top
        axes.scatter(at[series.broken], height, marker="^", s=40, color=theme.warning)
    _legend(axes, series, theme)
    _frame(axes, series, theme)


def _legend(axes: Axes, series: Series, theme: Theme) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ours = (
        Patch(color=theme.ours, alpha=0.22, linewidth=0),
        Line2D([], [], color=theme.ours, linewidth=2.2),
    )
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    entries: dict[str, Artist | tuple[Artist, ...]] = {
        "truth in the interval": Line2D([], [], marker="o", color=theme.ink, **dots),
        f"{series.method}, 95% interval": ours,
        "classify and count": Line2D([], [], color=theme.counted, linewidth=1.6, alpha=0.75),
    }
    if not series.held.all():
        entries["truth missed by it"] = Line2D(
            [], [], marker="o", color=theme.ink, markerfacecolor=theme.paper, **dots
        )
    if series.broken.any():
        entries["the test warns: do not rely on it"] = Line2D(
            [], [], marker="^", color=theme.warning, **dots
        )
    axes.legend(
        list(entries.values()), list(entries), loc="upper right", frameon=False, fontsize=10,
        labelcolor=theme.ink, borderaxespad=0.2, handlelength=1.6,
        handletextpad=0.6, columnspacing=1.0, ncols=1 + (len(entries) > 3),
    )  # fmt: skip
    axes.annotate(
        "training", (1, series.training), (4, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", color=theme.faint, fontsize=9, va="center",
    )  # fmt: skip
    axes.set_title(
        f"{series.title}\n", color=theme.ink, fontsize=13, fontweight="bold", loc="left"
    )
    axes.text(
        0, 1.025, series.subtitle, color=theme.faint, fontsize=10.5, transform=axes.transAxes
    )


def _frame(axes: Axes, series: Series, theme: Theme) -> None:
    step = -(-len(series.periods) // 9)
    ticks = range(0, len(series.periods), step)
    axes.set_xticks(ticks, [_short(series.periods[i]) for i in ticks])
    axes.set_xlabel(series.periods[0].partition("-")[0], color=theme.faint)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(axis="y", color=theme.line, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.faint, length=0, labelsize=9.5)
    for side in axes.spines:
        axes.spines[side].set_visible(side == "bottom")
        axes.spines[side].set_color(theme.line)


def _short(period: str) -> str:
    """Week or month without its year."""
    rest = period.partition("-")[2]
    return month_abbr[int(rest)] if rest.isdigit() else rest
