"""Reading of deliveries: a table becomes the rows of chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from headcount.analysis.groups import group_column, read_groups
from headcount.analysis.models import TableModel
from headcount.analysis.options import as_table
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.monitor.folder import Chunk
from headcount.monitor.rows import Rows, content_keys, value_hashes
from headcount.monitor.spec import MonitorSpec
from headcount.scores import Scored, Verdicts, check_scores

__all__ = ["Delivery", "as_frame", "class_codes", "read_delivery"]

VERDICT, LABEL = "verdict", "label"
_ONE_STREAM = "all"


@dataclass(frozen=True, eq=False)
class Delivery:
    """Rows of a table, by chunk.

    Attributes
    ----------
    parts : list of (Chunk, Rows)
        Rows of each chunk; with chunks of a fixed size, of each stream.
    notes : tuple of str
        Sentences for the reader.
    """

    parts: list[tuple[Chunk, Rows]]
    notes: tuple[str, ...]


def as_frame(
    items: Any,
    *,
    classes: NDArray[Any] | None = None,
    dates: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    keys: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Any:
    """Table of items that are given as `Scored` or `Verdicts`; anything else as it is.

    Parameters
    ----------
    items : Scored, Verdicts, frame or path
        The items.
    classes : ndarray of shape (K,), default=None
        The classes; those of `labels` by default.
    dates, groups, keys, labels : array-like of shape (n,), default=None
        Columns "date", "group", "key" and "label".

    Returns
    -------
    frame or path
    """
    extra = {"date": dates, "group": groups, "key": keys, LABEL: labels}
    given = {name: np.asarray(values) for name, values in extra.items() if values is not None}
    if not isinstance(items, Scored | Verdicts):
        if given:
            raise HeadcountError(
                f"{next(iter(given))}s is for Scored and Verdicts: in a table, it is a column."
            )
        return items
    for name, values in given.items():
        if len(values) != len(items):
            raise HeadcountError(
                f"{name}s has {len(values):,} values, but there are {len(items):,} items: pass "
                "one per item."
            )
    if classes is None:
        classes = np.unique(given[LABEL])
    if isinstance(items, Verdicts):
        columns = {VERDICT: pl.Series(classes[items.codes_of(classes)].tolist())}
    else:
        posteriors = items.posteriors_of(classes)
        columns = {
            str(label): pl.Series(posteriors[:, j]) for j, label in enumerate(classes.tolist())
        }
        if items.predictions is not None:
            columns["prediction"] = pl.Series(np.asarray(items.predictions).tolist())
    return pl.DataFrame(
        {**columns, **{name: pl.Series(values.tolist()) for name, values in given.items()}}
    )


def read_delivery(
    spec: MonitorSpec, model: TableModel | None, new: Any, separator: str | None
) -> Delivery:
    """Read a table of new rows, and check all of it.

    Parameters
    ----------
    spec : MonitorSpec
        Settings of the monitor.
    model : TableModel or None
        Model that scores the rows, if they are items.
    new : frame or path
        The table.
    separator : str or None
        Separator of columns of a text file.

    Returns
    -------
    Delivery
    """
    table = as_table(new, "new", separator)
    used = [*spec.columns, spec.prediction, spec.date, spec.group, spec.key]
    table.require([name for name in used if name], "which the monitor reads")
    n = table.count_rows()
    if not n:
        return Delivery([], ("The delivery has no rows.",))
    scores, identity = _scores(spec, model, table)
    predictions = np.full(n, -1, np.int64)
    if spec.prediction:
        column = table.read([spec.prediction])[spec.prediction]
        predictions = class_codes(column, spec.classes, table.name, missing=False)
    labels = np.full(n, -1, np.int64)
    if spec.target in table.columns:
        labels = class_codes(table.read([spec.target])[spec.target], spec.classes, table.name)
    streams = np.full(n, _ONE_STREAM)
    if spec.group:
        column = table.read([spec.group])[spec.group]
        streams = column.cast(pl.String, strict=False).fill_null("(missing)").to_numpy()
    names, notes = _chunk_names(spec, table, n)
    keys = _keys(spec, table, identity, names, streams)
    if model is not None:
        # The classifier of a fold scores an item as out-of-fold training items were scored.
        n_folds = len(scores)
        scores = scores[(keys % np.uint64(n_folds)).astype(np.int64), np.arange(n)]
    rows = Rows(keys, np.ascontiguousarray(scores), predictions, labels, np.zeros(n, bool))
    parts = []
    together = pl.DataFrame({"name": names, "stream": streams}).with_row_index("row")
    dated = together.filter(pl.col("name") != "(missing)")
    for (name, stream), own in dated.group_by(["name", "stream"], maintain_order=True):
        parts.append((Chunk(str(name), str(stream)), rows.take(own["row"].to_numpy())))
    return Delivery(parts, notes)


def _scores(
    spec: MonitorSpec, model: TableModel | None, table: TableFile
) -> tuple[Any, list[pl.Series]]:
    """Scores of the rows, and the columns that identify them."""
    if model is not None:
        found, _ = model.items(table)
        folds = found.folds or (found,)
        classes = np.asarray(spec.classes)
        by_fold = np.stack([fold.posteriors_of(classes) for fold in folds])
        return by_fold, list(table.read(list(model.columns)).iter_columns())
    frame = table.read(list(spec.columns))
    if spec.kind == "verdicts":
        codes = class_codes(frame[spec.columns[0]], spec.classes, table.name).astype(np.float64)
        return np.where(codes < 0, np.nan, codes)[:, None], list(frame.iter_columns())
    columns = []
    for name in spec.columns:
        numbers = frame[name].cast(pl.Float64, strict=False)
        if (numbers.is_null() & ~_is_blank(frame[name])).any():
            strange = frame[name].filter(numbers.is_null() & ~_is_blank(frame[name]))[0]
            raise HeadcountError(
                f"Column {name!r} of {table.name!r} holds {strange!r}, which is no score: "
                "correct it, or leave it empty."
            )
        columns.append(numbers.fill_null(np.nan).to_numpy())
    given = np.column_stack(columns)
    whole = ~np.isnan(given).any(axis=1)
    found = np.full((len(given), len(spec.classes)), np.nan)
    if whole.any():
        some = given[whole]
        if some.shape[1] == 1:
            both = check_scores(some[:, 0], 2, name=repr(table.name))
            found[whole] = both if spec.positive == 1 else both[:, ::-1]
        else:
            found[whole] = check_scores(some, some.shape[1], name=repr(table.name))
    return found, list(frame.iter_columns())


def class_codes(
    column: pl.Series, classes: tuple[Any, ...], table: str, *, missing: bool = True
) -> NDArray[np.int64]:
    """Positions of labels among the classes; -1 for missing ones.

    Parameters
    ----------
    column : Series
        Labels.
    classes : tuple
        The classes.
    table : str
        Name of the table, for messages.
    missing : bool, default=True
        Allow missing labels.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    names = pl.Series(
        [str(each).lower() if isinstance(each, bool) else str(each) for each in classes]
    )
    blank = _is_blank(column)
    if blank.any() and not missing:
        raise HeadcountError(
            f"Column {column.name!r} of {table!r} lacks some values: fill them in."
        )
    texts = column.cast(pl.String, strict=False).str.strip_chars()
    if isinstance(classes[0], bool):
        texts = texts.str.to_lowercase()
    if column.dtype.is_float():
        texts = texts.str.replace(r"\.0+$", "")
    codes = texts.replace_strict(
        names, np.arange(len(names)), default=-1, return_dtype=pl.Int64
    )
    found = codes.fill_null(-1).to_numpy()
    wrong = (found < 0) & ~blank.to_numpy()
    if wrong.any():
        raise HeadcountError(
            f"Column {column.name!r} of {table!r} holds {texts[int(wrong.argmax())]!r}, which "
            f"is none of the classes {', '.join(map(repr, classes[:5]))}: correct it."
        )
    return np.asarray(found, np.int64)


