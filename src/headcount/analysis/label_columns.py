"""Labels in the columns of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data.column_kinds import parse_texts
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_labels", "read_true_labels", "stripped"]

_MOST_CLASSES = 500


def read_labels(column: pl.Series, table: str) -> NDArray[Any]:
    """Labels of the training items: texts, whole numbers, or true and false.

    Parameters
    ----------
    column : polars.Series
        Column of the labels.
    table : str
        Name of the table, for messages.

    Returns
    -------
    ndarray of shape (n,)
    """
    import polars as pl

    what = f"Column {column.name!r} of {table!r}"
    raw = stripped(column)
    if missing := raw.null_count():
        row = int(raw.is_null().arg_max() or 0) + 1
        raise HeadcountError(
            f"{what} lacks {missing:,} of {len(raw):,} labels, the first in row {row:,}: label "
            "these items or leave them out."
        )
    known = parse_texts(raw)
    # A class may be called NA.
    labels = raw if known.null_count() else known
    if labels.dtype.is_temporal() or labels.dtype.is_nested():
        labels = raw.cast(pl.String, strict=False)
    if labels.dtype.is_float():
        labels = _whole(labels, what)
    n_classes = labels.n_unique()
    if n_classes == 1:
        raise HeadcountError(
            f"{what} has the single value {labels[0]!r}: there must be items of at least two "
            "classes."
        )
    if n_classes > _MOST_CLASSES:
        raise HeadcountError(
            f"{what} has {n_classes:,} different values, too many for classes (at most "
            f"{_MOST_CLASSES}): name another column by `target`."
        )
    array = labels.to_numpy()
    return array.astype(np.str_) if labels.dtype == pl.String else np.asarray(array)


def read_true_labels(
    column: pl.Series, classes: NDArray[Any], table: str
) -> tuple[NDArray[Any] | None, str]:
    """Labels of the new items if all are known, and a note if only some are.

    Parameters
    ----------
    column : polars.Series
        Column of the labels.
    classes : ndarray of shape (K,)
        The classes of training.
    table : str
        Name of the table, for messages.

    Returns
    -------
    labels : ndarray of shape (n,) or None
        Labels of the type of the classes.
    note : str
        Sentence for the reader; empty if there is none.
    """
    import polars as pl

    raw = stripped(column)
    if missing := raw.null_count():
        some = f"{missing:,} of {len(raw):,} labels in column {column.name!r} are missing"
        return None, "" if missing == len(raw) else f"{table}: {some}, so they are not shown."
    names = pl.Series(classes.tolist()).cast(pl.String)
    if raw.dtype.is_float() and names.str.contains(r"^-?\d+$").all():
        raw = raw.cast(pl.Int64, strict=False)
    texts = raw.cast(pl.String).str.replace(r"^(-?\d+)\.0+$", "$1")
    if classes.dtype.kind == "b":
        texts = texts.str.to_lowercase()
    codes = texts.replace_strict(names, np.arange(len(classes)), default=-1)
    if codes.min() == -1:
        strange = texts.filter(codes == -1)[0]
        raise HeadcountError(
            f"{table!r} has the class {strange!r} in column {column.name!r}, which was never "
            "seen in training: leave these items out, or label some for training."
        )
    return classes[codes.to_numpy()], ""


def stripped(column: pl.Series) -> pl.Series:
    """Column with nulls for empty texts and NaN."""
    import polars as pl

    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype != pl.String:
        return column
    stripped = column.str.strip_chars()
    return stripped.set(stripped == "", None)


def _whole(labels: pl.Series, what: str) -> pl.Series:
    import polars as pl

    whole = labels.cast(pl.Int64, strict=False)
    if (whole.cast(pl.Float64) != labels).fill_null(True).any():
        raise HeadcountError(
            f"{what} holds fractions such as {labels[0]!r}, which are no classes: name "
            "another column by --target."
        )
    return whole
