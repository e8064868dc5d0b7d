"""Frames as plots take them, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["names_in_order", "of_class", "read"]


def read(
    frame: Any, text: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pl.DataFrame:
    """The columns asked for, of the right kind, nothing missing.

    Parameters
    ----------
    frame : frame of any library, or mapping of names to columns
        What the user gave.
    text, numbers : sequence of str
        Columns that must be there.
    optional : sequence of str
        Columns that are kept as they are if they are there.
    """
    import polars as pl

    table = _as_polars(frame)
    for name in (*text, *numbers):
        if name not in table.columns:
            raise HeadcountError(
                f"frame has no column {name!r}: it needs {', '.join([*text, *numbers])}."
            )
    if not len(table):
        raise HeadcountError("frame has no rows: there is nothing to draw.")
    kept = [name for name in optional if name in table.columns]
    try:
        table = table.select(
            *(pl.col(name).cast(pl.String) for name in text),
            *(pl.col(name).cast(pl.Float64) for name in numbers),
            *kept,
        )
    except pl.exceptions.PolarsError:
        raise HeadcountError(
            f"frame has something else than numbers in {', '.join(numbers)}: pass numbers."
        ) from None
    for name in (*text, *numbers):
        wrong = table[name].is_null()
        if name in numbers:
            wrong = wrong | ~table[name].is_finite()
        if wrong.any():
            raise HeadcountError(
                f"frame has missing or infinite values in {name!r}: leave those rows out."
            )
    return table


def _as_polars(frame: Any) -> pl.DataFrame:
    import narwhals.stable.v2 as nw
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        try:
            return pl.DataFrame(dict(frame), strict=False)  # 1 and 2.0 may be mixed
        except (pl.exceptions.PolarsError, TypeError, ValueError):
            raise HeadcountError(
                "frame has columns that do not make a table: pass columns of equal length."
            ) from None
    native = nw.from_native(frame, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native.to_polars()
    hint = "collect it first" if isinstance(native, nw.LazyFrame) else "pass a frame"
    raise HeadcountError(f"frame is {type(frame).__name__}, not a frame with rows: {hint}.")


def names_in_order(table: pl.DataFrame, column: str = "method") -> list[str]:
    """The different names in a column, in the order in which they come."""
    return table[column].unique(maintain_order=True).to_list()


def of_class(table: pl.DataFrame, positive: Any) -> pl.DataFrame:
    """Rows of one class: the one named, else the last of two, else all."""
    import polars as pl

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
