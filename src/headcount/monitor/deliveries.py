"""Specification of a monitor, and deliveries: a table becomes the rows of chunks."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass, fields
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from headcount._support.arrays import Array, Ints
from headcount._support.files import toml_text
from headcount._support.parameters import check_one_each
from headcount._support.text import first_of
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts
from headcount.monitor.folder import ONE_STREAM, Chunk, Rows, content_keys, value_hashes
from headcount.tables.columns import without_marks
from headcount.tables.models import TableModel
from headcount.tables.readers import TableFile, as_table
from headcount.tables.roles import (
    MISSING,
    PERIODS,
    ScoreColumns,
    group_column,
    group_names,
    match_labels,
    read_groups,
)

FORMAT = 1


@dataclass(frozen=True)
class MonitorSpec:
    """Settings of a monitor, kept in ``spec.toml``."""

    kind: Literal["scores", "verdicts", "items"]
    classes: tuple[Any, ...]
    target: str  # column of the labels
    columns: tuple[str, ...] = ()  # columns with posteriors, or the column with decisions
    positive: int = 1  # class that a single column of posteriors is of
    prediction: str = ""  # column of the predicted classes; empty for the likeliest class
    by: str = ""  # period of a chunk, or column that names it; empty if `chunk_size` is used
    date: str = ""  # column of the dates; empty if it is found by its type
    chunk_size: int = 0  # rows of a chunk; 0 if `by` is used
    group: str = ""  # column of the streams; empty for one stream
    key: str = ""  # column that identifies a row; empty if rows are identified by their content
    method: str = "PACC"  # quantifier
    metric: str = "accuracy"  # measure of accuracy
    accuracy_floor: float = -1.0  # least accuracy that is accepted; -1 for none
    false_alarms: float = 365.0
    labels: str = "complete"  # rows that get labels: in the end all, or a random sample
    maturity: int = 0  # number of later chunks after which the labels of a chunk count
    checksum: str = ""  # checksum of the reference and the model
    compare_reference: bool = False  # true if the first chunks are compared with the reference
    date_order: str = ""  # day-first or month-first; empty if the dates show it

    @property
    def is_mean(self) -> bool:
        """True if the metric is a mean over the rows."""
        return self.metric in ("accuracy", "error")

    @property
    def metric_name(self) -> str:
        """Name of the measure in sentences."""
        return "AUROC" if self.metric == "auroc" else self.metric.replace("_", " ")

    def to_toml(self) -> str:
        """Text of the file."""
        return toml_text({"format": FORMAT, **asdict(self)}) + "\n"

    @classmethod
    def read(cls, path: Path) -> MonitorSpec:
        """Read the file of a monitor."""
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise HeadcountError(
                f"There is no monitor in {str(path.parent)!r}: create one first."
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise HeadcountError(f"{str(path)!r} cannot be read ({error}).") from None
        version = content.pop("format", None)
        if version != FORMAT:
            raise HeadcountError(
                f"{str(path)!r} has format {version!r}, but this version reads {FORMAT}: use "
                "the version of headcount that wrote it."
            )
        names = {field.name for field in fields(cls)}
        if strange := set(content) - names:
            raise HeadcountError(f"{str(path)!r} has an unknown key {min(strange)!r}.")
        lists = {key: tuple(value) for key, value in content.items() if isinstance(value, list)}
        return cls(**{**content, **lists})


# Names of periods, whose order is that of time.
_PERIOD = re.compile(r"\d{4}(-|$)")
VERDICT, LABEL = "verdict", "label"


@dataclass(frozen=True, eq=False)
class Delivery:
    """Rows of a table, by chunk."""

    chunks: list[tuple[Chunk, Rows]]
    notes: tuple[str, ...]  # sentences for the reader


def as_frame(
    items: Any,
    *,
    classes: Array | None = None,
    dates: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    keys: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Any:
    """Table of items that are given as `Scored` or `Verdicts`; anything else as it is."""
    extra = {"date": dates, "group": groups, "key": keys, LABEL: labels}
    arrays = {name: np.asarray(values) for name, values in extra.items() if values is not None}
    if not isinstance(items, Scored | Verdicts):
        if arrays:
            raise HeadcountError(
                f"{next(iter(arrays))}s is for Scored and Verdicts: in a table, it is a column."
            )
        return items
    for name, values in arrays.items():
        check_one_each(f"{name}s", values, len(items))
    if classes is None:
        classes = np.unique(arrays[LABEL])
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
        {**columns, **{name: pl.Series(values.tolist()) for name, values in arrays.items()}}
    )


def read_delivery(
    spec: MonitorSpec, model: TableModel | None, new: Any, separator: str | None
) -> Delivery:
    """Read a table of new rows, and check all of it."""
    table = as_table(new, "new", separator)
    names_read = [*spec.columns, spec.prediction, spec.date, spec.group, spec.key]
    table.require([name for name in names_read if name], "which the monitor reads")
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
    streams = np.full(n, ONE_STREAM)
    if spec.group:
        column = table.read([spec.group])[spec.group]
        streams = column.cast(pl.String, strict=False).fill_null(MISSING).to_numpy()
    names, notes = _chunk_names(spec, table, n)
    keys = _keys(spec, table, identity, names, streams)
    if model is not None:
        # The classifier of a fold scores an item as out-of-fold training items were scored.
        n_folds = len(scores)
        scores = scores[(keys % np.uint64(n_folds)).astype(np.int64), np.arange(n)]
    rows = Rows(keys, np.ascontiguousarray(scores), predictions, labels, np.zeros(n, bool))
    chunks = []
    together = pl.DataFrame({"name": names, "stream": streams}).with_row_index("row")
    dated = together.filter(pl.col("name") != MISSING)
    for (name, stream), members in dated.group_by(["name", "stream"], maintain_order=True):
        chunks.append((Chunk(str(name), str(stream)), rows.take(members["row"].to_numpy())))
    return Delivery(chunks, notes)


def _scores(
    spec: MonitorSpec, model: TableModel | None, table: TableFile
) -> tuple[Any, list[pl.Series]]:
    """Scores of the rows, and the columns that identify them."""
    if model is not None:
        posteriors, _ = model.items(table, spec.date_order or None)
        folds = posteriors.folds or (posteriors,)
        classes = np.asarray(spec.classes)
        by_fold = np.stack([fold.posteriors_of(classes) for fold in folds])
        return by_fold, list(table.read(list(model.columns)).iter_columns())
    frame = table.read(list(spec.columns))
    if spec.kind == "verdicts":
        codes = class_codes(frame[spec.columns[0]], spec.classes, table.name).astype(np.float64)
        return np.where(codes < 0, np.nan, codes)[:, None], list(frame.iter_columns())
    columns = ScoreColumns(tuple(spec.columns), spec.positive)
    return columns.of_batch(frame, table.name, missing=True), list(frame.iter_columns())


def class_codes(
    column: pl.Series, classes: tuple[Any, ...], table: str, *, missing: bool = True
) -> Ints:
    """Positions of labels among the classes; -1 for missing ones."""
    codes, strange = match_labels(column, np.asarray(classes))
    what = f"Column {column.name!r} of {table!r}"
    if strange is not None:
        raise HeadcountError(
            f"{what} holds {strange!r}, which is none of the classes "
            f"{first_of(map(repr, classes), 5)}: correct it."
        )
    if not missing and (codes < 0).any():
        raise HeadcountError(f"{what} lacks some values: fill them in.")
    return codes


def _chunk_names(spec: MonitorSpec, table: TableFile, n: int) -> tuple[Array, tuple[str, ...]]:
    if spec.chunk_size:
        return np.full(n, ""), ()
    column = group_column(table, spec.by, spec.date or None)
    assert column is not None
    groups = read_groups(table, spec.by, column, spec.date_order or None)
    last = _last_period(spec.by) if spec.by in PERIODS else None
    names, notes = np.empty(n, object), []
    for name, rows in zip(groups.names[1:], list(groups.samples)[1:], strict=True):
        names[rows] = str(name)
        if last is not None and _PERIOD.match(str(name)) and str(name) > last:
            names[rows] = MISSING
            notes.append(
                f"{len(rows):,} of {n:,} rows are dated {name}, in the future: they are left "
                "out. Correct the dates, and deliver them again."
            )
    if MISSING in groups.names:
        missing = int(groups.samples.sizes[groups.names.index(MISSING)])
        notes.append(f"{missing:,} of {n:,} rows have no {column}: they are left out.")
    return names, tuple(notes)


def _last_period(by: str) -> str:
    """Period of tomorrow, which is today somewhere on earth."""
    tomorrow = pl.Series("date", [str(date.today() + timedelta(days=1))])
    return str(group_names(tomorrow, by, "")[0][0])


def _keys(
    spec: MonitorSpec, table: TableFile, identity: list[pl.Series], names: Array, streams: Array
) -> NDArray[np.uint64]:
    if spec.key:
        column = table.read([spec.key])[spec.key]
        if (twice := column.is_duplicated() & ~column.is_null()).any():
            raise HeadcountError(
                f"Column {spec.key!r} of {table.name!r} has {column.filter(twice)[0]!r} twice: "
                "each row needs its own key."
            )
        if without_marks(column, ("",)).null_count():
            raise HeadcountError(f"Column {spec.key!r} of {table.name!r} lacks some keys.")
        return value_hashes(column)
    places = [pl.Series("chunk", names.tolist()), pl.Series("stream", streams.tolist())]
    return content_keys([*places, *identity], len(names))
