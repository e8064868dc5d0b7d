"""Cells and items of groups in sorted tables that merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import (
    FINEST,
    FIXED_POINT,
    LEADING_BITS,
    add_integers,
    add_logit_cells,
    logit_cells,
    ratio_bins,
)
from headcount._kernels.draws import GOLDEN, mix
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.parts.fitted import Part
from headcount.parts.training import MeanOf, WeightedRows
from headcount.samples.samples import Samples

N_WIDTHS = 2
"""Number of wider cells whose answers show the error of cells."""
# Entries that wait before they are sorted in.
_MOST_PENDING = 1 << 20


@dataclass(frozen=True, eq=False)
class Entries:
    """Cells or items of groups, sorted by group and key, each key of a group once."""

    groups: Ints
    keys: NDArray[np.uint64]
    counts: Ints
    sums: Ints
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
        return Entries(**{name: column[chosen] for name, column in vars(self).items()})

    def between(self, groups: slice) -> Entries:
        """Entries of consecutive groups."""
        ends = np.searchsorted(self.groups, [groups.start, groups.stop])
        return self.take(slice(*ends))

    def of_groups(self, numbers: Ints) -> Entries:
        """The same entries, of groups with other numbers; they may be in any order."""
        return replace(self, groups=numbers[self.groups])

    @classmethod
    def gather(cls, parts: list[Entries], *, add: bool = True) -> Entries:
        """Entries of several parts. Those with equal keys are added, or are equal items."""
        columns = zip(*(vars(entries).values() for entries in parts), strict=True)
        groups, keys, counts, sums, bins = map(np.concatenate, columns)
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


def _order(groups: Ints, keys: NDArray[np.uint64]) -> Ints:
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
    rows: Floats, weights: Floats, numbers: Ints, groups: slice, copies: int
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


def check_groups(groups: Array, n_groups: int) -> None:
    """Raise an error if numbers of groups are out of range or not in order."""
    inside = not len(groups) or 0 <= int(groups.min()) <= int(groups.max()) < n_groups
    check(inside and bool((np.diff(groups) >= 0).all()))


# Rows that are embedded at a time: more of a narrow representation, for which calls take a good
# part of the time, than of a wide one, which takes memory.
_NARROW_ROWS, _WIDE_ROWS, _NARROW = 1 << 16, 1 << 14, 64
_GRAIN_ROWS = 1 << 16
# Beyond this, another batch could exceed the range of 64 bits.
_LARGEST = np.int64(1) << np.int64(62)


def add_in_threads(
    work: Callable[[int, int, Ints], None], n: int, shape: tuple[int, ...], *, grain: int
) -> Ints:
    """Sum over n rows; ``work(start, stop, own)`` adds rows to an array of its thread."""
    free: list[Ints] = []

    def one_range(start: int, stop: int) -> None:
        try:
            buffer = free.pop()
        except IndexError:
            buffer = np.zeros(shape, np.int64)
        work(start, stop, buffer)
        free.append(buffer)

    each_range(one_range, n, grain=grain)
    return sum(free[1:], start=free[0])


class Sums:
    """Sums in each group, (G, 2, w): multiples of 2**-30, and remainders of 2**-61."""

    def __init__(self, values: Ints | None = None) -> None:
        self._values = np.zeros((0, 2, 0), np.int64) if values is None else values

    @staticmethod
    def deltas(parts: Sequence[Part], items: Any, codes: Ints, n_groups: int) -> list[Ints]:
        """Sums of items of the same source for each part, by the numbers of their groups."""
        if not parts:
            return []
        source, n = parts[0].source, len(codes)
        copies = source.count(items) // n
        embeds = [
            part.reduction.representation.embed
            for part in parts
            if isinstance(part.reduction, MeanOf)
        ]
        one = source.take(items, slice(0, 1))
        widths = [embed(one).width for embed in embeds]
        ends = np.cumsum([0, *widths]).tolist()
        block = max(1, (_NARROW_ROWS if max(widths) <= _NARROW else _WIDE_ROWS) // copies)

        def work(start: int, stop: int, own: Ints) -> None:
            views = [own[:, :, a:b] for a, b in pairwise(ends)]
            for first in range(start, stop, block):
                block_rows = slice(first, min(first + block, stop))
                rows = _rows_of(items, copies, block_rows, source.take)
                for embed, sums in zip(embeds, views, strict=True):
                    embed(rows).add_sums(codes[block_rows], sums)

        grain = max(_GRAIN_ROWS // copies, 2 * n_groups * ends[-1])
        together = add_in_threads(work, n, (n_groups, 2, ends[-1]), grain=grain)
        return [together[:, :, a:b] for a, b in pairwise(ends)]

    def check(self, delta: Ints, numbers: Ints) -> None:
        """Raise an error if sums would become too large."""
        existing = numbers[numbers < len(self._values)]
        if not len(existing) or not len(delta):
            return
        largest = np.abs(self._values[existing]).max(initial=0)
        if int(largest) + int(np.abs(delta).max(initial=0)) >= _LARGEST:
            raise HeadcountError(
                "A group has too many items for exact sums, more than about four billion: "
                "split it into smaller groups."
            )

    def add(self, delta: Ints, numbers: Ints) -> None:
        """Add sums, whose groups have these numbers here."""
        n_groups = max(len(self._values), int(numbers.max(initial=-1)) + 1)
        if n_groups > len(self._values):
            grown = np.zeros((n_groups, *delta.shape[1:]), np.int64)
            if self._values.size:
                grown[: len(self._values)] = self._values
            self._values = grown
        np.add.at(self._values, numbers, delta)

    def merge(self, other: Sums, numbers: Ints) -> None:
        """Add the sums of another object, whose groups have these numbers here."""
        self.add(other._values, numbers[: len(other._values)])

    def empty(self) -> Sums:
        """Object of this kind without content."""
        return Sums()

    def content(self) -> Ints:
        """The sums."""
        return self._values

    def regrouped(self, numbers: Ints) -> Sums:
        """The sums of groups with other numbers; equal numbers are added."""
        regrouped = Sums()
        regrouped.add(self._values, numbers)
        return regrouped

    def means(self, groups: slice, n_rows: Ints) -> Floats:
        """Means over the rows of some groups."""
        wholes, rests = self._values[groups, 0], self._values[groups, 1]
        return np.asarray((wholes + rests / FINEST) / FIXED_POINT / n_rows[:, None])

    def arrays(self) -> dict[str, Array]:
        """Content as arrays, for files."""
        return {"sums": self._values}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_groups: int) -> Sums:
        """Object with this content, checked."""
        values = arrays["sums"]
        check(values.ndim == 3 and values.shape[:2] == (n_groups, 2))
        return cls(values)


def check_room(stores: dict[str, Any], deltas: dict[str, Any], numbers: Ints) -> None:
    """Raise an error if sums among some stores would become too large."""
    for key, store in stores.items():
        if isinstance(store, Sums):
            store.check(deltas[key], numbers)


def _rows_of(items: Any, copies: int, chosen: slice, take: Callable[[Any, slice], Any]) -> Any:
    """Rows of consecutive items: all first rows, then all second ones, and so on."""
    if copies == 1:
        return take(items, chosen)
    shape = items.shape[1:]  # only arrays have several rows per item
    return items.reshape(copies, -1, *shape)[:, chosen].reshape(-1, *shape)


# Cells of the logit from -15 to 15.
_N_CELLS, _REACH = 1024, 15.0
# Groups with smaller numbers have all their cells in one array, 16 KB per group.
_MOST_DENSE = 1 << 10


def _cell_table() -> tuple[Floats, Ints, np.int64]:
    """Edges of cells below 1/2, equal on all machines; first cells and leading bits."""
    logits = np.arange(_N_CELLS // 2) * (2 * _REACH / _N_CELLS) - _REACH
    edges = [0.0, *(float(np.float32(1 / (1 + exp(-z)))) for z in logits[1:]), np.inf]
    ends = np.array([2.0**-22, 0.5]).view(np.int64) >> LEADING_BITS
    lowest = (np.arange(ends[0], ends[1] + 1) << LEADING_BITS).view(np.float64)
    return np.array(edges), np.searchsorted(edges, lowest, side="right") - 1, ends[0]


_TABLE = _cell_table()


class LogitCells:
    """Posteriors of two classes in 1,024 cells of the logit: numbers of rows and sums."""

    def __init__(self, entries: Entries | None = None) -> None:
        self._cells = GrowingEntries(Entries.none(1) if entries is None else entries)
        # Cells that are not among the entries yet: counts and sums, (G, 1024, 2).
        self._dense = _no_cells()

    def delta(self, rows: Floats, codes: Ints, n_groups: int) -> Entries | Ints:
        """Cells of items, each with one or several rows, by the numbers of their groups."""
        n, copies = len(codes), len(rows) // len(codes)
        if n_groups * _N_CELLS > 8 * max(len(rows), _GRAIN_ROWS):
            return _sparse_cells(rows, np.tile(codes, copies))
        return add_in_threads(
            lambda start, stop, own: add_logit_cells(rows, *_TABLE, codes, start, stop, own),
            n,
            (n_groups, _N_CELLS, 2),
            grain=max(_GRAIN_ROWS, n_groups * _N_CELLS // 2) // copies,
        )

    def add(self, delta: Entries | Ints, numbers: Ints) -> None:
        """Add cells, whose different groups have these numbers here."""
        if not isinstance(delta, Entries):
            n_groups = int(numbers.max(initial=-1)) + 1
            if n_groups <= _MOST_DENSE:
                self._add_dense(delta, numbers, n_groups)
                return
            delta = _entries(delta)
        if self._cells.append(delta.of_groups(numbers)):
            self._cells.all()

    def _add_dense(self, delta: Ints, numbers: Ints, n_groups: int) -> None:
        if n_groups > len(self._dense):
            grown = np.zeros((n_groups, _N_CELLS, 2), np.int64)
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        for number, cells in zip(numbers, delta, strict=True):
            self._dense[number] += cells

    def merge(self, other: LogitCells, numbers: Ints) -> None:
        """Add the cells of another object, whose groups have these numbers here."""
        self.add(other.content(), numbers)

    def empty(self) -> LogitCells:
        """Object of this kind without content."""
        return LogitCells()

    def content(self) -> Entries:
        """All cells."""
        if len(self._dense):
            self._cells.append(_entries(self._dense))
            self._dense = _no_cells()
        return self._cells.all()

    def regrouped(self, numbers: Ints) -> LogitCells:
        """The cells of groups with other numbers; equal numbers are added."""
        return LogitCells(Entries.gather([self.content().of_groups(numbers)]))

    def arrays(self) -> dict[str, Array]:
        """Content as arrays, for files."""
        cells = self.content()
        return {
            "groups": cells.groups,
            "cells": cells.keys.astype(np.uint16),
            "counts": cells.counts,
            "sums": cells.sums[:, 0],
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_groups: int) -> LogitCells:
        """Object with this content, checked."""
        groups, keys = arrays["groups"], arrays["cells"]
        counts, sums = arrays["counts"], arrays["sums"]
        m = len(groups)
        check(len(keys) == len(counts) == len(sums) == m and groups.ndim == 1)
        check_groups(groups, n_groups)
        order = groups * _N_CELLS + keys.astype(np.int64)
        check(m == 0 or (int(keys.max()) < _N_CELLS and bool((np.diff(order) > 0).all())))
        check(bool((counts > 0).all() and (sums >= 0).all()))
        check(bool((sums / FIXED_POINT <= counts * (1 + 1e-9)).all()))
        bins = np.empty((m, 0), np.uint8)
        return cls(Entries(groups, keys.astype(np.uint64), counts, sums[:, None], bins))

    @property
    def n_variants(self) -> int:
        """Number of variants that show the error."""
        return N_WIDTHS

    def weighted_rows(self, groups: slice, variant: int, copies: int) -> WeightedRows:
        """Cells of some groups as weighted rows; each variant doubles the width of cells."""
        cells = self.content().between(groups)
        if variant:
            joined = cells.keys >> np.uint64(min(variant, N_WIDTHS))
            cells = Entries.gather([replace(cells, keys=joined)])
        second = np.minimum(cells.sums[:, 0] / FIXED_POINT / cells.counts, 1.0)
        rows = np.column_stack([1 - second, second])
        return weighted_rows(
            rows, cells.counts.astype(np.float64), cells.groups, groups, copies
        )


def _no_cells() -> Ints:
    return np.zeros((0, _N_CELLS, 2), np.int64)


def _entries(dense: Ints) -> Entries:
    """Cells that are not empty, of an array (G, 1024, 2)."""
    cells = dense.reshape(-1, 2)
    filled = np.flatnonzero(cells[:, 0])
    groups, keys = np.divmod(filled, _N_CELLS)
    counts, sums = cells[filled].T
    bins = np.empty((len(filled), 0), np.uint8)
    return Entries(groups, keys.astype(np.uint64), counts, sums[:, None], bins)


def _sparse_cells(rows: Floats, codes: Ints) -> Entries:
    """Cells of rows that have about as many groups as there are rows."""
    n = len(rows)
    cells, fixed = np.empty(n, np.int64), np.empty(n, np.int64)

    def work(start: int, stop: int) -> None:
        logit_cells(rows[start:stop], *_TABLE, cells[start:stop], fixed[start:stop])

    each_range(work, n, grain=_GRAIN_ROWS)
    ones, bins = np.ones(n, np.int64), np.empty((n, 0), np.uint8)
    return Entries.gather([Entries(codes, cells.astype(np.uint64), ones, fixed[:, None], bins)])


# How often the width of bins is doubled at most, and numbers that the cells of a group and
# its sampled items have at most.
_MOST_LEVELS, _MOST_NUMBERS = 2, 1 << 16
_DROPPED = 255
# Replicates of a sample whose answers show its error, each without a part.
_N_REPLICATES = 20
# Items of a sample per number that their weights are adjusted to.
_ROWS_PER_NUMBER, _RIDGE = 20, 1e-9


class RatioCells:
    """Posteriors of three and more classes, in cells or as a sample.

    Cells are bins of the logarithm of the ratio of each posterior to the largest one of its
    item, 1/16 wide and wider for small ratios. If a group has more cells than 65,536 / (K + 1),
    its bins are joined in pairs, up to twice. If that is not enough, as many distinct
    items remain, those with the lowest hashes, with the number of their copies. All of it
    depends on the items of a group alone.
    """

    def __init__(
        self,
        n_classes: int,
        cells: Entries | None = None,
        sample: Entries | None = None,
        levels: NDArray[np.uint8] | None = None,
        totals: Ints | None = None,
    ) -> None:
        K = n_classes
        self._n_classes = K
        self._most = _MOST_NUMBERS // (K + 1)
        self._cells = GrowingEntries(Entries.none(K, K) if cells is None else cells)
        self._sample = GrowingEntries(Entries.none(K) if sample is None else sample, add=False)
        self._levels = np.zeros(0, np.uint8) if levels is None else levels
        # By the class with the largest posterior: the number of rows, and their sums.
        self._totals = np.zeros((0, K, K + 1), np.int64) if totals is None else totals

    def delta(self, rows: Floats, codes: Ints, n_groups: int) -> tuple[Entries, Entries, Ints]:
        """Cells, sample and totals of items, by the numbers of their groups."""
        n, K = rows.shape
        codes = np.tile(codes, n // len(codes))
        bins, fixed = np.empty((n, K), np.uint8), np.empty((n, K), np.int64)
        largest, hashes = np.empty(n, np.int64), np.empty(n, np.uint64)

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore"):
                ratio_bins(rows, start, stop, bins, fixed, largest, hashes)

        each_range(work, n, grain=_GRAIN_ROWS // K)
        ones = np.ones(n, np.int64)
        cells = Entries.gather([Entries(codes, _hashes(bins), ones, fixed, bins)])
        no_bins = np.empty((n, 0), np.uint8)
        items = Entries.gather([Entries(codes, hashes, ones, fixed, no_bins)], add=False)
        totals = np.zeros((n_groups * K, K + 1), np.int64)
        add_integers(fixed, codes * K + largest, 0, n, totals)
        return cells, _lowest(items, self._most), totals.reshape(n_groups, K, K + 1)

    def add(self, delta: tuple[Entries, Entries, Ints], numbers: Ints) -> None:
        """Add what `delta` returned, whose groups have these numbers here."""
        cells, sample = (entries.of_groups(numbers) for entries in delta[:2])
        self._grow(int(numbers.max(initial=-1)) + 1)
        np.add.at(self._totals, numbers, delta[2])
        retained = cells.take(self._levels[cells.groups] != _DROPPED)
        ready = self._cells.append(retained)
        if self._sample.append(sample) or ready:
            self._settle()

    def merge(self, other: RatioCells, numbers: Ints) -> None:
        """Add the content of another object, whose groups have these numbers here."""
        other._settle()
        self._settle()
        self._grow(int(numbers.max(initial=-1)) + 1)
        np.maximum.at(self._levels, numbers, other._levels)
        self.add((other._cells.all(), other._sample.all(), other._totals), numbers)
        self._settle()

    def empty(self) -> RatioCells:
        """Object of this kind without content."""
        return RatioCells(self._n_classes)

    def content(self) -> Ints:
        """Number of rows, and the sums of their posteriors."""
        return self._totals

    def regrouped(self, numbers: Ints) -> RatioCells:
        """The content of groups with other numbers; equal numbers are added."""
        regrouped = RatioCells(self._n_classes)
        regrouped.merge(self, numbers)
        return regrouped

    def _grow(self, n_groups: int) -> None:
        more = n_groups - len(self._totals)
        if more > 0:
            self._levels = np.concatenate([self._levels, np.zeros(more, np.uint8)])
            new = np.zeros((more, *self._totals.shape[1:]), np.int64)
            self._totals = np.concatenate([self._totals, new])

    def _settle(self) -> None:
        """Gather all cells, at widths at which there are not too many, and the sample."""
        self._sample.replace(_lowest(self._sample.all(), self._most))
        cells = _at_levels(self._cells.all(), self._levels)
        while True:
            counts = np.bincount(cells.groups, minlength=len(self._levels))
            crowded = counts > self._most
            if not crowded.any():
                break
            self._levels[crowded] += 1
            self._levels[self._levels == _MOST_LEVELS + 1] = _DROPPED
            cells = _at_levels(cells, self._levels)
        self._cells.replace(cells)

    def arrays(self) -> dict[str, Array]:
        """Content as arrays, for files."""
        self._settle()
        cells, sample = self._cells.all(), self._sample.all()
        return {
            "totals": self._totals,
            "levels": self._levels,
            "cell_groups": cells.groups,
            "cell_bins": cells.bins,
            "cell_counts": cells.counts,
            "cell_sums": cells.sums,
            "sample_groups": sample.groups,
            "sample_hashes": sample.keys,
            "sample_counts": sample.counts,
            "sample_rows": sample.sums.astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_groups: int) -> RatioCells:
        """Object with this content, checked."""
        levels, totals = arrays["levels"], arrays["totals"]
        check(totals.ndim == 3 and totals.shape[2] > 3)
        K = totals.shape[2] - 1
        check(levels.shape == (n_groups,) and totals.shape == (n_groups, K, K + 1))
        check(bool(((levels <= _MOST_LEVELS) | (levels == _DROPPED)).all()))
        check(bool((totals >= 0).all() and (totals[:, :, 0].sum(axis=1) > 0).all()))
        m = len(arrays["cell_groups"])
        shapes = [arrays[name].shape for name in ("cell_bins", "cell_sums")]
        check(shapes == [(m, K)] * 2 and arrays["cell_counts"].shape == (m,))
        k = len(arrays["sample_groups"])
        check(arrays["sample_rows"].shape == (k, K) and arrays["sample_counts"].shape == (k,))
        check(arrays["sample_hashes"].shape == (k,))
        for kind in ("cell", "sample"):
            check_groups(arrays[f"{kind}_groups"], n_groups)
            check(bool((arrays[f"{kind}_counts"] > 0).all()))
        check(bool((arrays["cell_sums"] >= 0).all() and (arrays["sample_rows"] >= 0).all()))
        cells = Entries(
            arrays["cell_groups"],
            _hashes(arrays["cell_bins"]),
            arrays["cell_counts"],
            arrays["cell_sums"],
            arrays["cell_bins"],
        )
        sample = Entries(
            arrays["sample_groups"],
            arrays["sample_hashes"],
            arrays["sample_counts"],
            arrays["sample_rows"].astype(np.int64),
            np.empty((k, 0), np.uint8),
        )
        store = cls(K, cells, sample, levels, totals)
        store._settle()
        return store

    @property
    def n_variants(self) -> int:
        """Number of variants that show the error: more if there are samples."""
        self._settle()
        return _N_REPLICATES if (self._levels == _DROPPED).any() else N_WIDTHS

    def sample_sizes(self) -> Ints:
        """Number of rows of each group that are left: all, or those of the sample."""
        self._settle()
        sample = self._sample.all()
        sampled = np.bincount(sample.groups, sample.counts, len(self._levels)).astype(np.int64)
        return np.where(self._levels == _DROPPED, sampled, self._totals[:, :, 0].sum(axis=1))

    def weighted_rows(self, groups: slice, variant: int, copies: int) -> WeightedRows:
        """Cells of some groups, or the items of their samples, as weighted rows."""
        self._settle()
        cells = self._cells.all().between(groups)
        if variant:
            cells = _at_levels(cells, self._levels + np.uint8(min(variant, N_WIDTHS)))
        rows = cells.sums / FIXED_POINT / cells.counts[:, None]
        weights = cells.counts.astype(np.float64)
        numbers = cells.groups
        sampled = np.flatnonzero(self._levels[groups] == _DROPPED) + groups.start
        if len(sampled):
            sample = self._sample.all().between(groups)
            drawn = [self._sampled(sample, int(number), variant) for number in sampled]
            rows_of, weights_of = zip(*drawn, strict=True)
            places = np.repeat(sampled, [len(part) for part in weights_of])
            numbers = np.concatenate([numbers, places])
            rows, weights = (
                np.concatenate([rows, *rows_of]),
                np.concatenate([weights, *weights_of]),
            )
            order = np.argsort(numbers, kind="stable")
            numbers, rows, weights = numbers[order], rows[order], weights[order]
        rows /= rows.sum(axis=1, keepdims=True)
        return weighted_rows(rows, weights, numbers, groups, copies)

    def _sampled(self, sample: Entries, number: int, variant: int) -> tuple[Floats, Floats]:
        """Items of the sample of a group, weighted so that their mean is that of the group."""
        ends = np.searchsorted(sample.groups, [number, number + 1])
        items = sample.take(slice(*ends))
        # All items below the largest hash are there.
        certain = items.keys < np.uint64(self._n_classes)
        if not certain.all():
            items, certain = items.take(slice(0, -1)), certain[:-1]
        if variant:
            place = np.arange(len(items)) % _N_REPLICATES
            retained = certain | (place != variant - 1)
            items, certain = items.take(retained), certain[retained]
        rows, weights = items.sums / FIXED_POINT, items.counts.astype(np.float64)
        largest, totals = rows.argmax(axis=1), self._totals[number] / FIXED_POINT
        totals[:, 0] *= FIXED_POINT
        counted = np.column_stack([np.ones(len(rows)), rows]) * weights[:, None]
        np.subtract.at(totals, largest[certain], counted[certain])
        free = ~certain
        for j, total in enumerate(totals):
            members = free & (largest == j)
            weights[members] = _calibrated(rows[members], weights[members], total)
        weights[free] = _calibrated(rows[free], weights[free], totals.sum(axis=0))
        retained = weights > 0
        return rows[retained], weights[retained]


def _calibrated(rows: Floats, counts: Floats, total: Floats) -> Floats:
    """Weights near `counts` with which sums of the rows are those of all items, `total`."""
    n = total[0]
    if not len(rows) or n <= 0:
        return counts
    weights = counts * (n / counts.sum())
    if len(rows) < _ROWS_PER_NUMBER * rows.shape[1]:
        return weights
    columns = rows[:, :-1]
    mean = weights @ columns / n
    away = columns - mean
    variance = (weights[:, None] * away).T @ away / n
    variance[np.diag_indices(len(variance))] += _RIDGE
    slope = np.linalg.solve(variance, total[1:-1] / n - mean)
    return np.asarray(np.maximum(weights * (1 + away @ slope), 0.0))


def _hashes(bins: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash of each row of bins."""
    word = np.full(len(bins), GOLDEN, np.uint64)
    with np.errstate(over="ignore"):
        for column in bins.T:
            word = mix(word + column + GOLDEN)
    return word


def _at_levels(cells: Entries, levels: NDArray[np.uint8]) -> Entries:
    """Cells with bins joined once per level of their group."""
    cells = cells.take(levels[cells.groups] <= _MOST_LEVELS + N_WIDTHS)
    # Lowest value of the joined bins, so that joining once or twice makes no difference.
    shifts = levels[cells.groups][:, None]
    bins = (cells.bins >> shifts) << shifts
    return Entries.gather([replace(cells, keys=_hashes(bins), bins=bins)])


def _lowest(items: Entries, most: int) -> Entries:
    """Items with the lowest hashes of each group."""
    starts = np.searchsorted(items.groups, items.groups)
    return items.take(np.arange(len(items)) - starts < most)
