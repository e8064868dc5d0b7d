"""Fitted methods that predict accuracy: statistics of samples, and metrics of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.metrics import (
    RANKINGS,
    Metric,
    ReferenceRanking,
    TableMetric,
    as_metric,
)
from headcount.accuracy.model_outputs import (
    FittedClassifier,
    ModelOutputs,
    Reference,
    among,
    check_classified,
)
from headcount.errors import HeadcountError
from headcount.estimates.assumption import MixtureTest
from headcount.items.arrays import Scored, Verdicts
from headcount.parts.fitted import Form, Input, MethodInfo, NeedsStatistics, Part, Shift
from headcount.parts.training import (
    Embedding,
    MeanOf,
    Reduced,
    Reduction,
    Training,
    reduce_in_batches,
)
from headcount.samples.samples import Samples

Floats = NDArray[np.float64]


class MetricModel:
    """Fitted method: statistics of samples, and metrics computed from them.

    A model whose statistics follow from means over the items defines `reduction` and `solve`.
    Others define `statistics`.
    """

    # Largest number of simulated samples.
    most_simulations: ClassVar[int] = 1_000_000

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Means over the outputs of a sample that determine its statistics.

        None if the outputs themselves are needed.
        """
        return None

    def solve(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        """Statistics of samples, one entry each, given the values of each `reduction`."""
        raise NotImplementedError

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Statistics that metrics are computed from, one entry per sample of a pool."""
        batches = reduce_in_batches(self.reduction() or (), pool, samples)
        return np.concatenate([self.solve(reduced, sizes) for reduced, sizes in batches])

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric on each sample, given its statistics."""
        raise NotImplementedError

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        """Metric on each sample of a pool, given their statistics."""
        return self.values(statistics, metric)

    def cross_fitted(self) -> tuple[MetricModel, MetricModel]:
        """Models for new items and for the items of the reference, with equal behaviour.

        This model twice, unless it trains a classifier or a calibration on the reference.
        """
        return self, self

    def simulation_rows(self, reference: Reference) -> NDArray[np.int64]:
        """Items of the reference that samples for estimates are simulated from."""
        return np.arange(len(reference))

    def table_obstacle(self) -> str:
        """Reason why there is no table; empty if there is."""
        return ""

    def metric_obstacle(self, metric: TableMetric) -> str:
        """Reason why a metric is not given; empty if it is."""
        return ""


class ConfusionModel(MetricModel):
    """Fitted method whose statistics are tables of true and predicted classes, (S, K, K)."""

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric of each table."""
        return metric(statistics)


class AccuracyModel(MetricModel):
    """Fitted method whose statistic is the accuracy, and that gives no other metric."""

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Accuracy or error."""
        return 1 - statistics if metric.name == "error" else statistics


@dataclass(frozen=True, eq=False)
class FittedPredictor(NeedsStatistics):
    """What `fit` makes of a predictor, and all that estimates and statistics use of it."""

    method: str
    info: MethodInfo
    shift: Shift
    takes: Input
    classifier: FittedClassifier | None
    reference: Reference
    # Any, as methods use attributes of their own models.
    model: Any

    @property
    def classes(self) -> NDArray[Any]:
        """The classes."""
        return self.reference.classes

    @property
    def has_table(self) -> bool:
        """True if the method gives the table of true and predicted classes."""
        return not self.model.table_obstacle()

    def outputs(self, X: Any) -> ModelOutputs:
        """Outputs of the classifier for a pool."""
        if isinstance(X, Scored | Verdicts):
            check_classified(self.method, self.info.input, self.takes, X)
            return ModelOutputs.of(X, self.classes)
        if self.classifier is None:
            raise HeadcountError(
                f"{self.method} was fitted on scores or decisions and has no "
                "classifier for X: classify the items and pass hc.Scored(posteriors) or "
                "hc.Verdicts(labels)."
            )
        return self.classifier.outputs(X)

    def metric_obstacle(self, metric: Metric) -> str:
        """Reason why a metric is not given; empty if it is."""
        ranked = isinstance(metric, str) and metric in RANKINGS
        if ranked and self.reference.outputs.scores is None:
            return "it ranks items by posteriors, and there are decisions alone."
        obstacle: str = self.model.metric_obstacle(as_metric(metric, self.reference))
        return obstacle

    def checked(self, metric: Metric) -> TableMetric:
        """Metric that the method gives."""
        if obstacle := self.metric_obstacle(metric):
            name = metric if isinstance(metric, str) else as_metric(metric).name
            raise HeadcountError(f"metric is {name!r}, but {obstacle}")
        return as_metric(metric, self.reference)

    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that estimates need of items of a form."""
        return statistics_needs(self, form).parts

    def tables(self, X: Any, samples: Any) -> Floats:
        """Table of each sample of a pool, (S, K, K)."""
        if not self.has_table:
            raise HeadcountError(f"{self.method} gives no table: {self.model.table_obstacle()}")
        pool = self.outputs(X)
        return np.asarray(self.model.statistics(pool, pool.samples(samples)), dtype=np.float64)

    def metrics(self, X: Any, samples: Any, metrics: list[TableMetric]) -> Floats:
        """Each metric on each sample of a pool, (M, S)."""
        pool = self.outputs(X)
        samples = pool.samples(samples)
        statistics = self.model.statistics(pool, samples)
        values = [self.model.answers(pool, samples, metric, statistics) for metric in metrics]
        return np.asarray(values, dtype=np.float64).reshape(len(metrics), len(samples))


def answers_with_shares(
    model: MetricModel, metric: TableMetric, answers: Floats, statistics: Floats
) -> Floats:
    """Answers as columns; those of ranking metrics with the estimated shares of classes.

    A ranking metric may not depend on the shares, but its precision does.
    """
    columns = answers[:, None]
    if isinstance(metric, ReferenceRanking) and isinstance(model, ConfusionModel):
        columns = np.hstack([columns, statistics.sum(axis=2)[:, 1:]])
    return columns


def mixture_test(reference: Reference) -> MixtureTest | None:
    """Test of prior shift; None without posteriors or a second class."""
    present, scores = reference.present, reference.outputs.scores
    if len(present) < 2 or scores is None:
        return None
    codes = np.searchsorted(present, reference.codes)
    return MixtureTest.of_posteriors(Training(among(scores, present), codes, len(present)))


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Source of statistics: outputs of a classifier for the items of a pool."""

    fitted: FittedPredictor

    def items(self, X: Any) -> ModelOutputs:
        return self.fitted.outputs(X)

    def identity(self) -> Any:
        classifier = self.fitted.classifier
        judge = None if classifier is None else classifier.judge_
        return "outputs", self.fitted.classes, judge

    def take(self, items: ModelOutputs, rows: slice) -> ModelOutputs:
        scores = None if items.scores is None else items.scores[rows]
        return ModelOutputs(scores, items.labels[rows])

    def count(self, items: ModelOutputs) -> int:
        return len(items)


@dataclass(frozen=True, eq=False)
class _AmongPresent:
    """Representation of posteriors among the classes of the reference."""

    inner: Any
    present: NDArray[np.int64]

    def embed(self, items: ModelOutputs) -> Embedding:
        embedding: Embedding = self.inner.embed(among(items.posteriors, self.present))
        return embedding


@dataclass(frozen=True, eq=False)
class _PredictorNeeds:
    """Statistics for the cross-fitted model, for that of `predict`, and for the test."""

    model: MetricModel
    answers: list[Part]
    raw: list[Part]
    test: list[Part]
    mixture: MixtureTest | None

    @property
    def parts(self) -> list[Part]:
        """All statistics."""
        return [*self.answers, *self.raw, *self.test]


def statistics_needs(fitted: FittedPredictor, form: Form) -> _PredictorNeeds:
    """Statistics that the estimates of a predictor need of items of a form."""
    model, _ = fitted.model.cross_fitted()
    source = _Outputs(fitted)
    mixture = None if form == "verdicts" else mixture_test(fitted.reference)
    test = []
    if mixture is not None:
        present = fitted.reference.present
        test = [Part(source, MeanOf(_AmongPresent(mixture.representation, present)))]
    answers = _parts_of(fitted.method, model, source)
    raw = _parts_of(fitted.method, fitted.model, source)
    return _PredictorNeeds(model, answers, raw, test, mixture)


def _parts_of(method: str, model: MetricModel, source: _Outputs) -> list[Part]:
    reductions = model.reduction()
    if reductions is None:
        raise HeadcountError(
            f"{method} needs all items of a sample at once, so that "
            "it cannot be reduced to statistics: use CBPE, ATC, DoC or LEAP."
        )
    return [Part(source, reduction) for reduction in reductions]
