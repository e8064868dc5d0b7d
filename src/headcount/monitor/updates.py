"""Additions of an update: rows and labels of a delivery that a monitor does not know yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from headcount._support.arrays import Array, Ints
from headcount._support.text import ShownAsPrinted, printable
from headcount.errors import HeadcountError
from headcount.monitor.deliveries import Delivery, MonitorSpec, class_codes
from headcount.monitor.folder import Chunk, Ids, MonitorFolder, Rows, positions, value_hashes
from headcount.monitor.history import Alert
from headcount.tables.readers import as_table

# Rows without a key are the same as earlier ones if so many are equal, and all others differ.
_FEWEST_EQUAL = 10


@dataclass(frozen=True, eq=False)
class Update(ShownAsPrinted):
    """Result of an update; iterates over the alerts that it opened or ended.

    Attributes
    ----------
    chunks : tuple of str
        Chunks with new rows or labels.
    alerts : tuple of Alert
        Alerts that are new, or whose state has changed.
    notes : tuple of str
        Sentences for the reader.
    """

    chunks: tuple[str, ...]
    alerts: tuple[Alert, ...]
    notes: tuple[str, ...]

    def __iter__(self) -> Iterator[Alert]:
        return iter(self.alerts)

    def __len__(self) -> int:
        return len(self.alerts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        alerts = [alert.to_dict() for alert in self.alerts]
        return {"chunks": list(self.chunks), "alerts": alerts, "notes": list(self.notes)}

    def __repr__(self) -> str:
        n = len(self.chunks)
        lines = [f"{n:,} chunk{'' if n == 1 else 's'} updated"]
        for alert in self.alerts:
            when = f" on {printable(alert.ended)}" if alert.ended else ""
            lines.append(f"{alert.state}{when}: {alert.reason}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, eq=False)
class Additions:
    """Rows and labels that are new, checked but not written yet."""

    named: list[tuple[Chunk, Rows]]  # rows and late labels, by the chunks they belong to
    appended: list[tuple[str, Rows]]
    notes: tuple[str, ...] = ()  # sentences for the reader

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the chunks with new rows or labels, then of the streams."""
        chunks = [str(chunk) for chunk, _ in self.named]
        return tuple(dict.fromkeys([*chunks, *(stream for stream, _ in self.appended)]))

    def write(self, folder: MonitorFolder) -> None:
        """Write them to the folder of the monitor."""
        for chunk, rows in self.named:
            folder.add(chunk, rows)
        for stream, rows in self.appended:
            folder.append(stream, rows)


def find_additions(
    folder: MonitorFolder,
    spec: MonitorSpec,
    delivery: Delivery,
    labels: Any,
    separator: str | None,
) -> Additions:
    """Rows and labels that are not known yet; all are checked before any is written."""
    chunks, late = delivery.chunks, None
    if labels is not None:
        late = _read_labels(spec, labels, separator)
        chunks = [(chunk, late.joined_to(rows)) for chunk, rows in chunks]
    additions = (_of_sequences if spec.chunk_size else _of_periods)(folder, spec, chunks)
    if late is not None:
        delivered = np.concatenate([np.empty(0, np.uint64), *(rows.keys for _, rows in chunks)])
        late = late.take(positions(delivered, late.keys) < 0)
        finder = _labels_of_sequences if spec.chunk_size else _labels_of_periods
        additions.named.extend(finder(folder, spec, late))
    return additions


def _of_periods(
    folder: MonitorFolder, spec: MonitorSpec, chunks: list[tuple[Chunk, Rows]]
) -> Additions:
    named, notes = [], []
    for chunk, rows in chunks:
        fresh = rows
        if folder.has_rows(chunk):
            stored = folder.rows(chunk)
            fresh = rows.new_beside(stored, str(chunk))
            if not spec.key and not folder.was_delivered(chunk, rows.keys):
                notes += _repeated(stored, rows, chunk)
            if len(fresh) and not spec.key and spec.kind == "verdicts":
                raise HeadcountError(
                    f"Chunk {chunk} has rows already, and further rows cannot be "
                    "distinguished from them without a key: create the monitor with `key`."
                )
        if len(fresh):
            named.append((chunk, fresh))
    return Additions(named, [], tuple(notes))


def _repeated(stored: Rows, rows: Rows, chunk: Chunk) -> list[str]:
    """Note on rows that were delivered before; an error if they may as well be new ones."""
    n_equal = int((positions(stored.keys, rows.keys) >= 0).sum())
    if not n_equal:
        return []
    distinct = all(
        len(np.unique(part.scores, axis=0)) == len(part.scores) for part in (stored, rows)
    )
    if distinct and n_equal >= min(_FEWEST_EQUAL, len(rows), len(stored)):
        which = f"{n_equal:,} of {len(rows):,} rows of chunk {chunk} were delivered before"
        return [f"{which}: they were not added again."]
    raise HeadcountError(
        f"{n_equal:,} of {len(rows):,} rows of chunk {chunk} equal rows of an earlier "
        "delivery, and without a key it cannot be told whether they are the same: create the "
        "monitor with `key`, or deliver all rows of a chunk at once."
    )


