"""Tables on disk or in memory: CSV, TSV, Parquet, Feather, JSON lines and frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from headcount.data.columns import as_narwhals
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableFile", "batch_rows", "frame_table", "open_table"]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
_TYPED = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
}
_COMPRESSED = (".gz", ".zst")
_PACKABLE = (*_SEPARATORS, ".jsonl", ".ndjson")
# Largest number of cells that are read and scored at a time, and of rows.
_BATCH_CELLS = 1 << 21
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table on disk or in memory, read as a whole or in batches.

    Attributes
    ----------
    name : str
        Name of the file or argument, for messages.
    columns : tuple of str
        Names of the columns.
    typed : bool
        True if the file stores the types of its columns. Otherwise all are texts.
    """

    name: str
    columns: tuple[str, ...]
    typed: bool
    _lazy: pl.LazyFrame

    def read(
        self,
        columns: Sequence[str] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> pl.DataFrame:
        """Read all or some columns and rows of the table.

        Parameters
        ----------
        columns : sequence of str, default=None
            Columns to read. By default all.
        rows : ndarray, default=None
            Numbers of the rows to read, in increasing order. By default all.

        Returns
        -------
        polars.DataFrame
            The table, with at least one row.
        """
        import polars as pl

        lazy = self._only(columns)
        if rows is not None:
            number = "\x00row"
            wanted = pl.Series(number, rows, pl.UInt32).implode()
            lazy = lazy.with_row_index(number).filter(pl.col(number).is_in(wanted)).drop(number)
        with _clear_errors(self.name):
            frame = lazy.collect(engine="streaming")
        if not len(frame):
            raise HeadcountError(f"{self.name!r} has no rows: pass a table with at least one.")
        return frame

    def batches(
        self, columns: Sequence[str], rows: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Read columns in batches of rows, in order.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        rows : int, default=None
            Number of rows per batch. By default that of `batch_rows`.

        Yields
        ------
        polars.DataFrame
        """
        rows = rows or batch_rows(len(columns))
        with _clear_errors(self.name):
            found = iter(self._only(columns).collect_batches(chunk_size=rows))
        while True:
            with _clear_errors(self.name):
                batch = next(found, None)
            if batch is None:
                return
            if len(batch):
                yield batch

    def count_rows(self) -> int:
        """Number of rows."""
        import polars as pl

        with _clear_errors(self.name):
            return int(self._lazy.select(pl.len()).collect(engine="streaming").item())

    def require(self, columns: Sequence[str], why: str) -> None:
        """Raise an error that names missing columns.

        Parameters
        ----------
        columns : sequence of str
            Required columns.
        why : str
            Reason for the message.
        """
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise HeadcountError(
                f"{self.name!r} lacks the column{'s' * (len(missing) > 1)} {_some(missing)}, "
                f"{why}; it has {_some(self.columns)}."
            )

    def _only(self, columns: Sequence[str] | None) -> pl.LazyFrame:
        return self._lazy if columns is None else self._lazy.select(columns)


def batch_rows(n_columns: int) -> int:
    """Number of rows that are read at a time.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    Returns
    -------
    int

    Examples
    --------
    >>> batch_rows(3), batch_rows(100)
    (65536, 20971)
    """
    return max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(1, n_columns)))


def open_table(path: str | os.PathLike[str], *, separator: str | None = None) -> TableFile:
    r"""Open a table on disk.

    Parameters
    ----------
    path : str or path
        File with the extension .csv, .tsv, .parquet, .feather, .arrow or .jsonl. Text files
        may be compressed, as .csv.gz or .csv.zst.
    separator : str, default=None
        Separator of the columns of a text file. By default a comma, or a tab for .tsv.

    Returns
    -------
    TableFile

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from headcount.data.readers import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("name,age\nAnn,31\nBob,\n")
    ...     table = open_table(path)
    ...     print(table.columns, table.count_rows(), table.read(["age"])["age"].to_list())
    ('name', 'age') 2 ['31', None]
    """
    path = Path(path)
    _check_file(path)
    ending = _ending(path)
    if ending in _SEPARATORS:
        return _open_text(path, separator or _SEPARATORS[ending], chosen=separator is not None)
    with _clear_errors(path.name):
        lazy = _scan_typed(path, _TYPED[ending])
        columns = tuple(lazy.collect_schema().names())
    return TableFile(path.name, columns, True, lazy)


def frame_table(frame: Any, name: str) -> TableFile:
    """Table of a frame in memory.

    Parameters
    ----------
    frame : frame of Polars (also lazy), pandas or another library
        The table; the index of a pandas frame is ignored.
    name : str
        Name of the table, for messages.

    Returns
    -------
    TableFile

    Examples
    --------
    >>> import polars as pl
    >>> frame_table(pl.DataFrame({"age": [31, 54]}), "new").columns
    ('age',)
    """
    import polars as pl

    if not isinstance(frame, pl.LazyFrame):
        native = as_narwhals(frame, name)
        if not isinstance(native, nw.DataFrame):
            raise HeadcountError(
                f"{name} is of type {type(frame).__name__}; it must be a frame of Polars or "
                "pandas, or the path of a table."
            )
        try:
            frame = native.to_polars().lazy()
        except ModuleNotFoundError as error:
            raise HeadcountError(
                f"{name} is a frame that cannot be read without {error.name}: install it, or "
                "pass a Polars frame."
            ) from None
        except (ValueError, TypeError) as error:  # what pyarrow raises for mixed columns
            raise HeadcountError(f"{name} cannot be read: {_reason(error)}.") from None
    with _clear_errors(name):
        columns = tuple(frame.collect_schema().names())
    return TableFile(name, columns, True, frame)


def _check_file(path: Path) -> None:
    name = str(path)
    if os.path.isdir(path):
        raise HeadcountError(f"{name!r} is a folder: pass a file.")
    try:
        with open(path, "rb") as file:
            empty = path.is_file() and not file.read(1)
    except FileNotFoundError:
        raise HeadcountError(f"There is no file {name!r}: check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HeadcountError(f"{name!r} cannot be read ({reason}).") from None
    if empty:
        raise HeadcountError(f"{path.name!r} is empty: pass a table with at least one row.")


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    packed = endings and endings[-1] in _COMPRESSED
    ending = "".join(endings[-2:-1]) if packed else "".join(endings[-1:])
    if ending not in (_PACKABLE if packed else (*_SEPARATORS, *_TYPED)):
        raise HeadcountError(
            f"{path.name!r} has an extension that is not supported: use .csv, .tsv, .parquet, "
            ".feather, .arrow or .jsonl, text files also with .gz or .zst."
        )
    return ending


def _scan_typed(path: Path, kind: str) -> pl.LazyFrame:
    import polars as pl

    if kind == "parquet":
        return pl.scan_parquet(path, glob=False)
    if kind == "ipc":
        return pl.scan_ipc(path)
    return pl.scan_ndjson(path, infer_schema_length=None)


def _open_text(path: Path, separator: str, *, chosen: bool) -> TableFile:
    import polars as pl

    if len(separator.encode()) != 1 or separator in '\r\n"':
        raise HeadcountError(
            f"separator is {separator!r}; it must be a single character, such as ';'."
        )
    options: dict[str, Any] = {"separator": separator, "infer_schema": False, "glob": False}
    with _clear_errors(path.name):
        first = pl.scan_csv(path, has_header=False, n_rows=1, **options).collect()
    columns = ["" if name is None else name for name in first.row(0)]
    columns[0] = columns[0].removeprefix("\ufeff")
    if repeated := next((name for name in columns if columns.count(name) > 1), None):
        raise HeadcountError(
            f"{path.name!r} has the column {repeated!r} twice: give each column its own name."
        )
    _check_separated(path.name, columns, separator, chosen)
    with _clear_errors(path.name):
        lazy = pl.scan_csv(path, new_columns=columns, **options)
    return TableFile(path.name, tuple(columns), False, lazy)


def _check_separated(name: str, columns: list[str], separator: str, chosen: bool) -> None:
    if len(columns) > 1:
        return
    better = next((sign for sign in ";\t|," if sign != separator and sign in columns[0]), None)
    if better is not None:
        raise HeadcountError(
            f"{name!r} has a single column when split at {separator!r}, but its first line has "
            f"{better!r} in it: pass `separator` {_shell(better)}."
        )
    if chosen:
        raise HeadcountError(
            f"{name!r} has a single column when split at {separator!r}: check `separator`."
        )


def _shell(sign: str) -> str:
    return "'\\t'" if sign == "\t" else f"'{sign}'"


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turn errors of polars into one sentence."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise HeadcountError(f"{name!r} cannot be read: {_reason(error)}.") from None


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split("\n\n")[0].split())
    if "utf-8" in text.lower() or "utf8" in text.lower():
        return "it is not UTF-8 text, so save it as UTF-8"
    if "more fields than defined" in text:
        return "a line has more cells than the first, so check the separator and quotes"
    return (text[:200].rstrip(".") or type(error).__name__).strip()


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
