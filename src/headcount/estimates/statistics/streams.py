"""Record batches in, statistics out: tables that are read in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts
from headcount.parts.fitted import Fitted

if TYPE_CHECKING:
    import polars as pl

# Most rows and values of a batch, and fewest rows of many columns. Batches of scores are
# smaller, as several of them are in memory at once.
_BATCH_ROWS, _BATCH_VALUES, _FEWEST_ROWS = 1 << 19, 1 << 22, 1 << 10
_SCORED_VALUES = 1 << 20


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
        self._classes: NDArray[Any] = classes
        self._columns = None if columns is None else tuple(columns)
        self._verdicts, self._by = verdicts, by

    def read(self, batch: pl.DataFrame) -> Any:
        """Items of the rows of a batch."""
        if self._verdicts is not None:
            _require(batch, [self._verdicts])
            return Verdicts(batch[self._verdicts].to_list(), self._classes)
        columns = self._posteriors(batch.columns)
        if columns is None:
            return batch.drop([self._by] if self._by else [])
        _require(batch, columns)
        for name in columns:
            if not batch[name].dtype.is_numeric() or batch[name].null_count():
                raise HeadcountError(
                    f"Column {name!r} must hold posteriors without missing values: leave out "
                    "items without scores."
                )
        if len(columns) == 1:
            return Scored(batch[columns[0]].to_numpy(), self._classes)
        return Scored(batch.select(columns).to_numpy(order="c"), self._classes)

    def used(self, names: Sequence[str]) -> Sequence[str]:
        """Columns that items are read from."""
        if self._verdicts is not None:
            return (self._verdicts,)
        columns = self._posteriors(names)
        return names if columns is None else columns

    def reads_features(self, names: Sequence[str]) -> bool:
        """True if a table with these columns has features, neither posteriors nor decisions."""
        return self._verdicts is None and self._posteriors(names) is None

    def _posteriors(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """Columns of the posteriors; None if there are features instead."""
        if self._columns is not None:
            return self._columns
        classes = tuple(str(label) for label in self._classes.tolist())
        if all(name in names for name in classes):
            return classes
        return classes[1:] if len(classes) == 2 and classes[1] in names else None


def read_batches(
    model: Any, batches: Any, by: str | None, reader: BatchReader | None
) -> Iterator[tuple[Any, pl.Series | None]]:
    """Items of record batches, and their groups."""
    import polars as pl

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
    import polars as pl

    schema: dict[str, Any] | None = None
    for number, batch in enumerate(_readable(batches)):
        frame = batch if isinstance(batch, pl.DataFrame) else _frame(batch)
        columns = dict(frame.schema)
        if schema is None:
            schema = columns
        elif list(columns.items()) != list(schema.items()):
            differing = [
                name for name in {**schema, **columns} if schema.get(name) != columns.get(name)
            ]
            raise HeadcountError(
                f"Batch {number + 1:,} has other columns than the first: {differing[0]!r} is "
                f"{columns.get(differing[0], 'missing')} and was "
                f"{schema.get(differing[0], 'missing')}; make all parts alike."
                if differing
                else f"Batch {number + 1:,} has its columns in another order than the first."
            )
        yield frame


def _readable(batches: Any) -> Iterator[Any]:
    """Record batches; an error of their reader becomes one sentence."""
    with _reading():
        yield from _each(batches)


@contextmanager
def _reading() -> Iterator[None]:
    import polars as pl

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
    import polars as pl

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
    import polars as pl

    try:
        frame = pl.DataFrame(batch)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise HeadcountError(
            f"A batch is of type {type(batch).__name__}; pass record batches or frames."
        ) from None
    return frame


def _require(batch: pl.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in batch.columns:
            raise HeadcountError(
                f"The table has no column {name!r}; it has "
                f"{', '.join(map(repr, batch.columns[:6]))}."
            )
