"""Tables on disk or in memory: CSV, TSV, Parquet, Feather, JSON, spreadsheets and frames."""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from headcount._support.arrays import Ints
from headcount._support.execution import check_fork
from headcount._support.files import (
    STANDARD_INPUT,
    TABLE_ENDINGS,
    check_writable,
    did_you_mean,
    each_once,
    input_files,
    sheet_of,
    write_bytes,
)
from headcount._support.text import csv_text, first_of
from headcount.errors import HeadcountError
from headcount.items.arrays import as_narwhals

HEAD_LINES = 20
"""Lines that a separator is found from."""
_HEAD_BYTES = 1 << 18
_CHUNK = 1 << 22
_SEPARATOR_SIGNS = ",;\t|"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_utf8(path: Path) -> bool:
    """Return True if a file is UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def decoded(content: bytes) -> tuple[bytes, str]:
    r"""Text as UTF-8, and a note if it was not."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            text = content.decode(encoding, "replace")
            return text.encode(), "was read as UTF-16."
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
        return text.encode(), "is not UTF-8 and was read as Windows-1252 (Latin-1)."
    return content, ""


def head(content: bytes) -> str:
    """First lines of a text in UTF-8."""
    return content[:_HEAD_BYTES].decode("utf-8", "ignore")


def head_of(path: Path) -> str:
    """First lines of a file in UTF-8."""
    if not path.is_file():
        return ""  # a pipe can be read once only
    with open(path, "rb") as file:
        return head(file.read(_HEAD_BYTES))


def find_separator(text: str, default: str = ",") -> str:
    r"""Separator that divides the first lines into the same number of cells."""
    lines = text.splitlines()[:HEAD_LINES]
    merits = {}
    for sign in dict.fromkeys((default, *_SEPARATOR_SIGNS)):
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            # Lines as long as the header, then the number of columns.
            merits[sign] = widths.count(widths[0]) / len(widths), widths[0]
    if default in merits and merits[default][0] == 1:
        return default
    return max(merits, key=merits.__getitem__, default=default)


def stray_quote(path: Path) -> int | None:
    """Number of the first line with an odd number of quotation marks; None if there is none."""
    with suppress(OSError), open(path, "rb") as file:
        for number, line in enumerate(islice(file, 10_000_000), 1):
            if line.count(b'"') % 2:
                return number
    return None


