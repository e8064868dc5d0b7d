"""Tables written to disk: CSV, TSV, Excel, Parquet, Feather and JSON lines."""

from __future__ import annotations

import csv
import io
import math
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headcount._files import TABLE_ENDINGS, check_writable, write_bytes
from headcount._text import csv_text
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

# Limits of spreadsheets: rows, columns, characters of a cell.
_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1 << 20, 1 << 14, 32_767
# Characters that XML cannot hold.
_NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table atomically, in the format of the file's ending.

    In CSV and TSV, texts that a spreadsheet would take for a formula begin with an apostrophe.

    Examples
    --------
    >>> import polars as pl
    >>> write_table(pl.DataFrame({"class": ["=1+1"]}), "shares.docx")
    Traceback (most recent call last):
        ...
    headcount.errors.HeadcountError: path is 'shares.docx'; it must end in .csv or .tsv or ...
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
        text = csv_text(frame.columns, frame.iter_rows())
        return (_with_tabs(text) if ending == ".tsv" else text).encode("utf-8", "replace")
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


def _with_tabs(text: str) -> str:
    buffer = io.StringIO()
    rows = csv.reader(io.StringIO(text))
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return buffer.getvalue()
