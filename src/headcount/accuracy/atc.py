"""Items above a threshold of confidence count as predicted right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice
from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.tables import TableMetric
from headcount.representation import Dense
from headcount.sampling import Samples

__all__ = ["ATC"]

Floats = NDArray[np.float64]


class ATC(Predictor):
    """Average thresholded confidence: the share of items the model is sure of.

    How sure it must be is learnt on the reference, so that as many of its items are above
    the threshold as are predicted right. With two classes, an item at or below the threshold
    is taken to be of the class that was not predicted, which makes a table; with more,
    nothing tells which class it is of, and there is the accuracy alone.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    score : {"maxconf", "entropy"}, default="maxconf"
        How sure the model is: its greatest posterior, or the negative entropy of them all.

    Examples
    --------
    >>> from headcount import accuracy
    >>> scores, y = [0.1, 0.2, 0.6, 0.3, 0.8, 0.9], [0, 0, 0, 0, 1, 1]
    >>> atc = accuracy.ATC().fit_scores(scores, y)
    >>> round(atc.predict_scores([0.2, 0.45, 0.9, 0.95]), 2)
    0.75
    """

    info: ClassVar = AccuracyInfo(
        title="share of items above a confidence",
        shift="covariate",
        gives="accuracy",
        needs="scores",
        reference="Garg et al., ICLR 2022",
    )

    def __init__(self, classifier: Any = None, *, score: str = "maxconf") -> None:
        self.classifier = classifier
        self.score = score

    def _learn(self, reference: Reference) -> TableModel:
        score = check_choice("score", self.score, ("maxconf", "entropy"))
        sure = _sureness(reference.judged, score)
        right = reference.codes == reference.judged.labels
        return _Above(score, _threshold(sure, right), reference.n_classes)

    def _why_no_table(self) -> str:
        if len(self.classes_) == 2:
            return ""
        return (
            "with more than two classes it tells how many items are predicted wrong, but not "
            "which class they are of; use LEAP, QuAcc or CBPE."
        )

    def _why_not(self, metric: TableMetric) -> str:
        if len(self.classes_) == 2 or metric.name in ("accuracy", "error"):
            return ""
        return (
            "with more than two classes ATC gives the accuracy alone, as nothing tells which "
            "class the items below its threshold are of: use LEAP, QuAcc or CBPE."
        )


@dataclass(frozen=True, eq=False)
class _Above(TableModel):
    score: str
    threshold: float
    n_classes: int

    def values(self, pool: Judged, samples: Samples, metric: TableMetric) -> Floats:
        if self.n_classes == 2:
            return metric(self.tables(pool, samples))
        above = (_sureness(pool, self.score) > self.threshold).astype(np.float64)
        right = Dense(above[:, None]).means(samples)[:, 0]
        return 1 - right if metric.name == "error" else right

    def tables(self, pool: Judged, samples: Samples) -> Floats:
        above = _sureness(pool, self.score) > self.threshold
        codes = np.where(above, pool.labels, 1 - pool.labels)
        return samples.prevalence_of(codes * 2 + pool.labels, 4).reshape(-1, 2, 2)


def _sureness(pool: Judged, score: str) -> Floats:
    return pool.confidence if score == "maxconf" else pool.negative_entropy


def _threshold(sure: Floats, right: NDArray[np.bool_]) -> float:
    """The value above which the share of items is nearest to the share of right ones."""
    values, counts = np.unique(sure, return_counts=True)
    candidates = np.concatenate([[-np.inf], values])
    above = np.concatenate([[1.0], 1.0 - np.cumsum(counts) / len(sure)])
    return float(candidates[np.abs(above - right.mean()).argmin()])