_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
_SCANS: dict[str, Callable[[Path], pl.LazyFrame]] = {
    **dict.fromkeys((".parquet", ".pq"), partial(pl.scan_parquet, glob=False)),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), pl.scan_ipc),
    **dict.fromkeys((".jsonl", ".ndjson"), partial(pl.scan_ndjson, infer_schema_length=None)),
    ".json": lambda path: pl.read_json(path, infer_schema_length=None).lazy(),
}
ENDINGS = (*_SEPARATORS, *_SCANS, ".xlsx")
"""Endings of files that can be read."""
_COMPRESSED = (".gz", ".zst")
_PACKABLE = (*_SEPARATORS, ".jsonl", ".ndjson")
# Largest number of cells that are read and scored at a time, and of rows.
_BATCH_CELLS = 1 << 21
_BATCH_ROWS = 1 << 16
# Bytes that a spreadsheet may have when it is unpacked, and cells from its first to its last.
_MOST_BYTES, _MOST_CELLS = 4 << 30, 100_000_000
_CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table on disk or in memory, read as a whole or in batches."""

    name: str  # name of the file or argument, for messages
    columns: tuple[str, ...]  # names of the columns
    _lazy: pl.LazyFrame
    notes: tuple[str, ...] = ()  # sentences on how the file was read
    _path: Path | None = None
    made_of: tuple[str, ...] = ()  # columns that further columns were made of

    def read(
        self, columns: Sequence[str] | None = None, rows: Ints | None = None
    ) -> pl.DataFrame:
        """Read all or some columns and rows of the table."""
        lazy = self._only(columns)
        if rows is not None:
            number = "\x00row"
            row_numbers = pl.Series(number, rows, pl.UInt32).implode()
            lazy = (
                lazy.with_row_index(number)
                .filter(pl.col(number).is_in(row_numbers))
                .drop(number)
            )
        with _clear_errors(self.name, self._path):
            frame = lazy.collect(engine="streaming")
        if not len(frame):
            raise HeadcountError(f"{self.name!r} has no rows: pass a table with at least one.")
        return frame

    def batches(
        self, columns: Sequence[str], rows: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Read columns in batches of rows, in order."""
        rows = rows or batch_rows(len(columns))
        with _clear_errors(self.name, self._path):
            frames = iter(self._only(columns).collect_batches(chunk_size=rows))
        while True:
            with _clear_errors(self.name, self._path):
                batch = next(frames, None)
            if batch is None:
                return
            if len(batch):
                yield batch

    def count_rows(self) -> int:
        """Number of rows."""
        with _clear_errors(self.name, self._path):
            return int(self._lazy.select(pl.len()).collect(engine="streaming").item())

    def require(self, columns: Sequence[str], why: str) -> None:
        """Raise an error that names missing columns."""
        present = set(self.columns)
        missing = [name for name in columns if name not in present]
        if missing:
            meant = did_you_mean(missing[0], self.columns)
            notes = [f" {note}" for note in self.notes if "sheet" in note and not meant]
            raise HeadcountError(
                f"{self.name!r} lacks the column{'s' * (len(missing) > 1)} {_some(missing)}, "
                f"{why}{f': {meant}It' if meant else '; it'} has {_some(self.columns)}."
                f"{''.join(notes)}"
            )

    def joined(self, columns: Sequence[str], name: str) -> TableFile:
        """The table with a further column of the texts of some, joined; null if one is."""
        texts = [pl.col(column).cast(pl.String).str.strip_chars() for column in columns]
        cells = [pl.when(text != "").then(text) for text in texts]
        joint = pl.concat_str(cells, separator=" / ").alias(name)
        return replace(
            self, columns=(*self.columns, name), _lazy=self._lazy.with_columns(joint)
        )

    def with_periods(self, column: str, name: str, periods: pl.Series) -> TableFile:
        """The table with a further column of periods, one per row, made of a column."""
        lazy = pl.concat([self._lazy, periods.rename(name).to_frame().lazy()], how="horizontal")
        columns = (*self.columns, name)
        return replace(self, columns=columns, _lazy=lazy, made_of=(*self.made_of, column))

    def _only(self, columns: Sequence[str] | None) -> pl.LazyFrame:
        return self._lazy if columns is None else self._lazy.select(columns)


def batch_rows(n_columns: int) -> int:
    """Number of rows that are read at a time."""
    return max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(1, n_columns)))


def open_table(path: str | os.PathLike[str], *, separator: str | None = None) -> TableFile:
    r"""Open a table on disk."""
    check_fork()
    files = input_files(path, ENDINGS)
    if len(files) > 1:
        raise HeadcountError(f"{os.fspath(path)!r} stands for several files: pass one.")
    if str(files[0]) == STANDARD_INPUT:
        return _open_standard_input(separator)
    path, sheet = sheet_of(files[0])
    with open(path, "rb") as file:
        if path.is_file() and not file.read(1):
            raise HeadcountError(f"{path.name!r} is empty: pass a table with at least one row.")
    ending = _ending(path)
    if ending in _SEPARATORS:
        return _open_text(path, separator, ending)
    if ending == ".xlsx":
        return _open_sheet(path, sheet)
    with _clear_errors(path.name):
        lazy = _SCANS[ending](path)
        columns = tuple(lazy.collect_schema().names())
    return TableFile(path.name, columns, lazy)


def open_tables(
    sources: Sequence[str | os.PathLike[str]], *, separator: str | None = None
) -> TableFile:
    """Open files, patterns and folders as one table."""
    paths, note = each_once(path for source in sources for path in input_files(source, ENDINGS))
    tables = [open_table(path, separator=separator) for path in paths]
    if not tables:
        raise HeadcountError("No table was given: pass at least one file.")
    if note:
        tables[0] = replace(tables[0], notes=(*tables[0].notes, note))
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    for table in tables[1:]:
        table.require(first.columns, f"which {first.name!r} has")
    columns = list(first.columns)
    lazy = pl.concat(
        [table._lazy.select(columns) for table in tables], how="vertical_relaxed", rechunk=False
    )
    name = f"{first.name} and {len(tables) - 1} more"
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return TableFile(name, first.columns, lazy, notes)


