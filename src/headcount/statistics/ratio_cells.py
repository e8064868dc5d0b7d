"""Posteriors of three and more classes in groups, in cells or as samples of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import FIXED_POINT, add_integers, ratio_bins
from headcount._kernels.stratified_draws import GOLDEN, mix
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

# How often the width of bins is doubled at most, and numbers that the cells of a group and
# its sampled items have at most.
_MOST_LEVELS, _MOST_NUMBERS = 2, 1 << 16
_DROPPED = 255
# Replicates of a sample whose answers show its error, each without a part.
_N_REPLICATES = 20
_GRAIN_ROWS = 1 << 16
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
        totals: Integers | None = None,
    ) -> None:
        K = n_classes
        self._n_classes = K
        self._most = _MOST_NUMBERS // (K + 1)
        self._cells = GrowingEntries(Entries.none(K, K) if cells is None else cells)
        self._sample = GrowingEntries(Entries.none(K) if sample is None else sample, add=False)
        self._levels = np.zeros(0, np.uint8) if levels is None else levels
        # By the class with the largest posterior: the number of rows, and their sums.
        self._totals = np.zeros((0, K, K + 1), np.int64) if totals is None else totals

    def delta(
        self, rows: Floats, codes: Integers, n_groups: int
    ) -> tuple[Entries, Entries, Integers]:
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

    def add(self, delta: tuple[Entries, Entries, Integers], numbers: Integers) -> None:
        """Add what `delta` returned, whose groups have these numbers here."""
        cells, sample = (part.of_groups(numbers) for part in delta[:2])
        self._grow(int(numbers.max(initial=-1)) + 1)
        np.add.at(self._totals, numbers, delta[2])
        kept = cells.take(self._levels[cells.groups] != _DROPPED)
        ready = self._cells.append(kept)
        if self._sample.append(sample) or ready:
            self._settle()

    def merge(self, other: RatioCells, numbers: Integers) -> None:
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

    def content(self) -> Integers:
        """Number of rows, and the sums of their posteriors."""
        return self._totals

    def regrouped(self, numbers: Integers) -> RatioCells:
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
            many = counts > self._most
            if not many.any():
                break
            self._levels[many] += 1
            self._levels[self._levels == _MOST_LEVELS + 1] = _DROPPED
            cells = _at_levels(cells, self._levels)
        self._cells.replace(cells)

    def arrays(self) -> dict[str, NDArray[Any]]:
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
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_groups: int) -> RatioCells:
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
        made = cls(K, cells, sample, levels, totals)
        made._settle()
        return made

    @property
    def n_variants(self) -> int:
        """Number of variants that show the error: more if there are samples."""
        self._settle()
        return _N_REPLICATES if (self._levels == _DROPPED).any() else N_WIDTHS

    def sample_sizes(self) -> Integers:
        """Number of rows of each group that are left: all, or those of the sample."""
        self._settle()
        sample = self._sample.all()
        kept = np.bincount(sample.groups, sample.counts, len(self._levels)).astype(np.int64)
        return np.where(self._levels == _DROPPED, kept, self._totals[:, :, 0].sum(axis=1))

    def weighted_rows(self, groups: slice, variant: int, copies: int) -> WeightedRows:
        """Cells of some groups, or the items of their samples, as weighted rows.

        Variants have cells of twice the width or more, and samples without a part of their
        items.
        """
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
            parts = [self._sampled(sample, int(number), variant) for number in sampled]
            numbers = np.concatenate([numbers, np.repeat(sampled, [len(p[1]) for p in parts])])
            rows = np.concatenate([rows, *(part[0] for part in parts)])
            weights = np.concatenate([weights, *(part[1] for part in parts)])
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
            kept = certain | (place != variant - 1)
            items, certain = items.take(kept), certain[kept]
        rows, weights = items.sums / FIXED_POINT, items.counts.astype(np.float64)
        largest, totals = rows.argmax(axis=1), self._totals[number] / FIXED_POINT
        totals[:, 0] *= FIXED_POINT
        np.subtract.at(
            totals, largest[certain], weights[certain, None] * _with_ones(rows[certain])
        )
        free = ~certain
        for j, total in enumerate(totals):
            own = free & (largest == j)
            weights[own] = _calibrated(rows[own], weights[own], total)
        weights[free] = _calibrated(rows[free], weights[free], totals.sum(axis=0))
        kept = weights > 0
        return rows[kept], weights[kept]


def _with_ones(rows: Floats) -> Floats:
    return np.column_stack([np.ones(len(rows)), rows])


def _calibrated(rows: Floats, counts: Floats, total: Floats) -> Floats:
    """Weights near `counts` with which the sums of the rows are as those of all items.

    `total` has the number of all items, and their sums.
    """
    n = total[0]
    if not len(rows) or n <= 0:
        return counts
    weights = counts * (n / counts.sum())
    if len(rows) < _ROWS_PER_NUMBER * rows.shape[1]:
        return weights
    used = rows[:, :-1]
    mean = weights @ used / n
    away = used - mean
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
    made = Entries(cells.groups, _hashes(bins), cells.counts, cells.sums, bins)
    return Entries.gather([made])


def _lowest(items: Entries, most: int) -> Entries:
    """Items with the lowest hashes of each group."""
    starts = np.searchsorted(items.groups, items.groups)
    return items.take(np.arange(len(items)) - starts < most)
