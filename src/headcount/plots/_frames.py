"""Checks of the frames that plots take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl


def read(
    frame: Any, text: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Read columns from a frame and check their types and values."""
    import polars as pl

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
    import polars as pl

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
