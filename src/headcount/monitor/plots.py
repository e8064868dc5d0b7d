"""Plot of the course of a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headcount.monitor.history import History

__all__ = ["plot_history"]

_MOST_TICKS = 8


def plot_history(history: History, group: str | None, ax: Axes | None) -> Axes:
    """Draw shares over time with intervals; alerts are vertical lines.

    Parameters
    ----------
    history : History
        Course of the monitor.
    group : str or None
        Group; the first one for None.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    streams = history.streams
    if not streams:
        raise HeadcountError("The monitor has no chunks yet: update it first.")
    stream = streams[0] if group is None else group
    if stream not in streams:
        raise HeadcountError(f"`group` is {group!r}; it must be one of {', '.join(streams)}.")
    frame = history.to_frame()
    frame = frame.filter(frame["group"] == stream)
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
    x, names = np.arange(len(frame)), frame["chunk"].to_list()
    labels = [str(label) for label in history.spec.classes]
    for label in labels[1:] if len(labels) == 2 else labels:
        low, high = frame[f"low {label}"].to_numpy(), frame[f"high {label}"].to_numpy()
        (line,) = ax.plot(x, frame[f"share {label}"].to_numpy(), label=label)
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        realised = frame[f"realised {label}"].to_numpy().astype(float)
        if np.isfinite(realised).any():
            ax.plot(x, realised, "x", color=line.get_color(), markersize=4)
    for alert in history.alerts:
        if alert.stream == stream:
            ax.axvline(names.index(alert.chunk), color="0.3", linestyle=":")
            ax.axvspan(
                names.index(alert.since), names.index(alert.chunk), color="0.5", alpha=0.15
            )
    step = max(1, -(-len(names) // _MOST_TICKS))
    ax.set_xticks(x[::step], names[::step])
    ax.set_ylabel("share")
    ax.set_ylim(bottom=0)
    ax.set_title("shares with 95% intervals; dotted lines are alerts", fontsize="medium")
    ax.legend(frameon=False)
    return ax
