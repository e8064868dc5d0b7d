"""Rows of a delivery: identified, checked and assigned to chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import GOLDEN, mix
from headcount.errors import HeadcountError

__all__ = ["Ids", "Rows", "content_keys", "positions", "value_hashes"]

Ids = NDArray[np.uint64]

_PRIMES = (GOLDEN, np.uint64(0xC2B2AE3D27D4EB4F))
_UNKNOWN = -1
# Longer texts are hashed by their digest, which has as many characters.
_LONG_TEXT = 64


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one chunk, or of a part of it.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n,)
        Identities of the rows.
    scores : ndarray of shape (n, w)
        Posteriors of all classes, or a column with codes of decisions; NaN if missing, and all
        NaN where only a label was delivered.
    predictions : ndarray of int64, shape (n,)
        Codes of the predicted classes; -1 for the likeliest.
    labels : ndarray of int64, shape (n,)
        Codes of the true classes; -1 if unknown.
    only_label : ndarray of bool, shape (n,)
        Rows of which only a label was delivered.
    """

    keys: Ids
    scores: NDArray[np.float64]
    predictions: NDArray[np.int64]
    labels: NDArray[np.int64]
    only_label: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Any) -> Rows:
        """Some of the rows."""
        return Rows(
            self.keys[rows], self.scores[rows], self.predictions[rows], self.labels[rows],
            self.only_label[rows],
        )  # fmt: skip

    @classmethod
    def concatenate(cls, parts: list[Rows]) -> Rows:
        """Rows of all parts."""
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.predictions for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.only_label for part in parts]),
        )

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
            own = [content[0][labelled], _mixed(self.labels[labelled].astype(np.uint64))]
            labels = _chained(own, prime + np.uint64(1))
            half = int(rows.sum(dtype=np.uint64)) + int(labels.sum(dtype=np.uint64))
            total += (half % 2**64) << (64 * number)
        return total

    def to_bytes(self) -> bytes:
        """Parquet file of the rows."""
        frame = pl.DataFrame(
            {
                "key": self.keys,
                **{f"score {j}": column for j, column in enumerate(self.scores.T)},
                "prediction": self.predictions,
                "label": self.labels,
                "only_label": self.only_label,
            }
        )
        file = BytesIO()
        frame.write_parquet(file, compression="zstd", statistics=False)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Rows:
        """Rows of a Parquet file."""
        frame = pl.read_parquet(BytesIO(content))
        width = frame.width - 4
        scores = [frame[f"score {j}"].to_numpy() for j in range(width)]
        return cls(
            frame["key"].to_numpy(),
            np.column_stack(scores) if scores else np.empty((len(frame), 0)),
            frame["prediction"].to_numpy(),
            frame["label"].to_numpy(),
            frame["only_label"].to_numpy(),
        )

    def merged(self) -> Rows:
        """Each row once, with its label where one was delivered; in the order of the keys."""
        with_scores = self.take(~self.only_label)
        keys, first = np.unique(with_scores.keys, return_index=True)
        rows = with_scores.take(first)
        labelled = self.take(self.labels != _UNKNOWN)
        places = positions(keys, labelled.keys)
        known = places >= 0
        labels = rows.labels.copy()
        labels[places[known]] = labelled.labels[known]
        return replace(rows, labels=labels)

    def new_beside(self, known: Rows, where: str) -> Rows:
        """Rows and labels that are not known yet.

        Parameters
        ----------
        known : Rows
            Merged rows of the chunk.
        where : str
            Name of the chunk, for messages.

        Returns
        -------
        Rows
            Rows that are new, and rows with only a label where that is new.
        """
        places = positions(known.keys, self.keys)
        there = places >= 0
        old, own = known.take(places[there]), self.take(there)
        compared = ~own.only_label
        same = (old.scores == own.scores) | (np.isnan(old.scores) & np.isnan(own.scores))
        if not (same.all(axis=1) & (old.predictions == own.predictions))[compared].all():
            raise HeadcountError(
                f"A row of chunk {where} was delivered before with other scores: rows are not "
                "changed; give corrected rows new keys, or create a new monitor."
            )
        both = (old.labels != _UNKNOWN) & (own.labels != _UNKNOWN)
        if (old.labels != own.labels)[both].any():
            raise HeadcountError(
                f"A row of chunk {where} has a label already, and it is another one: labels "
                "are not changed."
            )
        fresh = (own.labels != _UNKNOWN) & (old.labels == _UNKNOWN)
        late = own.take(fresh)
        late = replace(
            late,
            scores=np.full_like(late.scores, np.nan),
            predictions=np.full_like(late.predictions, _UNKNOWN),
            only_label=np.ones(len(late), bool),
        )
        return Rows.concatenate([self.take(~there), late])

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


def positions(known: Ids, wanted: Ids, *, is_sorted: bool = False) -> NDArray[np.int64]:
    """Position of each wanted key among the known ones; -1 if it is not there.

    Parameters
    ----------
    known, wanted : ndarray of uint64, shape (m,) and (n,)
        Keys, in any order.
    is_sorted : bool, default=False
        True if the known keys are sorted.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    if not len(known):
        return np.full(len(wanted), -1)
    order = None if is_sorted else np.argsort(known)
    places = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    places = places if order is None else order[places]
    return np.where(known[places] == wanted, places, -1)


def value_hashes(column: pl.Series) -> Ids:
    """Hash of the text of each value, the same on every machine and for every file format."""
    texts = column.cast(pl.String, strict=False).str.strip_chars().fill_null("")
    if column.dtype.is_float():
        texts = texts.str.replace(r"\.0$", "")
    long = texts.str.len_bytes() > _LONG_TEXT
    if long.any():
        brief = texts.filter(long).map_elements(_digest, return_dtype=pl.String)
        texts = texts.scatter(long.arg_true(), brief)
    lengths = texts.str.len_bytes().to_numpy().astype(np.uint64)
    found = _chained([lengths], _PRIMES[0])
    # Words of eight bytes, the last one of each text filled with zeros.
    n_words = -(-int(lengths.max(initial=1)) // 8)
    padded = np.array(texts.cast(pl.Binary).to_list(), f"S{8 * n_words}")
    for number, word in enumerate(padded.view("<u8").reshape(len(texts), n_words).T):
        inside = lengths > 8 * number
        found[inside] = _chained([found[inside], word[inside].astype(np.uint64)], _PRIMES[1])
    return found


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=_LONG_TEXT // 2).hexdigest()


def _content_hashes(column: pl.Series) -> Ids:
    """Hash of each value; numbers that are written as text count as numbers."""
    if not column.dtype.is_numeric():
        column = column.cast(pl.String, strict=False).str.strip_chars()
    elif column.dtype.is_float():
        column = column.fill_nan(None)
    numbers = column.cast(pl.Float64, strict=False)
    others = numbers.is_null()
    # Zero is added, as -0.0 has other bits than 0.0.
    found = _mixed((numbers.fill_null(0.0).to_numpy() + 0.0).view(np.uint64))
    found[others.to_numpy()] = value_hashes(column.filter(others).cast(pl.String))
    return found


def content_keys(columns: list[pl.Series], n: int) -> Ids:
    """Identity of rows by their content; equal rows are told apart by their number.

    Parameters
    ----------
    columns : list of Series
        Columns that identify a row.
    n : int
        Number of rows.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
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
    found = np.full(len(columns[0]), prime, np.uint64)
    for column in columns:
        with np.errstate(over="ignore"):
            found = _mixed(found * prime + column)
    return found
