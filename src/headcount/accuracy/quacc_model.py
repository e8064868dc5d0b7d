"""What QuAcc has learnt: a quantifier for each part of the labelled items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import TableModel
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.quacc_cells import Floats, Part, Solve, View, seen_by
from headcount.accuracy.quacc_inputs import features_of, inputs
from headcount.data import take_rows
from headcount.quantify import Quantifier
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.refitting import affordable, refits

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
    quantifiers : sequence of Quantifier or None
        Fitted; None for a part with a single cell.
    n_classes : int
        Number of classes of the model.
    eyes : Eyes
        What the quantifiers are shown of a pool.
    solvers : sequence of callables
        Instead of the quantifiers: each gives the shares of a part's cells in samples of
        items it knows already.
    """

    parts: Sequence[Part]
    quantifiers: Sequence[Quantifier | None]
    n_classes: int
    eyes: Eyes
    solvers: Sequence[Solve | None] = field(default=())

    def cell_shares(self, pool: Judged, samples: Samples) -> Floats:
        """Shares of the K * K cells in each sample, and of errors that were not told apart."""
        K = self.n_classes
        shares = np.zeros((len(samples), K * K + 1))
        Z = None if self.solvers else self.eyes.see(pool)
        for number, part in enumerate(self.parts):
            view = View(part, pool.labels, samples)
            if self.solvers:
                view.add(self.solvers[number], shares)
            else:
                view.add(_solver(self.quantifiers[number], part, Z, pool.labels), shares)
        return _for_the_unseen(shares, self.parts, pool, samples, K)

    def tables(self, pool: Judged, samples: Samples) -> Floats:
        """Table of each sample; errors not told apart are spread evenly over their cells."""
        return as_tables(self.cell_shares(pool, samples), self.n_classes)

    def affordable(self, n: int, n_items: int) -> int:
        """How many of `n` references to draw, where densities are costly."""
        for quantifier in self.quantifiers:
            training = None if quantifier is None else _relearnt(quantifier)
            if quantifier is not None and training is not None:
                model = quantifier._answering().model_
                n = min(n, affordable(model, training, n_items, n))
        return n

    def refits(
        self, weights: Floats, pool: Judged | None, reference: Reference
    ) -> Iterator[tuple[CellModel, Judged]]:
        """The same learnt with each row of weights; classifiers are not trained again."""
        items = reference.judged if pool is None else pool
        Z = self.eyes.see(items)
        each = [
            _of_examples(part, quantifier, weights, Z)
            if pool is None
            else _of_pool(part, quantifier, weights, Z, items.labels)
            for part, quantifier in zip(self.parts, self.quantifiers, strict=True)
        ]
        for _ in weights:
            solvers = [next(made) for made in each]
            yield replace(self, solvers=solvers), items


def as_tables(cells: Floats, K: int) -> Floats:
    """Shares of cells, and of errors not told apart, as tables."""
    tables = cells[:, : K * K].reshape(-1, K, K).copy()
    apart = ~np.eye(K, dtype=np.bool_)
    tables[:, apart] += cells[:, -1:] / (K * (K - 1))
    return tables


def _solver(
    quantifier: Quantifier | None, part: Part, Z: Any, labels: NDArray[np.int64]
) -> Solve | None:
    if quantifier is None:
        return None
    return _of_items(quantifier, _items(quantifier, part, Z, labels))


def _items(quantifier: Quantifier, part: Part, Z: Any, labels: NDArray[np.int64]) -> Any:
    """What the quantifier's classifier says of the items that it sees; None of none."""
    rows = np.flatnonzero(seen_by(part, labels))
    return quantifier._items(take_rows(Z, rows)) if len(rows) else None


def _of_items(quantifier: Quantifier, items: Any) -> Solve:
    return lambda samples: quantifier._solve(items, samples).prevalence


def _of_pool(
    part: Part,
    quantifier: Quantifier | None,
    weights: Floats,
    Z: Any,
    labels: NDArray[np.int64],
) -> Iterator[Solve | None]:
    """For each row of weights what solves samples of a pool seen as Z."""
    items = None if quantifier is None else _items(quantifier, part, Z, labels)
    if quantifier is None or items is None:
        yield from [None] * len(weights)
        return
    training = _relearnt(quantifier)
    if training is None:
        yield from [_of_items(quantifier, items)] * len(weights)
        return
    model = quantifier._answering().model_
    for refitted, made in refits(model, training, part.weights(weights), items):
        yield _of_model(refitted, made)


def _of_examples(
    part: Part, quantifier: Quantifier | None, weights: Floats, Z: Any
) -> Iterator[Solve | None]:
    """For each row of weights what solves samples of the labelled items, seen as Z.

    These are shown as the quantifier's classifier says of them out of fold.
    """
    if quantifier is None:
        yield from [None] * len(weights)
        return
    training = _relearnt(quantifier)
    if training is None:
        items = _out_of_fold(part, quantifier, Z)
        yield from [_of_items(quantifier, items)] * len(weights)
        return
    model = quantifier._answering().model_
    for refitted, made in refits(model, training, part.weights(weights), None):
        yield _of_model(refitted, made)


def _of_model(model: Any, items: Any) -> Callable[[Samples], Floats]:
    def solve(samples: Samples) -> Floats:
        found: Floats = model.solve(items, samples).prevalence
        return found

    return solve


def _relearnt(quantifier: Quantifier) -> Training | None:
    """What the quantifier can be fitted on again; None if that takes training a learner."""
    answering = quantifier._answering()
    training = answering._training
    if answering.info.family == "learner" or training is None or training.items is None:
        return None
    return training


def _out_of_fold(part: Part, quantifier: Quantifier, Z: Any) -> Any:
    """The examples as the quantifier takes them, for one that needed no such scores so far."""
    scorer = quantifier._scorer() if quantifier._input() != "features" else None
    if scorer is None:
        return quantifier._items(part.examples(Z)[0])
    said = quantifier._said_of_training(scorer.fit(*part.examples(Z)))
    return quantifier._arranged(said, len(part.cells))


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
