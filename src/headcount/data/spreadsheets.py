"""Tables in .xlsx files: the first sheet is read as texts, and a single one is written."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from headcount.errors import HeadcountError

__all__ = ["read_sheet", "sheet_bytes"]

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
# Formats of dates that need no entry in the file.
_DATE_FORMATS = {*range(14, 23), 27, 30, 36, *range(45, 48), 50, 57}
_START = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
# Bytes that a file may have when it is unpacked.
_MOST_BYTES = 4 << 30
# Limits of spreadsheets that are written: rows, columns, characters of a cell.
_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1 << 20, 1 << 14, 32_767
# Characters that XML cannot hold.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACES = "http://schemas.openxmlformats.org"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# Files of a workbook with one sheet, but for the sheet itself.
_WORKBOOK = {
    "[Content_Types].xml": f'<Types xmlns="{_NAMESPACES}/package/2006/content-types"><Default '
    'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/><Override '
    f'PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPES}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_NAMESPACES}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_NAMESPACES}/officeDocument/2006/relationships/'
    'officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_NAMESPACES}/spreadsheetml/2006/main" xmlns:r="'
    f'{_NAMESPACES}/officeDocument/2006/relationships"><sheets><sheet name="Sheet1" '
    'sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_NAMESPACES}/package/2006/'
    f'relationships"><Relationship Id="rId1" Type="{_NAMESPACES}/officeDocument/2006/'
    'relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def read_sheet(path: Path) -> tuple[list[list[str | None]], str]:
    """Rows of the first sheet with cells, and a note if there are more sheets.

    Parameters
    ----------
    path : Path
        File that ends in .xlsx.

    Returns
    -------
    rows : list of lists of str or None
        The rows, filled up to the same length. Dates are written as 2024-05-31.
    note : str
        Sentence for the reader; empty if there is none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise HeadcountError(f"{path.name!r} is too large: save the sheet as CSV.")
            sheets = _sheets(archive)
            texts, dates = _shared_texts(archive), _date_styles(archive)
            start = _START[b'date1904="1"' in archive.read("xl/workbook.xml")]
            for name, part in sheets:
                with archive.open(part) as file:
                    rows = list(_rows(file, texts, dates, start))
                if rows:
                    width = max(map(len, rows))
                    filled = [row + [None] * (width - len(row)) for row in rows]
                    more = f"{path.name}: the sheet {name!r} was read, of {len(sheets)} sheets."
                    return filled, more if len(sheets) > 1 else ""
    except (KeyError, ValueError, zipfile.BadZipFile, ElementTree.ParseError):
        raise HeadcountError(
            f"{path.name!r} cannot be read as a spreadsheet: save the sheet as CSV."
        ) from None
    raise HeadcountError(f"{path.name!r} has no cells: pass a table with at least one row.")


def _sheets(archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """Names of the sheets and of their files, in the order of the workbook."""
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {each.attrib["Id"]: each.attrib["Target"] for each in relations}
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    return [
        (sheet.attrib["name"], _part(targets[sheet.attrib[_REFERENCE]]))
        for sheet in book.iter(f"{_MAIN}sheet")
    ]


def _part(target: str) -> str:
    return target[1:] if target.startswith("/") else f"xl/{target}"


def _shared_texts(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return ["".join(t.text or "" for t in si.iter(f"{_MAIN}t")) for si in root]


def _date_styles(archive: zipfile.ZipFile) -> set[int]:
    """Numbers of the cell styles that show dates."""
    if "xl/styles.xml" not in archive.namelist():
        return set()
    root = ElementTree.fromstring(archive.read("xl/styles.xml"))
    formats = set(_DATE_FORMATS)
    for each in root.iter(f"{_MAIN}numFmt"):
        code = re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", each.attrib["formatCode"]).lower()
        if re.search("[dyh]|m.*s", code):
            formats.add(int(each.attrib["numFmtId"]))
    cells = root.find(f"{_MAIN}cellXfs")
    styles = [] if cells is None else list(cells)
    return {i for i, each in enumerate(styles) if int(each.get("numFmtId", "0")) in formats}


def _rows(
    file: IO[bytes], texts: list[str], dates: set[int], start: datetime
) -> Iterator[list[str | None]]:
    """Rows with at least one value."""
    for _, element in ElementTree.iterparse(file):
        if element.tag != f"{_MAIN}row":
            continue
        row: list[str | None] = []
        for cell in element.iter(f"{_MAIN}c"):
            at = _column(cell.get("r", ""), len(row))
            row += [None] * (at + 1 - len(row))
            row[at] = _value(cell, texts, dates, start)
        element.clear()
        if any(row):
            yield row


def _column(reference: str, default: int) -> int:
    """Number of the column of a reference such as AB12."""
    letters = re.match("[A-Z]+", reference)
    if letters is None:
        return default
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _value(
    cell: ElementTree.Element, texts: list[str], dates: set[int], start: datetime
) -> str | None:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(t.text or "" for t in cell.iter(f"{_MAIN}t"))
    value = cell.findtext(f"{_MAIN}v")
    if value is None or kind == "e":
        return None
    if kind == "s":
        return texts[int(value)]
    if kind == "b":
        return "true" if value == "1" else "false"
    if kind == "n" and int(cell.get("s", "0")) in dates:
        time = start + timedelta(days=float(value))
        rounded = (time + timedelta(milliseconds=500)).replace(microsecond=0)
        return str(rounded).removesuffix(" 00:00:00")
    return value


def sheet_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Workbook with one sheet that has the names of the columns in its first row.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences
        The rows. Texts stay texts, also those that look like formulas or dates.

    Returns
    -------
    bytes
        Content of an .xlsx file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "t.xlsx"
    >>> _ = path.write_bytes(sheet_bytes(["name", "age"], [["=1+1", 31.5], [None, 7]]))
    >>> read_sheet(path)[0]
    [['name', 'age'], ['=1+1', '31.5'], [None, '7']]
    """
    lines = [_row_xml(columns), *map(_row_xml, rows)]
    if len(lines) > _MOST_ROWS or len(columns) > _MOST_COLUMNS:
        raise HeadcountError(
            f"a table of {len(lines) - 1:,} rows and {len(columns):,} columns is too large for "
            "a spreadsheet: write .csv or .parquet."
        )
    sheet = f'<worksheet xmlns="{_NAMESPACES}/spreadsheetml/2006/main"><sheetData>'
    files = _WORKBOOK | {
        "xl/worksheets/sheet1.xml": f"{sheet}{''.join(lines)}</sheetData></worksheet>"
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # A fixed date, so that the same table gives the same file.
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return buffer.getvalue()


def _row_xml(values: Sequence[Any]) -> str:
    return f"<row>{''.join(map(_cell_xml, values))}</row>"


def _cell_xml(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = _NOT_XML.sub("\ufffd", str(value))
    if len(text) > _MOST_TEXT:
        raise HeadcountError(
            f"the text {text[:20]!r}... has {len(text):,} characters, but cells of a "
            f"spreadsheet hold {_MOST_TEXT:,} at most: write .csv or .parquet."
        )
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