def as_table(source: Any, name: str, separator: str | None = None) -> TableFile:
    """Table of a path, of paths, or of a frame, which messages call by a name."""
    if isinstance(source, TableFile):
        return source
    if isinstance(source, str | os.PathLike):
        return open_tables([source], separator=separator)
    if isinstance(source, list | tuple) and all(
        isinstance(path, str | os.PathLike) for path in source
    ):
        return open_tables(source, separator=separator)
    return frame_table(source, name)


def frame_table(frame: Any, name: str) -> TableFile:
    """Table of a frame in memory."""
    check_fork()
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
    return TableFile(name, columns, frame)


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    packed = endings and endings[-1] in _COMPRESSED
    ending = "".join(endings[-2:-1]) if packed else "".join(endings[-1:])
    if ending not in (_PACKABLE if packed else ENDINGS):
        raise HeadcountError(
            f"{path.name!r} has an extension that is not supported: use .csv, .tsv, .xlsx, "
            ".json, .jsonl, .parquet, .feather or .arrow, text files also with .gz or .zst."
        )
    return ending


def _open_standard_input(separator: str | None) -> TableFile:
    """Table that is piped into the program: CSV, JSON, JSON lines or Parquet."""
    name = "standard input"
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise HeadcountError(f"{name} is empty: pass a table with at least one row.")
    with _clear_errors(name):
        if content.startswith(b"PAR1"):
            lazy = pl.read_parquet(content).lazy()
        elif content.lstrip().startswith(b"["):
            lazy = pl.read_json(content, infer_schema_length=None).lazy()
        elif content.lstrip().startswith(b"{"):
            lazy = pl.read_ndjson(content, infer_schema_length=None).lazy()
        else:
            text, note = decoded(content)
            return _text_table(io.BytesIO(text), name, separator, ",", head(text), (note,))
        return TableFile(name, tuple(lazy.collect_schema().names()), lazy)


def _open_sheet(path: Path, sheet: str | None) -> TableFile:
    """Table of a sheet, by default the first with cells, all of them as texts."""
    frame, note = _read_sheet(path, sheet)
    header = ["" if name is None else name for name in frame.row(0)]
    columns = _checked_columns(path.name, header)
    frame = frame[1:].rename(dict(zip(frame.columns, columns, strict=True)))
    return TableFile(path.name, tuple(columns), frame.lazy(), tuple(filter(None, (note,))))


def _read_sheet(path: Path, sheet: str | None) -> tuple[pl.DataFrame, str]:
    """Rows of a sheet as texts, and a note if there are more sheets and none was chosen."""
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise HeadcountError(
            f"{path.name!r} is a spreadsheet, which needs fastexcel: pip install "
            "'headcount[excel]', or save the sheet as CSV."
        ) from None

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
                raise HeadcountError(f"{path.name!r} is too large: save the sheet as CSV.")
            _check_cells(archive, path.name)
        workbook = fastexcel.read_excel(path)
        names = workbook.sheet_names
        if sheet is not None and sheet not in names:
            raise HeadcountError(
                f"{path.name!r} has no sheet {sheet!r}: its sheets are {_some(names)}."
            )
        for name in names if sheet is None else [sheet]:
            texts = workbook.load_sheet(name, header_row=None, dtypes="string").to_polars()
            numbers = workbook.load_sheet(name, header_row=None, dtypes="float").to_polars()
            columns = zip(texts.iter_columns(), numbers.iter_columns(), strict=True)
            rows = pl.DataFrame([_cell_texts(*column) for column in columns])
            rows = rows.filter(~pl.all_horizontal(pl.all().is_null())) if rows.width else rows
            if len(rows):
                note = (
                    f"{path.name}: the sheet {name!r} was read, of {len(names)} sheets. Choose "
                    f"another by its name, as in '{path.name}#{names[-1]}'."
                )
                return rows, note if len(names) > 1 and sheet is None else ""
    except HeadcountError:
        raise
    except (
        fastexcel.FastExcelError, zipfile.BadZipFile, zlib.error, pl.exceptions.PolarsError,
        pl.exceptions.PanicException, OSError, ValueError, LookupError, NotImplementedError,
        RuntimeError,
    ):  # fmt: skip
        raise HeadcountError(
            f"{path.name!r} cannot be read as a spreadsheet: save the sheet as CSV."
        ) from None
    raise HeadcountError(f"{path.name!r} has no cells: pass a table with at least one row.")


