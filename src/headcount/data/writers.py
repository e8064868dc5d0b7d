"""Tables written to disk: CSV, TSV, Excel, Parquet, Feather and JSON lines."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from headcount._files import TABLE_ENDINGS, check_writable, write_bytes
from headcount._text import csv_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["write_table"]


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table atomically, in the format of the file's ending.

    In CSV and TSV, texts that a spreadsheet would take for a formula begin with an apostrophe.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    path : str or path
        File that ends in .csv, .tsv, .xlsx, .parquet, .feather, .arrow, .jsonl or .ndjson.

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
        # Imported here, as it imports much that other formats do not need.
        from headcount.data.spreadsheets import sheet_bytes

        return sheet_bytes(frame.columns, frame.iter_rows())
    else:
        text = csv_text(frame.columns, frame.iter_rows())
        return (_with_tabs(text) if ending == ".tsv" else text).encode("utf-8", "replace")
    return buffer.getvalue()


def _with_tabs(text: str) -> str:
    buffer = io.StringIO()
    rows = csv.reader(io.StringIO(text))
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return buffer.getvalue()
