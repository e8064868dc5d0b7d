"""Share of items above a threshold of confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice
from headcount.accuracy.base import Model, Predictor, TableModel
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.rankings import ReferenceRanking
from headcount.accuracy.tables import TableMetric
from headcount.representation import Binned, Dense, MeanOf, Reduced, Reduction
from headcount.sampling import Samples

__all__ = ["ATC"]

Floats = NDArray[np.float64]


class ATC(Predictor):
    """Average thresholded confidence: the share of items with a high confidence.

    The threshold is chosen so that as many items of the reference are above it as are
    predicted correctly. With two classes, an item at or below the threshold is assigned to
    the class that was not predicted, which makes a table. With more classes its class is
    unknown, and only the accuracy is given.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    score : {"maxconf", "entropy"}, default="maxconf"
        Measure of confidence: the highest posterior, or the negative entropy of all.

    Examples
    --------
    >>> import headcount as hc
    >>> scored, y = hc.Scored([0.1, 0.2, 0.6, 0.3, 0.8, 0.9]), [0, 0, 0, 0, 1, 1]
    >>> atc = hc.accuracy.ATC().fit(scored, y)
    >>> round(atc.predict(hc.Scored([0.2, 0.45, 0.9, 0.95])), 2)
    0.75
    """

    info: ClassVar = AccuracyInfo(
        title="share of items above a confidence",
        input="posteriors",
        gives="accuracy",
        shift="covariate",
        reference="Garg et al., ICLR 2022",
    )

    def __init__(self, classifier: Any = None, *, score: str = "maxconf") -> None:
        self.classifier = classifier
        self.score = score

    def _learn(self, reference: Reference) -> Model:
        score = check_choice("score", self.score, ("maxconf", "entropy"))
        correct = reference.codes == reference.outputs.labels
        threshold = _Threshold.of(reference.outputs, correct, score)
        return _Table(threshold) if reference.n_classes == 2 else _Share(threshold)

    def _table_obstacle(self) -> str:
        if len(self.classes_) == 2:
            return ""
        return (
            "with more than two classes, the true classes of items below its threshold are "
            "unknown; use LEAP, QuAcc or CBPE."
        )

    def _metric_obstacle(self, metric: TableMetric) -> str:
        if isinstance(metric, ReferenceRanking):
            return "ATC decides which items are correct, and gives no order: use LEAP or CBPE."
        if len(self.classes_) == 2 or metric.name in ("accuracy", "error"):
            return ""
        return (
            "with more than two classes ATC gives the accuracy alone, as the true classes of "
            "items below its threshold are unknown: use LEAP, QuAcc or CBPE."
        )


@dataclass(frozen=True)
class _Threshold:
    """Confidence above which items count as predicted correctly."""

    score: str
    value: float

    @classmethod
    def of(cls, outputs: ModelOutputs, correct: NDArray[np.bool_], score: str) -> _Threshold:
        """Value above which the share of items is nearest to the share of correct ones."""
        values, counts = np.unique(_confidence(outputs, score), return_counts=True)
        candidates = np.concatenate([[-np.inf], values])
        above = np.concatenate([[1.0], 1.0 - np.cumsum(counts) / len(outputs)])
        return cls(score, float(candidates[np.abs(above - correct.mean()).argmin()]))

    def exceeded(self, pool: ModelOutputs) -> NDArray[np.bool_]:
        return np.asarray(_confidence(pool, self.score) > self.value)


@dataclass(frozen=True, eq=False)
class _Table(TableModel):
    """Two classes: items at or below the threshold belong to the other class."""

    threshold: _Threshold

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        return self.embed(pool).means(samples).reshape(-1, 2, 2)

    def embed(self, items: ModelOutputs) -> Binned:
        """Cell of the table of each item."""
        codes = np.where(self.threshold.exceeded(items), items.labels, 1 - items.labels)
        return Binned((codes * 2 + items.labels).astype(np.int32)[:, None], 4)

    def reduction(self) -> tuple[Reduction, ...]:
        return (MeanOf(self),)

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        return np.asarray(reduced[0]).reshape(-1, 2, 2)


@dataclass(frozen=True, eq=False)
class _Share(Model):
    """More classes: the share of items above the threshold is the accuracy."""

    threshold: _Threshold

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        return self.embed(pool).means(samples)[:, 0]

    def embed(self, items: ModelOutputs) -> Dense:
        """True as 1, for items above the threshold."""
        return Dense(self.threshold.exceeded(items).astype(np.float64)[:, None])

    def reduction(self) -> tuple[Reduction, ...]:
        return (MeanOf(self),)

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        return np.asarray(reduced[0])[:, 0]

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        return 1 - statistics if metric.name == "error" else statistics


def _confidence(outputs: ModelOutputs, score: str) -> Floats:
    return outputs.confidence if score == "maxconf" else outputs.negative_entropy
