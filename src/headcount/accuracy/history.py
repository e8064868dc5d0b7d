"""Accuracy from history: what a method would have said about labelled groups.

New items can be read in several ways. The accuracy may be that of the past, or of the last
labelled group. It may change as the confidence of the classifier does. Or only the mix of the
classes may have changed, so the method is right. Labelled groups, such as months or sites, tell
which reading holds: methods that have not seen them estimate each, and the drift of the
readings is learnt as for shares (headcount/estimates/history.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from headcount._support.arrays import Floats, Ints
from headcount.accuracy.estimates import ASSUMES, AccuracyEstimate, HistoryAccuracy
from headcount.accuracy.fitted import FittedPredictor
from headcount.accuracy.metrics import ModelOutputs, Reference, ReferenceRanking, TableMetric
from headcount.estimates.assumption import BROKEN_LEVEL, UNLIKE, p_value_of
from headcount.estimates.backtest import LabelledGroups, which_held
from headcount.estimates.history import (
    LAST,
    PAST,
    POSTERIORS,
    PRIOR_SHIFT,
    Drift,
    Readings,
    chance_of_method,
    group_steps,
    remaining_uncertainty,
)
from headcount.samples.samples import Samples

Estimator = Callable[[FittedPredictor, ModelOutputs, Samples], list[AccuracyEstimate]]
"""Estimates of samples by a fitted method."""
# Samples of the labelled items that show how far a metric varies by chance.
_RESAMPLES = 200
_LEAST = 1e-3
# Methods for prior shift are right half as often about accuracy as about shares.
_IN_METHOD = 0.5


@dataclass(frozen=True, eq=False)
class AccuracyHistory:
    """Labelled groups, and methods that were fitted on some of them to estimate the others."""

    groups: LabelledGroups[FittedPredictor]
    reference: Reference
    rounds: tuple[tuple[Ints, FittedPredictor], ...]
    noun: str

    @classmethod
    def of(
        cls, groups: LabelledGroups[FittedPredictor], reference: Reference, noun: str
    ) -> AccuracyHistory:
        """Methods for each round of a backtest."""
        rounds = tuple(
            (estimated, groups.fit(groups.rows_without(estimated)))
            for estimated in groups.rounds(seed=0)
        )
        return cls(groups, reference, rounds, noun)

    def learn(self, metric: TableMetric, estimate: Estimator) -> LearntAccuracy:
        """What held in the labelled groups, for a metric with a lowest and a highest value."""
        groups, scale = self.groups, _Scale(metric, self.reference)
        large = groups.large()
        by_group = dict(zip(large.tolist(), self._values(scale, large), strict=True))
        parts = []
        for estimated, fitted in self.rounds:
            rows = np.flatnonzero(np.isin(groups.members, estimated))
            codes = np.searchsorted(estimated, groups.members[rows])
            samples = Samples.by_code(codes, len(estimated))
            steps, last = np.ones(len(estimated)), None
            if groups.ordered:
                steps = np.arange(1.0, len(estimated) + 1)
                last = by_group[large[large < estimated.min()].max()]
            pool = self.reference.items.take(rows)
            answers = estimate(fitted, pool, samples)
            parts.append(scale.read(fitted.training, last, answers, pool, samples, steps))
        tested = np.concatenate([estimated for estimated, _ in self.rounds])
        order = np.argsort(tested, kind="stable")
        readings = Readings.joined(parts).of(order)
        truth = np.array([by_group[group] for group in tested[order]])
        names = [groups.names[group] for group in tested[order]]
        return LearntAccuracy(
            scale,
            Drift.learn(readings, _both(truth), names, _IN_METHOD),
            by_group[int(large[-1])] if groups.ordered else None,
            groups.names,
            readings,
            truth,
            self.noun,
        )

    def _values(self, scale: _Scale, groups: Ints) -> list[float]:
        """Scaled metric in labelled groups."""
        members = self.groups.members
        samples = Samples.from_arrays(
            [np.flatnonzero(members == group) for group in groups], n_pool=len(members)
        )
        return scale.on_samples(self.reference, samples).tolist()


@dataclass(frozen=True, eq=False)
class _Scale:
    """A metric on the scale from 0 to 1, and how far it varies by chance."""

    metric: TableMetric
    reference: Reference

    def down(self, values: Floats) -> Floats:
        """Values on the scale from 0 to 1."""
        low, high = self.metric.low, self.metric.high
        return np.asarray((values - low) / (high - low))

    def up(self, values: Floats) -> Floats:
        """Values of the metric."""
        low, high = self.metric.low, self.metric.high
        return np.asarray(low + (high - low) * values)

    def on_samples(self, labelled: Reference, samples: Samples) -> Floats:
        """Values of samples of labelled items on the scale from 0 to 1."""
        return self.down(self.metric.on_samples(labelled, samples))

    @cached_property
    def variance(self) -> float:
        """Variance of the metric, times the number of items."""
        n = len(self.reference)
        rows = np.random.default_rng(0).integers(n, size=_RESAMPLES * n)
        samples = Samples(rows, np.arange(0, len(rows) + 1, n), n_pool=n)
        return float(n * self.on_samples(self.reference, samples).var())

    def read(
        self,
        labelled: Reference,
        last: float | None,
        answers: Sequence[AccuracyEstimate],
        pool: ModelOutputs,
        samples: Samples,
        steps: Floats,
    ) -> Readings:
        """Readings of samples, given a method that was fitted on labelled items."""
        S, all_items = len(samples), Samples.whole(len(labelled))
        past = float(self.on_samples(labelled, all_items)[0])
        by_name = {PAST: np.full(S, past)}
        if last is not None:
            by_name[LAST] = np.full(S, last)
        if pool.scores is not None and not isinstance(self.metric, ReferenceRanking):
            before, now = (
                _log_odds(self.down(self.metric(_expected_tables(outputs, chosen))))
                for outputs, chosen in ((labelled.items, all_items), (pool, samples))
            )
            by_name[POSTERIORS] = expit(_log_odds(np.array(past)) + now - before)
        by_name[PRIOR_SHIFT] = self.down(np.array([answer.value for answer in answers]))
        n = samples.sizes
        by_chance = np.sqrt(np.maximum(self.variance, 0.25 / n) / n)
        errors = np.stack([by_chance] * len(by_name))
        spreads = self.down(np.stack([answer.draws for answer in answers])).std(axis=1)
        errors[-1] = np.maximum(spreads, by_chance / 2)
        shares = np.stack(list(by_name.values()))
        return Readings(tuple(by_name), _both(shares), np.stack([errors] * 2, axis=-1), steps)


@dataclass(frozen=True, eq=False)
class LearntAccuracy:
    """Metric of new groups, as far as labelled ones tell it."""

    scale: _Scale
    drift: Drift
    last: float | None
    names: tuple[Hashable, ...]
    readings: Readings
    truth: Floats
    noun: str

    def estimates(
        self,
        fitted: FittedPredictor,
        answers: Sequence[AccuracyEstimate],
        pool: ModelOutputs,
        samples: Samples,
        groups: Sequence[Hashable] | None = None,
    ) -> list[HistoryAccuracy]:
        """Estimates of samples from all readings; `groups` name those that may have labels."""
        names = [None] * len(answers) if groups is None else list(groups)
        steps = np.ones(len(answers))
        if self.last is not None:
            steps = group_steps(names, self.names)
        readings = self.scale.read(fitted.training, self.last, answers, pool, samples, steps)
        sentence = self._sentence(fitted.method)
        return [
            _revised(self.scale, self.drift, answer, readings, place, names[place], sentence)
            for place, answer in enumerate(answers)
        ]

    def _sentence(self, method: str) -> str:
        """Which reading of the data held, in a sentence."""
        names, metric = self.readings.names, self.scale.metric.name
        away = np.abs(self.readings.shares[:, :, 1] - self.truth).mean(axis=1)
        weights, errors = (
            dict(zip(names, values.tolist(), strict=True))
            for values in (self.drift.weights, away)
        )
        in_words = {
            PAST: f"the {metric} of the past",
            LAST: f"the last labelled {metric}",
            POSTERIORS: "the confidence of the classifier",
            PRIOR_SHIFT: method,
        }
        return which_held(weights, errors, in_words, len(self.truth), self.noun)


def usual_accuracy(
    fitted: FittedPredictor,
    metric: TableMetric,
    answers: Sequence[AccuracyEstimate],
    pool: ModelOutputs,
    samples: Samples,
) -> list[HistoryAccuracy]:
    """Estimates of samples with the drift that is usual, where no groups are labelled."""
    scale = _Scale(metric, fitted.training)
    steps = np.ones(len(answers))
    readings = scale.read(fitted.training, None, answers, pool, samples, steps)
    chance = 1.0
    if POSTERIORS in readings.names:
        labelled = fitted.training.posteriors
        uncertainty = remaining_uncertainty(np.asarray(labelled.items), labelled.codes)
        chance = chance_of_method(uncertainty, labelled.prior)
    drift = Drift.usual(readings, _IN_METHOD)
    leaning = Drift.usual(readings, _IN_METHOD * chance)
    estimates = []
    for place, answer in enumerate(answers):
        estimate = _revised(scale, drift, answer, readings, place, None)
        p_value = p_value_of(answer)
        if p_value is None or p_value >= BROKEN_LEVEL:
            if chance < 1:
                followed = _revised(scale, leaning, answer, readings, place, None)
                estimate = replace(estimate, value=followed.value, weights=followed.weights)
            else:
                estimate = replace(estimate, value=answer.value)
        estimates.append(estimate)
    return estimates


def _revised(
    scale: _Scale,
    drift: Drift,
    answer: AccuracyEstimate,
    readings: Readings,
    place: int,
    group: Hashable,
    history: str = "",
) -> HistoryAccuracy:
    """Estimate of a sample from all readings."""
    mixture, wider = drift.mixtures(readings, place, group, test=answer.fit_test)
    draws, facts = _both(scale.down(answer.draws)), answer.facts()
    facts["value"] = float(scale.up(mixture.median(draws, answer.n_items)[1]))
    facts["draws"] = scale.up(wider.posterior(draws, answer.n_items).draws[:, 1])
    if drift.groups:
        # Those about the assumption, which the estimate does not need, are left out.
        needless = (UNLIKE, ASSUMES)
        warnings = [text for text in answer.warnings if not text.startswith(needless)]
        facts["warnings"] = tuple(warnings)
    values = scale.up(readings.shares[:, place, 1])
    return HistoryAccuracy(
        **facts,
        under_shift=answer,
        readings=dict(zip(readings.names, values.tolist(), strict=True)),
        weights=dict(zip(readings.names, mixture.chances.readings.tolist(), strict=True)),
        n_groups=len(drift.groups),
        history=history,
    )


def _both(values: Floats) -> Floats:
    """Values and their complements, as the shares of two classes."""
    return np.stack([1 - values, values], axis=-1)


def _log_odds(values: Floats) -> Floats:
    return np.asarray(logit(np.clip(values, _LEAST, 1 - _LEAST)))


def _expected_tables(outputs: ModelOutputs, samples: Samples) -> Floats:
    """Shares by true and predicted class if the posteriors are right, (S, K, K)."""
    K = outputs.posteriors.shape[1]
    tables = np.zeros((len(samples), K, K))
    for table, rows in zip(tables, samples, strict=True):
        np.add.at(table.T, outputs.labels[rows], outputs.posteriors[rows])
        table /= len(rows)
    return tables
