"""Files written wholly or not at all, and texts that are safe in a terminal."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headcount._files import is_device, write_bytes
from headcount._text import text_table
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "TABLE_ENDINGS",
    "check_writable",
    "frame_bytes",
    "lay_out",
    "printable",
    "write_bytes",
]

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson")


def check_writable(path: Path, option: str, endings: Sequence[str] = ()) -> None:
    """Refuse, before any work is done, a file that cannot be written."""
    folder = path.parent
    if endings and path.suffix.lower() not in endings and not is_device(path):
        raise HeadcountError(
            f"{option} is {str(path)!r}; it must end in {' or '.join(endings)}."
        )
    if path.is_dir():
        raise HeadcountError(f"{option} is {str(path)!r}, a folder: add the name of a file.")
    if not folder.is_dir():
        raise HeadcountError(
            f"{option} is {str(path)!r}, but there is no folder {str(folder)!r}: make it first."
        )
    if not os.access(path if is_device(path) else folder, os.W_OK):
        raise HeadcountError(
            f"{option} is {str(path)!r}, where you may not write: choose another place."
        )


def frame_bytes(frame: pl.DataFrame, path: Path) -> bytes:
    """A table in the form that the ending of the file asks for.

    In CSV, texts that a spreadsheet would take for a formula begin with an apostrophe.
    """
    from headcount.report.writing import csv_text

    ending = path.suffix.lower()
    buffer = io.BytesIO()
    if ending == ".parquet":
        frame.write_parquet(buffer)
    elif ending in (".feather", ".arrow"):
        frame.write_ipc(buffer)
    elif ending in (".jsonl", ".ndjson"):
        frame.write_ndjson(buffer)
    else:
        text = csv_text(frame.columns, frame.iter_rows())
        if ending == ".tsv":
            return _with_tabs(text)
        return text.encode("utf-8", "replace")
    return buffer.getvalue()


def _with_tabs(text: str) -> bytes:
    import csv

    buffer = io.StringIO()
    rows = csv.reader(io.StringIO(text))
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode("utf-8", "replace")


def printable(value: object) -> str:
    """A text without what could command a terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in str(value))


def lay_out(head: Sequence[str], rows: Sequence[Sequence[str]], n_texts: int) -> str:
    """A table for people: the first columns are texts, the others numbers."""
    header, *body = [list(map(printable, row)) for row in (head, *rows)]
    return "\n".join(text_table(header, body, n_texts=n_texts))
