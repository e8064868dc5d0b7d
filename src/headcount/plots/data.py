"""Numbers shown by the plots. The functions have the names of the plots that use them.

Functions with ``bins`` group values. If there are at most ``bins`` distinct values, each of
them is a group. Otherwise groups are about ``bins`` intervals of equal, round width. Columns
``left`` and ``right`` hold the limits of each group.

Examples
--------
>>> from headcount import plots
>>> errors = {"method": ["SLD"] * 4, "shift": [0.1, 0.1, 0.3, 0.3],
...           "error": [0.01, 0.03, 0.02, 0.04]}
>>> plots.data.error_by_shift(errors)["mean"].to_list()
[0.02, 0.03]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Bools, Floats
from headcount._support.frames import pl
from headcount._support.parameters import check_count, check_fraction
from headcount.errors import HeadcountError
from headcount.metrics.checks import check_shares
from headcount.plots._style import names_in_order, of_class, read

_SAME = 9  # decimals to which values on an axis are compared


def by_bins(table: pl.DataFrame, column: str, bins: int) -> Any:
    """Rows by method, in order of appearance, and by ascending value."""
    check_count("bins", bins)
    values = table[column].round(_SAME).to_numpy() + 0.0  # no -0
    left = right = values
    if len(np.unique(values)) > bins:
        edges = round_edges(values.min(), values.max(), bins)
        place = np.searchsorted(edges, values, side="right") - 1
        place = np.clip(place, 0, len(edges) - 2)
        left, right = edges[place], edges[place + 1]
    table = table.with_columns(pl.Series("left", left), pl.Series("right", right))
    return in_order(table, "left").group_by("method", "left", "right", maintain_order=True)


def in_order(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Sort rows by method, in order of appearance, then by a column."""
    place = {method: i for i, method in enumerate(names_in_order(table))}
    return table.sort(pl.col("method").replace_strict(place), column, maintain_order=True)


def round_edges(low: float, high: float, bins: int) -> Floats:
    """Edges of about ``bins`` bins with a round width. For one bin, its ends."""
    if bins == 1:
        return np.array([low, high])
    raw = (high - low) / bins
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return np.round(np.arange(first, last + 1) * step, 12)


__all__ = [
    "bars", "bias_boxes", "by_group", "calibration", "critical_difference", "diagonal",
    "error_boxes", "error_by_shift", "learning_curves", "letter_values", "means", "rank_groups",
    "simplex", "supremacy",
]  # fmt: skip


WHISKERS = (0.05, 0.95)
"""Quantiles at which the whiskers of boxes end."""

_NORMAL = 1.959964  # quantile of 0.975
_TAIL = 4  # a letter value is shown if there are at least this many errors beyond it


def diagonal(
    frame: Any, *, positive: Any = None, spread: float = 0.9, bins: int = 25
) -> pl.DataFrame:
    """Estimated by true shares: method, left, right, true, low, estimated, high, n."""
    check_fraction("spread", spread)
    table = of_class(read(frame, ("method", "class"), ("true", "estimated")), positive)
    estimated, tail = pl.col("estimated"), (1 - spread) / 2
    return by_bins(table, "true", bins).agg(
        pl.col("true").mean(),
        estimated.quantile(tail, "linear").alias("low"),
        estimated.median(),
        estimated.quantile(1 - tail, "linear").alias("high"),
        pl.len().alias("n"),
    )


def error_by_shift(frame: Any, *, bins: int = 10) -> pl.DataFrame:
    """Errors by the shift of the sample: method, left, right, shift, mean, sd, n."""
    table = read(frame, ("method",), ("shift", "error"))
    return by_bins(table, "shift", bins).agg(
        pl.col("shift").mean(),
        pl.col("error").mean().alias("mean"),
        pl.col("error").std().fill_null(0.0).alias("sd"),
        pl.len().alias("n"),
    )


