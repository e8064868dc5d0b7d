"""Estimates of metrics from statistics of items that were read elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.estimation import estimates_of_answers, mixture_test
from headcount.accuracy.model_outputs import ModelOutputs, among
from headcount.accuracy.rankings import ReferenceRanking
from headcount.accuracy.tables import TableMetric
from headcount.diagnose import FitTest, MixtureTest
from headcount.errors import HeadcountError
from headcount.quantify.statistics_parts import (
    Form,
    GroupStatistics,
    Part,
    solved,
)
from headcount.representation import Embedding, MeanOf
from headcount.uncertainty import deviations

if TYPE_CHECKING:
    from headcount.accuracy.base import Model, Predictor

__all__ = ["Needs", "estimate_groups"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Outputs of a classifier for the items of a pool."""

    predictor: Predictor

    def items(self, X: Any) -> ModelOutputs:
        return self.predictor._outputs(X)

    def identity(self) -> Any:
        classifier = self.predictor._fitted_classifier
        judge = None if classifier is None else classifier.judge_
        return "outputs", self.predictor.classes_, judge

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
        found: Embedding = self.inner.embed(among(items.posteriors, self.present))
        return found


@dataclass(frozen=True, eq=False)
class Needs:
    """Statistics that the estimates of a predictor need.

    Attributes
    ----------
    model : Model
        Model for new items, cross-fitted.
    answers, raw, test : list of Part
        Statistics for this model, for the one of `predict`, and for the test of prior shift.
    mixture : MixtureTest or None
        The test.
    """

    model: Model
    answers: list[Part]
    raw: list[Part]
    test: list[Part]
    mixture: MixtureTest | None

    @classmethod
    def of(cls, predictor: Predictor, form: Form) -> Needs:
        """Statistics for items of a form."""
        model, _ = predictor.model_.cross_fitted()
        source = _Outputs(predictor)
        each = []
        for used in (model, predictor.model_):
            reductions = used.reduction()
            if reductions is None:
                raise HeadcountError(
                    f"{type(predictor).__name__} needs all items of a sample at once, so that "
                    "it cannot be reduced to statistics: use CBPE, ATC, DoC or LEAP."
                )
            each.append([Part(source, reduction) for reduction in reductions])
        mixture = None if form == "verdicts" else mixture_test(predictor.reference_)
        test = []
        if mixture is not None:
            present = predictor.reference_.present
            test = [Part(source, MeanOf(_AmongPresent(mixture.representation, present)))]
        answers, raw = each
        return cls(model, answers, raw, test, mixture)


def estimate_groups(
    predictor: Predictor, statistics: GroupStatistics, metric: TableMetric, **options: Any
) -> dict[Any, AccuracyEstimate]:
    """Estimate a metric on each group; the keywords are those of `estimate`."""
    if isinstance(metric, ReferenceRanking):
        raise HeadcountError(
            f"{metric.name!r} needs the order of all items, which statistics do not keep: "
            "choose another metric, or pass the items to estimate."
        )
    needs = Needs.of(predictor, statistics.form)
    effective = statistics.effective_sizes([*needs.answers, *needs.raw])
    found, variants = solved(needs.model.reduced_statistics, statistics, needs.answers)
    answers = needs.model.values(found, metric)
    own, _ = solved(predictor.model_.reduced_statistics, statistics, needs.raw)
    tests: list[FitTest | None] = [None] * len(answers)
    if needs.mixture is not None:
        (seen,) = statistics.reduced(needs.test, slice(0, len(answers)))
        tests = list(needs.mixture.test_means(np.asarray(seen), statistics.sizes))
    estimates = estimates_of_answers(
        predictor,
        metric,
        answers[:, None],
        predictor.model_.values(own, metric),
        own,
        tests,
        effective,
        **options,
    )
    errors: list[float | None] = [None] * len(answers)
    if variants is not None:
        each = np.stack([needs.model.values(part, metric) for part in variants])
        sampled = effective < statistics.sizes
        errors = deviations(answers[:, None], each[:, :, None], sampled)[:, 0].tolist()
    sizes = statistics.sizes.tolist()
    return {
        name: replace(estimate, size=size, reduction_error=error)
        for name, estimate, size, error in zip(
            statistics.groups, estimates, sizes, errors, strict=True
        )
    }
