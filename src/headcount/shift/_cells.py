"""Cells of a pool, and random draws from the cells of a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import draw_items
from headcount._random import stream_seeds
from headcount._threads import each_range
from headcount.sampling.samples import index_dtype, sort_by_code

__all__ = ["Cells", "Part"]

_FEWEST_ITEMS_A_THREAD = 1 << 14


@dataclass(frozen=True)
class Part:
    """Items of the pool, cell by cell. Those of cell ``j`` lie between two ``bounds``."""

    items: NDArray[np.integer[Any]]
    bounds: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each cell."""
        return np.diff(self.bounds)

    def draw(
        self, counts: NDArray[np.int64], seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[np.integer[Any]], NDArray[np.int64]]:
        """Draw ``counts[i, j]`` items of cell ``j`` for sample ``i``; returns indices, offsets.

        Items are drawn without replacement, except from cells that have too few.
        """
        counts = np.ascontiguousarray(counts)
        offsets = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
        drawn = np.empty(offsets[-1], self.items.dtype)

        def work(first: int, last: int) -> None:
            # Set in each thread, as threads do not inherit it. The kernel relies on overflow.
            with np.errstate(over="ignore"):
                draw_items(first, last, seeds, counts, self.items, self.bounds, offsets, drawn)

        # Each thread first fills a scratch array as long as the part.
        worth = max(_FEWEST_ITEMS_A_THREAD, len(self.items))
        each_range(work, len(counts), grain=1 + worth * len(counts) // len(drawn))
        return drawn, offsets


@dataclass(frozen=True)
class Cells:
    """Kinds of items, such as those of one class in one group.

    ``codes`` has the cell of each row of the pool, -1 for rows that are left out. ``names``
    describes each cell. ``classes`` are the classes of the items.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]
    classes: NDArray[Any]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each cell."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def split(self, share: float, seed: int) -> tuple[Part, Part]:
        """Split the pool at random in two parts, the first with ``share`` of each cell."""
        kept = np.flatnonzero(self.codes >= 0)
        order, bounds = sort_by_code(self.codes[kept], len(self.names))
        whole = Part(kept[order].astype(index_dtype(len(self.codes))), bounds)
        counts = np.rint(share * whole.sizes).astype(np.int64)
        first, _ = whole.draw(counts[None, :], stream_seeds(seed, np.zeros(1, np.int64)))
        taken = np.zeros(len(self.codes), np.bool_)
        taken[first] = True
        cut = np.concatenate(([0], np.cumsum(counts)))
        return Part(first, cut), Part(whole.items[~taken[whole.items]], bounds - cut)
