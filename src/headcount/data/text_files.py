"""Text files whose encoding and separator nobody has said."""

from __future__ import annotations

import codecs
import csv
import io
from itertools import islice
from pathlib import Path

__all__ = [
    "HEAD_LINES",
    "decoded",
    "find_separator",
    "head",
    "head_of",
    "is_utf8",
    "stray_quote",
]

HEAD_LINES = 20
"""Lines that a separator is found from."""
_HEAD_BYTES = 1 << 18
_CHUNK = 1 << 22
_SEPARATORS = ",;\t|"
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
    r"""Text as UTF-8, and a note if it was not.

    Parameters
    ----------
    content : bytes
        UTF-8, UTF-16 with a byte order mark, or Windows-1252, which Latin-1 is a part of.

    Returns
    -------
    content : bytes
        In UTF-8.
    note : str
        Name of the other encoding in a sentence; empty for UTF-8.

    Examples
    --------
    >>> decoded("café".encode("latin-1"))
    (b'caf\xc3\xa9', 'is not UTF-8 and was read as Windows-1252 (Latin-1).')
    """
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
    r"""Separator that divides the first lines into the same number of cells.

    Parameters
    ----------
    text : str
        First lines of a file.
    default : str, default=","
        Separator where several or none would do.

    Returns
    -------
    str

    Examples
    --------
    >>> find_separator("name;price\nAnn;1,5\nBob;2,5\n")
    ';'
    """
    lines = text.splitlines()[:HEAD_LINES]
    found = {}
    for sign in dict.fromkeys((default, *_SEPARATORS)):
        try:
            rows = [
                row for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=sign) if row
            ]
        except csv.Error:
            continue
        widths = [len(row) for row in rows]
        if widths and widths[0] > 1:
            # Lines as long as the header, then the number of columns.
            found[sign] = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
    if default in found and found[default][0] == 1:
        return default
    return max(found, key=found.__getitem__, default=default)


def stray_quote(path: Path) -> int | None:
    """Number of the first line with an odd number of quotation marks; None if there is none."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(islice(file, 10_000_000), 1):
                if line.count(b'"') % 2:
                    return number
    except OSError:
        pass
    return None
