"""Estimates with intervals: a metric given the answer of a predictor.

Samples with known labels are simulated from the reference, and the predictor is applied to
each of them. The true metrics of the samples with answers like the observed one are the
estimate: their mean, and their quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_fraction
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
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
    from headcount.accuracy.base import Model, Predictor

__all__ = ["estimate_samples"]

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
    target: Any,
    prior: Any,
    replicates: Any,
    level: Any,
    random_state: Any,
) -> list[AccuracyEstimate]:
    """Estimate a metric on each sample of a pool; the keywords are those of `estimate`."""
    check_choice("target", target, ("realised", "expected"))
    level = check_fraction("level", level)
    replicates = check_count("replicates", replicates, 100)
    of_new, of_reference = predictor.model_.cross_fitted()
    reference, rows = predictor.reference_, predictor._simulation_rows()
    conditioning = _MetricConditioning(
        of_reference,
        reference,
        rows,
        metric,
        target == "expected",
        check_prior(prior, len(np.unique(reference.codes[rows]))),
        min(replicates, predictor._most_simulations),
        base_seeds(random_state, 1)[0],
        predictor.shift == "prior" and predictor.info.gives == "table",
    )
    answers = of_new.values(of_new.statistics(pool, samples), metric)
    statistics = predictor.model_.statistics(pool, samples)
    raw = predictor.model_.values(statistics, metric)
    tests = _fit_tests(reference, pool, samples)
    found = []
    for i, posterior in enumerate(conditioning.posteriors(answers, samples.sizes)):
        size, draws = int(samples.sizes[i]), posterior.draws[:, 0]
        found.append(
            AccuracyEstimate(
                type(predictor).__name__,
                metric,
                float(posterior.mean[0]),
                float(raw[i]),
                size,
                target,
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
            draws, weights = conditioning.given(np.array([answer]), size)
            if self.exact:
                mean = weights @ draws
                draws = mean + size_factor(class_sizes, shares, size) * (draws - mean)
            found.append(Posterior(np.clip(draws, self.metric.low, self.metric.high), weights))
        return found

    def _outcomes(self, made: Simulated) -> Conditional:
        samples, n_pool = made.samples, len(self.reference)
        if len(self.rows) < n_pool:
            samples = Samples(self.rows[samples.indices], samples.offsets, n_pool=n_pool)
        statistics = self.model.statistics(self.reference.outputs, samples)
        answers = self.model.values(statistics, self.metric)
        return Conditional(answers[:, None], self._truths(samples)[:, None])

    def _truths(self, samples: Samples) -> Floats:
        """Metric on each sample of the reference, or on its population."""
        K, rng = self.reference.n_classes, np.random.default_rng([self.seed, 1])
        known = np.bincount(self.reference.cells[self.rows], minlength=K * K).reshape(K, K)
        size, parts = int(samples.sizes[0]), []
        step = max(1, _BATCH_NUMBERS // (K * K))
        for first in range(0, len(samples), step):
            tables = self.reference.tables(samples[first : first + step])
            if self.of_population:
                tables = _population_tables(size * tables, known, rng)
            parts.append(self.metric(tables))
        return np.concatenate(parts)


def _population_tables(
    counts: Floats, known: NDArray[np.int64], rng: np.random.Generator
) -> Floats:
    """Random tables of the populations that samples with these tables of counts are from.

    Shares of the classes, and rates of the predictions within each class, have Dirichlet
    distributions given the counts. The rates also use the counts of the reference, whose
    classes are those of the population.
    """
    shares = counts.sum(axis=2) + 1 / len(known)
    shares = rng.standard_gamma(np.where(known.sum(axis=1) > 0, shares, 0.0))
    rates = rng.standard_gamma(counts + known)
    total = rates.sum(axis=2, keepdims=True)
    rates = np.divide(rates, total, out=np.zeros_like(rates), where=total > 0)
    tables = shares[:, :, None] * rates
    return np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True))


def _fit_tests(
    reference: Reference, pool: ModelOutputs, samples: Samples
) -> list[FitTest] | list[None]:
    """Test of prior shift for each sample; None without posteriors or a second class."""
    present, known = reference.present, reference.outputs.scores
    if len(present) < 2 or known is None or pool.scores is None:
        return [None] * len(samples)
    codes = np.searchsorted(present, reference.codes)
    training = Training(among(known, present), codes, len(present))
    mixture = MixtureTest.of_posteriors(training)
    return list(mixture.test(among(pool.scores, present), samples))


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