def supremacy(frame: Any, *, bins: int = 10) -> pl.DataFrame:
    """Share of the samples on which each method is the best: method, left, right, share, n."""
    table = read(frame, ("method", "sample"), ("shift", "error"))
    best = (pl.col("error") == pl.col("error").min().over("sample")).cast(pl.Float64)
    table = table.with_columns(pl.col("shift").mean().over("sample"), best=best)
    table = table.with_columns(pl.col("best") / pl.col("best").sum().over("sample"))
    groups: pl.DataFrame = by_bins(table, "shift", bins).agg(
        pl.col("best").sum().alias("share"), pl.col("sample").n_unique().alias("n")
    )
    total = pl.col("share").sum().over("left", "right")
    return groups.with_columns(pl.col("share") / total)


def calibration(frame: Any, *, bins: int = 10) -> pl.DataFrame:
    """Observed and predicted shares of the positive class, by method and bin of scores."""
    check_count("bins", bins)
    table = read(frame, ("method",), ("score", "positive"))
    if not (
        table["score"].is_between(0, 1).all() and table["positive"].is_in([0.0, 1.0]).all()
    ):
        raise HeadcountError(
            "frame has scores outside [0, 1], or positive other than 0 and 1: pass posteriors, "
            "and 1 for items of the class."
        )
    place = (pl.col("score") * bins).floor().clip(0, bins - 1).alias("left")
    groups = in_order(table.with_columns(place), "left").group_by(
        "method", "left", maintain_order=True
    )
    n, share = pl.col("n"), pl.col("share")
    middle = (share + _NORMAL**2 / (2 * n)) / (1 + _NORMAL**2 / n)
    half = (share * (1 - share) / n + _NORMAL**2 / (4 * n**2)).sqrt()
    half = half * _NORMAL / (1 + _NORMAL**2 / n)
    observed: pl.DataFrame = groups.agg(
        pl.col("score").mean(), pl.col("positive").mean().alias("share"), pl.len().alias("n")
    ).with_columns(low=(middle - half).clip(0, 1), high=(middle + half).clip(0, 1))
    return observed.select("method", "score", "share", "low", "high", "n")


def bias_boxes(frame: Any, *, positive: Any = None, bins: int = 1) -> pl.DataFrame:
    """Signed errors: method, left, right, low, q1, median, q3, high, mean, n."""
    table = of_class(read(frame, ("method", "class"), ("true", "estimated")), positive)
    error = pl.col("estimated") - pl.col("true")
    return _box(by_bins(table.with_columns(error=error), "true", bins))


def error_boxes(frame: Any, *, bins: int = 5) -> pl.DataFrame:
    """Errors by degree of shift: method, left, right, low, q1, median, q3, high, mean, n."""
    return _box(by_bins(read(frame, ("method",), ("shift", "error")), "shift", bins))


def letter_values(frame: Any) -> pl.DataFrame:
    """Letter values of the errors: method, inside, low, high."""
    table = read(frame, ("method",), ("error",))
    rows = []
    for (method,), group in table.group_by("method", maintain_order=True):
        errors = group["error"].to_numpy()
        deepest = max(1, math.floor(math.log2(len(errors) / _TAIL)))
        tails = 0.5 ** np.arange(1, deepest + 1)
        low, high = np.quantile(errors, tails), np.quantile(errors, 1 - tails)
        for tail, *ends in zip(tails.tolist(), low.tolist(), high.tolist(), strict=True):
            rows.append((method, 1 - 2 * tail, *ends))
    return pl.DataFrame(rows, schema=["method", "inside", "low", "high"], orient="row")


def learning_curves(frame: Any) -> pl.DataFrame:
    """Errors by training size: method, size, mean, se, n."""
    table = in_order(read(frame, ("method",), ("size", "error")), "size")
    return table.group_by("method", "size", maintain_order=True).agg(
        pl.col("error").mean().alias("mean"),
        (pl.col("error").std().fill_null(0.0) / pl.len().sqrt()).alias("se"),
        pl.len().alias("n"),
    )


def means(frame: Any) -> pl.DataFrame:
    """Means with intervals: method, mean, low, high, mark."""
    table = read(frame, ("method",), ("mean", "low", "high"), ("mark",))
    _check_intervals(table)
    return table if "mark" in table.columns else table.with_columns(mark=pl.lit(""))


def bars(frame: Any) -> pl.DataFrame:
    """Shares with intervals: class, share, low, high, and reference if there is one."""
    table = read(frame, ("class",), ("share", "low", "high"), ("reference",))
    _check_intervals(table)
    return table


