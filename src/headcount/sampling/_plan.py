"""Plans: protocols applied to one pool, which draw any range of samples in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import draw_items
from headcount._random import stream_seeds
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.sampling._shares import nearest_counts
from headcount.sampling.samples import Samples, index_dtype, sort_by_code

__all__ = ["Plan", "TargetShares"]

_LARGEST_POOL = 2**32
_FEWEST_ITEMS_PER_THREAD = 1 << 14


@dataclass(frozen=True)
class TargetShares:
    """Requested shares of the classes in each sample.

    Sample ``i`` has the shares of row ``i // repeats``. ``shares`` returns the (R, K) shares
    of rows by their numbers. It is None if items are drawn regardless of their class.
    """

    n_rows: int
    repeats: int
    shares: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None

    @property
    def n_samples(self) -> int:
        return self.n_rows * self.repeats


class Plan:
    """Pool, shares, sizes and seed, which together determine every sample."""

    def __init__(
        self,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        target: TargetShares,
        sizes: NDArray[np.int64],
        seed: int,
    ) -> None:
        if len(codes) > _LARGEST_POOL:
            raise HeadcountError(
                f"y_pool has {len(codes):,} items, but at most {_LARGEST_POOL:,} can be drawn "
                "from: draw from a part of the pool."
            )
        self.classes = classes.copy()
        self.codes = codes
        self.target = target
        self.sizes = sizes
        self.seed = seed
        if target.shares is None:
            self._items = np.arange(len(codes), dtype=index_dtype(len(codes)))
            self._strata = np.array([0, len(codes)])
        else:
            self._items, self._strata = sort_by_code(codes, len(classes))

    def draw(self, start: int, stop: int) -> Samples:
        """Draw the samples from number ``start`` to ``stop - 1``."""
        numbers = np.arange(start, stop)
        sizes = self.sizes[start:stop]
        counts = self._counts(numbers, sizes)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        seeds = stream_seeds(self.seed, numbers)
        drawn = np.empty(offsets[-1], self._items.dtype)

        def work(first: int, last: int) -> None:
            # Set in each thread, as threads do not inherit it. The kernel relies on overflow.
            with np.errstate(over="ignore"):
                draw_items(
                    first, last, seeds, counts, self._items, self._strata, offsets, drawn
                )

        # Each thread first fills a scratch array as long as the pool.
        worth = max(_FEWEST_ITEMS_PER_THREAD, len(self.codes))
        each_range(work, len(numbers), grain=1 + worth * len(numbers) // len(drawn))
        return self._with_prevalence(drawn, offsets, counts)

    def _counts(
        self, numbers: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        if self.target.shares is None:
            return np.ascontiguousarray(sizes[:, None])
        rows = numbers // self.target.repeats
        counts = nearest_counts(self.target.shares(rows), sizes, rows)
        absent = (np.diff(self._strata) == 0) & (counts > 0).any(axis=0)
        if absent.any():
            name = self.classes.tolist()[absent.argmax()]
            raise HeadcountError(
                f"samples with items of class {name!r} were requested, but y_pool has none: "
                "remove the class from classes, or add such items to the pool."
            )
        return counts

    def _with_prevalence(
        self,
        drawn: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> Samples:
        if self.target.shares is None:
            bare = Samples.unchecked(drawn, offsets, len(self.codes))
            prevalence = bare.prevalence_of(self.codes, len(self.classes))
        else:
            prevalence = counts / np.diff(offsets)[:, None]
        return Samples.unchecked(drawn, offsets, len(self.codes), prevalence, self.classes)
