"""What QuAcc has learnt: a quantifier for each part of the labelled items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import TableModel
from headcount.accuracy.judging import Judged
from headcount.accuracy.quacc_cells import Floats, Part, View, seen_by
from headcount.accuracy.quacc_inputs import features_of, inputs
from headcount.accuracy.shares import Counter
from headcount.data import take_rows
from headcount.sampling import Samples

__all__ = ["CellModel", "Eyes"]


@dataclass(frozen=True, eq=False)
class Eyes:
    """What quantifiers are shown of items.

    Attributes
    ----------
    classifier : classifier or None
        The model; if it is a pipeline, items are shown as its last step gets them.
    covariates : bool
        Whether to show how sure the model is, in three ways.
    """

    classifier: Any
    covariates: bool

    def see(self, items: Judged) -> Any:
        """Features, scores and confidences side by side; without features if there are none."""
        X = None if items.X is None else features_of(items.X, self.classifier)
        return inputs(X, items.posteriors, covariates=self.covariates)


@dataclass(frozen=True, eq=False)
class CellModel(TableModel):
    """Shares of the cells of the table, each part's by a quantifier of its own.

    Attributes
    ----------
    parts : sequence of Part
        What the quantifiers see.
    counters : sequence of Counter or None
        Fitted quantifiers; None for a part with a single cell.
    n_classes : int
        Number of classes of the model.
    eyes : Eyes
        What the quantifiers are shown of a pool.
    """

    parts: Sequence[Part]
    counters: Sequence[Counter | None]
    n_classes: int
    eyes: Eyes

    def cell_shares(self, pool: Judged, samples: Samples) -> Floats:
        """Shares of the K * K cells in each sample, and of errors that were not told apart."""
        K = self.n_classes
        shares = np.zeros((len(samples), K * K + 1))
        Z = self.eyes.see(pool)
        for part, counter in zip(self.parts, self.counters, strict=True):
            solve = None if counter is None else _Solver(counter, part, Z, pool.labels)
            View(part, pool.labels, samples).add(solve, shares)
        return _for_the_unseen(shares, self.parts, pool, samples, K)

    def tables(self, pool: Judged, samples: Samples) -> Floats:
        """Table of each sample; errors not told apart are spread evenly over their cells."""
        return as_tables(self.cell_shares(pool, samples), self.n_classes)

    def cross_fitted(self) -> tuple[CellModel, CellModel]:
        """Models of new items, and of the reference by its out-of-fold scores."""
        pairs = [
            (each, each) if each is None else each.cross_fitted() for each in self.counters
        ]
        of_new, of_reference = zip(*pairs, strict=True)
        return replace(self, counters=of_new), replace(self, counters=of_reference)


def as_tables(cells: Floats, K: int) -> Floats:
    """Shares of cells, and of errors not told apart, as tables."""
    tables = cells[:, : K * K].reshape(-1, K, K).copy()
    apart = ~np.eye(K, dtype=np.bool_)
    tables[:, apart] += cells[:, -1:] / (K * (K - 1))
    return tables


@dataclass(frozen=True, eq=False)
class _Solver:
    """Shares of a part's cells in samples of the items that it sees."""

    counter: Counter
    part: Part
    Z: Any
    labels: NDArray[np.int64]

    def __call__(self, samples: Samples) -> Floats:
        rows = np.flatnonzero(seen_by(self.part, self.labels))
        return self.counter.shares(take_rows(self.Z, rows), samples)


def _for_the_unseen(
    shares: Floats, parts: Sequence[Part], pool: Judged, samples: Samples, K: int
) -> Floats:
    """Take items predicted as a class that no labelled item was for right.

    There is no evidence of them where quantifiers see predicted classes apart.
    """
    if parts[0].predicted is None:
        return shares
    known = [part.predicted for part in parts]
    missing = [label for label in range(K) if label not in known]
    if missing:
        predicted = samples.prevalence_of(pool.labels, K)
        for label in missing:
            shares[:, label * K + label] += predicted[:, label]
    return shares
