"""Pictures of predicted accuracy: against what came out, and by the shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.plots import diagonal, error_by_shift
from headcount.plots._frames import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_errors", "plot_estimates"]


def plot_estimates(
    frame: Any,
    *,
    metric: str = "accuracy",
    spread: float = 0.9,
    bins: int = 20,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Estimated against true accuracy of samples, all methods on one another.

    The line is the median over the samples of a true accuracy; with up to four methods a band
    holds most of them. A method that is right lies on the diagonal.

    Parameters
    ----------
    frame : frame with columns method, true, estimated
        A row a method and sample.
    metric : str, default="accuracy"
        What to call it.
    spread : float, default=0.9
        Share of the samples in the bands.
    bins : int, default=20
        Groups of true values.
    ax : matplotlib Axes, default=None
        Where to draw; a figure of its own by default.
    width : float, default=5.0
        Inches of that figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from headcount import accuracy
    >>> frame = {"method": ["LEAP"] * 3, "true": [0.7, 0.8, 0.9],
    ...          "estimated": [0.72, 0.79, 0.9]}
    >>> accuracy.plot_estimates(frame).get_xlabel()
    'true accuracy'
    """
    import polars as pl

    table = read(frame, ("method",), ("true", "estimated"))
    ax = diagonal(
        table.with_columns(pl.lit(metric).alias("class")),
        spread=spread, bins=bins, ax=ax, width=width,
    )  # fmt: skip
    low = min(table["true"].min(), table["estimated"].min())  # type: ignore[type-var]
    ax.set_xlim(max(0.0, float(low) - 0.05), 1.0)  # type: ignore[arg-type]
    ax.set_ylim(max(0.0, float(low) - 0.05), 1.0)  # type: ignore[arg-type]
    ax.set_xlabel(f"true {metric}")
    ax.set_ylabel(f"estimated {metric}")
    return ax


def plot_errors(
    frame: Any,
    *,
    metric: str = "accuracy",
    bins: int = 10,
    ax: Axes | None = None,
    width: float = 5.0,
) -> Axes:
    """Mean error of estimated accuracy by the shift of the samples.

    Parameters
    ----------
    frame : frame with columns method, shift, true, estimated
        A row a method and sample.
    metric : str, default="accuracy"
        What to call it.
    bins : int, default=10
        Groups of shifts.
    ax : matplotlib Axes, default=None
        Where to draw; a figure of its own by default.
    width : float, default=5.0
        Inches of that figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from headcount import accuracy
    >>> frame = {"method": ["LEAP"] * 3, "shift": [0.0, 0.2, 0.4],
    ...          "true": [0.9, 0.8, 0.7], "estimated": [0.9, 0.79, 0.72]}
    >>> accuracy.plot_errors(frame).get_ylabel()
    'mean error of accuracy'
    """
    import polars as pl

    table = read(frame, ("method",), ("shift", "true", "estimated"))
    errors = table.with_columns((pl.col("estimated") - pl.col("true")).abs().alias("error"))
    return error_by_shift(errors, bins=bins, error=f"error of {metric}", ax=ax, width=width)
