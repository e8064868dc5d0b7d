"""Conversion of series and frames of any library, and of one column to a numpy array."""

from __future__ import annotations

from numbers import Real
from types import NoneType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

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


_NUMBERS = "biuf"
# Features of methods that work on them are dense unless there are more of them.
_MOST_DENSE = 2000


def count_rows(X: Any) -> int:
    """Count the rows of ``X``.

    >>> from headcount.items import count_rows
    >>> count_rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    3
    """
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        raise HeadcountError(
            f"X is of type {type(X).__name__}, which has no rows: pass a table with one row "
            "per item, or a list of texts."
        ) from None


def column_names(X: Any) -> NDArray[Any] | None:
    """Names of the columns of a frame, as ``feature_names_in_`` has them.

    >>> import polars as pl
    >>> from headcount.items import column_names
    >>> column_names(pl.DataFrame({"age": [31], "city": ["Rome"]}))
    array(['age', 'city'], dtype=object)
    """
    frame = as_narwhals(X, "X")
    if not isinstance(frame, nw.DataFrame):
        return None
    names = frame.columns
    return np.array(names, object) if all(isinstance(name, str) for name in names) else None


def dense_if_narrow(X: Any) -> Any:
    """Dense array of features, unless they are sparse and many."""
    if sparse.issparse(X):
        return X.toarray() if X.shape[1] <= _MOST_DENSE else X.tocsr()
    return X


def take_rows(X: Any, indices: ArrayLike) -> Any:
    """Take rows of ``X`` in a given order. A row may be taken repeatedly.

    >>> from headcount.items import take_rows
    >>> take_rows(["zero", "one", "two"], [2, 0, 2])
    ['two', 'zero', 'two']
    """
    rows = _check_indices(indices, count_rows(X))
    if isinstance(X, np.ndarray):
        return X[rows]
    if sparse.issparse(X):
        return _as_csr(X)[rows]
    native = as_narwhals(X, "X")
    if native is not None:
        return native[rows].to_native()
    return [X[row] for row in rows]


def check_features(
    X: Any, *, name: str = "X", allow_nan: bool = False, any_shape: bool = False
) -> Any:
    """Check features and return them in a form that can be indexed by rows.

    >>> from headcount.items import check_features
    >>> check_features([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> check_features(["a text", "another"])
    array(['a text', 'another'], dtype=object)
    """
    if sparse.issparse(X):
        return _check_sparse(X, name, allow_nan)
    frame = as_narwhals(X, name)
    if isinstance(frame, nw.DataFrame):
        _check_shape(frame.shape, name)
        _check_frame(frame, name, allow_nan)
        return X
    table = _as_array(X if frame is None else frame.to_numpy(), name)
    if table.ndim == 1:
        return _check_texts(table, name)
    if table.ndim != 2 and not (any_shape and table.ndim > 2):
        raise HeadcountError(
            f"{name} has {table.ndim} dimensions, but must have 2: pass one row per item, "
            "each flattened to its features."
        )
    _check_shape(table.shape, name)
    _check_array(table, name, allow_nan)
    return table


def _as_csr(X: Any) -> Any:
    return X.tocsr()  # the same object if it is CSR


def _check_indices(indices: ArrayLike, n_rows: int) -> NDArray[np.integer[Any]]:
    rows = np.asarray(indices)
    if not rows.size:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise HeadcountError(
            f"indices is an array of {rows.dtype} with {rows.ndim} dimensions, but must be "
            "a 1-D array of row numbers: for a mask, pass numpy.flatnonzero(mask)."
        )
    if rows.min() < 0 or rows.max() >= n_rows:
        wrong = rows[(rows < 0) | (rows >= n_rows)][0]
        raise HeadcountError(
            f"indices has the row number {wrong}, but there are {n_rows:,} rows: "
            f"pass numbers from 0 to {n_rows - 1}."
        )
    return rows


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    for size, what in zip(shape, ("rows", "columns"), strict=False):
        if size == 0:
            raise HeadcountError(f"{name} has no {what}: pass at least one.")


def _as_array(X: Any, name: str) -> NDArray[Any]:
    try:
        table = np.asarray(X)
    except ValueError:
        raise HeadcountError(
            f"{name} has rows of different lengths: pass the same features for every item."
        ) from None
    if table.dtype.kind in "UT" and not isinstance(X, np.ndarray):
        # numpy converts numbers in mixed rows to text, so texts and mixed rows stay objects.
        table = np.asarray(X, dtype=object)
    if table.dtype == object and table.ndim == 2 and _all_numbers(table):
        return table.astype(np.float64)
    return table


def _all_numbers(table: NDArray[Any]) -> bool:
    types = set(map(type, table.ravel().tolist()))
    return all(issubclass(type_, Real | NoneType) for type_ in types)


def _check_texts(column: NDArray[Any], name: str) -> NDArray[Any]:
    _check_shape(column.shape, name)
    if column.dtype.kind in _NUMBERS:
        raise HeadcountError(
            f"{name} is 1-D, but numbers must be a table, one row per item: for a single "
            "feature pass X.reshape(-1, 1), for a single item X.reshape(1, -1)."
        )
    texts = column.astype(object)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise HeadcountError(
                f"{name} is 1-D, so it must have texts, but at position {position} it has "
                f"{text!r}: pass strings only, or a table with one row per item."
            )
    return texts


def _check_array(table: NDArray[Any], name: str, allow_nan: bool) -> None:
    if table.dtype.kind in "cmMV":
        raise HeadcountError(
            f"{name} has values of type {table.dtype}: pass numbers (dates as numbers too)."
        )
    if _surely_finite(table):
        return
    wrong = _wrong(table, allow_nan)
    if wrong.any():
        row, column = divmod(int(wrong.argmax()), wrong[0].size)
        _refuse(int(wrong.sum()), row, column, name)


def _check_sparse(X: Any, name: str, allow_nan: bool) -> Any:
    if X.ndim != 2:
        raise HeadcountError(f"{name} is 1-D sparse: pass one row per item, in 2 dimensions.")
    _check_shape(X.shape, name)
    table = _as_csr(X)
    if _surely_finite(table.data):
        return table
    wrong = _wrong(table.data, allow_nan)
    if wrong.any():
        first = int(wrong.argmax())
        row = int(np.searchsorted(table.indptr, first, side="right")) - 1
        _refuse(int(wrong.sum()), row, int(table.indices[first]), name)
    return table


def _check_frame(frame: nw.DataFrame[Any], name: str, allow_nan: bool) -> None:
    for column in frame.iter_columns():
        if not (column.dtype.is_float() or column.dtype.is_integer()):
            continue
        # The columns of a frame need not be in one piece, which to_numpy makes of them.
        with np.errstate(over="ignore", invalid="ignore"):
            if column.null_count() == 0 and np.isfinite(column.sum()):
                continue
        values = column.to_numpy()  # missing numbers become NaN
        wrong = _wrong(values, allow_nan)
        if wrong.any():
            _refuse(int(wrong.sum()), int(wrong.argmax()), column.name, name)


def _surely_finite(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "f":
        return True
    # One pass without temporary arrays. A sum that overflows is examined afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _wrong(values: NDArray[Any], allow_nan: bool) -> NDArray[np.bool_]:
    wrong: NDArray[np.bool_] = np.isinf(values) if allow_nan else ~np.isfinite(values)
    return wrong


def _refuse(count: int, row: int, column: int | str, name: str) -> None:
    raise HeadcountError(
        f"{name} has {count:,} missing or infinite numbers, the first at row {row}, column "
        f"{column!r}: fill them in, drop these rows, or add an imputer to the pipeline."
    )
