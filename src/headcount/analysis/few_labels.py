"""Labels of some rows of a table: which to label, and those that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.analysis.label_columns import match_labels, stripped
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.labels import LabelPlan

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FewLabels", "read_clusters", "read_few_labels", "read_weights"]

_PLAN = ("row", "stratum", "weight", "label", "pool")


@dataclass(frozen=True, eq=False)
class FewLabels:
    """Labels of some rows of a table.

    Attributes
    ----------
    labelled : tuple of ndarray or None
        Rows and their labels; None if there are none to use.
    plan : LabelPlan or None
        Plan that the rows were drawn by; None for a simple random sample.
    source : str
        Table that the labels come from.
    note : str
        Sentence for the reader; empty if there is none.
    """

    labelled: tuple[NDArray[np.int64], NDArray[Any]] | None = None
    plan: LabelPlan | None = None
    source: str = ""
    note: str = ""


def read_few_labels(
    labelled: TableFile | None,
    new: TableFile,
    target: str,
    classes: NDArray[Any],
    *,
    random_labels: bool,
) -> FewLabels:
    """Labels of some rows of a table, from a table of their own or from its own column.

    Parameters
    ----------
    labelled : TableFile or None
        Table of a plan with labels, or of rows and labels.
    new : TableFile
        The new items.
    target : str
        Column of labels that `new` may have.
    classes : ndarray of shape (K,)
        The classes.
    random_labels : bool
        True if the rows are a simple random sample.

    Returns
    -------
    FewLabels
    """
    if labelled is not None:
        return _of_table(labelled, classes, random_labels=random_labels)
    if target not in new.columns:
        if random_labels:
            raise HeadcountError(
                f"`random_labels` needs labels of some rows, but {new.name!r} has no column "
                f"{target!r}: pass a table of rows and labels by `labelled`."
            )
        return FewLabels()
    column = stripped(new.read([target])[target])
    n_known, n = len(column) - column.null_count(), len(column)
    if random_labels:
        if n_known in (0, n):
            which = "none" if n_known == 0 else "all"
            raise HeadcountError(
                f"`random_labels` is for labels of some rows, but {which} of the rows of "
                f"{new.name!r} have one in column {target!r}: leave it out."
            )
        rows = np.flatnonzero(column.is_not_null().to_numpy())
        labels = _labels(column.drop_nulls(), classes, new.name)
        return FewLabels((rows, labels), None, new.name)
    note = ""
    if 0 < n_known < n:
        note = (
            f"{new.name} has {n_known:,} of {n:,} labels in column {target!r}. They are not "
            "used, as it is not known how their rows were chosen: if at random, say so by "
            "random_labels (--random-labels), and the shares will rest on them."
        )
    return FewLabels(note=note)


def read_weights(table: TableFile, column: str | None) -> list[float] | None:
    """Survey weights of the rows of a table; None without a column.

    Parameters
    ----------
    table : TableFile
        The new items.
    column : str or None
        Column of the weights.

    Returns
    -------
    list of float or None
    """
    import polars as pl

    if column is None:
        return None
    values = table.read([column])[column].cast(pl.Float64, strict=False)
    if values.null_count():
        row = int(values.is_null().arg_max() or 0) + 1
        raise HeadcountError(
            f"Column {column!r} of {table.name!r}, which `weight` names, has no number in row "
            f"{row:,}: fill it in or leave the item out."
        )
    return values.to_list()


def read_clusters(table: TableFile, column: str | None) -> list[str] | None:
    """Clusters of the rows of a table; None without a column.

    A row without one is a cluster of its own.

    Parameters
    ----------
    table : TableFile
        The new items.
    column : str or None
        Column of the clusters.

    Returns
    -------
    list of str or None
    """
    import polars as pl

    if column is None:
        return None
    texts = stripped(table.read([column])[column]).cast(pl.String)
    return [f"(row {i})" if text is None else text for i, text in enumerate(texts.to_list())]


def _of_table(table: TableFile, classes: NDArray[Any], *, random_labels: bool) -> FewLabels:
    table.require(["row", "label"], "the rows of NEW from 0 and their labels")
    planned = all(name in table.columns for name in _PLAN)
    if not planned and not random_labels:
        raise HeadcountError(
            f"{table.name!r} does not say how its rows were chosen, as it lacks columns of a "
            "plan (stratum, weight, pool): draw rows by headcount label, or if they are a "
            "simple random sample, add `random_labels`."
        )
    if planned and random_labels:
        raise HeadcountError(
            f"{table.name!r} is a plan, which states how its rows were drawn: leave out "
            "`random_labels`."
        )
    frame = table.read(list(_PLAN) if planned else ["row", "label"])
    plan = LabelPlan.from_frame(_numbers(frame)) if planned else None
    filled = frame.filter(stripped(frame["label"]).is_not_null())
    if not len(filled):
        raise HeadcountError(
            f"The column 'label' of {table.name!r} is empty: fill in the labels of its rows."
        )
    labels = _labels(filled["label"], classes, table.name)
    return FewLabels((_rows(filled, table.name), labels), plan, table.name)


def _labels(column: pl.Series, classes: NDArray[Any], table: str) -> NDArray[Any]:
    """Labels, each of which must be one of the classes."""
    codes, strange = match_labels(column, classes)
    if strange is not None:
        raise HeadcountError(
            f"{table!r} has the class {strange!r} in column {column.name!r}, which was never "
            "seen in training: leave these items out, or label some for training."
        )
    return np.asarray(classes[codes])


def _rows(frame: pl.DataFrame, table: str) -> NDArray[np.int64]:
    import polars as pl

    rows = frame["row"].cast(pl.Float64, strict=False)
    if rows.null_count() or (rows != rows.floor()).any():
        raise HeadcountError(
            f"The column 'row' of {table!r} has other values than whole numbers: it must name "
            "the rows of NEW, from 0."
        )
    return rows.cast(pl.Int64).to_numpy()


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Table of a plan with numbers as numbers, as a spreadsheet may have changed them."""
    import polars as pl

    return frame.with_columns(
        pl.col("row", "stratum", "weight").cast(pl.Float64, strict=False).fill_null(-1)
    )
