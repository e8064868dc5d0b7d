"""Folder of a monitor. Files are written once, atomically; only summaries are replaced.

``spec.toml``, ``reference.parquet`` and, for items, ``model.skops`` are written when the
monitor is created. A delivery adds files of rows: ``rows/STREAM/CHUNK/FINGERPRINT.parquet``,
or with chunks of a fixed size ``rows/STREAM/NUMBER-FINGERPRINT-ROWS.parquet``. Labels that come
later are in ``labels/STREAM/CHUNK/FINGERPRINT.parquet``. Once there are many small files of
rows and labels, they are moved to ``packs/NUMBER.zip``, where they keep their names. Names that
are too long for a folder are replaced by a digest, and are in ``names/DIGEST``.
``summaries/STREAM.json`` has the summaries of the chunks of a stream, each with the fingerprint
of its rows. It is the only file that is replaced: a summary is a function of the rows, so that
one that a killed process has not written is made by the next. ``events`` has one file for each
decision of a person.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b, sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from zipfile import ZipFile, ZipInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._kernels.draws import GOLDEN, mix
from headcount._support.arrays import Bools, Floats, Ints
from headcount._support.files import clear_parts, write_bytes
from headcount._support.text import printable
from headcount.errors import HeadcountError
from headcount.estimates.assumption import BROKEN_LEVEL

Ids = NDArray[np.uint64]

_PRIMES = (GOLDEN, np.uint64(0xC2B2AE3D27D4EB4F))
_UNKNOWN = -1
# Longer texts are hashed by their digest, which has as many characters.
_LONG_TEXT = 64
# Longer names of folders, which a file system may refuse, are replaced by a digest.
_LONG_NAME, _DIGEST = 200, "~"
# Equal rows in a row that are the same rows.
_RUN = 32
# Small files, in bytes, that are packed together once there are so many.
_SMALL, _PACKED = 500_000, 200


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one chunk, or of a part of it."""

    keys: Ids  # identities of the rows
    scores: Floats
    predictions: Ints  # codes of the predicted classes; -1 for the likeliest
    labels: Ints  # codes of the true classes; -1 if unknown
    only_label: Bools  # rows of which only a label was delivered

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Any) -> Rows:
        """Some of the rows."""
        return Rows(**{name: column[rows] for name, column in vars(self).items()})

    @classmethod
    def concatenate(cls, batches: list[Rows]) -> Rows:
        """Rows of all parts."""
        columns: Any = zip(*(vars(rows).values() for rows in batches), strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def fingerprint(self) -> int:
        """Sum of hashes of the contents: it does not depend on order or partition."""
        content = [_mixed(self.keys)]
        for column in (*self.scores.T, self.predictions.astype(np.float64)):
            content.append(_mixed(np.ascontiguousarray(column).view(np.uint64)))
        total = 0
        labelled = self.labels != _UNKNOWN
        for number, prime in enumerate(_PRIMES):
            rows = _chained(content, prime)[~self.only_label]
            label_content = [
                content[0][labelled],
                _mixed(self.labels[labelled].astype(np.uint64)),
            ]
            labels = _chained(label_content, prime + np.uint64(1))
            half = int(rows.sum(dtype=np.uint64)) + int(labels.sum(dtype=np.uint64))
            total += (half % 2**64) << (64 * number)
        return total

    def contents(self) -> Ids:
        """Hash of the scores and the prediction of each row."""
        columns = (*self.scores.T, self.predictions.astype(np.float64))
        bits = [np.ascontiguousarray(column).view(np.uint64) for column in columns]
        return _chained([_mixed(column) for column in bits], _PRIMES[0])

    def to_bytes(self) -> bytes:
        """Parquet file of the rows."""
        return parquet_bytes(
            self.scores,
            {
                "prediction": self.predictions,
                "label": self.labels,
                "only_label": self.only_label,
            },
            {"key": self.keys},
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Rows:
        """Rows of a Parquet file."""
        frame = pl.read_parquet(BytesIO(content))
        names = ("prediction", "label", "only_label")
        scores = np.ascontiguousarray(frame.select(pl.col("^score \\d+$")).to_numpy())
        return cls(frame["key"].to_numpy(), scores, *(frame[name].to_numpy() for name in names))

    def merged(self) -> Rows:
        """Each row once, with its label where one was delivered; in the order of the keys."""
        with_scores = self.take(~self.only_label)
        keys, first = np.unique(with_scores.keys, return_index=True)
        rows = with_scores.take(first)
        labelled = self.take(self.labels != _UNKNOWN)
        places = positions(keys, labelled.keys)
        present = places >= 0
        labels = rows.labels.copy()
        labels[places[present]] = labelled.labels[present]
        return replace(rows, labels=labels)

    def new_beside(self, stored: Rows, where: str) -> Rows:
        """Rows and labels that are not known yet."""
        places = positions(stored.keys, self.keys)
        delivered = places >= 0
        old, again = stored.take(places[delivered]), self.take(delivered)
        compared = ~again.only_label
        same = (old.scores == again.scores) | (np.isnan(old.scores) & np.isnan(again.scores))
        if not (same.all(axis=1) & (old.predictions == again.predictions))[compared].all():
            raise HeadcountError(
                f"A row of chunk {where} was delivered before with other scores: rows are not "
                "changed; give corrected rows new keys, or create a new monitor."
            )
        labelled = (old.labels != _UNKNOWN) & (again.labels != _UNKNOWN)
        if (old.labels != again.labels)[labelled].any():
            raise HeadcountError(
                f"A row of chunk {where} has a label already, and it is another one: labels "
                "are not changed."
            )
        fresh = (again.labels != _UNKNOWN) & (old.labels == _UNKNOWN)
        late = again.take(fresh)
        late = replace(
            late,
            scores=np.full_like(late.scores, np.nan),
            predictions=np.full_like(late.predictions, _UNKNOWN),
            only_label=np.ones(len(late), bool),
        )
        return Rows.concatenate([self.take(~delivered), late])

    def without_labels(self) -> Rows:
        """The same rows, all labels unknown."""
        return replace(self, labels=np.full_like(self.labels, _UNKNOWN))

    def renamed(self, number: int) -> Rows:
        """The same rows with other keys, which depend on a number."""
        same = np.full(len(self), number, np.uint64)
        return replace(self, keys=_chained([self.keys, _mixed(same)], _PRIMES[0]))

    def sorted(self) -> Rows:
        """In the order of the keys."""
        return self.take(np.argsort(self.keys, kind="stable"))


def parquet_bytes(
    scores: Floats, columns: dict[str, Any], first: dict[str, Any] | None = None
) -> bytes:
    """Parquet file of scores, with columns before and behind them."""
    named = {f"score {j}": column for j, column in enumerate(scores.T)}
    file = BytesIO()
    frame = pl.DataFrame({**(first or {}), **named, **columns})
    frame.write_parquet(file, compression="zstd", statistics=False)
    return file.getvalue()


def positions(keys: Ids, searched: Ids, *, is_sorted: bool = False) -> Ints:
    """Position of each wanted key among the known ones; -1 if it is not there."""
    if not len(keys):
        return np.full(len(searched), -1)
    order = None if is_sorted else np.argsort(keys)
    places = np.minimum(np.searchsorted(keys, searched, sorter=order), len(keys) - 1)
    places = places if order is None else order[places]
    return np.where(keys[places] == searched, places, -1)


def value_hashes(column: pl.Series) -> Ids:
    """Hash of the text of each value, the same on every machine and for every file format."""
    texts = column.cast(pl.String, strict=False).fill_null("")
    if column.dtype.is_float():
        texts = texts.str.replace(r"\.0$", "")
    long = texts.str.len_bytes() > _LONG_TEXT
    if long.any():
        brief = texts.filter(long).map_elements(_digest, return_dtype=pl.String)
        texts = texts.scatter(long.arg_true(), brief)
    lengths = texts.str.len_bytes().to_numpy().astype(np.uint64)
    hashes = _chained([lengths], _PRIMES[0])
    # Words of eight bytes, the last one of each text filled with zeros.
    n_words = -(-int(lengths.max(initial=1)) // 8)
    padded = np.array(texts.cast(pl.Binary).to_list(), f"S{8 * n_words}")
    for number, word in enumerate(padded.view("<u8").reshape(len(texts), n_words).T):
        inside = lengths > 8 * number
        hashes[inside] = _chained([hashes[inside], word[inside].astype(np.uint64)], _PRIMES[1])
    return hashes


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=_LONG_TEXT // 2).hexdigest()


def _content_hashes(column: pl.Series) -> Ids:
    """Hash of each value; numbers that are written as text count as numbers."""
    if not column.dtype.is_numeric():
        column = column.cast(pl.String, strict=False).str.strip_chars()
    elif column.dtype.is_float():
        column = column.fill_nan(None)
    numbers = column.cast(pl.Float64, strict=False)
    texts = numbers.is_null()
    # Zero is added, as -0.0 has other bits than 0.0.
    hashes = _mixed((numbers.fill_null(0.0).to_numpy() + 0.0).view(np.uint64))
    hashes[texts.to_numpy()] = value_hashes(column.filter(texts).cast(pl.String))
    return hashes


def content_keys(columns: list[pl.Series], n: int) -> Ids:
    """Identity of rows by their content; equal rows are told apart by their number."""
    hashes = [_content_hashes(column) for column in columns]
    content = _chained(hashes, _PRIMES[0]) if hashes else np.zeros(n, np.uint64)
    order = np.argsort(content, kind="stable")
    starts = np.flatnonzero(np.diff(content[order], prepend=content[order][:1] - np.uint64(1)))
    lengths = np.diff(np.append(starts, n))
    numbers = np.empty(n, np.uint64)
    numbers[order] = np.arange(n) - np.repeat(starts, lengths)
    return _chained([content, _mixed(numbers)], _PRIMES[1])


def _mixed(values: Ids) -> Ids:
    """Bits of each number, scrambled."""
    with np.errstate(over="ignore"):
        return np.asarray(mix(values + GOLDEN))


def _chained(columns: list[Ids], prime: np.uint64) -> Ids:
    """One hash per row of several columns of hashes."""
    hashes = np.full(len(columns[0]), prime, np.uint64)
    for column in columns:
        with np.errstate(over="ignore"):
            hashes = _mixed(hashes * prime + column)
    return hashes


ONE_STREAM = "all"


@dataclass(frozen=True, order=True)
class Chunk:
    """One chunk of one stream."""

    name: str  # period, or number of the chunk
    stream: str  # group; "all" without groups

    def __str__(self) -> str:
        name = printable(self.name)
        return name if self.stream == ONE_STREAM else f"{name} of {printable(self.stream)}"


@dataclass(frozen=True, eq=False)
class ChunkEstimates:
    """Shares and accuracy of a chunk with their intervals."""

    shares: list[float]
    low: list[float]
    high: list[float]
    raw: list[float]
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    fit_p_value: float | None
    notes: list[str]
    basis: str = "shift"  # or "history", "labels"

    def end_points(self, label: int | None) -> tuple[float, float, float]:
        """Estimate, low and high of the share of a class, or of the accuracy for None."""
        if label is None:
            return self.accuracy, self.accuracy_low, self.accuracy_high
        return self.shares[label], self.low[label], self.high[label]


COMPLETE = 0.95
"""Labels of a chunk count if so many of its rows have one."""


@dataclass(frozen=True, eq=False)
class LabelledReadings:
    """Shares of a labelled chunk under each reading of the data, with their errors."""

    names: list[str]
    shares: list[list[float]]
    errors: list[list[float]]
    truth: list[float]
    p_value: float | None


@dataclass(frozen=True, eq=False)
class ChunkSummary:
    """What is known about a chunk; small chunks have no estimates."""

    n: int
    missing: int
    labelled: int
    realised: list[float] | None = None
    realised_accuracy: float | None = None
    realised_variance: float | None = None  # of a metric that is no mean, for one item
    estimates: ChunkEstimates | None = None
    labelled_readings: LabelledReadings | None = None  # if its labels count for later chunks
    rests_on: str = ""  # mark of the labelled chunks that the estimates follow
    values: list[float] = field(default_factory=list)  # of the series of the detector
    unit_variances: list[float] = field(default_factory=list)  # in samples of one row

    @property
    def is_broken(self) -> bool:
        """True if the estimates rest on an assumption that does not hold."""
        estimates = self.estimates
        if estimates is None or estimates.basis != "shift" or estimates.fit_p_value is None:
            return False
        return estimates.fit_p_value < BROKEN_LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        inner = {"estimates": self.estimates, "labelled_readings": self.labelled_readings}
        return vars(self) | {name: item and vars(item) for name, item in inner.items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> ChunkSummary:
        """Summary of the plain values of `to_dict`."""
        estimates, readings = content["estimates"], content["labelled_readings"]
        inner = {
            "estimates": estimates and ChunkEstimates(**estimates),
            "labelled_readings": readings and LabelledReadings(**readings),
        }
        return cls(**content | inner)


Pack = tuple[Path, int, int]
"""A pack of files, with its time and size."""


@dataclass(frozen=True, eq=False)
class _RowFile:
    """File of rows, on its own or in a pack."""

    path: Path
    member: str = ""  # its name in the pack `path`; empty for a file on its own
    pack: Pack | None = None

    def rows(self) -> Rows:
        with _undamaged(self.path):
            return Rows.from_bytes(self._content())

    def keys(self) -> Ids:
        with _undamaged(self.path):
            return pl.read_parquet(BytesIO(self._content()), columns=["key"])["key"].to_numpy()

    def _content(self) -> bytes:
        if self.pack is None:
            return self.path.read_bytes()
        return _unpacked(self.pack).read(self.member)

    @property
    def stem(self) -> str:
        return Path(self.member or self.path).stem


@dataclass(frozen=True, eq=False)
class _Appended:
    """Rows that were appended to a stream: their places, and their file."""

    start: int
    stop: int
    file: _RowFile


@lru_cache(maxsize=1)
def _unpacked(pack: Pack) -> ZipFile:
    """A pack in memory; the last one is kept, as its files are read one after the other."""
    return ZipFile(BytesIO(pack[0].read_bytes()))


@lru_cache(maxsize=2)
def _packed_names(packs: tuple[Pack, ...]) -> dict[str, dict[str, int]]:
    """Names of the files in each folder, with the number of the pack that each is in."""
    names: dict[str, dict[str, int]] = {}
    for number, (path, _, _) in enumerate(packs):
        with _undamaged(path), ZipFile(path) as pack:
            for member in pack.namelist():
                folder, _, name = member.rpartition("/")
                names.setdefault(folder, {})[name] = number
    return names


@dataclass(frozen=True)
class MonitorFolder:
    """Files of a monitor."""

    path: Path  # the folder
    chunk_size: int  # rows of a chunk; 0 if chunks are periods
    has_keys: bool  # true if the keys of rows come from a column of their own

    def clean(self) -> None:
        """Remove partial files and empty folders that killed processes have left."""
        for folder in [self.path, *self.path.glob("*/"), *self.path.glob("*/*/")]:
            clear_parts(folder)
        for folder in self.path.glob("*/*/*/"):
            clear_parts(folder)
            with suppress(OSError):
                folder.rmdir()

    def pack(self) -> None:
        """Move small files of rows and labels into a pack, once there are many."""
        packs = self._packs()
        packed = _packed_names(packs)
        moved, small = [], []
        for kind in ("rows", "labels"):
            for file in sorted((self.path / kind).rglob("*.parquet")):
                folder = file.parent.relative_to(self.path).as_posix()
                if file.name in packed.get(folder, {}):
                    moved.append(file)  # by a process that was killed before it removed them
                elif file.stat().st_size <= _SMALL:
                    small.append(file)
        for number in range(len(small) // _PACKED):
            together = small[number * _PACKED : (number + 1) * _PACKED]
            content = BytesIO()
            with ZipFile(content, "w") as pack:
                for file in together:
                    # A ZipInfo has always the same time, so that packs are the same.
                    member = ZipInfo(file.relative_to(self.path).as_posix())
                    pack.writestr(member, file.read_bytes())
            name = f"{len(packs) + number + 1:06d}.zip"
            _write(self.path / "packs" / name, content.getvalue())
            moved += together
        for file in moved:
            file.unlink()
        if moved:
            self.clean()

    def _packs(self) -> tuple[Pack, ...]:
        paths = sorted((self.path / "packs").glob("*.zip"))
        return tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)

    def _names(self, kind: str) -> dict[str, set[str]]:
        """Names of the files of rows or labels, by folder."""
        names: dict[str, set[str]] = {}
        root = self.path / kind
        for folder, _, files in os.walk(root):
            rows = {name for name in files if name.endswith(".parquet")}
            if rows:
                names[Path(folder).relative_to(root).as_posix()] = rows
        for folder, packed in _packed_names(self._packs()).items():
            if folder.startswith(f"{kind}/"):
                names.setdefault(folder.removeprefix(f"{kind}/"), set()).update(packed)
        return names

    def _row_files(self, kind: str, *names: str) -> list[_RowFile]:
        """Files of rows or labels of a stream or a chunk, in the order of their names."""
        folder = "/".join([kind, *map(_quoted, names)])
        path = self.path / folder
        files = {file.name: _RowFile(file) for file in path.glob("*.parquet")}
        # Packs come last: files may be moved there meanwhile.
        packs = self._packs()
        for name, number in _packed_names(packs).get(folder, {}).items():
            pack = packs[number]
            files[name] = _RowFile(pack[0], f"{folder}/{name}", pack)
        return [files[name] for name in sorted(files)]

    def checksum(self) -> str:
        """Checksum of the reference and, for items, of the model."""
        digest = sha256((self.path / "reference.parquet").read_bytes())
        if (model := self.path / "model.skops").exists():
            digest.update(model.read_bytes())
        return digest.hexdigest()

    def chunks(self) -> dict[Chunk, int]:
        """Chunks with rows, in the order of time, and the fingerprint of each."""
        fingerprints: dict[Chunk, int] = {}
        for folder, names in self._names("rows").items():
            if not self.chunk_size:
                fingerprints[self._chunk(folder)] = _added(names)
                continue
            stream = self._name(folder)
            appended = self._sequence(stream)
            for number in range(appended[-1].stop // self.chunk_size):
                inside = self._inside(appended, number)
                marks = [part.file.stem.split("-")[1] for part in inside]
                fingerprints[self.numbered(number, stream)] = _added(marks)
        for folder, names in self._names("labels").items():
            chunk = self._chunk(folder)
            if chunk in fingerprints:  # the last chunk of a fixed size may lack rows
                fingerprints[chunk] = _added(names, fingerprints[chunk])
        return dict(sorted(fingerprints.items()))

    def rows(self, chunk: Chunk) -> Rows:
        """Rows of a chunk, each once."""
        if self.chunk_size:
            batches = [self._sequence_rows(chunk)]
        else:
            batches = [
                file.rows() for file in self._row_files("rows", chunk.stream, chunk.name)
            ]
        batches += [file.rows() for file in self._row_files("labels", chunk.stream, chunk.name)]
        return Rows.concatenate(batches).merged()

    def has_rows(self, chunk: Chunk) -> bool:
        """Return True if rows of a chunk are known."""
        return bool(self._row_files("rows", chunk.stream, chunk.name))

    def was_delivered(self, chunk: Chunk, keys: Ids) -> bool:
        """Return True if exactly these rows of a chunk were delivered together before."""
        ordered = np.sort(keys)
        files = self._row_files("rows", chunk.stream, chunk.name)
        return any(np.array_equal(np.sort(file.keys()), ordered) for file in files)

    def add(self, chunk: Chunk, rows: Rows) -> None:
        """Add rows, and labels of earlier rows, to a chunk."""
        for kind, mask in (("rows", ~rows.only_label), ("labels", rows.only_label)):
            members = rows.take(mask).sorted()
            if len(members):
                self._keep_names(chunk.stream, chunk.name)
                name = f"{members.fingerprint:032x}.parquet"
                folder = self.path / kind / _quoted(chunk.stream) / _quoted(chunk.name)
                _write(folder / name, members.to_bytes())

    def append(self, stream: str, rows: Rows) -> None:
        """Add rows behind those of a stream."""
        self._keep_names(stream)
        number = len(self._sequence(stream)) + 1
        name = f"{number:08d}-{rows.fingerprint:032x}-{len(rows)}.parquet"
        _write(self.path / "rows" / _quoted(stream) / name, rows.to_bytes())

    def positions(self, stream: str, rows: Rows) -> Ints:
        """Places of rows in a stream, -1 for new ones; without keys, by joint delivery."""
        appended = self._sequence(stream)
        positions_in_stream, order = np.full(len(rows), -1), np.argsort(rows.keys)
        ordered, mark = rows.keys[order], f"{rows.fingerprint:032x}-{len(rows)}"
        if not self.has_keys:
            for addition in appended:
                if addition.file.stem.endswith(mark):
                    return addition.start + np.arange(len(rows))
        for addition in appended:
            if self.has_keys:
                places = positions(ordered, addition.file.keys(), is_sorted=True)
                positions_in_stream[order[places[places >= 0]]] = (
                    addition.start + np.flatnonzero(places >= 0)
                )
            else:
                places = _places_in_order(addition.file.rows(), rows)
                positions_in_stream[places >= 0] = addition.start + places[places >= 0]
        return positions_in_stream

    def streams(self) -> list[str]:
        """Names of the streams."""
        return sorted({self._name(folder.partition("/")[0]) for folder in self._names("rows")})

    @staticmethod
    def numbered(number: int, stream: str) -> Chunk:
        """Chunk of a fixed size by its number, from 0 on."""
        return Chunk(f"{number + 1:06d}", stream)

    def summaries(self, chunks: dict[Chunk, int]) -> dict[Chunk, ChunkSummary]:
        """Summaries of those chunks whose rows are as they were when it was made."""
        summaries: dict[Chunk, ChunkSummary] = {}
        for stream in {chunk.stream for chunk in chunks}:
            path = self._summary_file(stream)
            try:
                content = json.loads(path.read_bytes())
                for name, (mark, summary) in content.items():
                    if chunks.get(Chunk(name, stream)) == int(mark, 16):
                        summaries[Chunk(name, stream)] = ChunkSummary.from_dict(summary)
            except FileNotFoundError:
                continue
            except (ValueError, TypeError, AttributeError, LookupError, OSError):
                raise HeadcountError(
                    f"{str(path)!r} is damaged: delete it, and it is made again by the next "
                    "update."
                ) from None
        return summaries

    def write_summaries(
        self, stream: str, chunks: dict[Chunk, int], summaries: dict[Chunk, ChunkSummary]
    ) -> None:
        """Write all summaries of the chunks of a stream."""
        content = {
            chunk.name: (f"{mark:032x}", summaries[chunk].to_dict())
            for chunk, mark in chunks.items()
            if chunk.stream == stream and chunk in summaries
        }
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        _write(self._summary_file(stream), text.encode())

    def events(self) -> list[dict[str, Any]]:
        """Decisions of people, in order."""
        events = []
        for file in sorted((self.path / "events").glob("*.json")):
            with _undamaged(file):
                event = json.loads(file.read_bytes())
                events.append({"kind": event["kind"], **event})
        return events

    def add_event(self, event: dict[str, Any]) -> None:
        """Record a decision."""
        folder = self.path / "events"
        number = len(list(folder.glob("*.json"))) + 1
        text = json.dumps(event, ensure_ascii=False)
        _write(folder / f"{number:06d}.json", text.encode())

    def _name(self, folder: str) -> str:
        """Name that a folder stands for."""
        long = self.path / "names" / folder
        if folder.startswith(_DIGEST) and long.exists():
            return long.read_text("utf-8")
        return unquote(folder)

    def _chunk(self, folder: str) -> Chunk:
        """Chunk whose rows are in a folder."""
        stream, _, name = folder.partition("/")
        return Chunk(self._name(name), self._name(stream))

    def _keep_names(self, *names: str) -> None:
        """Write names that are too long for a folder."""
        for name in names:
            if (quoted := _quoted(name)).startswith(_DIGEST):
                _write(self.path / "names" / quoted, name.encode())

    def _summary_file(self, stream: str) -> Path:
        return self.path / "summaries" / f"{_quoted(stream)}.json"

    def _sequence(self, stream: str) -> list[_Appended]:
        """Rows that were appended to a stream, in order."""
        appended, start = [], 0
        for file in self._row_files("rows", stream):
            stop = start + int(file.stem.rsplit("-", 1)[1])
            appended.append(_Appended(start, stop, file))
            start = stop
        return appended

    def _inside(self, appended: list[_Appended], number: int) -> list[_Appended]:
        """Those that have rows of a chunk."""
        start = self.chunk_size * number
        first = bisect_right(appended, start, key=lambda part: part.stop)
        last = bisect_left(appended, start + self.chunk_size, key=lambda part: part.start)
        return appended[first:last]

    def _sequence_rows(self, chunk: Chunk) -> Rows:
        number = int(chunk.name) - 1
        inside = self._inside(self._sequence(chunk.stream), number)
        batches = [addition.file.rows() for addition in inside]
        if not self.has_keys:
            # Equal rows of different deliveries are different rows.
            batches = [
                batch.renamed(addition.start)
                for batch, addition in zip(batches, inside, strict=True)
            ]
        rows = Rows.concatenate(batches)
        first = number * self.chunk_size - inside[0].start
        return rows.take(slice(first, first + self.chunk_size))


def _quoted(name: str) -> str:
    """Name of a folder for the name of a stream or chunk."""
    # A full stop alone or doubled would be a folder of the system.
    quoted = quote(name, safe="").replace(".", "%2E") or "%00"
    return quoted if len(quoted) <= _LONG_NAME else f"{_DIGEST}{_digest(name)}"


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, in a folder that is made if it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"{str(path.parent)!r} cannot be made ({error.strerror or error}): give the "
            "monitor a folder that is writable and has room."
        ) from None
    write_bytes(path, content)


def _places_in_order(stored: Rows, rows: Rows) -> Ints:
    """Place among the stored rows of each row that follows the same rows in the same order."""
    places = np.full(len(rows), -1)
    if min(len(stored), len(rows)) < _RUN:
        return places
    contents = [table.contents() for table in (stored, rows)]
    starts = positions(*(_runs(content) for content in contents))
    for start in np.flatnonzero(starts >= 0).tolist():
        if len(np.unique(contents[1][start : start + _RUN])) >= _RUN / 2:
            places[start : start + _RUN] = starts[start] + np.arange(_RUN)
    return places


def _runs(content: Ids) -> Ids:
    """Hash of each row and of those that follow it, so many that they are a run."""
    n = len(content) - _RUN + 1
    return _chained([content[k : k + n] for k in range(_RUN)], _PRIMES[0])


def _added(names: Iterable[str], fingerprint: int = 0) -> int:
    """Fingerprint of parts together: both halves are sums modulo 2^64."""
    digests = [fingerprint, *(int(name.removesuffix(".parquet"), 16) for name in names)]
    low = sum(digest % 2**64 for digest in digests) % 2**64
    high = sum(digest >> 64 for digest in digests) % 2**64
    return low + (high << 64)


@contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a damaged file makes polars raise
        raise HeadcountError(
            f"{str(file)!r} is damaged ({type(error).__name__}): restore it from a backup."
        ) from None
