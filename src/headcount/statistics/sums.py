"""Sums of a representation over the items of groups, that merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import FINEST, FIXED_POINT
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.quantify.statistics_parts import Part
from headcount.representation import Embedder, MeanOf

Integers = NDArray[np.int64]

# Rows that are embedded at a time: more of a narrow representation, for which calls take a good
# part of the time, than of a wide one, which takes memory.
_NARROW_ROWS, _WIDE_ROWS, _NARROW = 1 << 16, 1 << 14, 64
_GRAIN_ROWS = 1 << 16
# Beyond this, another batch could exceed the range of 64 bits.
_LARGEST = np.int64(1) << np.int64(62)


def add_in_threads(
    work: Callable[[int, int, Integers], None], n: int, shape: tuple[int, ...], *, grain: int
) -> Integers:
    """Sum over n rows; ``work(start, stop, own)`` adds rows to an array of its thread."""
    free: list[Integers] = []

    def one_range(start: int, stop: int) -> None:
        try:
            own = free.pop()
        except IndexError:
            own = np.zeros(shape, np.int64)
        work(start, stop, own)
        free.append(own)

    each_range(one_range, n, grain=grain)
    return sum(free[1:], start=free[0])


class Sums:
    """Sums of a representation in each group.

    They have the shape (G, 2, w): multiples of 2**-30 and remainders, multiples of 2**-61.
    """

    def __init__(self, values: Integers | None = None) -> None:
        self._values = np.zeros((0, 2, 0), np.int64) if values is None else values

    @staticmethod
    def deltas(
        parts: Sequence[Part], items: Any, codes: Integers, n_groups: int
    ) -> list[Integers]:
        """Sums of items of the same source for each part, by the numbers of their groups."""
        if not parts:
            return []
        source, n = parts[0].source, len(codes)
        copies = source.count(items) // n
        embeds = [_representation(part).embed for part in parts]
        one = source.take(items, slice(0, 1))
        widths = [embed(one).width for embed in embeds]
        ends = np.cumsum([0, *widths]).tolist()
        block = max(1, (_NARROW_ROWS if max(widths) <= _NARROW else _WIDE_ROWS) // copies)

        def work(start: int, stop: int, own: Integers) -> None:
            views = [own[:, :, a:b] for a, b in pairwise(ends)]
            for first in range(start, stop, block):
                chosen = slice(first, min(first + block, stop))
                rows = _rows_of(items, copies, chosen, source.take)
                for embed, sums in zip(embeds, views, strict=True):
                    embed(rows).add_sums(codes[chosen], sums)

        grain = max(_GRAIN_ROWS // copies, 2 * n_groups * ends[-1])
        together = add_in_threads(work, n, (n_groups, 2, ends[-1]), grain=grain)
        return [together[:, :, a:b] for a, b in pairwise(ends)]

    def check(self, delta: Integers, numbers: Integers) -> None:
        """Raise an error if sums would become too large."""
        there = numbers[numbers < len(self._values)]
        if not len(there) or not len(delta):
            return
        own = np.abs(self._values[there]).max(initial=0)
        if int(own) + int(np.abs(delta).max(initial=0)) >= _LARGEST:
            raise HeadcountError(
                "A group has too many items for exact sums, more than about four billion: "
                "split it into smaller groups."
            )

    def add(self, delta: Integers, numbers: Integers) -> None:
        """Add sums, whose groups have these numbers here."""
        n_groups = max(len(self._values), int(numbers.max(initial=-1)) + 1)
        if n_groups > len(self._values):
            grown = np.zeros((n_groups, *delta.shape[1:]), np.int64)
            if self._values.size:
                grown[: len(self._values)] = self._values
            self._values = grown
        np.add.at(self._values, numbers, delta)

    def merge(self, other: Sums, numbers: Integers) -> None:
        """Add the sums of another object, whose groups have these numbers here."""
        self.add(other._values, numbers[: len(other._values)])

    def empty(self) -> Sums:
        """Object of this kind without content."""
        return Sums()

    def content(self) -> Integers:
        """The sums."""
        return self._values

    def regrouped(self, numbers: Integers) -> Sums:
        """The sums of groups with other numbers; equal numbers are added."""
        regrouped = Sums()
        regrouped.add(self._values, numbers)
        return regrouped

    def means(self, groups: slice, n_rows: Integers) -> NDArray[np.float64]:
        """Means over the rows of some groups."""
        wholes, rests = self._values[groups, 0], self._values[groups, 1]
        return np.asarray((wholes + rests / FINEST) / FIXED_POINT / n_rows[:, None])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Content as arrays, for files."""
        return {"sums": self._values}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_groups: int) -> Sums:
        """Object with this content, checked."""
        values = arrays["sums"]
        if values.ndim != 3 or values.shape[:2] != (n_groups, 2):
            raise HeadcountError(
                "The statistics are damaged: their sums do not fit the groups. Make the file "
                "again."
            )
        return cls(values)


def check_room(stores: dict[str, Any], deltas: dict[str, Any], numbers: Integers) -> None:
    """Raise an error if sums among some stores would become too large."""
    for key, store in stores.items():
        if isinstance(store, Sums):
            store.check(deltas[key], numbers)


def _representation(part: Part) -> Embedder:
    assert isinstance(part.reduction, MeanOf)
    return part.reduction.representation


def _rows_of(items: Any, copies: int, chosen: slice, take: Callable[[Any, slice], Any]) -> Any:
    """Rows of consecutive items: all first rows, then all second ones, and so on."""
    if copies == 1:
        return take(items, chosen)
    rest = items.shape[1:]  # only arrays have several rows per item
    return items.reshape(copies, -1, *rest)[:, chosen].reshape(-1, *rest)