def _of_sequences(
    folder: MonitorFolder, spec: MonitorSpec, deliveries: list[tuple[Chunk, Rows]]
) -> Additions:
    named, appended, notes = [], [], []
    for chunk, rows in deliveries:
        places = folder.positions(chunk.stream, rows)
        again = places >= 0
        if again.any():
            how_many = "The same" if again.all() else f"{again.sum():,} of {len(rows):,}"
            notes.append(f"{how_many} rows were delivered before: they were not added again.")
            if spec.key:
                repeated = (chunk.stream, rows.take(again), places[again])
                named += _beside_known(folder, spec.chunk_size, *repeated)
        if not again.all():
            appended.append((chunk.stream, rows.take(~again)))
    return Additions(named, appended, tuple(notes))


def _beside_known(
    folder: MonitorFolder, chunk_size: int, stream: str, rows: Rows, places: Ints
) -> list[tuple[Chunk, Rows]]:
    """New labels of rows at known places of a stream, by chunk."""
    numbers, additions = places // chunk_size, []
    for number in np.unique(numbers).tolist():
        chunk = folder.numbered(number, stream)
        fresh = rows.take(numbers == number).new_beside(folder.rows(chunk), str(chunk))
        if len(fresh):
            additions.append((chunk, fresh))
    return additions


@dataclass(frozen=True, eq=False)
class _Labels:
    """Labels of rows, which are known by their keys."""

    keys: Ids
    codes: Ints
    names: Array

    def take(self, places: Any) -> _Labels:
        return _Labels(self.keys[places], self.codes[places], self.names[places])

    def as_rows(self, width: int) -> Rows:
        """Rows that bring a label only."""
        n = len(self.keys)
        nothing = np.full((n, width), np.nan)
        return Rows(self.keys, nothing, np.full(n, -1), self.codes, np.ones(n, bool))

    def joined_to(self, rows: Rows) -> Rows:
        """Rows with their labels."""
        places = positions(rows.keys, self.keys)
        present = places >= 0
        row_labels = rows.labels[places[present]]
        if ((row_labels >= 0) & (row_labels != self.codes[present])).any():
            raise HeadcountError("A row has one label in `new` and another one in `labels`.")
        labels = rows.labels.copy()
        labels[places[present]] = self.codes[present]
        return replace(rows, labels=labels)


def _read_labels(spec: MonitorSpec, labels: Any, separator: str | None) -> _Labels:
    if not spec.key:
        raise HeadcountError(
            "`labels` are matched with rows by a key: create the monitor with `key`, or "
            "deliver the rows again with their labels."
        )
    table = as_table(labels, "labels", separator)
    table.require([spec.key, spec.target], "which labels are read from")
    frame = table.read([spec.key, spec.target])
    codes = class_codes(frame[spec.target], spec.classes, table.name)
    frame, codes = frame.filter(pl.Series(codes >= 0)), codes[codes >= 0]
    if frame[spec.key].is_duplicated().any():
        raise HeadcountError(f"`labels` has a row twice in column {spec.key!r}.")
    names = np.array(frame[spec.key].to_list(), object)
    return _Labels(value_hashes(frame[spec.key]), codes, names)


def _labels_of_periods(
    folder: MonitorFolder, spec: MonitorSpec, late: _Labels
) -> list[tuple[Chunk, Rows]]:
    """Labels of known rows, by chunk; the latest chunks are searched first."""
    additions, width = [], _width(spec)
    for chunk in reversed(folder.chunks()):
        if not len(late.keys):
            break
        stored = folder.rows(chunk)
        present = positions(stored.keys, late.keys) >= 0
        fresh = late.take(present).as_rows(width).new_beside(stored, str(chunk))
        if len(fresh):
            additions.append((chunk, fresh))
        late = late.take(~present)
    _check_found(late)
    return additions


def _labels_of_sequences(
    folder: MonitorFolder, spec: MonitorSpec, late: _Labels
) -> list[tuple[Chunk, Rows]]:
    additions: list[tuple[Chunk, Rows]] = []
    for stream in folder.streams():
        rows = late.as_rows(_width(spec))
        places = folder.positions(stream, rows)
        labelled = (stream, rows.take(places >= 0), places[places >= 0])
        additions += _beside_known(folder, spec.chunk_size, *labelled)
        late = late.take(places < 0)
    _check_found(late)
    return additions


def _check_found(late: _Labels) -> None:
    if len(late.keys):
        raise HeadcountError(
            f"`labels` has a label for the row {late.names[0]!r}, which no chunk has: deliver "
            "the rows first."
        )


def _width(spec: MonitorSpec) -> int:
    return 1 if spec.kind == "verdicts" else len(spec.classes)