def by_group(frame: Any, *, positive: Any = None, compared: Sequence[str] = ()) -> pl.DataFrame:
    """Shares with intervals over groups: group, class, share, low, high, perhaps reference."""
    numbers = ("share", "low", "high", *compared)
    table = read(frame, ("group", "class"), numbers, ("reference",))
    _check_intervals(table)
    of_classes = of_class(table, positive)
    if compared and of_classes["class"].n_unique() > 1:
        raise HeadcountError(
            "compared is for a single class, and there are several: name it by positive."
        )
    return of_classes


def critical_difference(ranks: Mapping[str, float], difference: float) -> pl.DataFrame:
    """Average ranks, the best first: method, rank, groups."""
    if len(ranks) < 2 or not np.isfinite([*ranks.values(), difference]).all():
        raise HeadcountError(
            "ranks must have at least 2 methods and finite numbers, and difference must be "
            "finite."
        )
    ordered = sorted(ranks.items(), key=lambda entry: entry[1])
    groups = rank_groups([rank for _, rank in ordered], difference)
    return pl.DataFrame(
        {
            "method": [method for method, _ in ordered],
            "rank": [float(rank) for _, rank in ordered],
            "groups": [
                [g for g, group in enumerate(groups) if i in group] for i in range(len(ordered))
            ],
        },
        schema={"method": pl.String, "rank": pl.Float64, "groups": pl.List(pl.Int64)},
    )


def rank_groups(ranks: Sequence[float] | Floats, difference: float) -> list[tuple[int, ...]]:
    """Find the largest runs of two or more sorted ranks closer than a difference."""
    runs: list[tuple[int, ...]] = []
    end = 0
    for start in range(len(ranks)):
        stop = start + 1
        while stop < len(ranks) and ranks[stop] - ranks[start] < difference:
            stop += 1
        # A run with the same end as an earlier one is part of it.
        if stop > max(end, start + 1):
            runs.append(tuple(range(start, stop)))
            end = stop
    return runs


def simplex(
    shares: ArrayLike | Mapping[str, ArrayLike], *, level: float = 0.95
) -> pl.DataFrame:
    """Shares of three classes as points of a triangle: method, x, y, inside."""
    check_fraction("level", level)
    named = shares if isinstance(shares, Mapping) else {"": shares}
    frames = []
    for name, values in named.items():
        x, y = on_triangle(values, "shares").T
        points = {"x": x, "y": y, "inside": _nearest(np.column_stack([x, y]), level)}
        frames.append(pl.DataFrame({"method": [str(name)] * len(x)} | points))
    if not frames:
        raise HeadcountError("shares is empty: pass at least one row.")
    return pl.concat(frames)


def on_triangle(shares: Any, name: str) -> Floats:
    """Points in the plane for shares of three classes."""
    checked = np.atleast_2d(check_shares(shares, name))
    if checked.ndim != 2 or checked.shape[1] != 3:
        raise HeadcountError(
            f"{name} has shape {checked.shape}, but a triangle shows shares of three classes: "
            "pass an array of shape (n, 3)."
        )
    checked = checked / checked.sum(axis=1, keepdims=True)
    return checked @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


def _nearest(points: Floats, level: float) -> Bools:
    """Mark the share ``level`` of the points that is nearest to their mean."""
    away = points - points.mean(axis=0)
    spread = away.T @ away / len(points)
    # The pseudo-inverse serves points on a line, whose covariance has no inverse.
    distance = np.einsum("ij,jk,ik->i", away, np.linalg.pinv(spread, hermitian=True), away)
    within = distance <= np.sort(distance)[math.ceil(level * len(points)) - 1]
    return np.asarray(within, dtype=bool)


def _box(groups: Any) -> pl.DataFrame:
    error = pl.col("error")
    ends = {"low": WHISKERS[0], "q1": 0.25, "median": 0.5, "q3": 0.75, "high": WHISKERS[1]}
    return groups.agg(
        *(error.quantile(q, "linear").alias(name) for name, q in ends.items()),
        error.mean().alias("mean"),
        pl.len().alias("n"),
    )


def _check_intervals(table: pl.DataFrame) -> None:
    if (table["low"] > table["high"]).any():
        raise HeadcountError("frame has an interval with low above high: swap them.")
