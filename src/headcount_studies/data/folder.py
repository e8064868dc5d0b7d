"""Folder of the datasets, and downloads into it from their publishers."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcount._support.files import write_bytes
from headcount.errors import HeadcountError

FOLDER_VARIABLE = "HEADCOUNT_DATA"
"""Environment variable with the folder of the datasets."""


def data_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the datasets.

    >>> data_folder("/").is_dir()
    True
    """
    named = os.environ.get(FOLDER_VARIABLE) if path is None else path
    if not named:
        raise HeadcountError(
            f"there is no folder of datasets: set {FOLDER_VARIABLE} to its path, or pass "
            "--data on the command line."
        )
    folder = Path(named)
    if not folder.is_dir():
        raise HeadcountError(
            f"the folder of datasets {str(folder)!r} does not exist: create it, or correct its "
            f"path ({FOLDER_VARIABLE}, or --data on the command line)."
        )
    return folder


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror or error}): choose a "
            "place where you may write."
        ) from None


def data_file(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder, or raise an error if it is missing."""
    path = folder / name
    if not path.is_file():
        raise HeadcountError(
            f"the folder of datasets {str(folder)!r} has no file {name!r}: put it there, or "
            "remove the dataset."
        )
    return path


@dataclass(frozen=True)
class PublishedSource:
    """Files of a dataset at its publisher."""

    title: str
    page: str
    terms: str
    open: bool
    urls: tuple[str, ...]
    sha256: tuple[tuple[str, str], ...] = ()


_UCI = "https://archive.ics.uci.edu"
# Number and name of datasets in the archive of UCI.
_UCI_FILES = {
    "adult": (2, "adult"),
    "cars": (19, "car+evaluation"),
    "contra": (30, "contraceptive+method+choice"),
    "mush": (73, "mushroom"),
    "nurse": (76, "nursery"),
    "spam": (94, "spambase"),
    "yeast": (110, "yeast"),
    "magic": (159, "magic+gamma+telescope"),
    "wine": (186, "wine+quality"),
    "occup": (357, "occupancy+detection"),
}
_ZENODO = "https://zenodo.org/records"
_LEQUA = {"lequa2022": ("6546188", "T1A T1B T2A T2B"), "lequa2024": ("11661820", "T1 T2 T3 T4")}
_LEQUA_KINDS = ("train_dev", "test", "test_prevalences")
_REVIEWS = {"hp": "Harry Potter books", "imdb": "films", "kindle": "Kindle readers"}


CATALOGUE = {
    f"{year}-{task}": PublishedSource(
        f"task {task} of {year.replace('lequa', 'LeQua ')}",
        f"{_ZENODO}/{record}",
        "stated on the page of the record; product reviews of Amazon, as vectors or texts",
        False,
        tuple(f"{_ZENODO}/{record}/files/{task}.{kind}.zip" for kind in _LEQUA_KINDS),
    )
    for year, (record, tasks) in _LEQUA.items()
    for task in tasks.split()
}
"""Datasets by name. No checksum is known in advance: that of the first download is recorded."""

CATALOGUE |= {
    f"uci-{name}": PublishedSource(
        f"{title.replace('+', ' ')}, raw files",
        f"{_UCI}/dataset/{number}",
        "CC BY 4.0",
        True,
        (f"{_UCI}/static/public/{number}/{title}.zip",),
    )
    for name, (number, title) in _UCI_FILES.items()
}
CATALOGUE |= {
    f"reviews-{name}": PublishedSource(
        f"reviews of {what}, positive or negative",
        f"{_ZENODO}/4117827",
        "texts of reviewers; use in research, see the page of the record",
        False,
        tuple(f"{_ZENODO}/4117827/files/{name}_{split}.txt" for split in ("train", "test")),
    )
    for name, what in _REVIEWS.items()
}
CATALOGUE["tweets"] = PublishedSource(
    "sentiment of tweets in eleven collections, as vectors without texts",
    f"{_ZENODO}/4255764",
    "made from tweets, whose texts may not be shared; see the page of the record",
    False,
    (f"{_ZENODO}/4255764/files/tweet_sentiment_quantification_snam.zip",),
)

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
    """
    if not url.startswith(("https://", "http://")):
        raise HeadcountError(
            f"url is {url!r}; it must be an address that starts with https://."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    expected = sha256 or _recorded(path.parent).get(path.name)
    if path.is_file():
        if expected is not None and sha256_of(path) != expected:
            raise HeadcountError(
                f"{str(path)!r} has changed since it was downloaded, as its checksum differs: "
                "delete it to download it again."
            )
        return path
    partial = path.with_name(f"{path.name}.part")
    _receive(url, partial)
    digest = sha256_of(partial)
    if expected is not None and digest != expected:
        _remove(partial)
        raise HeadcountError(
            f"{url} has the SHA-256 {digest[:12]}..., but {expected[:12]}... was expected: the "
            "file was damaged or replaced, and is not kept."
        )
    os.replace(partial, path)
    _remove(partial)
    _record(path, digest)
    return path


def _receive(url: str, partial: Path) -> None:
    """Append to the part what is missing, or start again if the server has another file."""
    tag = _tag_file(partial)
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "headcount"})
    if start and tag.is_file():
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", tag.read_text(encoding="utf-8"))
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:
            resumed = reply.status == http.HTTPStatus.PARTIAL_CONTENT
            _keep_tag(reply, tag)
            total = _append(reply, partial, start if resumed else 0)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            _remove(partial)
            raise HeadcountError(f"{url} is shorter than the part of it: call again.") from None
        raise HeadcountError(
            f"{url} cannot be downloaded: {error.code} {error.reason}."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        done = partial.stat().st_size if partial.is_file() else 0
        if isinstance(error, urllib.error.URLError):  # there was no connection at all
            raise HeadcountError(
                f"{url} cannot be reached ({error.reason}): check the network, and call again."
            ) from None
        raise HeadcountError(
            f"the download of {url} was interrupted after {done:,} bytes ({error}): call again "
            "to continue."
        ) from None
    done = partial.stat().st_size
    if total is not None and done != total:
        raise HeadcountError(
            f"the download of {url} was interrupted after {done:,} of {total:,} bytes: call "
            "again to continue."
        )


def _append(reply: Any, partial: Path, start: int) -> int | None:
    """Write the reply behind the first bytes of the part; returns the size of the whole."""
    length = reply.headers.get("Content-Length")
    with partial.open("r+b" if start else "wb") as file:
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


def _tag_file(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.version")


def _remove(partial: Path) -> None:
    for file in (partial, _tag_file(partial)):
        file.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(folder: Path) -> dict[str, str]:
    """Checksums of the files of a folder."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise HeadcountError(f"{str(path)!r} is damaged: delete it, and check the files there.")
    return content


def _record(path: Path, sha256: str) -> None:
    checksums = _recorded(path.parent) | {path.name: sha256}
    content = json.dumps(checksums, indent=2, sort_keys=True) + "\n"
    write_bytes(path.parent / CHECKSUMS, content.encode())
