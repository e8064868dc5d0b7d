"""Cells of a contingency table as classes, and the part of them that a quantifier covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount._random import base_seeds
from headcount.data import take_rows
from headcount.quantify import Quantifier
from headcount.sampling import Samples
from headcount.scores.folds import Fold

__all__ = [
    "VARIANTS",
    "CellFolds",
    "Part",
    "View",
    "cells_of",
    "parts_of",
    "seen_by",
    "with_folds",
]

Floats = NDArray[np.float64]
Solve = Callable[[Samples], Floats]

VARIANTS = ("1xn2", "nxn", "1xn+1")


def cells_of(
    variant: str, true: NDArray[np.int64], predicted: NDArray[np.int64], K: int
) -> NDArray[np.int64]:
    """Cell of each item: true class x K + predicted class; for 1xn+1, K * K if incorrect."""
    cells = true * K + predicted
    return np.where(true == predicted, cells, K * K) if variant == "1xn+1" else cells


@dataclass(frozen=True, eq=False)
class Part:
    """Items and cells that one quantifier covers.

    Attributes
    ----------
    predicted : int or None
        Predicted class of the items; None for all items.
    rows : ndarray
        Rows of the labelled items.
    cells : ndarray
        Cells of these items: the classes of the quantifier. Others are estimated as empty.
    labels : ndarray
        Cell of each row, as a position in `cells`.
    """

    predicted: int | None
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def certain(self) -> bool:
        """True if all items are in one cell, so that nothing is estimated."""
        return len(self.cells) == 1

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Positions in `rows` to learn from; single items of a cell are repeated at the end.

        Otherwise a fold without the item would lack the cell.
        """
        alone = np.flatnonzero(np.bincount(self.labels)[self.labels] == 1)
        return np.concatenate([np.arange(len(self.labels)), alone])

    def examples(self, Z: Any) -> tuple[Any, NDArray[np.int64]]:
        """Items to learn from, and their cells."""
        return take_rows(Z, self.rows[self.order]), self.labels[self.order]

    def fit(self, quantifier: Quantifier, Z: Any) -> Quantifier | None:
        """Fit a copy of the quantifier; None if all items are in one cell."""
        return None if self.certain else with_folds(quantifier).fit(*self.examples(Z))


def parts_of(
    variant: str, true: NDArray[np.int64], predicted: NDArray[np.int64], K: int
) -> list[Part]:
    """Parts into which a variant divides the labelled items.

    Parameters
    ----------
    variant : {"1xn2", "nxn", "1xn+1"}
        One quantifier for all cells, one for each predicted class, or one with all errors in
        one cell.
    true, predicted : ndarray of shape (n,)
        Classes of the labelled items, as codes.
    K : int
        Number of classes.

    Returns
    -------
    list of Part
    """
    cells = cells_of(variant, true, predicted, K)
    seen: Sequence[int | None] = range(K) if variant == "nxn" else [None]
    parts = []
    for label in seen:
        rows = np.flatnonzero(predicted == label) if label is not None else np.arange(len(true))
        if len(rows):
            there, labels = np.unique(cells[rows], return_inverse=True)
            parts.append(Part(label, rows, there, labels.astype(np.int64)))
    return parts


@dataclass(frozen=True, eq=False)
class View:
    """Samples of a pool, restricted to the items of a part.

    Attributes
    ----------
    part : Part
        The part.
    labels : ndarray of shape (n,)
        Predicted classes of the pool.
    whole : Samples
        Rows of the pool.
    """

    part: Part
    labels: NDArray[np.int64]
    whole: Samples

    @cached_property
    def _seen(self) -> NDArray[np.bool_]:
        return seen_by(self.part, self.labels)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of items of the part in each sample."""
        seen = np.concatenate([[0], np.cumsum(self._seen[self.whole.indices])])
        return np.diff(seen[self.whole.offsets])

    @cached_property
    def samples(self) -> Samples:
        """Samples with at least one item of the part, as rows of the items of the part."""
        if self.part.predicted is None:
            return self.whole
        number = np.cumsum(self._seen) - 1
        indices = self.whole.indices
        offsets = np.concatenate([[0], np.cumsum(self.counts[self.counts > 0])])
        return Samples(
            number[indices[self._seen[indices]]], offsets, n_pool=int(self._seen.sum())
        )

    def add(self, solve: Solve | None, shares: Floats) -> None:
        """Add the estimated shares of the cells of the part, in place.

        ``solve`` returns the shares of these cells in `samples`; None for a certain part.
        """
        covered = np.flatnonzero(self.counts)
        if not len(covered):
            return
        weight = (self.counts / self.whole.sizes)[covered, None]
        found = np.ones((len(covered), 1)) if solve is None else solve(self.samples)
        shares[np.ix_(covered, self.part.cells)] += weight * found


def seen_by(part: Part, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the items of a pool that belong to a part, by their predicted classes."""
    if part.predicted is None:
        return np.ones(len(labels), np.bool_)
    return labels == part.predicted


@dataclass(frozen=True)
class CellFolds:
    """Folds for cells of any size: items of a cell are assigned to the folds in turn.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the shuffling.
    """

    n_splits: int
    random_state: Any = None

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Yield the rows to train on and those to score, fold by fold."""
        labels = np.asarray(y)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        shuffled = rng.permutation(len(labels))
        by_cell = shuffled[np.argsort(labels[shuffled], kind="stable")]
        fold = np.empty(len(labels), np.int64)
        fold[by_cell] = np.arange(len(labels)) % self.n_splits
        for number in range(min(self.n_splits, len(labels))):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def with_folds(quantifier: Quantifier) -> Quantifier:
    """Copy of a quantifier with folds for cells of few items."""
    own = clone(quantifier)
    parameters = own.get_params(deep=False)
    cv, seed = parameters.get("cv"), parameters.get("random_state")
    if isinstance(cv, int | np.integer) and cv >= 2:
        # Without a seed the folds are still the same: estimates score the items again.
        own.set_params(cv=CellFolds(int(cv), 0 if seed is None else seed))
    return own
