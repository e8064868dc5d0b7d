"""Groups of values on an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_count
from headcount.plots._frames import names_in_order

if TYPE_CHECKING:
    import polars as pl

__all__ = ["by_bins", "in_order", "round_edges"]

_SAME = 9  # decimals to which values on an axis are compared


def by_bins(table: pl.DataFrame, column: str, bins: int) -> Any:
    """Rows by method, in order of appearance, and by ascending value."""
    import polars as pl

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
    import polars as pl

    place = {method: i for i, method in enumerate(names_in_order(table))}
    return table.sort(pl.col("method").replace_strict(place), column, maintain_order=True)


def round_edges(low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Edges of about ``bins`` bins with a round width. For one bin, its ends."""
    if bins == 1:
        return np.array([low, high])
    raw = (high - low) / bins
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return np.round(np.arange(first, last + 1) * step, 12)
