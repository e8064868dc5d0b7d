"""Cells and items of groups in sorted tables that merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.representation import WeightedRows
from headcount.sampling import Samples

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

N_WIDTHS = 2
"""Number of wider cells whose answers show the error of cells."""
# Entries that wait before they are sorted in.
_MOST_PENDING = 1 << 20


@dataclass(frozen=True, eq=False)
class Entries:
    """Cells or items of groups, sorted by group and key, each key of a group once.

    Attributes
    ----------
    groups : ndarray of int64, shape (m,)
        Number of the group.
    keys : ndarray of uint64, shape (m,)
        Number of the cell, or a hash.
    counts : ndarray of int64, shape (m,)
        Number of rows.
    sums : ndarray of int64, shape (m, w)
        Sums of the rows in fixed point.
    bins : ndarray of uint8, shape (m, K) or (m, 0)
        Bins that a key is the hash of.
    """

    groups: Integers
    keys: NDArray[np.uint64]
    counts: Integers
    sums: Integers
    bins: NDArray[np.uint8]

    @classmethod
    def none(cls, width: int, n_bins: int = 0) -> Entries:
        """No entries."""
        return cls(
            np.empty(0, np.int64),
            np.empty(0, np.uint64),
            np.empty(0, np.int64),
            np.empty((0, width), np.int64),
            np.empty((0, n_bins), np.uint8),
        )

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, chosen: Any) -> Entries:
        """Some of the entries, in order."""
        return Entries(
            self.groups[chosen],
            self.keys[chosen],
            self.counts[chosen],
            self.sums[chosen],
            self.bins[chosen],
        )

    def between(self, groups: slice) -> Entries:
        """Entries of consecutive groups."""
        ends = np.searchsorted(self.groups, [groups.start, groups.stop])
        return self.take(slice(*ends))

    def of_groups(self, numbers: Integers) -> Entries:
        """The same entries, of groups with other numbers; they may be in any order."""
        return Entries(numbers[self.groups], self.keys, self.counts, self.sums, self.bins)

    @classmethod
    def gather(cls, parts: list[Entries], *, add: bool = True) -> Entries:
        """Entries of several parts. Those with equal keys are added, or are equal items."""
        names = ("groups", "keys", "counts", "sums", "bins")
        groups, keys, counts, sums, bins = (
            np.concatenate([getattr(part, name) for part in parts]) for name in names
        )
        order = _order(groups, keys)
        groups, keys = groups[order], keys[order]
        first = np.ones(len(keys), bool)
        first[1:] = (groups[1:] != groups[:-1]) | (keys[1:] != keys[:-1])
        starts = np.flatnonzero(first)
        if not len(starts):
            return cls.none(sums.shape[1], bins.shape[1])
        sums = np.add.reduceat(sums[order], starts) if add else sums[order[starts]]
        counts = np.add.reduceat(counts[order], starts)
        return cls(groups[starts], keys[starts], counts, sums, bins[order[starts]])


def _order(groups: Integers, keys: NDArray[np.uint64]) -> Integers:
    """Order by group and key; numpy is fast at one key, and at numbers of 16 bits."""
    if groups.max(initial=0) >= 1 << 16:
        return np.lexsort((keys, groups))
    by_key = np.argsort(keys)
    return by_key[np.argsort(groups[by_key].astype(np.uint16), kind="stable")]


class GrowingEntries:
    """Entries that grow: new ones wait until there are enough to sort them in."""

    def __init__(self, entries: Entries, *, add: bool = True) -> None:
        self._entries, self._add = entries, add
        self._pending: list[Entries] = []
        self._n_pending = 0

    def append(self, entries: Entries) -> bool:
        """Add entries; returns True if it is time to gather them."""
        self._pending.append(entries)
        self._n_pending += len(entries)
        return self._n_pending > max(_MOST_PENDING // entries.sums.shape[1], len(self._entries))

    def all(self) -> Entries:
        """All entries, gathered."""
        if self._pending:
            together = [self._entries, *self._pending]
            self.replace(Entries.gather(together, add=self._add))
        return self._entries

    def replace(self, entries: Entries) -> None:
        """Keep these entries in place of all others."""
        self._entries, self._pending, self._n_pending = entries, [], 0


def weighted_rows(
    rows: Floats, weights: Floats, numbers: Integers, groups: slice, copies: int
) -> WeightedRows:
    """Rows of consecutive groups with the given numbers, in order, as samples."""
    edges = np.searchsorted(numbers, np.arange(groups.start, groups.stop + 1))
    indices = np.arange(len(rows), dtype=np.int32)
    samples = Samples.unchecked(indices, edges.astype(np.int64), len(rows), copies=copies)
    return WeightedRows(rows, weights, samples)


def check(fine: bool) -> None:
    """Raise an error if a file does not hold what it must."""
    if not fine:
        raise HeadcountError(
            "The statistics are damaged: their tables do not fit together. Make the file again."
        )


def check_groups(groups: NDArray[Any], n_groups: int) -> None:
    """Raise an error if numbers of groups are out of range or not in order."""
    inside = not len(groups) or 0 <= int(groups.min()) <= int(groups.max()) < n_groups
    check(inside and bool((np.diff(groups) >= 0).all()))
