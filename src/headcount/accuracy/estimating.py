"""Estimates with intervals: a measure given the answer of a predictor.

Samples with known classes are simulated from the labelled items, and the predictor answers to
each of them. The true measures of the samples with answers like the observed one are the
estimate: their mean, and their quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_fraction
from headcount.accuracy.estimates import AccuracyEstimate, EstimateOptions
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.shares import among
from headcount.accuracy.tables import TableMetric
from headcount.diagnose import FitTest, MixtureTest
from headcount.diagnose.diagnostics import BROKEN_LEVEL, FEW_ITEMS
from headcount.diagnose.fit_test import format_p_value
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.uncertainty import (
    Conditional,
    Posterior,
    Prior,
    Target,
    check_prior,
    simulate,
    simulated_size,
    size_factor,
)

if TYPE_CHECKING:
    from headcount.accuracy.base import Model, Predictor

__all__ = ["estimate_samples"]

Floats = NDArray[np.float64]

# Numbers held for a batch of tables.
_BATCH_NUMBERS = 8_000_000
# Draws that differ by no more than rounding.
_ROUNDING = 1e-9


def estimate_samples(
    predictor: Predictor,
    pool: Judged,
    samples: Samples,
    metric: TableMetric,
    options: EstimateOptions,
) -> list[AccuracyEstimate]:
    """Estimate a measure on each sample of a pool."""
    check_choice("target", options.target, ("realised", "expected"))
    level = check_fraction("level", options.level)
    of_new, of_reference = predictor.model_.cross_fitted()
    conditioning = _Conditioning.of(predictor, of_reference, metric, options)
    answers = of_new.values(pool, samples, metric)
    tables = None if predictor._why_no_table() else predictor.model_.tables(pool, samples)
    raw = predictor.model_.values(pool, samples, metric) if tables is None else metric(tables)
    tests = _fit_tests(predictor.reference_, pool, samples)
    found = []
    for i, size in enumerate(samples.sizes.tolist()):
        posterior = conditioning.posterior(answers[i], size)
        draws = posterior.draws[:, 0]
        found.append(
            AccuracyEstimate(
                type(predictor).__name__,
                metric,
                float(posterior.mean[0]),
                float(raw[i]),
                size,
                options.target,
                level,
                draws,
                predictor.classes_,
                None if tables is None else tables[i],
                tests[i],
                (*_warnings(predictor), *_doubts(tests[i], size, draws)),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Conditioning:
    """Conditions on answers to samples of the reference, shared by samples of one size.

    Attributes
    ----------
    model : Model
        Answers to samples of the reference.
    reference : Reference
        The labelled items.
    rows : ndarray of shape (m,)
        Items of the reference that samples are simulated from.
    metric : TableMetric
        The measure.
    target : {"realised", "expected"}
        Whether the truth is the measure on the simulated items or on their population.
    prior : Prior
        Distribution of the shares of the classes.
    replicates : int
        Number of simulated samples for each size.
    seed : int
        Random seed.
    exact : bool
        Whether the answer would be the truth if samples and reference were large.
    """

    model: Model
    reference: Reference
    rows: NDArray[np.int64]
    metric: TableMetric
    target: Target
    prior: Prior
    replicates: int
    seed: int
    exact: bool
    _by_size: dict[int, Conditional] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, predictor: Predictor, model: Model, metric: TableMetric, options: EstimateOptions
    ) -> _Conditioning:
        reference, rows = predictor.reference_, predictor._simulation_rows()
        n_classes = len(np.unique(reference.codes[rows]))
        replicates = check_count("replicates", options.replicates, 100)
        return cls(
            model,
            reference,
            rows,
            metric,
            options.target,
            check_prior(options.prior, n_classes),
            min(replicates, predictor._most_simulations),
            base_seeds(options.random_state, 1)[0],
            predictor._shift() == "prior" and predictor.info.gives == "table",
        )

    def posterior(self, answer: float, size: int) -> Posterior:
        """Distribution of the measure on a sample of `size` items, given its answer."""
        draws, weights = self._conditional(size).given(np.array([answer]))
        if self.exact:
            counts = np.bincount(self.reference.codes)
            mean = weights @ draws
            factor = size_factor(counts, counts / counts.sum(), size)
            draws = mean + factor * (draws - mean)
        return Posterior(np.clip(draws, self.metric.low, self.metric.high), weights)

    def _conditional(self, size: int) -> Conditional:
        size = simulated_size(size)
        if size not in self._by_size:
            present, codes = np.unique(self.reference.codes[self.rows], return_inverse=True)
            training = Training(None, codes.astype(np.int64), len(present))
            made = simulate(training, size, self.replicates, self.prior, self.seed).samples
            samples = Samples.unchecked(
                self.rows[made.indices], made.offsets, len(self.reference)
            )
            answers = self.model.values(self.reference.judged, samples, self.metric)
            truths = self._truths(samples, size)
            self._by_size[size] = Conditional(answers[:, None], truths[:, None])
        return self._by_size[size]

    def _truths(self, samples: Samples, size: int) -> Floats:
        """The measure on each sample of the reference, or on its population."""
        K, rng = self.reference.n_classes, np.random.default_rng([self.seed, 1])
        cells, parts = self.reference.cells, []
        known = np.bincount(cells[self.rows], minlength=K * K).reshape(K, K)
        step = max(1, _BATCH_NUMBERS // (K * K))
        for first in range(0, len(samples), step):
            tables = samples[first : first + step].prevalence_of(cells, K * K)
            tables = tables.reshape(-1, K, K)
            if self.target == "expected":
                tables = _population_tables(size * tables, known, rng)
            parts.append(self.metric(tables))
        return np.concatenate(parts)


def _population_tables(
    counts: Floats, known: NDArray[np.int64], rng: np.random.Generator
) -> Floats:
    """Random tables of the populations that samples with these tables of counts are from.

    Shares of the classes, and rates of the predictions within each class, have Dirichlet
    distributions given the counts. For the rates, those of the reference count as well, as
    its classes are those of the population.
    """
    shares = counts.sum(axis=2) + 1 / len(known)
    shares = rng.standard_gamma(np.where(known.sum(axis=1) > 0, shares, 0.0))
    rates = rng.standard_gamma(counts + known)
    total = rates.sum(axis=2, keepdims=True)
    rates = np.divide(rates, total, out=np.zeros_like(rates), where=total > 0)
    tables = shares[:, :, None] * rates
    return np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True))


def _fit_tests(
    reference: Reference, pool: Judged, samples: Samples
) -> list[FitTest] | list[None]:
    """Test of prior shift for each sample."""
    present = reference.present
    if len(present) < 2:
        return [None] * len(samples)
    codes = np.searchsorted(present, reference.codes)
    known = among(reference.judged.posteriors, present)
    mixture = MixtureTest.of_posteriors(Training(known, codes, len(present)))
    return list(mixture.test(among(pool.posteriors, present), samples))


def _doubts(test: FitTest | None, n: int, draws: Floats) -> list[str]:
    """Reasons to doubt an estimate, one sentence each."""
    found = []
    if test is not None and test.p_value < BROKEN_LEVEL:
        found.append(
            f"The sample does not look like a mixture of the classes of the reference "
            f"({format_p_value(test)}), so that an accuracy estimated under prior shift may be "
            "far off: label a few of its items; if only the inputs have changed and not what "
            "they mean (pure covariate shift), use CBPE and its value raw."
        )
    if n < FEW_ITEMS:
        found.append(
            f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: the "
            "estimate is little more than a guess; add items."
        )
    if np.ptp(draws) < _ROUNDING:
        found.append(
            "All simulated samples have the same value, as where the model makes no errors on "
            "the labelled items: the interval does not show how rare errors are; label more "
            "items."
        )
    return found


def _warnings(predictor: Predictor) -> list[str]:
    """Warnings that hold for every estimate of a predictor."""
    if predictor._shift() == "none":
        return [
            "the answer of this method does not depend on the sample: the interval covers all "
            "shares of the classes that the prior allows."
        ]
    if predictor._shift() == "covariate":
        return [
            "the estimate assumes that only the shares of the classes have changed (prior "
            "shift): if only the inputs have changed, not what they mean, use the value raw."
        ]
    return []
