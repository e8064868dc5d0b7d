"""Designs: counts of items from each cell in training sets and in test samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.sampling._shares import nearest_counts
from headcount.shift._cells import Cells, Part

__all__ = [
    "DECIMALS",
    "Design",
    "Side",
    "check_enough",
    "check_learnable",
    "counts_near",
    "share_of",
]

DECIMALS = 9  # Products of shares and sizes are rounded to this, to remove rounding errors.


@dataclass(frozen=True)
class Side:
    """Kinds of training sets, or of test samples, one row per kind.

    ``counts`` is the (D, C) number of items of each cell, ``labels`` the class of each cell
    there, and ``columns`` the settings of each kind, for tables.
    """

    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]

    def prevalence(self, n_classes: int) -> NDArray[np.float64]:
        """Return the (D, K) shares of the classes, exactly as they are drawn."""
        counts = [(self.counts * (self.labels == k)).sum(axis=1) for k in range(n_classes)]
        return np.stack(counts, axis=1) / self.counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Design:
    """All kinds of training sets and test samples, and the degree of shift between them.

    ``degree`` and ``pairs`` are (T, U). A training set is tested on the kinds that ``pairs``
    selects. With ``nested`` the tests of one repetition use the same random numbers for each
    cell, so that they share items as far as their counts agree.
    """

    train: Side
    test: Side
    degree: NDArray[np.float64]
    pairs: NDArray[np.bool_]
    nested: bool = False


def counts_near(shares: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Round rows of shares to counts that sum to ``size``."""
    return nearest_counts(shares, np.full(len(shares), size), np.arange(len(shares)))


def share_of(share: float, size: int | np.integer[Any]) -> int:
    """Round ``share * size`` to a whole number, after removal of rounding errors."""
    return round(round(share * int(size), DECIMALS))


def check_learnable(cells: Cells, train: Side) -> None:
    """Reject training sets in which a class is missing."""
    absent = (train.prevalence(len(cells.classes)) == 0).any(axis=0)
    if absent.any():
        name = cells.classes.tolist()[absent.argmax()]
        raise HeadcountError(
            f"a training set would have no item of class {name!r}, so that nothing can be "
            "learned about it: choose a larger share, or raise train_size."
        )


def check_enough(
    cells: Cells, part: Part, side: Side, *, training: bool, replace: bool
) -> None:
    """Reject a part of the pool that has too few items of a cell."""
    wanted, found = side.counts.max(axis=0), part.sizes
    short = (wanted > found) & ((found == 0) | (not replace))
    if not short.any():
        return
    cell = int(short.argmax())
    what, where, size, move = (
        ("training set", "training", "train_size", "raise")
        if training
        else ("test sample", "test", "test_size", "lower")
    )
    there = f"{found[cell]:,}"
    instead = f"lower {size}, {move} split, or pass replace=True to draw items repeatedly"
    if not found[cell]:
        there, instead = "none", f"add such items to the pool, or {move} split"
    raise HeadcountError(
        f"a {what} needs {wanted[cell]:,} items of {cells.names[cell]}, but the {where} part "
        f"of the pool has {there}: {instead}."
    )
