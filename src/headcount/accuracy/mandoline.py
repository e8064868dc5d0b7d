"""The reference reweighted until its slices are as large as those of the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_count
from headcount.accuracy.base import Model, Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.tables import TableMetric
from headcount.sampling import Samples

__all__ = ["Mandoline"]

Floats = NDArray[np.float64]

_MOST_ROUNDS = 200
_TOLERANCE = 1e-9


class Mandoline(Predictor):
    """Accuracy on the reference, weighted so that its slices are as large as the sample's.

    Slices are the predicted classes and bins of the entropy of the posteriors. The weight of
    an item is the exponential of a sum over its slices, such that the weighted reference has
    the same share of items in every slice as the sample. Right if items of the same slices
    are predicted right as often as before; accuracy only.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    bins : int, default=5
        Bins of the entropy, with equally many items of the reference each.

    Examples
    --------
    >>> from headcount import accuracy
    >>> scores, y = [0.1, 0.2, 0.6, 0.3, 0.8, 0.9], [0, 0, 0, 0, 1, 1]
    >>> mandoline = accuracy.Mandoline(bins=2).fit_scores(scores, y)
    >>> round(mandoline.predict_scores([0.2, 0.1, 0.6, 0.9]), 2)
    0.88
    """

    info: ClassVar = AccuracyInfo(
        title="reference reweighted by slices",
        shift="covariate",
        gives="accuracy",
        needs="scores",
        reference="Chen et al., ICML 2021",
    )

    def __init__(self, classifier: Any = None, *, bins: int = 5) -> None:
        self.classifier = classifier
        self.bins = bins

    def _learn(self, reference: Reference) -> _Slices:
        bins = check_count("bins", self.bins)
        K, judged = reference.n_classes, reference.judged
        sure = judged.negative_entropy
        edges = np.unique(np.quantile(sure, np.linspace(0, 1, bins + 1)[1:-1]))
        slices = judged.labels * (len(edges) + 1) + np.searchsorted(edges, sure)
        mass = np.bincount(slices, minlength=K * (len(edges) + 1)).astype(np.float64)
        right = np.bincount(slices, reference.codes == judged.labels, len(mass))
        rate = np.divide(right, mass, out=np.zeros_like(mass), where=mass > 0)
        shape = (K, len(edges) + 1)
        return _Slices(edges, (mass / mass.sum()).reshape(shape), rate.reshape(shape))

    def _why_no_table(self) -> str:
        return "its weights are for the accuracy alone; use LEAP, QuAcc or CBPE."

    def _why_not(self, metric: TableMetric) -> str:
        if metric.name in ("accuracy", "error"):
            return ""
        return (
            "Mandoline gives the accuracy alone, as it weighs whether items are predicted "
            "right and not their classes: use LEAP, QuAcc or CBPE."
        )


@dataclass(frozen=True, eq=False)
class _Slices(Model):
    """Shares and accuracy of the reference by predicted class and bin of the entropy."""

    edges: Floats
    mass: Floats
    rate: Floats

    def values(self, pool: Judged, samples: Samples, metric: TableMetric) -> Floats:
        K, n_bins = self.mass.shape
        bins = np.searchsorted(self.edges, pool.negative_entropy)
        predicted = samples.prevalence_of(pool.labels, K)
        entropy = samples.prevalence_of(bins, n_bins)
        weighted = _raked(self.mass, predicted, entropy)
        right = (weighted * self.rate).sum(axis=(1, 2))
        return np.asarray(1 - right if metric.name == "error" else right)


def _raked(mass: Floats, rows: Floats, columns: Floats) -> Floats:
    """The mass times a factor for each row and for each column, to have these margins.

    These are the weights that a log-linear model of the slices gives. What a sample has in
    slices that the reference has nothing of is left out; margins that no weights have are
    met in turn.
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
    """Margins without what the reference has nothing of; its own ones if nothing is left."""
    kept = np.where(mass > 0, margins, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), mass)


def _factor(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
