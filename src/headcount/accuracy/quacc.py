"""QuAcc: cells of the table as classes of a quantifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from headcount._support.arrays import Bools, Floats, Ints
from headcount._support.documentation import parametrised
from headcount._support.parameters import check_choice, check_flag
from headcount.accuracy.base import Predictor
from headcount.accuracy.fitted import ConfusionModel
from headcount.accuracy.leap import FittedQuantifier, check_quantifier
from headcount.accuracy.metrics import (
    METRICS,
    CellFolds,
    ModelOutputs,
    Reference,
    TableMetric,
    features_of,
)
from headcount.items.arrays import take_rows
from headcount.parts.fitted import Fitted, MethodInfo
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.likelihood import SLD
from headcount.samples.samples import Samples

Solve = Callable[[Samples], Floats]

VARIANTS = ("1xn2", "nxn", "1xn+1")
# Posteriors of exactly 0 have no logarithm.
_LEAST_POSTERIOR = 1e-6
_ADVICE = "choose variant='1xn2' or variant='nxn'."


def cells_of(variant: str, true: Ints, predicted: Ints, K: int) -> Ints:
    """Cell of each item: true class x K + predicted class; for 1xn+1, K * K if incorrect."""
    cells = true * K + predicted
    return np.where(true == predicted, cells, K * K) if variant == "1xn+1" else cells


@dataclass(frozen=True, eq=False)
class CellSet:
    """Rows of labelled items and the cells that one quantifier covers: its classes."""

    predicted: int | None
    rows: Ints
    cells: Ints
    labels: Ints

    @property
    def certain(self) -> bool:
        """True if all items are in one cell, so nothing is estimated."""
        return len(self.cells) == 1

    @cached_property
    def order(self) -> Ints:
        """Positions in `rows` to learn from; single items of a cell are repeated at the end."""
        alone = np.flatnonzero(np.bincount(self.labels)[self.labels] == 1)
        return np.concatenate([np.arange(len(self.labels)), alone])

    def examples(self, Z: Any) -> tuple[Any, Ints]:
        """Items to learn from, and their cells."""
        return take_rows(Z, self.rows[self.order]), self.labels[self.order]

    def fit(self, quantifier: Quantifier, Z: Any) -> Fitted:
        """Fit a copy of the quantifier."""
        return with_folds(quantifier).fit(*self.examples(Z)).fitted_


def cell_sets(variant: str, true: Ints, predicted: Ints, K: int) -> list[CellSet]:
    """Sets of cells into which a variant divides the labelled items."""
    cells = cells_of(variant, true, predicted, K)
    predictions: Sequence[int | None] = range(K) if variant == "nxn" else [None]
    sets = []
    for label in predictions:
        rows = np.flatnonzero(predicted == label) if label is not None else np.arange(len(true))
        if len(rows):
            present, labels = np.unique(cells[rows], return_inverse=True)
            sets.append(CellSet(label, rows, present, labels.astype(np.int64)))
    return sets


@dataclass(frozen=True, eq=False)
class CellSamples:
    """Samples of a pool with these predicted classes, restricted to the items of a set."""

    cell_set: CellSet
    labels: Ints
    pool_samples: Samples

    @cached_property
    def _covered(self) -> Bools:
        return covered_by(self.cell_set, self.labels)

    @cached_property
    def counts(self) -> Ints:
        """Number of items of the set in each sample."""
        running = np.cumsum(self._covered[self.pool_samples.indices])
        return np.diff(np.concatenate([[0], running])[self.pool_samples.offsets])

    @cached_property
    def samples(self) -> Samples:
        """Samples with at least one item of the set, as rows of the items of the set."""
        if self.cell_set.predicted is None:
            return self.pool_samples
        number = np.cumsum(self._covered) - 1
        indices = self.pool_samples.indices
        offsets = np.concatenate([[0], np.cumsum(self.counts[self.counts > 0])])
        return Samples(
            number[indices[self._covered[indices]]], offsets, n_pool=int(self._covered.sum())
        )

    def add(self, solve: Solve | None, shares: Floats) -> None:
        """Add the estimated shares of the cells of the set, in place."""
        places = np.flatnonzero(self.counts)
        if not len(places):
            return
        weight = (self.counts / self.pool_samples.sizes)[places, None]
        of_set = np.ones((len(places), 1)) if solve is None else solve(self.samples)
        shares[np.ix_(places, self.cell_set.cells)] += weight * of_set


def covered_by(cell_set: CellSet, labels: Ints) -> Bools:
    """Mask of the items of a pool that belong to a set, by their predicted classes."""
    if cell_set.predicted is None:
        return np.ones(len(labels), np.bool_)
    return labels == cell_set.predicted


def with_folds(quantifier: Quantifier) -> Quantifier:
    """Copy of a quantifier with folds for cells of few items."""
    copy: Quantifier = clone(quantifier)
    parameters = copy.get_params(deep=False)
    cv, seed = parameters.get("cv"), parameters.get("random_state")
    if isinstance(cv, int | np.integer) and cv >= 2:
        # Without a seed the folds are still the same: estimates score the items again.
        copy.set_params(cv=CellFolds(int(cv), 0 if seed is None else seed))
    return copy


@dataclass(frozen=True, eq=False)
class CellInputs:
    """Inputs of quantifiers, from the outputs of a classifier, with `confidences` if wanted."""

    classifier: Any
    covariates: bool

    def of(self, outputs: ModelOutputs) -> Any:
        """Features, if they are known, posteriors and confidences, side by side."""
        X = None if outputs.X is None else features_of(outputs.X, self.classifier)
        return inputs(X, outputs.posteriors, covariates=self.covariates)


def confidences(posteriors: Floats) -> Floats:
    """Maximum confidence (MC), negative entropy (NE) and maximum inverse softmax (MIS)."""
    logs = np.log(np.maximum(posteriors, _LEAST_POSTERIOR))
    entropy = (posteriors * logs).sum(axis=1)
    inverse_softmax = logs.max(axis=1) - logs.mean(axis=1)
    return np.column_stack([posteriors.max(axis=1), entropy, inverse_softmax])


def inputs(X: Any, posteriors: Floats, *, covariates: bool) -> Any:
    """Features, posteriors of all classes but the first, and confidences, side by side."""
    columns = posteriors[:, 1:]
    if covariates:
        columns = np.hstack([columns, confidences(posteriors)])
    if X is None:
        return columns
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(columns)], format="csr")
    return np.hstack([X, columns])


@dataclass(frozen=True, eq=False)
class CellModel(ConfusionModel):
    """Shares of the cells of the table, by one quantifier per set; None for a single cell."""

    variant: str
    cell_sets: Sequence[CellSet]
    quantifiers: Sequence[FittedQuantifier | None]
    n_classes: int
    inputs: CellInputs

    def table_obstacle(self) -> str:
        """The merged errors."""
        merged = self.variant == "1xn+1"
        return f"the variant '1xn+1' merges all errors; {_ADVICE}" if merged else ""

    def metric_obstacle(self, metric: TableMetric) -> str:
        """The merged errors, where the metric needs them."""
        if self.variant != "1xn+1":
            return ""
        return merged_errors_obstacle(metric, self.n_classes)

    def cell_shares(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Shares of the K * K cells in each sample, and of errors of unknown cell."""
        K = self.n_classes
        shares = np.zeros((len(samples), K * K + 1))
        Z = self.inputs.of(pool)
        for cell_set, quantifier in zip(self.cell_sets, self.quantifiers, strict=True):
            solve = None
            if quantifier is not None:
                solve = _Solver(quantifier, cell_set, Z, pool.labels)
            CellSamples(cell_set, pool.labels, samples).add(solve, shares)
        return _with_unknown_predictions(shares, self.cell_sets, pool, samples, K)

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample; errors of unknown cell are spread evenly."""
        return as_tables(self.cell_shares(pool, samples), self.n_classes)

    def cross_fitted(self) -> tuple[CellModel, CellModel]:
        """Models for new items, and for the reference by its out-of-fold scores."""
        pairs = [
            (None, None) if quantifier is None else quantifier.cross_fitted()
            for quantifier in self.quantifiers
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
    """Shares of the cells of a set in samples of its items."""

    quantifier: FittedQuantifier
    cell_set: CellSet
    Z: Any
    labels: Ints

    def __call__(self, samples: Samples) -> Floats:
        rows = np.flatnonzero(covered_by(self.cell_set, self.labels))
        return self.quantifier.shares(take_rows(self.Z, rows), samples)


def _with_unknown_predictions(
    shares: Floats, sets: Sequence[CellSet], pool: ModelOutputs, samples: Samples, K: int
) -> Floats:
    """Count items as correct if no labelled item was predicted as their class."""
    if sets[0].predicted is None:
        return shares
    covered = [cell_set.predicted for cell_set in sets]
    missing = [label for label in range(K) if label not in covered]
    if missing:
        predicted = samples.prevalence_of(pool.labels, K)
        for label in missing:
            shares[:, label * K + label] += predicted[:, label]
    return shares


@parametrised
class QuAcc(Predictor):
    """Quantification of the cells of the table, as if they were classes.

    A cell is a pair of a true and a predicted class. A quantifier learns the cells of the
    labelled items from their features and the posteriors of the classifier, and estimates the
    shares of the cells in a sample. Under prior shift the distribution within a cell does not
    change.

    Cells without labelled items are estimated as 0. If the classifier is a pipeline, the
    features are the input of its last step, so texts and categories are possible. Fitted
    on `Scored`, the quantifier uses the posteriors alone.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Estimates the shares of the cells; `SLD` with calibration by default. Without a
        classifier of its own it gets logistic regression: on scaled features, if they are
        dense, and with balanced classes, unless the quantifier has a calibration.
    variant : {"1xn2", "nxn", "1xn+1"}, default="1xn2"
        One quantifier for all cells; one for each predicted class, which keeps the shares of
        the predicted classes; or one for the cells on the diagonal and all errors together,
        which gives accuracy, and F1 if there are two classes.
    covariates : bool, default=True
        True to add maximum confidence, negative entropy and maximum inverse softmax to the
        inputs of the quantifier.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(
    ...     6000, n_features=100, n_informative=20, class_sep=1.5,
    ...     weights=[0.8], flip_y=0.02, random_state=0)
    >>> model = LogisticRegression(max_iter=1000).fit(X[:500], y[:500])
    >>> quacc = hc.accuracy.QuAcc(model, variant="nxn").fit(X[500:4000], y[500:4000])
    >>> new, truth = X[4000:], y[4000:]
    >>> shifted = truth == 1
    >>> round(quacc.predict(new), 1), round(quacc.predict(new[shifted]), 1)
    (0.8, 0.6)
    >>> round(model.score(new, truth), 1), round(model.score(new[shifted], truth[shifted]), 1)
    (0.8, 0.6)
    """

    info: ClassVar = MethodInfo(
        title="cells of the table as classes",
        family="cells",
        gives="table",
        reference="Volpi, Moreo & Sebastiani, Intelligenza Artificiale (2025)",
    )
    _mixes_classes: ClassVar[bool] = True
    quantifier: Any = None
    variant: str = "1xn2"
    covariates: bool = True

    def _learn(self, reference: Reference) -> CellModel:
        variant = check_choice("variant", self.variant, VARIANTS)
        inputs = CellInputs(self.classifier, check_flag("covariates", self.covariates))
        predicted = reference.items.labels
        sets = cell_sets(variant, reference.codes, predicted, reference.n_classes)
        Z = inputs.of(reference.items)
        quantifier = suited_quantifier(self.quantifier, Z)
        quantifiers = [
            None if cell_set.certain else FittedQuantifier(cell_set.fit(quantifier, Z))
            for cell_set in sets
        ]
        return CellModel(variant, sets, quantifiers, reference.n_classes, inputs)


def merged_errors_obstacle(metric: TableMetric, K: int) -> str:
    """Reason why a metric needs the cells of errors; empty if it does not."""
    allowed = ("accuracy", "error", "f1", "macro_f1") if K == 2 else ("accuracy", "error")
    if any(metric is METRICS[name] for name in allowed):
        return ""
    return f"the variant '1xn+1' merges all errors, which it distinguishes: {_ADVICE}"


def suited_quantifier(quantifier: Any, Z: Any) -> Quantifier:
    """Quantifier, by default `SLD`, with a classifier that suits inputs Z and rare cells."""
    quantifier = check_quantifier(quantifier, SLD(calibration="bcts", random_state=0))
    parameters = quantifier.get_params(deep=False)
    if parameters.get("classifier", quantifier) is not None:
        return quantifier
    weight = None if "calibration" in parameters else "balanced"
    logistic = LogisticRegression(class_weight=weight, max_iter=1000)
    if not sparse.issparse(Z):
        logistic = make_pipeline(MaxAbsScaler(), logistic)
    return clone(quantifier).set_params(classifier=logistic)
