"""Estimates with intervals: a metric given the answer of a predictor.

Samples with known labels are simulated from the reference, and the predictor is applied to
each of them. The true metrics of the samples with answers like the observed one are the
estimate: their mean, and their quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_fraction
from headcount.accuracy.base import Model, TableModel
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
from headcount.accuracy.rankings import ReferenceRanking
from headcount.accuracy.tables import TableMetric
from headcount.diagnose import FitTest, MixtureTest
from headcount.diagnose.diagnostics import BROKEN_LEVEL, FEW_ITEMS, UNLIKE
from headcount.diagnose.fit_test import format_p_value
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.uncertainty import (
    Conditional,
    Conditioning,
    Posterior,
    Prior,
    Simulated,
    check_prior,
    size_factor,
)

if TYPE_CHECKING:
    from headcount.accuracy.base import Predictor

__all__ = ["estimate_samples", "estimates_of_answers", "mixture_test"]

Floats = NDArray[np.float64]

# Numbers held for a batch of tables.
_BATCH_NUMBERS = 8_000_000
# Draws with a smaller range are equal up to rounding.
_ROUNDING = 1e-9
_SHIFT_WARNINGS = {
    "prior": "",
    "covariate": (
        "the estimate assumes that only the shares of the classes have changed (prior shift): "
        "if only the distribution of the inputs has changed, use the value raw."
    ),
    "none": (
        "the answer of this method does not depend on the sample: the interval covers all "
        "shares of the classes that the prior allows."
    ),
}


def estimate_samples(
    predictor: Predictor,
    pool: ModelOutputs,
    samples: Samples,
    metric: TableMetric,
    *,
    estimand: Any,
    prior: Any,
    replicates: Any,
    level: Any,
    random_state: Any,
) -> list[AccuracyEstimate]:
    """Estimate a metric on each sample of a pool; the keywords are those of `estimate`."""
    of_new, _ = predictor.model_.cross_fitted()
    statistics = predictor.model_.statistics(pool, samples)
    return estimates_of_answers(
        predictor,
        metric,
        _with_shares(of_new, pool, samples, metric),
        predictor.model_.answers(pool, samples, metric, statistics),
        statistics,
        _fit_tests(predictor.reference_, pool, samples),
        samples.sizes,
        estimand=estimand,
        prior=prior,
        replicates=replicates,
        level=level,
        random_state=random_state,
    )


def estimates_of_answers(
    predictor: Predictor,
    metric: TableMetric,
    answers: Floats,
    raw: Floats,
    statistics: Floats,
    tests: Sequence[FitTest | None],
    sizes: NDArray[np.int64],
    *,
    estimand: Any,
    prior: Any,
    replicates: Any,
    level: Any,
    random_state: Any,
) -> list[AccuracyEstimate]:
    """Estimates given the answers of the cross-fitted method, its own, and its statistics."""
    check_choice("estimand", estimand, ("realised", "expected"))
    level = check_fraction("level", level)
    replicates = check_count("replicates", replicates, 100)
    _, of_reference = predictor.model_.cross_fitted()
    reference, rows = predictor.reference_, predictor._simulation_rows()
    conditioning = _MetricConditioning(
        of_reference,
        reference,
        rows,
        metric,
        estimand == "expected",
        check_prior(prior, len(np.unique(reference.codes[rows]))),
        min(replicates, predictor._most_simulations),
        base_seeds(random_state, 1)[0],
        predictor.shift == "prior" and predictor.info.gives == "table",
    )
    found = []
    for i, posterior in enumerate(conditioning.posteriors(answers, sizes)):
        size, draws = int(sizes[i]), posterior.draws[:, 0]
        found.append(
            AccuracyEstimate(
                type(predictor).__name__,
                metric,
                float(posterior.mean[0]),
                float(raw[i]),
                size,
                estimand,
                level,
                draws,
                predictor.classes_,
                statistics[i] if predictor.has_table else None,
                tests[i],
                _warnings(predictor, tests[i], size, draws),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _MetricConditioning:
    """Distribution of a metric on samples given the answers of a method.

    Attributes
    ----------
    model : Model
        The method, for samples of the reference.
    reference : Reference
        The labelled items.
    rows : ndarray of shape (m,)
        Items of the reference that samples are simulated from.
    metric : TableMetric
        The metric.
    of_population : bool
        True if the truth is the metric on the population of a simulated sample, and not on
        its items.
    prior : Prior
        Distribution of the shares of the classes.
    replicates : int
        Number of simulated samples for each size.
    seed : int
        Random seed.
    exact : bool
        True if the answer would be the truth for large samples and a large reference.
    """

    model: Model
    reference: Reference
    rows: NDArray[np.int64]
    metric: TableMetric
    of_population: bool
    prior: Prior
    replicates: int
    seed: int
    exact: bool

    def posteriors(self, answers: Floats, sizes: NDArray[np.int64]) -> list[Posterior]:
        """Distribution of the metric on each sample, given its answer and its size."""
        present, codes = np.unique(self.reference.codes[self.rows], return_inverse=True)
        training = Training(None, codes.astype(np.int64), len(present))
        conditioning = Conditioning(
            training, self._outcomes, self.prior, self.replicates, self.seed
        )
        class_sizes = np.bincount(self.reference.codes)
        shares = class_sizes / class_sizes.sum()
        found = []
        for answer, size in zip(answers, sizes.tolist(), strict=True):
            draws, weights = conditioning.given(answer, size)
            draws = draws[:, :1]
            if self.exact:
                mean = weights @ draws
                draws = mean + size_factor(class_sizes, shares, size) * (draws - mean)
            found.append(Posterior(np.clip(draws, self.metric.low, self.metric.high), weights))
        return found

    def _outcomes(self, made: Simulated) -> Conditional:
        samples, n_pool = made.samples, len(self.reference)
        if len(self.rows) < n_pool:
            samples = Samples(self.rows[samples.indices], samples.offsets, n_pool=n_pool)
        answers = _with_shares(self.model, self.reference.outputs, samples, self.metric)
        truths = self._truths(samples)[:, None]
        if answers.shape[1] > 1:
            K = self.reference.n_classes
            shares = samples.prevalence_of(self.reference.codes, K)
            truths = np.hstack([truths, shares[:, 1:]])
        return Conditional(answers, truths)

    def _truths(self, samples: Samples) -> Floats:
        """Metric on each sample of the reference, or on its population."""
        K, rng = self.reference.n_classes, np.random.default_rng([self.seed, 1])
        step, parts = max(1, _BATCH_NUMBERS // (K * K)), []
        for first in range(0, len(samples), step):
            some = samples[first : first + step]
            if self.of_population:
                parts.append(self.metric.on_populations(self.reference, self.rows, some, rng))
            else:
                parts.append(self.metric.on_samples(self.reference, some))
        return np.concatenate(parts)


def _with_shares(
    model: Model, pool: ModelOutputs, samples: Samples, metric: TableMetric
) -> Floats:
    """Answers for samples; those of ranking metrics with the estimated shares of classes.

    A ranking metric may not depend on the shares, but its precision does.
    """
    statistics = model.statistics(pool, samples)
    answers = model.answers(pool, samples, metric, statistics)[:, None]
    if isinstance(metric, ReferenceRanking) and isinstance(model, TableModel):
        answers = np.hstack([answers, statistics.sum(axis=2)[:, 1:]])
    return answers


def _fit_tests(
    reference: Reference, pool: ModelOutputs, samples: Samples
) -> list[FitTest] | list[None]:
    """Test of prior shift for each sample; None without posteriors or a second class."""
    mixture = None if pool.scores is None else mixture_test(reference)
    if mixture is None or pool.scores is None:
        return [None] * len(samples)
    return list(mixture.test(among(pool.scores, reference.present), samples))


def mixture_test(reference: Reference) -> MixtureTest | None:
    """Test of prior shift; None without posteriors or a second class."""
    present, known = reference.present, reference.outputs.scores
    if len(present) < 2 or known is None:
        return None
    codes = np.searchsorted(present, reference.codes)
    return MixtureTest.of_posteriors(Training(among(known, present), codes, len(present)))


def _warnings(
    predictor: Predictor, test: FitTest | None, n: int, draws: Floats
) -> tuple[str, ...]:
    """Reasons to doubt an estimate, one sentence each."""
    found = [_SHIFT_WARNINGS[predictor.shift]]
    if test is not None and test.p_value < BROKEN_LEVEL:
        found.append(
            f"{UNLIKE} the classes of the reference ({format_p_value(test)}), so that an "
            "accuracy estimated under prior shift may be far off: label a few of its items; if "
            "only the distribution of the inputs has changed (pure covariate shift), use CBPE "
            "and its value raw."
        )
    if n < FEW_ITEMS:
        found.append(
            f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: the "
            "estimate is little more than a guess; add items."
        )
    if np.ptp(draws) < _ROUNDING:
        found.append(
            "All simulated samples have the same value, as where the classifier makes no "
            "errors on the labelled items: the interval does not show how rare errors are; "
            "label more items."
        )
    return tuple(filter(None, found))
