"""Accuracy on the reference, reweighted by slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_count
from headcount.accuracy.base import Model, Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.tables import TableMetric
from headcount.sampling import Samples

__all__ = ["Mandoline"]

Floats = NDArray[np.float64]

_MOST_ROUNDS = 200
_TOLERANCE = 1e-9


class Mandoline(Predictor):
    """Accuracy on the reference, with weights that give its slices the shares of the sample.

    Slices are the predicted classes and bins of the entropy of the posteriors. The weight of
    an item is the exponential of a sum over its slices, such that the weighted reference has
    the same share of items in every slice as the sample. Correct if the accuracy within each
    slice has not changed; accuracy only.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    bins : int, default=5
        Number of bins of the entropy, with equally many items of the reference each.

    Examples
    --------
    >>> import headcount as hc
    >>> scored, y = hc.Scored([0.1, 0.2, 0.6, 0.3, 0.8, 0.9]), [0, 0, 0, 0, 1, 1]
    >>> mandoline = hc.accuracy.Mandoline(bins=2).fit(scored, y)
    >>> round(mandoline.predict(hc.Scored([0.2, 0.1, 0.6, 0.9])), 2)
    0.88
    """

    info: ClassVar = AccuracyInfo(
        title="reference reweighted by slices",
        input="posteriors",
        gives="accuracy",
        shift="covariate",
        reference="Chen et al., ICML 2021",
    )

    def __init__(self, classifier: Any = None, *, bins: int = 5) -> None:
        self.classifier = classifier
        self.bins = bins

    def _learn(self, reference: Reference) -> _Slices:
        bins = check_count("bins", self.bins)
        K, outputs = reference.n_classes, reference.outputs
        entropy = outputs.negative_entropy
        edges = np.unique(np.quantile(entropy, np.linspace(0, 1, bins + 1)[1:-1]))
        slices = outputs.labels * (len(edges) + 1) + np.searchsorted(edges, entropy)
        mass = np.bincount(slices, minlength=K * (len(edges) + 1)).astype(np.float64)
        correct = np.bincount(slices, reference.codes == outputs.labels, len(mass))
        rate = np.divide(correct, mass, out=np.zeros_like(mass), where=mass > 0)
        shape = (K, len(edges) + 1)
        return _Slices(edges, (mass / mass.sum()).reshape(shape), rate.reshape(shape))

    def _table_obstacle(self) -> str:
        return "its weights are for the accuracy alone; use LEAP, QuAcc or CBPE."

    def _metric_obstacle(self, metric: TableMetric) -> str:
        if metric.name in ("accuracy", "error"):
            return ""
        return (
            "Mandoline gives the accuracy alone, as its weights do not depend on the true "
            "classes: use LEAP, QuAcc or CBPE."
        )


@dataclass(frozen=True, eq=False)
class _Slices(Model):
    """Shares and accuracy of the reference by predicted class and bin of the entropy."""

    edges: Floats
    mass: Floats
    rate: Floats

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        K, n_bins = self.mass.shape
        bins = np.searchsorted(self.edges, pool.negative_entropy)
        predicted = samples.prevalence_of(pool.labels, K)
        entropy = samples.prevalence_of(bins, n_bins)
        weighted = _raked(self.mass, predicted, entropy)
        return np.asarray((weighted * self.rate).sum(axis=(1, 2)))

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        return 1 - statistics if metric.name == "error" else statistics


def _raked(mass: Floats, rows: Floats, columns: Floats) -> Floats:
    """Mass times a factor for each row and for each column, with the given margins.

    These are the weights of a log-linear model of the slices. Slices of the sample that the
    reference has no items of are left out. Margins that no weights have are met in turn.
    """
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
    kept = np.where(mass > 0, margins, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), mass)


def _factor(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
