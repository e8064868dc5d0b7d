"""Bytes of statistics: a header in JSON and arrays, with a checksum.

The format, version 2:

====================  =======================================================================
bytes                 content
====================  =======================================================================
8                     ``HCSTATS`` and a line feed
2                     version, a whole number (all numbers are little-endian)
8                     length of the header
...                   header: JSON in UTF-8
...                   arrays, one after the other, each compressed by zlib
32                    SHA-256 of everything before
====================  =======================================================================

The header has ``form``, ``groups``, ``sizes`` and ``parts``. A part has its fingerprint
``key``, its ``kind``, the number of rows per item ``copies``, and its ``arrays`` by name:
type, shape and compressed length. Nothing in a file is executed.
"""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError

VERSION = 2
"""Version of the format that is written."""
_MAGIC = b"HCSTATS\n"
_TYPES = ("<i8", "<i4", "<u8", "<u2", "|u1")
_FIXED = len(_MAGIC) + 10
_CHECKSUM = 32

_DAMAGED = HeadcountError(
    "The statistics are damaged or incomplete: make the file again, or copy it again."
)


def pack(header: dict[str, Any], arrays: list[dict[str, NDArray[Any]]]) -> bytes:
    """Bytes of a header with ``parts``, and of the arrays of each part."""
    body, parts = [], []
    for part, content in zip(header["parts"], arrays, strict=True):
        described = {}
        for name, array in sorted(content.items()):
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            packed = zlib.compress(_by_bytes(plain), 6)
            described[name] = [plain.dtype.str, list(plain.shape), len(packed)]
            body.append(packed)
        parts.append({**part, "arrays": described})
    text = json.dumps({**header, "parts": parts}, sort_keys=True, separators=(",", ":"))
    head = text.encode()
    start = _MAGIC + VERSION.to_bytes(2, "little") + len(head).to_bytes(8, "little")
    content_bytes = b"".join([start, head, *body])
    return content_bytes + sha256(content_bytes).digest()


def unpack(content: bytes) -> tuple[dict[str, Any], list[dict[str, NDArray[Any]]]]:
    """Header and arrays of what `pack` returned; everything else is refused."""
    if not content.startswith(_MAGIC):
        raise HeadcountError(
            "These are not statistics of headcount: pass a file that headcount statistics or "
            "Statistics.save has written."
        )
    version = int.from_bytes(content[8:10], "little")
    if version != VERSION and len(content) >= _FIXED:
        raise HeadcountError(
            f"The statistics have version {version} of their format, and this headcount reads "
            f"version {VERSION}: make them again, or use another version of headcount."
        )
    if len(content) < _FIXED + _CHECKSUM:
        raise _DAMAGED
    if sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise _DAMAGED
    try:
        return _read(content[:-_CHECKSUM])
    except (LookupError, TypeError, ValueError, OverflowError, zlib.error, RecursionError):
        raise _DAMAGED from None


def _read(content: bytes) -> tuple[dict[str, Any], list[dict[str, NDArray[Any]]]]:
    place = _FIXED + int.from_bytes(content[10:_FIXED], "little")
    header = json.loads(content[_FIXED:place])
    arrays = []
    for part in header["parts"]:
        content_of = {}
        for name, (kind, shape, length) in part["arrays"].items():
            if kind not in _TYPES or not all(isinstance(n, int) and n >= 0 for n in shape):
                raise ValueError
            content_of[name] = _array(content[place : place + length], kind, shape)
            place += length
        arrays.append(content_of)
    if place != len(content):
        raise ValueError
    return header, arrays


def _array(packed: bytes, kind: str, shape: list[int]) -> NDArray[Any]:
    dtype = np.dtype(kind)
    size = dtype.itemsize
    for n in shape:
        size *= n
    # No more than was announced, whatever the compressed bytes hold.
    reader = zlib.decompressobj()
    plain = reader.decompress(packed, size + 1)
    if len(plain) != size or not reader.eof:
        raise ValueError
    columns = np.frombuffer(plain, np.uint8).reshape(dtype.itemsize, -1)
    numbers = np.ascontiguousarray(columns.T).view(dtype).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="), copy=False)


def _by_bytes(array: NDArray[Any]) -> bytes:
    """First bytes of all numbers, then second bytes and so on, which compresses well."""
    return array.view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()
