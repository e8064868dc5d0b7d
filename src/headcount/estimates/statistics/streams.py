"""Record batches in, statistics out: tables that are read in parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from headcount._support.arrays import Array, Floats
from headcount._support.execution import check_fork
from headcount._support.frames import pl
from headcount._support.text import first_of
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts, check_scores
from headcount.parts.fitted import Fitted

# Most rows and values of a batch, and fewest rows of many columns. Batches of scores are
# smaller, as several of them are in memory at once.
_BATCH_ROWS, _BATCH_VALUES, _FEWEST_ROWS = 1 << 19, 1 << 22, 1 << 10
_SCORED_VALUES = 1 << 20


@dataclass(frozen=True)
class PosteriorColumns:
    """Columns with posteriors: one per class, or that of one of two, at position `positive`."""

    names: tuple[str, ...]
    positive: int = 1

    @classmethod
    def named_after(cls, classes: Sequence[Any], columns: Collection[str]) -> Self | None:
        """Columns named after all classes, or after one of two; None if there are none."""
        names = tuple(map(str, classes))
        present = [name for name in names if name in columns]
        if len(present) == len(names):
            return cls(names)
        if len(names) == 2 and len(present) == 1:
            return cls((present[0],), names.index(present[0]))
        return None

    def of_batch(
        self, batch: pl.DataFrame, table: str = "", first_row: int = 0, *, missing: bool = False
    ) -> Floats:
        """Posteriors of all classes of the rows of a frame, (n, K)."""
        numbers = [self.numbers(batch[name], table, first_row) for name in self.names]
        where = repr(table) if table else "The table"
        for column in numbers:
            if column.null_count() and not missing:
                row = first_row + int(column.is_null().arg_max() or 0) + 1
                raise HeadcountError(
                    f"{where} has no score in column {column.name!r} (row {row:,}): "
                    "leave out items without scores."
                )
        if not any(column.null_count() for column in numbers):
            return self._checked(numbers, where)
        scored = np.logical_and.reduce([column.is_not_null().to_numpy() for column in numbers])
        posteriors = np.full((len(batch), max(2, len(self.names))), np.nan)
        if scored.any():
            posteriors[scored] = self._checked(
                [column.filter(scored) for column in numbers], where
            )
        return posteriors

    def numbers(self, column: pl.Series, table: str, first_row: int) -> pl.Series:
        """Values of a column as numbers."""
        if column.dtype.is_numeric() or not column.is_not_null().any():
            return column
        raise HeadcountError(
            f"Column {column.name!r} has values of type {column.dtype}, but it must hold "
            "posteriors: convert them to numbers."
        )

    def _checked(self, numbers: Sequence[pl.Series], table: str) -> Floats:
        if len(numbers) == 1:
            both_classes = check_scores(numbers[0].to_numpy(), 2, name=table)
            if self.positive == 1:
                return both_classes
            return np.ascontiguousarray(both_classes[:, ::-1])
        return check_scores(np.column_stack(numbers), len(numbers), name=table)


class BatchReader(Protocol):
    """Turns a batch of a table into items."""

    def read(self, batch: pl.DataFrame) -> Any:
        """Items of the rows of a batch, as the methods take them."""


class ScoreReader:
    """Reads posteriors, decisions or features from columns of a batch."""

    def __init__(
        self,
        model: Any,
        columns: Sequence[str] | None = None,
        verdicts: str | None = None,
        by: str | None = None,
    ) -> None:
        classes = model.classes if isinstance(model, Fitted) else model.classes_
        self._classes: Array = classes
        self._columns = None if columns is None else PosteriorColumns(tuple(columns))
        self._verdicts, self._by = verdicts, by

    def read(self, batch: pl.DataFrame) -> Any:
        """Items of the rows of a batch."""
        if self._verdicts is not None:
            _require(batch, [self._verdicts])
            return Verdicts(batch[self._verdicts].to_list(), self._classes)
        columns = self._posteriors(batch.columns)
        if columns is None:
            return batch.drop([self._by] if self._by else [])
        _require(batch, columns.names)
        return Scored.unchecked(columns.of_batch(batch), self._classes)

    def used(self, names: Sequence[str]) -> Sequence[str]:
        """Columns that items are read from."""
        if self._verdicts is not None:
            return (self._verdicts,)
        columns = self._posteriors(names)
        return names if columns is None else columns.names

    def reads_features(self, names: Sequence[str]) -> bool:
        """True if a table with these columns has features, neither posteriors nor decisions."""
        return self._verdicts is None and self._posteriors(names) is None

    def _posteriors(self, names: Sequence[str]) -> PosteriorColumns | None:
        """Columns of the posteriors; None if there are features instead."""
        if self._columns is not None:
            return self._columns
        return PosteriorColumns.named_after(self._classes.tolist(), names)


def read_batches(
    model: Any, batches: Any, by: str | None, reader: BatchReader | None
) -> Iterator[tuple[Any, pl.Series | None]]:
    """Items of record batches, and their groups."""
    reader = ScoreReader(model, by=by) if reader is None else reader
    if isinstance(batches, pl.LazyFrame) and isinstance(reader, ScoreReader):
        with _reading():
            names = batches.collect_schema().names()
        columns = {*reader.used(names), *([] if by is None else [by])}
        if columns.issubset(names):
            batches = batches.select(name for name in names if name in columns)
    for frame in frames_of(batches):
        if by is not None:
            _require(frame, [by])
        rows = _rows_at_once(frame.width, _BATCH_VALUES)
        if isinstance(reader, ScoreReader) and not reader.reads_features(frame.columns):
            rows = _rows_at_once(len(reader.used(frame.columns)), _SCORED_VALUES)
        for batch in _parts(frame, rows):
            if len(batch):
                yield reader.read(batch), None if by is None else batch[by]


def frames_of(batches: Any) -> Iterator[pl.DataFrame]:
    """Frames of a stream or of record batches, all with the same columns."""
    check_fork()
    schema: dict[str, Any] | None = None
    with _reading():
        for number, batch in enumerate(_each(batches)):
            frame = batch if isinstance(batch, pl.DataFrame) else _frame(batch)
            columns = dict(frame.schema)
            schema = columns if schema is None else schema
            if list(columns.items()) != list(schema.items()):
                raise _other_columns(number + 1, columns, schema)
            yield frame


def _other_columns(
    number: int, columns: dict[str, Any], first: dict[str, Any]
) -> HeadcountError:
    """Error of a batch whose columns are not those of the first."""
    differing = [name for name in {**first, **columns} if first.get(name) != columns.get(name)]
    if not differing:
        return HeadcountError(
            f"Batch {number:,} has its columns in another order than the first."
        )
    now, before = (schema.get(differing[0], "missing") for schema in (columns, first))
    return HeadcountError(
        f"Batch {number:,} has other columns than the first: {differing[0]!r} is {now} and was "
        f"{before}; make all parts alike."
    )


@contextmanager
def _reading() -> Iterator[None]:
    """Turn an error of a reader of batches into one sentence."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        if isinstance(error, HeadcountError):
            raise
        fault = str(error).partition("\n")[0].partition(", hint:")[0]
        raise HeadcountError(
            f"The batches cannot be read ({fault}): make all parts alike, and complete."
        ) from error


