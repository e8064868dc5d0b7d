"""Estimates with intervals: a metric given the answer of a predictor.

Samples with known labels are simulated from the reference, and the predictor is applied to
each of them. The true metrics of the samples with answers like the observed one are the
estimate: their mean, and their quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._support.arrays import Floats, Ints
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_choice, check_count, check_fraction
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.fitted import (
    FittedPredictor,
    MetricModel,
    answers_with_shares,
    mixture_test,
    statistics_needs,
)
from headcount.accuracy.metrics import ReferenceRanking, TableMetric
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
from headcount.errors import HeadcountError
from headcount.estimates.assumption import FitTest, format_p_value
from headcount.estimates.conditioning import (
    Conditional,
    Conditioning,
    Prior,
    Simulated,
    WeightedDraws,
    check_prior,
    size_factor,
)
from headcount.estimates.diagnostics import BROKEN_LEVEL, FEW_ITEMS, UNLIKE
from headcount.estimates.estimates import deviations
from headcount.parts.fitted import GroupStatistics, solved
from headcount.parts.training import Training
from headcount.samples.samples import Samples

# Numbers held for a batch of tables.
_BATCH_NUMBERS = 8_000_000
# Draws with a smaller range are equal up to rounding.
_ROUNDING = 1e-9
ASSUMES = "the estimate assumes that only"
"""Start of the warning about the assumption of an estimate."""
_SHIFT_WARNINGS = {
    "prior": "",
    "covariate": (
        f"{ASSUMES} the shares of the classes have changed (prior shift): "
        "if only the distribution of the inputs has changed, use the value raw."
    ),
    "none": (
        "the answer of this method does not depend on the sample: the interval covers all "
        "shares of the classes that the prior allows."
    ),
}


@dataclass(frozen=True, eq=False)
class Observed:
    """Answers of a predictor to samples, from their items or from statistics of groups.

    ``answers`` are those of the cross-fitted model, ``raw`` and ``statistics`` those of the
    model of `predict`. ``effective`` is the number of items that answers rest on: all of
    ``sizes``, or those that a reduction has left.
    """

    answers: Floats
    raw: Floats
    statistics: Floats
    tests: Sequence[FitTest | None]
    sizes: Ints
    effective: Ints
    errors: Sequence[float | None]

    @classmethod
    def of_samples(
        cls, fitted: FittedPredictor, pool: ModelOutputs, samples: Samples, metric: TableMetric
    ) -> Observed:
        """Answers to samples of a pool."""
        of_new, _ = fitted.model.cross_fitted()
        statistics = fitted.model.solve(pool, samples)
        return cls(
            _answers(of_new, pool, samples, metric),
            fitted.model.answers(pool, samples, metric, statistics),
            statistics,
            _fit_tests(fitted.training, pool, samples),
            samples.sizes,
            samples.sizes,
            [None] * len(samples),
        )

    @classmethod
    def of_groups(
        cls, fitted: FittedPredictor, statistics: GroupStatistics, metric: TableMetric
    ) -> Observed:
        """Answers to groups whose items were read elsewhere."""
        if isinstance(metric, ReferenceRanking):
            raise HeadcountError(
                f"{metric.name!r} needs the order of all items, which statistics do not keep: "
                "choose another metric, or pass the items to estimate."
            )
        needs = statistics_needs(fitted, statistics.form)
        effective = statistics.effective_sizes([*needs.answers, *needs.raw])
        of_new, variants = solved(needs.model.solve_reduced, statistics, needs.answers)
        answers = needs.model.values(of_new, metric)
        of_predict, _ = solved(fitted.model.solve_reduced, statistics, needs.raw)
        tests: list[FitTest | None] = [None] * len(answers)
        if needs.mixture is not None:
            (means,) = statistics.reduced(needs.test, slice(0, len(answers)))
            tests = list(needs.mixture.test_means(np.asarray(means), statistics.sizes))
        errors: list[float | None] = [None] * len(answers)
        if variants is not None:
            values = np.stack([needs.model.values(variant, metric) for variant in variants])
            sampled = effective < statistics.sizes
            errors = deviations(answers[:, None], values[:, :, None], sampled)[:, 0].tolist()
        return cls(
            answers[:, None],
            fitted.model.values(of_predict, metric),
            of_predict,
            tests,
            statistics.sizes,
            effective,
            errors,
        )


def accuracy_estimates(
    fitted: FittedPredictor,
    metric: TableMetric,
    observed: Observed,
    *,
    estimand: Any,
    prior: Any,
    replicates: Any,
    level: Any,
    random_state: Any,
) -> list[AccuracyEstimate]:
    """Estimate a metric on each sample, given the answers; keywords are those of `estimate`."""
    check_choice("estimand", estimand, ("realised", "expected"))
    level = check_fraction("level", level)
    replicates = check_count("replicates", replicates, 100)
    _, of_reference = fitted.model.cross_fitted()
    rows = fitted.model.simulation_rows(fitted.training)
    conditioning = _MetricConditioning(
        of_reference,
        fitted.training,
        rows,
        metric,
        estimand == "expected",
        # Where a class is absent, metrics such as the AUROC have no value.
        Prior(all_present=True)
        if prior is None
        else check_prior(prior, len(np.unique(fitted.training.codes[rows]))),
        min(replicates, fitted.model.most_simulations),
        base_seeds(random_state, 1)[0],
        fitted.shift == "prior" and fitted.info.gives == "table",
    )
    estimates = []
    posteriors = conditioning.posteriors(observed.answers, observed.effective)
    for i, posterior in enumerate(posteriors):
        draws, test = posterior.draws[:, 0], observed.tests[i]
        estimates.append(
            AccuracyEstimate(
                method=fitted.method,
                measure=metric,
                value=float(posterior.mean[0]),
                raw=float(observed.raw[i]),
                n_items=int(observed.sizes[i]),
                estimand=estimand,
                level=level,
                draws=draws,
                classes=fitted.classes,
                table=observed.statistics[i] if fitted.has_table else None,
                fit_test=test,
                warnings=_warnings(fitted, test, int(observed.effective[i]), draws),
                reduction_error=observed.errors[i],
            )
        )
    return estimates


@dataclass(frozen=True, eq=False)
class _MetricConditioning:
    """Distribution of a metric on samples given the answers of a method.

    Samples are simulated from ``rows`` of the reference, and solved by ``model``. The truth is
    the metric on their items, or on their population. An answer is ``exact`` if it would be the
    truth for large samples and a large reference.
    """

    model: MetricModel
    reference: Reference
    rows: Ints
    metric: TableMetric
    of_population: bool
    prior: Prior
    replicates: int
    seed: int
    exact: bool

    def posteriors(self, answers: Floats, sizes: Ints) -> list[WeightedDraws]:
        """Distribution of the metric on each sample, given its answer and its size."""
        present, codes = np.unique(self.reference.codes[self.rows], return_inverse=True)
        training = Training(None, codes.astype(np.int64), len(present))
        conditioning = Conditioning(
            training, self._outcomes, self.prior, self.replicates, self.seed
        )
        class_sizes, shares = self.reference.class_sizes, self.reference.prior
        posteriors = []
        for answer, size in zip(answers, sizes.tolist(), strict=True):
            draws, weights = conditioning.given(answer, size)
            draws = draws[:, :1]
            if self.exact:
                mean = weights @ draws
                draws = mean + size_factor(class_sizes, shares, size) * (draws - mean)
            draws = np.clip(draws, self.metric.low, self.metric.high)
            posteriors.append(WeightedDraws(draws, weights))
        return posteriors

    def _outcomes(self, simulated: Simulated) -> Conditional:
        samples, n_pool = simulated.samples, len(self.reference)
        if len(self.rows) < n_pool:
            samples = Samples(self.rows[samples.indices], samples.offsets, n_pool=n_pool)
        answers = _answers(self.model, self.reference.items, samples, self.metric)
        truths = self._truths(samples)[:, None]
        if answers.shape[1] > 1:
            K = self.reference.n_classes
            shares = samples.prevalence_of(self.reference.codes, K)
            truths = np.hstack([truths, shares[:, 1:]])
        return Conditional(answers, truths)

    def _truths(self, samples: Samples) -> Floats:
        """Metric on each sample of the reference, or on its population."""
        K, rng = self.reference.n_classes, np.random.default_rng([self.seed, 1])
        step, truths = max(1, _BATCH_NUMBERS // (K * K)), []
        for first in range(0, len(samples), step):
            batch = samples[first : first + step]
            if self.of_population:
                truth = self.metric.on_populations(self.reference, self.rows, batch, rng)
            else:
                truth = self.metric.on_samples(self.reference, batch)
            truths.append(truth)
        return np.concatenate(truths)


def _answers(
    model: MetricModel, pool: ModelOutputs, samples: Samples, metric: TableMetric
) -> Floats:
    """Answers to samples of a pool that metrics are conditioned on."""
    statistics = model.solve(pool, samples)
    answers = model.answers(pool, samples, metric, statistics)
    return answers_with_shares(model, metric, answers, statistics)


def _fit_tests(
    reference: Reference, pool: ModelOutputs, samples: Samples
) -> list[FitTest] | list[None]:
    """Test of prior shift for each sample; None without posteriors or a second class."""
    mixture = None if pool.scores is None else mixture_test(reference)
    if mixture is None or pool.scores is None:
        return [None] * len(samples)
    return list(mixture.test(among(pool.scores, reference.present), samples))


def _warnings(
    fitted: FittedPredictor, test: FitTest | None, n: int, draws: Floats
) -> tuple[str, ...]:
    """Reasons to doubt an estimate, one sentence each."""
    warnings = [_SHIFT_WARNINGS[fitted.shift]]
    if test is not None and test.p_value < BROKEN_LEVEL:
        warnings.append(
            f"{UNLIKE} the classes of the reference ({format_p_value(test)}), so an "
            "accuracy estimated under prior shift may be far off: label a few of its items; if "
            "only the distribution of the inputs has changed (pure covariate shift), use CBPE "
            "and its value raw."
        )
    if n < FEW_ITEMS:
        warnings.append(
            f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: the "
            "estimate is little more than a guess; add items."
        )
    if np.ptp(draws) < _ROUNDING:
        warnings.append(
            "All simulated samples have the same value, as where the classifier makes no "
            "errors on the labelled items: the interval does not show how rare errors are; "
            "label more items."
        )
    return tuple(filter(None, warnings))