def _check_cells(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse sheets whose cells are so far apart that a table of them fills the memory."""
    for entry in archive.namelist():
        if not entry.startswith("xl/worksheets/") or not entry.endswith(".xml"):
            continue
        columns, rows, tail = 0, 0, b""
        with archive.open(entry) as file:
            while block := file.read(_CHUNK):
                block = tail + block
                for letters, digits in _CELL.findall(block):
                    column = 0
                    for letter in letters:
                        column = 26 * column + letter - 64
                    columns, rows = max(columns, column), max(rows, int(digits))
                tail = block[block.rfind(b"<") :][:_CHUNK]
        if rows * columns > _MOST_CELLS:
            raise HeadcountError(
                f"{name!r} has a cell in row {rows:,} and one in column {columns:,}, too far "
                "from the others: delete it, or save the table as CSV."
            )


def _cell_texts(texts: pl.Series, numbers: pl.Series) -> pl.Series:
    """Cells of a column as texts: numbers with all digits, dates without a time of midnight."""
    # The texts of fastexcel round numbers to nine decimals.
    pairs = zip(texts.to_list(), numbers.to_list(), strict=True)
    cells = pl.Series(texts.name, [_exact(*pair) for pair in pairs], pl.String)
    times = cells.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False).dt.round("1s")
    rounded = times.dt.strftime("%Y-%m-%d %H:%M:%S").str.strip_suffix(" 00:00:00")
    return rounded.fill_null(cells).alias(texts.name)


def _exact(text: str | None, number: float | None) -> str | None:
    if text is None or number is None or text != f"{number:.9f}".rstrip("0").rstrip("."):
        return text
    return repr(number).removesuffix(".0")


def _open_text(path: Path, separator: str | None, ending: str) -> TableFile:
    packed = path.suffix.lower() in _COMPRESSED
    default = _SEPARATORS[ending]
    if packed or not path.is_file() or is_utf8(path):
        first = _unpacked_head(path) if packed else head_of(path)
        return _text_table(path, path.name, separator, default, first)
    text, note = decoded(path.read_bytes())
    notes = (f"{path.name} {note}",)
    return _text_table(io.BytesIO(text), path.name, separator, default, head(text), notes)


def _unpacked_head(path: Path) -> str:
    """First lines of a compressed file, as polars unpacks them."""
    # One column, as no text has this separator.
    with _clear_errors(path.name):
        lines = pl.scan_csv(
            path, separator="\x01", has_header=False, infer_schema=False, quote_char=None,
            n_rows=HEAD_LINES, glob=False, truncate_ragged_lines=True,
        ).collect()  # fmt: skip
    return "\n".join("" if line is None else line for line in lines.to_series().to_list())


def _text_table(
    source: Path | io.BytesIO,
    name: str,
    separator: str | None,
    default: str,
    first_lines: str,
    notes: tuple[str, ...] = (),
) -> TableFile:
    is_explicit = separator is not None
    separator = separator or find_separator(first_lines, default)
    if len(separator.encode()) != 1 or separator in '\r\n"':
        raise HeadcountError(
            f"separator is {separator!r}; it must be a single character, such as ';'."
        )
    options: dict[str, Any] = {"separator": separator, "infer_schema": False, "glob": False}
    path = source if isinstance(source, Path) else None
    with _clear_errors(name, path):
        first = pl.scan_csv(source, has_header=False, n_rows=1, **options).collect()
    columns = ["" if cell is None else cell for cell in first.row(0)]
    columns[0] = columns[0].removeprefix("\ufeff")
    columns = _checked_columns(name, columns)
    if len(columns) == 1 and is_explicit:
        raise HeadcountError(
            f"{name!r} has a single column when split at {separator!r}: check `separator`."
        )
    if isinstance(source, io.BytesIO):
        source.seek(0)
    with _clear_errors(name, path):
        lazy = pl.scan_csv(source, new_columns=columns, **options)
    return TableFile(name, tuple(columns), lazy, tuple(filter(None, notes)), path)


def _checked_columns(name: str, columns: list[str]) -> list[str]:
    if repeated := next((name for name, n in Counter(columns).items() if n > 1), None):
        raise HeadcountError(
            f"{name!r} has the column {repeated!r} twice: give each column its own name."
        )
    return columns


@contextmanager
def _clear_errors(name: str, path: Path | None = None) -> Iterator[None]:
    """Turn errors of polars into one sentence."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise HeadcountError(f"{name!r} cannot be read: {_reason(error, path)}.") from None


def _reason(error: BaseException, path: Path | None = None) -> str:
    text = " ".join(str(error).split("\n\n")[0].split())
    if "utf-8" in text.lower() or "utf8" in text.lower():
        return "it is not UTF-8 text, so save it as UTF-8"
    if "could not parse" in text or "CSV malformed" in text:
        line = None if path is None else stray_quote(path)
        where = "a line" if line is None else f"line {line:,}"
        return f"a quotation mark in {where} is not closed or is inside a cell, so remove it"
    if "more fields than defined" in text:
        return "a line has more cells than the first, so check the separator and quotes"
    return (text[:200].rstrip(".") or type(error).__name__).strip()


def _some(names: Sequence[str]) -> str:
    return first_of(map(repr, names), 5)


# Limits of spreadsheets: rows, columns, characters of a cell.
_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1 << 20, 1 << 14, 32_767
# Characters that XML cannot hold.
_NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table atomically, in the format of the file's ending.

    In CSV and TSV, texts that a spreadsheet would take for a formula begin with an apostrophe.
    """
    path = Path(path)
    check_writable(path, "path", TABLE_ENDINGS)
    write_bytes(path, _table_bytes(frame, path.suffix.lower()))


def _table_bytes(frame: pl.DataFrame, ending: str) -> bytes:
    buffer = io.BytesIO()
    if ending == ".parquet":
        frame.write_parquet(buffer)
    elif ending in (".feather", ".arrow"):
        frame.write_ipc(buffer)
    elif ending in (".jsonl", ".ndjson"):
        frame.write_ndjson(buffer)
    elif ending == ".xlsx":
        return _sheet_bytes(frame)
    else:
        style = {"delimiter": "\t", "lineterminator": "\n"} if ending == ".tsv" else {}
        return csv_text(frame.columns, frame.iter_rows(), **style).encode("utf-8", "replace")
    return buffer.getvalue()


def _sheet_bytes(frame: pl.DataFrame) -> bytes:
    """Workbook with one sheet; texts stay texts, also those that look like formulas."""
    import polars.selectors as cs

    try:
        import xlsxwriter
    except ModuleNotFoundError:
        raise HeadcountError(
            "a spreadsheet needs xlsxwriter: pip install 'headcount[excel]', or write .csv."
        ) from None

    if len(frame) >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
        raise HeadcountError(
            f"a table of {len(frame):,} rows and {frame.width:,} columns is too large for "
            "a spreadsheet: write .csv or .parquet."
        )
    for column in frame.select(cs.string()).iter_columns():
        if (column.str.len_chars() > _MOST_TEXT).any():
            text = column.filter(column.str.len_chars() > _MOST_TEXT)[0]
            raise HeadcountError(
                f"the text {text[:20]!r}... has {len(text):,} characters, but cells of a "
                f"spreadsheet hold {_MOST_TEXT:,} at most: write .csv or .parquet."
            )
    cells = frame.with_columns(
        cs.float().replace([math.nan, math.inf, -math.inf], None),
        cs.string().str.replace_all(_NOT_XML, "\ufffd"),
    )
    buffer = io.BytesIO()
    options = dict.fromkeys(("strings_to_formulas", "strings_to_urls"), False)
    with xlsxwriter.Workbook(buffer, {"in_memory": True, **options}) as workbook:
        # A fixed date, so that the same table gives the same file.
        workbook.set_properties({"created": datetime(1980, 1, 1)})
        cells.write_excel(workbook, autofilter=False, column_formats={cs.numeric(): "General"})
    return buffer.getvalue()
