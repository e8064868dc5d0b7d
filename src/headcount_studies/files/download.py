"""Downloads that can be interrupted: resumed later, verified, and complete or not there."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from headcount._files import write_bytes
from headcount.errors import HeadcountError

__all__ = ["CHECKSUMS", "download"]

CHECKSUMS = "checksums.json"
"""File with the SHA-256 of every file of a folder, as it was at the first download."""

_BLOCK = 1 << 20
_TIMEOUT = 60


def download(url: str, path: Path, *, sha256: str | None = None) -> Path:
    """Download a file, unless it is there already, and verify it.

    An interrupted download leaves a file that ends in ``.part``, with which the next call
    continues if the server can and the file is the same. The file gets its name when it is
    complete and verified. Without a known checksum, the one of the first download is recorded
    beside the file, and later calls and downloads are compared with it.

    Parameters
    ----------
    url : str
        Address, http or https.
    path : Path
        File to write.
    sha256 : str, default=None
        Expected SHA-256, in hexadecimal digits.

    Returns
    -------
    Path
        The file.
    """
    if not url.startswith(("https://", "http://")):
        raise HeadcountError(
            f"url is {url!r}; it must be an address that starts with https://."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    expected = sha256 or _recorded(path.parent).get(path.name)
    if path.is_file():
        if expected is not None and _digest(path) != expected:
            raise HeadcountError(
                f"{str(path)!r} has changed since it was downloaded, as its checksum differs: "
                "delete it to download it again."
            )
        return path
    part = path.with_name(f"{path.name}.part")
    _receive(url, part)
    found = _digest(part)
    if expected is not None and found != expected:
        _remove(part)
        raise HeadcountError(
            f"{url} has the SHA-256 {found[:12]}..., but {expected[:12]}... was expected: the "
            "file was damaged or replaced, and is not kept."
        )
    os.replace(part, path)
    _remove(part)
    _record(path, found)
    return path


def _receive(url: str, part: Path) -> None:
    """Append to the part what is missing, or start again if the server has another file."""
    tag = _tag_file(part)
    start = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "headcount"})
    if start and tag.is_file():
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", tag.read_text(encoding="utf-8"))
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:
            resumed = reply.status == http.HTTPStatus.PARTIAL_CONTENT
            _keep_tag(reply, tag)
            total = _append(reply, part, start if resumed else 0)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            _remove(part)
            raise HeadcountError(f"{url} is shorter than the part of it: call again.") from None
        raise HeadcountError(
            f"{url} cannot be downloaded: {error.code} {error.reason}."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        done = part.stat().st_size if part.is_file() else 0
        if isinstance(error, urllib.error.URLError):  # there was no connection at all
            raise HeadcountError(
                f"{url} cannot be reached ({error.reason}): check the network, and call again."
            ) from None
        raise HeadcountError(
            f"the download of {url} was interrupted after {done:,} bytes ({error}): call again "
            "to continue."
        ) from None
    done = part.stat().st_size
    if total is not None and done != total:
        raise HeadcountError(
            f"the download of {url} was interrupted after {done:,} of {total:,} bytes: call "
            "again to continue."
        )


def _append(reply: Any, part: Path, start: int) -> int | None:
    """Write the reply behind the first bytes of the part; returns the size of the whole."""
    length = reply.headers.get("Content-Length")
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        file.truncate()
        while block := reply.read(_BLOCK):
            file.write(block)
    return None if length is None else start + int(length)


def _keep_tag(reply: Any, tag: Path) -> None:
    """Remember which version of the file the part belongs to; without it nothing is resumed."""
    version = reply.headers.get("ETag") or reply.headers.get("Last-Modified")
    if version is None:
        tag.unlink(missing_ok=True)
    else:
        tag.write_text(version, encoding="utf-8")


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _remove(part: Path) -> None:
    for file in (part, _tag_file(part)):
        file.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(folder: Path) -> dict[str, str]:
    """Checksums of the files of a folder."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise HeadcountError(f"{str(path)!r} is damaged: delete it, and check the files there.")
    return found


def _record(path: Path, sha256: str) -> None:
    known = _recorded(path.parent) | {path.name: sha256}
    content = json.dumps(known, indent=2, sort_keys=True) + "\n"
    write_bytes(path.parent / CHECKSUMS, content.encode())
