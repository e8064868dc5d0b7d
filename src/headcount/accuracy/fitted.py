"""Fitted methods that predict accuracy: statistics of samples, and metrics of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from headcount._support.arrays import Floats, Ints
from headcount.accuracy.metrics import (
    RANKINGS,
    Metric,
    ModelOutputs,
    OutputItems,
    OutputSource,
    Reference,
    ReferenceRanking,
    TableMetric,
    among,
    as_metric,
)
from headcount.errors import HeadcountError
from headcount.estimates.assumption import MixtureTest
from headcount.parts.fitted import (
    Fitted,
    Form,
    NeedsStatistics,
    Part,
    ScoredItems,
    Shift,
    pool_samples,
)
from headcount.parts.training import Embedding, MeanOf, Reduced, Reduction, reduce_in_batches
from headcount.samples.samples import Samples


class MetricModel:
    """Fitted method, with ``reduction`` and ``solve_reduced``, or ``solve`` without means."""

    # Largest number of simulated samples.
    most_simulations: ClassVar[int] = 1_000_000

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Means over the outputs of a sample that determine its statistics."""
        return None

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        """Statistics of samples, one entry each, given the values of each `reduction`."""
        raise NotImplementedError

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Statistics that metrics are computed from, one entry per sample of a pool."""
        batches = reduce_in_batches(self.reduction() or (), pool, samples)
        return np.concatenate([self.solve_reduced(*batch) for batch in batches])

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric on each sample, given its statistics."""
        raise NotImplementedError

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        """Metric on each sample of a pool, given their statistics."""
        return self.values(statistics, metric)

    def cross_fitted(self) -> tuple[MetricModel, MetricModel]:
        """Models for new items and for the items of the reference, with equal behaviour."""
        return self, self

    def simulation_rows(self, reference: Reference) -> Ints:
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

    name: ClassVar[str]

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Accuracy or error."""
        return 1 - statistics if metric.name == "error" else statistics

    def table_obstacle(self) -> str:
        """The single metric."""
        return "it gives the accuracy alone; use LEAP, QuAcc or CBPE."

    def metric_obstacle(self, metric: TableMetric) -> str:
        """The single metric, for another one."""
        if metric.name in ("accuracy", "error"):
            return ""
        return f"{self.name} gives the accuracy alone: use LEAP, QuAcc or CBPE."


@dataclass(frozen=True, eq=False)
class FittedPredictor(Fitted, NeedsStatistics):
    """A fitted method whose answers are metrics. Its training items are a `Reference`."""

    reducible: ClassVar[str] = "CBPE, ATC, DoC or LEAP"

    source: OutputSource = field(kw_only=True)
    training: Reference = field(kw_only=True)
    # Any, as methods use attributes of their own models.
    model: Any = field(kw_only=True)
    shift: Shift = field(kw_only=True)
    past: Any = field(kw_only=True, default=None)

    @property
    def has_table(self) -> bool:
        """True if the method gives the table of true and predicted classes."""
        return not self.model.table_obstacle()

    def metric_obstacle(self, metric: Metric) -> str:
        """Reason why a metric is not given; empty if it is."""
        ranked = isinstance(metric, str) and metric in RANKINGS
        if ranked and self.training.items.scores is None:
            return "it ranks items by posteriors, and there are decisions alone."
        return self.model.metric_obstacle(as_metric(metric, self.training))

    def checked(self, metric: Metric) -> TableMetric:
        """Metric that the method gives."""
        if obstacle := self.metric_obstacle(metric):
            name = metric if isinstance(metric, str) else as_metric(metric).name
            raise HeadcountError(f"metric is {name!r}, but {obstacle}")
        return as_metric(metric, self.training)

    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that estimates need of items of a form."""
        return statistics_needs(self, form).parts

    def part_sources(self, *, by_folds: bool) -> list[ScoredItems]:
        """Makers of the items of each reduction of the model."""
        return [OutputItems(self.source)] * len(self.model.reduction() or ())

    def tables(self, X: Any, samples: Any) -> Floats:
        """Table of each sample of a pool, (S, K, K)."""
        if not self.has_table:
            raise HeadcountError(f"{self.method} gives no table: {self.model.table_obstacle()}")
        pool = self.source.items(X)
        tables = self.model.solve(pool, pool_samples(samples, pool))
        return np.asarray(tables, dtype=np.float64)

    def metrics(self, X: Any, samples: Any, metrics: list[TableMetric]) -> Floats:
        """Each metric on each sample of a pool, (M, S)."""
        pool = self.source.items(X)
        samples = pool_samples(samples, pool)
        statistics = self.model.solve(pool, samples)
        values = [self.model.answers(pool, samples, metric, statistics) for metric in metrics]
        return np.asarray(values, dtype=np.float64).reshape(len(metrics), len(samples))


def answers_with_shares(
    model: MetricModel, metric: TableMetric, answers: Floats, statistics: Floats
) -> Floats:
    """Answers as columns; those of ranking metrics with the estimated shares of classes."""
    columns = answers[:, None]
    if isinstance(metric, ReferenceRanking) and isinstance(model, ConfusionModel):
        columns = np.hstack([columns, statistics.sum(axis=2)[:, 1:]])
    return columns


def mixture_test(reference: Reference) -> MixtureTest | None:
    """Test of prior shift; None without posteriors or a second class."""
    if len(reference.present) < 2 or reference.items.scores is None:
        return None
    return MixtureTest.of_posteriors(reference.posteriors)


@dataclass(frozen=True, eq=False)
class _AmongPresent:
    """Representation of posteriors among the classes of the reference."""

    inner: Any
    present: Ints

    def embed(self, items: ModelOutputs) -> Embedding:
        return self.inner.embed(among(items.posteriors, self.present))


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
    mixture = None if form == "verdicts" else mixture_test(fitted.training)
    test = []
    if mixture is not None:
        among_present = _AmongPresent(mixture.representation, fitted.training.present)
        test = [Part(OutputItems(fitted.source), MeanOf(among_present))]
    answers, raw = (
        fitted.parts(one_model, by_folds=False) for one_model in (model, fitted.model)
    )
    return _PredictorNeeds(model, answers, raw, test, mixture)
