"""Posteriors of two classes in groups, in narrow cells of the logit."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import (
    FIXED_POINT,
    LEADING_BITS,
    add_logit_cells,
    logit_cells,
)
from headcount._threads import each_range
from headcount.representation import WeightedRows
from headcount.statistics.entries import (
    N_WIDTHS,
    Entries,
    Floats,
    GrowingEntries,
    Integers,
    check,
    check_groups,
    weighted_rows,
)
from headcount.statistics.sums import add_in_threads

# Cells of the logit from -15 to 15.
_N_CELLS, _REACH = 1024, 15.0
_GRAIN_ROWS = 1 << 16
# Groups with smaller numbers have all their cells in one array, 16 KB per group.
_MOST_DENSE = 1 << 10


def _cell_table() -> tuple[Floats, Integers, np.int64]:
    """Edges of the cells below 1/2, first cells by leading bits, and the first such bits.

    Edges are rounded to 32 bits, so that another library of mathematics has the same.
    """
    logits = np.arange(_N_CELLS // 2) * (2 * _REACH / _N_CELLS) - _REACH
    edges = [0.0, *(float(np.float32(1 / (1 + exp(-z)))) for z in logits[1:]), np.inf]
    ends = np.array([2.0**-22, 0.5]).view(np.int64) >> LEADING_BITS
    lowest = (np.arange(ends[0], ends[1] + 1) << LEADING_BITS).view(np.float64)
    return np.array(edges), np.searchsorted(edges, lowest, side="right") - 1, ends[0]


_TABLE = _cell_table()


class LogitCells:
    """Posteriors of two classes, in 1,024 cells of the logit.

    A cell has the number of its rows, and the sum of their posteriors of the second class.
    """

    def __init__(self, entries: Entries | None = None) -> None:
        self._cells = GrowingEntries(Entries.none(1) if entries is None else entries)
        # Cells that are not among the entries yet: counts and sums, (G, 1024, 2).
        self._dense = _no_cells()

    def delta(self, rows: Floats, codes: Integers, n_groups: int) -> Entries | Integers:
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

    def add(self, delta: Entries | Integers, numbers: Integers) -> None:
        """Add cells, whose different groups have these numbers here."""
        if not isinstance(delta, Entries):
            n_groups = int(numbers.max(initial=-1)) + 1
            if n_groups <= _MOST_DENSE:
                self._add_dense(delta, numbers, n_groups)
                return
            delta = _entries(delta)
        if self._cells.append(delta.of_groups(numbers)):
            self._cells.all()

    def _add_dense(self, delta: Integers, numbers: Integers, n_groups: int) -> None:
        if n_groups > len(self._dense):
            grown = np.zeros((n_groups, _N_CELLS, 2), np.int64)
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        for number, own in zip(numbers, delta, strict=True):
            self._dense[number] += own

    def merge(self, other: LogitCells, numbers: Integers) -> None:
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

    def regrouped(self, numbers: Integers) -> LogitCells:
        """The cells of groups with other numbers; equal numbers are added."""
        return LogitCells(Entries.gather([self.content().of_groups(numbers)]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Content as arrays, for files."""
        cells = self.content()
        return {
            "groups": cells.groups,
            "cells": cells.keys.astype(np.uint16),
            "counts": cells.counts,
            "sums": cells.sums[:, 0],
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_groups: int) -> LogitCells:
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
            cells = Entries.gather(
                [Entries(cells.groups, joined, cells.counts, cells.sums, cells.bins)]
            )
        second = np.minimum(cells.sums[:, 0] / FIXED_POINT / cells.counts, 1.0)
        rows = np.column_stack([1 - second, second])
        return weighted_rows(
            rows, cells.counts.astype(np.float64), cells.groups, groups, copies
        )


def _no_cells() -> Integers:
    return np.zeros((0, _N_CELLS, 2), np.int64)


def _entries(dense: Integers) -> Entries:
    """Cells that are not empty, of an array (G, 1024, 2)."""
    cells = dense.reshape(-1, 2)
    filled = np.flatnonzero(cells[:, 0])
    groups, keys = np.divmod(filled, _N_CELLS)
    counts, sums = cells[filled].T
    bins = np.empty((len(filled), 0), np.uint8)
    return Entries(groups, keys.astype(np.uint64), counts, sums[:, None], bins)


def _sparse_cells(rows: Floats, codes: Integers) -> Entries:
    """Cells of rows that have about as many groups as there are rows."""
    n = len(rows)
    cells, fixed = np.empty(n, np.int64), np.empty(n, np.int64)

    def work(start: int, stop: int) -> None:
        logit_cells(rows[start:stop], *_TABLE, cells[start:stop], fixed[start:stop])

    each_range(work, n, grain=_GRAIN_ROWS)
    ones, bins = np.ones(n, np.int64), np.empty((n, 0), np.uint8)
    return Entries.gather([Entries(codes, cells.astype(np.uint64), ones, fixed[:, None], bins)])
