"""Text that is safe where it goes: files, tables for spreadsheets, scripts in a page."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headcount._files import write_bytes
from headcount.errors import HeadcountError

__all__ = ["csv_text", "script_json", "write_whole"]

# What spreadsheets take for the start of a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
# A script ends at its closing tag, wherever that is; old browsers end lines at U+2028.
_UNSAFE = str.maketrans(
    {sign: f"\\u{ord(sign):04x}" for sign in ("<", ">", "&", "\u2028", "\u2029")}
)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV in which no text can be taken for a formula.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : iterable of sequences
        The cells; None is left empty.

    Returns
    -------
    str

    Examples
    --------
    >>> csv_text(["class", "change"], [["=1+1", -0.5], ["a,b", None]]).splitlines()
    ['class,change', "'=1+1,-0.5", '"a,b",']
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([_cell(name) for name in header])
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def script_json(value: Any) -> str:
    r"""A value as JSON that can stand inside a script element of a page.

    Parameters
    ----------
    value : Any
        Plain values.

    Returns
    -------
    str

    Examples
    --------
    >>> print(script_json({"class": "</script>"}))
    {"class":"\u003c/script\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a file wholly or not at all.

    Parameters
    ----------
    path : str or path
        The file, in a folder that exists; one that is there already is replaced, but for
        devices, which are written to.
    text : str
        What to write.

    Raises
    ------
    HeadcountError
        If it cannot be written.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise HeadcountError(
            f"{str(target)!r} cannot be written, as there is no folder {str(folder)!r}: make "
            "it first or choose another."
        )
    if target.is_dir():
        raise HeadcountError(
            f"{str(target)!r} cannot be written, as it is a folder: add a file name."
        )
    write_bytes(target, text.encode("utf-8", "replace"))
