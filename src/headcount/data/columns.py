"""Conversion of series and frames of any library, and of one column to a numpy array."""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from headcount.errors import HeadcountError


def as_narwhals(values: Any, name: str) -> nw.Series[Any] | nw.DataFrame[Any] | None:
    """Wrap a series or frame of any library for narwhals; return None if it is neither."""
    if isinstance(values, np.ndarray | list):
        return None
    try:
        native = nw.from_native(values, pass_through=True, allow_series=True)
    except DuplicateError:
        raise HeadcountError(
            f"{name} has columns with the same name: give each column its own name."
        ) from None
    if isinstance(native, nw.LazyFrame):
        raise HeadcountError(f"{name} is a lazy frame: collect it first.")
    return native if isinstance(native, nw.Series | nw.DataFrame) else None


def plain_column(values: Any, name: str) -> NDArray[Any]:
    """Return a sequence, array, series or one-column frame as a 1-D array.

    Python objects that are all strings, all booleans or all numbers get that numpy type.
    """
    column = _raw_column(values, name)
    if column.dtype.kind == "T":
        column = column.astype(object)
    if column.dtype != object or not len(column):
        return column
    types = set(map(type, column.tolist()))
    for kind, dtype in ((str, np.str_), (bool | np.bool_, np.bool_)):
        if all(issubclass(type_, kind) for type_ in types):
            return column.astype(dtype)
    if bool not in types and all(issubclass(type_, Real) for type_ in types):
        return np.asarray(column.tolist())
    return column


def _raw_column(values: Any, name: str) -> NDArray[Any]:
    column: NDArray[Any]
    native = as_narwhals(values, name)
    if native is not None:
        column = native.to_numpy()
    elif isinstance(values, list | tuple):
        # numpy would silently turn [1, "a"] into strings, so the objects are kept.
        column = np.asarray(values, dtype=object)
    else:
        column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 or _is_nested(column):
        shape = "nested" if column.ndim == 1 else f"of shape {column.shape}"
        raise HeadcountError(f"{name} is {shape}, but must be 1-D: pass one value per item.")
    return column


def _is_nested(column: NDArray[Any]) -> bool:
    return column.dtype == object and any(
        isinstance(value, list | tuple | set | dict | np.ndarray) for value in column[:1]
    )