def _is_blank(column: pl.Series) -> pl.Series:
    blank = column.is_null()
    if column.dtype.is_float():
        blank = blank | column.is_nan().fill_null(True)
    if column.dtype == pl.String:
        blank = blank | (column.str.strip_chars() == "").fill_null(True)
    return blank


def _chunk_names(
    spec: MonitorSpec, table: TableFile, n: int
) -> tuple[NDArray[Any], tuple[str, ...]]:
    if spec.chunk_size:
        return np.full(n, ""), ()
    column = group_column(table, spec.by, spec.date or None)
    assert column is not None
    groups = read_groups(table, spec.by, column)
    names = np.empty(n, object)
    for name, rows in zip(groups.names[1:], list(groups.samples)[1:], strict=True):
        names[rows] = str(name)
    missing = int((names == "(missing)").sum())
    note = (f"{missing:,} of {n:,} rows have no {column}: they are left out.",)
    return names, note if missing else ()


def _keys(
    spec: MonitorSpec,
    table: TableFile,
    identity: list[pl.Series],
    names: NDArray[Any],
    streams: NDArray[Any],
) -> NDArray[np.uint64]:
    if spec.key:
        column = table.read([spec.key])[spec.key]
        if (twice := column.is_duplicated() & ~column.is_null()).any():
            raise HeadcountError(
                f"Column {spec.key!r} of {table.name!r} has {column.filter(twice)[0]!r} twice: "
                "each row needs its own key."
            )
        if _is_blank(column).any():
            raise HeadcountError(f"Column {spec.key!r} of {table.name!r} lacks some keys.")
        return value_hashes(column)
    places = [pl.Series("chunk", names.tolist()), pl.Series("stream", streams.tolist())]
    return content_keys([*places, *identity], len(names))
