"""Accuracy on the reference, as it is, or by the confidence of the classifier in the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headcount._support.arrays import Bools, Floats, Ints, divided_by_sums
from headcount._support.parameters import check_choice, check_count
from headcount.accuracy.base import Predictor, predictor_class
from headcount.accuracy.cbpe import ExpectedTables
from headcount.accuracy.fitted import AccuracyModel, ConfusionModel, MetricModel
from headcount.accuracy.metrics import ModelOutputs, Reference, ReferenceRanking, TableMetric
from headcount.parts.fitted import MethodInfo
from headcount.parts.training import Reduced, Reduction
from headcount.samples.samples import Samples

_NO_ORDER = "ATC decides which items are correct, and gives no order: use LEAP or CBPE."
_MOST_ROUNDS = 200
_TOLERANCE = 1e-9


@predictor_class
class Naive(Predictor):
    """Accuracy on the reference, for every sample: correct if nothing has changed."""

    info: ClassVar = MethodInfo(
        title="accuracy on the reference",
        family="reference",
        input="labels",
        gives="table",
        shift="none",
        reference="Volpi et al., Intelligenza Artificiale (2025)",
    )

    def _learn(self, reference: Reference) -> ConfusionModel:
        return _Constant(reference.table)


@dataclass(frozen=True, eq=False)
class _Constant(ConfusionModel):
    """The same table for every sample."""

    table: Floats

    def reduction(self) -> tuple[Reduction, ...]:
        return ()

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        return np.tile(self.table, (len(sizes), 1, 1))


@predictor_class
class ATC(Predictor):
    """Average thresholded confidence: the share of items with a high confidence.

    The threshold is chosen so that as many items of the reference are above it as are
    predicted correctly. For other metrics, an item at or below the threshold is assigned to
    the classes that were not predicted, in proportion to their posteriors: with two classes to
    the other one.

    Parameters
    ----------
    score : {"maxconf", "entropy"}, default="maxconf"
        Measure of confidence: the highest posterior, or the negative entropy of all.
    """

    info: ClassVar = MethodInfo(
        title="share of items above a confidence",
        family="confidence",
        gives="table",
        shift="covariate",
        reference="Garg et al., ICLR 2022",
    )
    score: str = "maxconf"

    def _learn(self, reference: Reference) -> MetricModel:
        score = check_choice("score", self.score, ("maxconf", "entropy"))
        correct = reference.codes == reference.items.labels
        threshold = _Threshold.of(reference.items, correct, score)
        return _ThresholdTables(threshold, reference.n_classes)


@dataclass(frozen=True)
class _Threshold:
    """Confidence above which items count as predicted correctly."""

    score: str
    value: float

    @classmethod
    def of(cls, outputs: ModelOutputs, correct: Bools, score: str) -> _Threshold:
        """Value above which the share of items is nearest to the share of correct ones."""
        values, counts = np.unique(_confidence(outputs, score), return_counts=True)
        candidates = np.concatenate([[-np.inf], values])
        above = np.concatenate([[1.0], 1.0 - np.cumsum(counts) / len(outputs)])
        return cls(score, float(candidates[np.abs(above - correct.mean()).argmin()]))

    def exceeded(self, pool: ModelOutputs) -> Bools:
        return np.asarray(_confidence(pool, self.score) > self.value)


@dataclass(frozen=True, eq=False)
class _ThresholdTables(ExpectedTables):
    """Items above the threshold are of the predicted class, the others of another one."""

    threshold: _Threshold
    n_classes: int

    def metric_obstacle(self, metric: TableMetric) -> str:
        return _NO_ORDER if isinstance(metric, ReferenceRanking) else ""

    def posteriors(self, pool: ModelOutputs) -> Floats:
        """Indicators of the predicted class, or shares of the posteriors of the others."""
        unpredicted = pool.posteriors.copy()
        unpredicted[np.arange(len(unpredicted)), pool.labels] = 0.0
        predicted = pool.labels[:, None] == np.arange(self.n_classes)
        even = np.where(predicted, 0.0, 1 / (self.n_classes - 1))
        unpredicted = divided_by_sums(unpredicted, even)
        return np.where(self.threshold.exceeded(pool)[:, None], predicted, unpredicted)


def _confidence(outputs: ModelOutputs, score: str) -> Floats:
    return outputs.confidence if score == "maxconf" else outputs.negative_entropy


@predictor_class
class Mandoline(Predictor):
    """Accuracy on the reference, with weights that give its slices the shares of the sample.

    Slices are the predicted classes and bins of the entropy of the posteriors. The weight of
    an item is the exponential of a sum over its slices, such that the weighted reference has
    the same share of items in every slice as the sample. Correct if the accuracy within each
    slice has not changed; accuracy only.

    Parameters
    ----------
    bins : int, default=5
        Number of bins of the entropy, with equally many items of the reference each.
    """

    info: ClassVar = MethodInfo(
        title="reference reweighted by slices",
        family="confidence",
        gives="accuracy",
        shift="covariate",
        reference="Chen et al., ICML 2021",
    )
    bins: int = 5

    def _learn(self, reference: Reference) -> _Slices:
        bins = check_count("bins", self.bins)
        K, outputs = reference.n_classes, reference.items
        entropy = outputs.negative_entropy
        edges = np.unique(np.quantile(entropy, np.linspace(0, 1, bins + 1)[1:-1]))
        slices = outputs.labels * (len(edges) + 1) + np.searchsorted(edges, entropy)
        mass = np.bincount(slices, minlength=K * (len(edges) + 1)).astype(np.float64)
        correct = np.bincount(slices, reference.codes == outputs.labels, len(mass))
        rate = np.divide(correct, mass, out=np.zeros_like(mass), where=mass > 0)
        shape = (K, len(edges) + 1)
        return _Slices(edges, (mass / mass.sum()).reshape(shape), rate.reshape(shape))


@dataclass(frozen=True, eq=False)
class _Slices(AccuracyModel):
    """Shares and accuracy of the reference by predicted class and bin of the entropy."""

    name: ClassVar[str] = "Mandoline"
    edges: Floats
    mass: Floats
    rate: Floats

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        K, n_bins = self.mass.shape
        bins = np.searchsorted(self.edges, pool.negative_entropy)
        predicted = samples.prevalence_of(pool.labels, K)
        entropy = samples.prevalence_of(bins, n_bins)
        weighted = _raked(self.mass, predicted, entropy)
        return np.asarray((weighted * self.rate).sum(axis=(1, 2)))


def _raked(mass: Floats, rows: Floats, columns: Floats) -> Floats:
    """Weights of a log-linear model of the slices: factors of the mass, for given margins."""
    rows = _possible(rows, mass.sum(axis=1))
    columns = _possible(columns, mass.sum(axis=0))
    tables = np.tile(mass, (len(rows), 1, 1))
    running = np.arange(len(rows))
    for _ in range(_MOST_ROUNDS):
        here = tables[running]
        here *= _factor(rows[running], here.sum(axis=2))[:, :, None]
        off = np.abs(here.sum(axis=1) - columns[running]).max(axis=1)
        here *= _factor(columns[running], here.sum(axis=1))[:, None, :]
        tables[running] = here
        running = running[off > _TOLERANCE]
        if not len(running):
            break
    total = tables.sum(axis=(1, 2), keepdims=True)
    return np.where(total > 0, tables / np.where(total > 0, total, 1.0), mass)


def _possible(margins: Floats, mass: Floats) -> Floats:
    """Margins without empty slices of the reference; its own margins if nothing is left."""
    return divided_by_sums(np.where(mass > 0, margins, 0.0), mass)


def _factor(margins: Floats, sums: Floats) -> Floats:
    """Factors that turn sums into the margins; 0 for empty sums."""
    return np.divide(margins, sums, out=np.zeros_like(margins), where=sums > 0)
