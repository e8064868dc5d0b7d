"""Fitted model of QuAcc: a quantifier for each part of the labelled items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import TableModel
from headcount.accuracy.model_outputs import ModelOutputs
from headcount.accuracy.quacc_cells import Floats, Part, View, seen_by
from headcount.accuracy.quacc_inputs import CellInputs
from headcount.accuracy.quantification import FittedQuantifier
from headcount.data import take_rows
from headcount.sampling import Samples

__all__ = ["CellModel", "as_tables"]


@dataclass(frozen=True, eq=False)
class CellModel(TableModel):
    """Shares of the cells of the table, by one quantifier per part.

    Attributes
    ----------
    parts : sequence of Part
        Parts of the items.
    quantifiers : sequence of FittedQuantifier or None
        Quantifier of each part; None for a part with a single cell.
    n_classes : int
        Number of classes of the classifier.
    inputs : CellInputs
        Inputs of the quantifiers.
    """

    parts: Sequence[Part]
    quantifiers: Sequence[FittedQuantifier | None]
    n_classes: int
    inputs: CellInputs

    def cell_shares(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Shares of the K * K cells in each sample, and of errors of unknown cell."""
        K = self.n_classes
        shares = np.zeros((len(samples), K * K + 1))
        Z = self.inputs.of(pool)
        for part, quantifier in zip(self.parts, self.quantifiers, strict=True):
            solve = None if quantifier is None else _Solver(quantifier, part, Z, pool.labels)
            View(part, pool.labels, samples).add(solve, shares)
        return _with_unknown_predictions(shares, self.parts, pool, samples, K)

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample; errors of unknown cell are spread evenly."""
        return as_tables(self.cell_shares(pool, samples), self.n_classes)

    def cross_fitted(self) -> tuple[CellModel, CellModel]:
        """Models for new items, and for the reference by its out-of-fold scores."""
        pairs = [
            (each, each) if each is None else each.cross_fitted() for each in self.quantifiers
        ]
        of_new, of_reference = zip(*pairs, strict=True)
        return replace(self, quantifiers=of_new), replace(self, quantifiers=of_reference)


def as_tables(cells: Floats, K: int) -> Floats:
    """Tables from the shares of cells and of errors of unknown cell."""
    tables = cells[:, : K * K].reshape(-1, K, K).copy()
    off_diagonal = ~np.eye(K, dtype=np.bool_)
    tables[:, off_diagonal] += cells[:, -1:] / (K * (K - 1))
    return tables


@dataclass(frozen=True, eq=False)
class _Solver:
    """Shares of the cells of a part in samples of its items."""

    quantifier: FittedQuantifier
    part: Part
    Z: Any
    labels: NDArray[np.int64]

    def __call__(self, samples: Samples) -> Floats:
        rows = np.flatnonzero(seen_by(self.part, self.labels))
        return self.quantifier.shares(take_rows(self.Z, rows), samples)


def _with_unknown_predictions(
    shares: Floats, parts: Sequence[Part], pool: ModelOutputs, samples: Samples, K: int
) -> Floats:
    """Count items as correct if no labelled item was predicted as their class.

    With one quantifier per predicted class, no quantifier covers them.
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
