"""Folder of a monitor. Files are written once, atomically, and never changed.

``spec.toml``, ``reference.parquet`` and, for items, ``model.skops`` are written when the
monitor is created. A delivery adds files of rows: ``rows/STREAM/CHUNK/FINGERPRINT.parquet``,
or with chunks of a fixed size ``rows/STREAM/NUMBER-FINGERPRINT-ROWS.parquet``. Labels that come
later are in ``labels/STREAM/CHUNK/FINGERPRINT.parquet``. A summary,
``summaries/STREAM/CHUNK/FINGERPRINT.json``, is a function of the rows of its chunk, so that
one that a killed process has not written is made by the next. ``events`` has one file for each
decision of a person.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._files import clear_parts, write_bytes
from headcount.errors import HeadcountError
from headcount.monitor.rows import Ids, Rows, positions

__all__ = ["Chunk", "MonitorFolder"]

_ONE_STREAM = "all"


@dataclass(frozen=True, order=True)
class Chunk:
    """One chunk of one stream.

    Attributes
    ----------
    name : str
        Period, or number of the chunk.
    stream : str
        Group; "all" without groups.
    """

    name: str
    stream: str

    def __str__(self) -> str:
        return self.name if self.stream == _ONE_STREAM else f"{self.name} of {self.stream}"


@dataclass(frozen=True)
class MonitorFolder:
    """Files of a monitor.

    Attributes
    ----------
    path : Path
        The folder.
    chunk_size : int
        Rows of a chunk; 0 if chunks are periods.
    has_keys : bool
        True if the keys of rows come from a column of their own.
    """

    path: Path
    chunk_size: int
    has_keys: bool

    def clean(self) -> None:
        """Remove partial files that killed processes have left."""
        for folder in [self.path, *self.path.glob("*/"), *self.path.glob("*/*/")]:
            clear_parts(folder)
        for folder in self.path.glob("*/*/*/"):
            clear_parts(folder)

    def checksum(self) -> str:
        """Checksum of the reference and, for items, of the model."""
        found = sha256((self.path / "reference.parquet").read_bytes())
        if (model := self.path / "model.skops").exists():
            found.update(model.read_bytes())
        return found.hexdigest()

    def chunks(self) -> dict[Chunk, int]:
        """Chunks with rows, in the order of time, and the fingerprint of each."""
        found: dict[Chunk, int] = {}
        for stream in self._folders(self.path / "rows"):
            name = unquote(stream.name)
            if self.chunk_size:
                files = self._sequence(stream)
                n_chunks = sum(rows for _, rows, _ in files) // self.chunk_size
                for number in range(n_chunks):
                    inside = self._inside(files, number)
                    parts = [int(file.stem.split("-")[1], 16) for _, _, file in inside]
                    found[self.numbered(number, name)] = _added(parts)
            else:
                for folder in self._folders(stream):
                    if parts := _fingerprints(folder):
                        found[Chunk(unquote(folder.name), name)] = _added(parts)
        for stream in self._folders(self.path / "labels"):
            for folder in self._folders(stream):
                chunk = Chunk(unquote(folder.name), unquote(stream.name))
                if chunk in found:  # the last chunk of a fixed size may lack rows
                    found[chunk] = _added([found[chunk], *_fingerprints(folder)])
        return dict(sorted(found.items()))

    def rows(self, chunk: Chunk) -> Rows:
        """Rows of a chunk, each once."""
        if self.chunk_size:
            parts = [self._sequence_rows(chunk)]
        else:
            files = sorted(self._folder("rows", chunk).glob("*.parquet"))
            parts = [_read(file) for file in files]
        files = sorted(self._folder("labels", chunk).glob("*.parquet"))
        return Rows.concatenate([*parts, *(_read(file) for file in files)]).merged()

    def has_rows(self, chunk: Chunk) -> bool:
        """Return True if rows of a chunk are known."""
        return any(self._folder("rows", chunk).glob("*.parquet"))

    def add(self, chunk: Chunk, rows: Rows) -> None:
        """Add rows, and labels of earlier rows, to a chunk."""
        for kind, chosen in (("rows", ~rows.only_label), ("labels", rows.only_label)):
            part = rows.take(chosen).sorted()
            if len(part):
                folder = self._folder(kind, chunk)
                folder.mkdir(parents=True, exist_ok=True)
                write_bytes(folder / f"{part.fingerprint:032x}.parquet", part.to_bytes())

    def append(self, stream: str, rows: Rows) -> None:
        """Add rows behind those of a stream."""
        folder = self.path / "rows" / _quoted(stream)
        folder.mkdir(parents=True, exist_ok=True)
        number = len(self._sequence(folder)) + 1
        name = f"{number:08d}-{rows.fingerprint:032x}-{len(rows)}.parquet"
        write_bytes(folder / name, rows.to_bytes())

    def positions(self, stream: str, rows: Rows) -> NDArray[np.int64]:
        """Place of each row among those of a stream; -1 if it is new.

        Without a column of keys, rows are known if all of them were delivered together.
        """
        found, order = np.full(len(rows), -1), np.argsort(rows.keys)
        ordered, mark = rows.keys[order], f"{rows.fingerprint:032x}-{len(rows)}"
        for start, _, file in self._sequence(self.path / "rows" / _quoted(stream)):
            if self.has_keys:
                places = positions(ordered, _keys(file), is_sorted=True)
                found[order[places[places >= 0]]] = start + np.flatnonzero(places >= 0)
            elif file.stem.endswith(mark):
                return start + np.arange(len(rows))
        return found

    def streams(self) -> list[str]:
        """Names of the streams."""
        return sorted(unquote(folder.name) for folder in self._folders(self.path / "rows"))

    @staticmethod
    def numbered(number: int, stream: str) -> Chunk:
        """Chunk of a fixed size by its number, from 0 on."""
        return Chunk(f"{number + 1:06d}", stream)

    def summary(self, chunk: Chunk, fingerprint: int) -> dict[str, Any] | None:
        """Summary of a chunk; None if it has not been made."""
        path = self._summary_file(chunk, fingerprint)
        try:
            with open(path, "rb") as file:
                found: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        except (ValueError, OSError):
            raise HeadcountError(
                f"{str(path)!r} is damaged: delete it, and it is made again by the next update."
            ) from None
        return found

    def write_summary(
        self, chunk: Chunk, fingerprint: int, content: dict[str, Any]
    ) -> dict[str, Any]:
        """Write the summary of a chunk, and remove those of its earlier states."""
        path = self._summary_file(chunk, fingerprint)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        write_bytes(path, text.encode())
        for file in path.parent.glob("*.json"):
            if file != path:
                file.unlink()
        return content

    def events(self) -> list[dict[str, Any]]:
        """Decisions of people, in order."""
        return [
            json.loads(file.read_bytes())
            for file in sorted((self.path / "events").glob("*.json"))
        ]

    def add_event(self, event: dict[str, Any]) -> None:
        """Record a decision."""
        folder = self.path / "events"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.glob("*.json"))) + 1
        text = json.dumps(event, ensure_ascii=False)
        write_bytes(folder / f"{number:06d}.json", text.encode())

    def _folder(self, kind: str, chunk: Chunk) -> Path:
        return self.path / kind / _quoted(chunk.stream) / _quoted(chunk.name)

    def _summary_file(self, chunk: Chunk, fingerprint: int) -> Path:
        return self._folder("summaries", chunk) / f"{fingerprint:032x}.json"

    @staticmethod
    def _folders(path: Path) -> Iterator[Path]:
        if path.exists():
            with os.scandir(path) as found:
                yield from (path / each.name for each in found if each.is_dir())

    @staticmethod
    def _sequence(folder: Path) -> list[tuple[int, int, Path]]:
        """Start, number of rows and file of each delivery, in order."""
        found, start = [], 0
        for file in sorted(folder.glob("*.parquet")):
            rows = int(file.stem.rsplit("-", 1)[1])
            found.append((start, rows, file))
            start += rows
        return found

    def _inside(self, files: list[tuple[int, int, Path]], number: int) -> list[Any]:
        first, last = number * self.chunk_size, (number + 1) * self.chunk_size
        return [each for each in files if each[0] < last and each[0] + each[1] > first]

    def _sequence_rows(self, chunk: Chunk) -> Rows:
        files = self._sequence(self.path / "rows" / _quoted(chunk.stream))
        number = int(chunk.name) - 1
        inside = self._inside(files, number)
        parts = [_read(file) for _, _, file in inside]
        if not self.has_keys:
            # Equal rows of different deliveries are different rows.
            parts = [
                part.renamed(start) for part, (start, _, _) in zip(parts, inside, strict=True)
            ]
        rows = Rows.concatenate(parts)
        first = number * self.chunk_size - inside[0][0]
        return rows.take(slice(first, first + self.chunk_size))


def _quoted(name: str) -> str:
    # A full stop alone or doubled would be a folder of the system.
    return quote(name, safe="").replace(".", "%2E") or "%00"


def _fingerprints(folder: Path) -> list[int]:
    # Not by pathlib, as there are many folders.
    names = (name for name in os.listdir(folder) if name.endswith(".parquet"))
    return [int(name.removesuffix(".parquet"), 16) for name in names]


def _added(fingerprints: list[int]) -> int:
    """Fingerprint of parts together: both halves are sums modulo 2^64."""
    low = sum(each % 2**64 for each in fingerprints) % 2**64
    high = sum(each >> 64 for each in fingerprints) % 2**64
    return low + (high << 64)


def _read(file: Path) -> Rows:
    with _undamaged(file):
        return Rows.from_bytes(file.read_bytes())


def _keys(file: Path) -> Ids:
    with _undamaged(file):
        return pl.read_parquet(file, columns=["key"])["key"].to_numpy()


@contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a damaged file makes polars raise
        raise HeadcountError(
            f"{str(file)!r} is damaged ({type(error).__name__}): restore it from a backup."
        ) from None
