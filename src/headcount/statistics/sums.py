"""Sums of a representation over the items of groups, that merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import FIXED_POINT
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.quantify.from_statistics import Part
from headcount.representation import MeanOf

__all__ = ["Sums"]

Integers = NDArray[np.int64]

_BLOCK_ROWS = 1 << 16
# Beyond this, another batch could exceed the range of 64 bits.
_LARGEST = np.int64(1) << np.int64(62)


class Sums:
    """Sums of a representation in each group, in multiples of 2**-30."""

    def __init__(self, values: Integers | None = None) -> None:
        self._values = np.zeros((0, 0), np.int64) if values is None else values

    @staticmethod
    def delta(part: Part, items: Any, codes: Integers, n_groups: int) -> Integers:
        """Sums of items, by the numbers of their groups."""
        assert isinstance(part.reduction, MeanOf)
        represent, take = part.reduction.representation.embed, part.source.take
        width = represent(take(items, slice(0, 1))).width
        parts: list[Integers] = []

        def work(start: int, stop: int) -> None:
            own = np.zeros((n_groups, width), np.int64)
            for first in range(start, stop, _BLOCK_ROWS):
                rows = slice(first, min(first + _BLOCK_ROWS, stop))
                represent(take(items, rows)).add_sums(codes[rows], own)
            parts.append(own)

        each_range(work, len(codes), grain=max(_BLOCK_ROWS, n_groups * width))
        return np.asarray(sum(parts[1:], start=parts[0]))

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
            grown = np.zeros((n_groups, delta.shape[1]), np.int64)
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
        made = Sums()
        made.add(self._values, numbers)
        return made

    def means(self, groups: slice, n_rows: Integers) -> NDArray[np.float64]:
        """Means over the rows of some groups."""
        return np.asarray(self._values[groups] / FIXED_POINT / n_rows[:, None])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Content as arrays, for files."""
        return {"sums": self._values}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_groups: int) -> Sums:
        """Object with this content, checked."""
        values = arrays["sums"]
        if values.ndim != 2 or len(values) != n_groups:
            raise HeadcountError(
                "The statistics are damaged: their sums do not fit the groups. Make the file "
                "again."
            )
        return cls(values)