def _each(batches: Any) -> Iterable[Any]:
    """Record batches, one at a time if the stream allows it."""
    if isinstance(batches, pl.DataFrame):
        return [batches]
    if isinstance(batches, pl.LazyFrame):
        rows = _rows_at_once(len(batches.collect_schema()), _BATCH_VALUES)
        return batches.collect_batches(chunk_size=rows, engine="streaming")
    if hasattr(batches, "__arrow_c_stream__") and not isinstance(batches, Iterator):
        try:
            from pyarrow import RecordBatchReader
        except ModuleNotFoundError:  # polars reads a stream at once
            return [batches]
        return iter(RecordBatchReader.from_stream(batches))
    if isinstance(batches, Iterable) and not isinstance(batches, str | bytes | dict):
        return batches
    raise HeadcountError(
        f"The batches are of type {type(batches).__name__}; pass record batches, or an object "
        "with __arrow_c_stream__ such as a table or a reader of pyarrow."
    )


def _rows_at_once(width: int, values: int) -> int:
    return max(_FEWEST_ROWS, min(_BATCH_ROWS, values // max(1, width)))


def _parts(frame: pl.DataFrame, rows: int) -> Iterable[pl.DataFrame]:
    """Rows of a frame in parts; a frame without rows is one part."""
    return [frame] if len(frame) <= rows else frame.iter_slices(rows)


def _frame(batch: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(batch)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise HeadcountError(
            f"A batch is of type {type(batch).__name__}; pass record batches or frames."
        ) from None


def _require(batch: pl.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in batch.columns:
            raise HeadcountError(
                f"The table has no column {name!r}; it has "
                f"{first_of(map(repr, batch.columns), 6)}."
            )
