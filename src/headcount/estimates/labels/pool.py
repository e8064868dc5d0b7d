"""Corrected posteriors of a pool, and what training items tell about their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._support.arrays import Floats, Ints
from headcount._support.parameters import check_fraction
from headcount.estimates.labels.difference import (
    Difference,
    class_table,
    corrected,
    correlation_weight,
)
from headcount.estimates.labels.sample import LabelSample, effective_size, sums_by
from headcount.parts.training import Training

# Items that calibrated posteriors count for when variances are learnt from training items.
_PRIOR_ITEMS = 10.0


def uncertainty(posteriors: Floats, importance: Floats | None = None) -> Floats:
    """Standard deviation of the class of each item, over all classes or weighted ones."""
    weights = np.ones(posteriors.shape[1]) if importance is None else importance
    return np.sqrt((posteriors * (1 - posteriors)) @ weights)


@dataclass(frozen=True, eq=False)
class TrainingResiduals:
    """Residuals of the posteriors of training items."""

    posteriors: Floats
    residuals: Floats
    weights: Floats

    def variances(self, strata: Ints, calibrated: Floats, factor: float) -> Floats:
        """Variances of residuals, (H, K): calibrated ones, times what training items show."""
        ratios = np.ones_like(calibrated)
        for h in range(len(calibrated)):
            members = strata == h
            mass = self.weights[members]
            if not mass.sum() > 0:
                continue
            size = mass.sum() ** 2 / (mass**2).sum()
            mass = mass / mass.sum()
            residuals, posteriors = self.residuals[members], self.posteriors[members]
            observed = mass @ (residuals - mass @ residuals) ** 2
            spread = mass @ posteriors**2 - (mass @ posteriors) ** 2
            expected = mass @ (posteriors * (1 - posteriors)) + (1 - factor) ** 2 * spread
            above = size * observed + _PRIOR_ITEMS * calibrated[h]
            below = size * expected + _PRIOR_ITEMS * calibrated[h]
            ratios[h] = above / np.where(below > 0, below, 1.0)
        return calibrated * ratios


@dataclass(frozen=True, eq=False)
class PoolPosteriors:
    """Posteriors of a pool, corrected to shares that no label of the pool was used for."""

    values: Floats
    factor: float
    learnt: TrainingResiduals | None = None

    @cached_property
    def mean(self) -> Floats:
        """Mean posteriors of the pool, (K,)."""
        return self.values.mean(axis=0)

    @classmethod
    def of(
        cls,
        posteriors: Floats,
        training: Training,
        shares: Floats,
        weights: Floats | None = None,
    ) -> PoolPosteriors:
        """Correct posteriors to the shares of a pool, by out-of-fold ones of ``training``."""
        learnt = np.asarray(training.items, np.float64)
        return cls._corrected(posteriors, learnt, training, training.prior, shares, weights)

    @classmethod
    def of_decisions(
        cls, decisions: Ints, training: Training, shares: Floats, weights: Floats | None = None
    ) -> PoolPosteriors:
        """Posteriors given the predicted classes of a pool, by those of ``training``."""
        learnt = np.asarray(training.items, np.int64)
        K = training.n_classes
        table = class_table(training.codes, learnt, K, training.weights)
        even, by_decision = np.ones(K), np.ascontiguousarray(table.T)
        return cls._corrected(
            by_decision[decisions], by_decision[learnt], training, even, shares, weights
        )

    @classmethod
    def none(cls, n_items: int, shares: Floats) -> PoolPosteriors:
        """Without scores: the same shares for every item, with the factor 0."""
        values = np.broadcast_to(shares, (n_items, len(shares)))
        return cls(values, 0.0)

    @classmethod
    def _corrected(
        cls,
        posteriors: Floats,
        learnt: Floats,
        training: Training,
        prior: Floats,
        shares: Floats,
        weights: Floats | None,
    ) -> PoolPosteriors:
        values = corrected(posteriors, prior, shares)
        of_training = corrected(learnt, prior, shares)
        K = training.n_classes
        mass = training.class_weights
        means = sums_by(mass[:, None] * of_training, training.codes, K)
        mean = np.average(values, axis=0, weights=weights)
        variances = np.average(values**2, axis=0, weights=weights) - mean**2
        factor = correlation_weight(means, shares, variances)
        one_hot = training.codes[:, None] == np.arange(K)
        residuals = TrainingResiduals(
            of_training, one_hot - factor * of_training, mass * shares[training.codes]
        )
        return cls(values, factor, residuals)


# Step of numerical derivatives of metrics.
_STEP = 1e-5


class MetricEnds(NamedTuple):
    """Estimate of a metric and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Shares of a pool by true and predicted class, from labels of some items."""

    table: Floats
    pool: PoolPosteriors
    predictions: Ints
    sample: LabelSample
    codes: Ints
    weights: Floats | None = None
    expected: bool = False

    @classmethod
    def of(
        cls,
        pool: PoolPosteriors,
        predictions: Ints,
        sample: LabelSample,
        codes: Ints,
        weights: Floats | None = None,
        *,
        expected: bool = False,
    ) -> LabelledTable:
        """Estimate all cells of the table together."""
        K = pool.values.shape[1]
        mass = np.ones(len(predictions)) if weights is None else weights
        by_column = pool.values * (mass / mass.sum())[:, None]
        predicted = np.stack(
            [np.bincount(predictions, column, K) for column in by_column.T], axis=0
        )
        rows = sample.rows
        weighted = sample.weights[:, None] * pool.values[rows]
        at_labels = np.stack(
            [np.bincount(predictions[rows], column, K) for column in weighted.T], axis=0
        )
        observed = np.bincount(codes * K + predictions[rows], sample.weights, K * K).reshape(
            K, K
        )
        table = pool.factor * (predicted - at_labels) + observed
        positive = np.maximum(table, 0.0)
        return cls(
            positive / positive.sum(), pool, predictions, sample, codes, weights, expected
        )

    def metric(
        self,
        function: Callable[[Floats], float],
        *,
        level: float = 0.95,
        low: float = 0.0,
        high: float = 1.0,
    ) -> MetricEnds:
        """Metric of the table with its interval (delta method)."""
        level = check_fraction("level", level)
        difference = self.difference(function)
        value = float(difference.centre[0])
        ends = [float(end[0]) for end in difference.ends(level)]
        half = 0.5 / len(self.predictions)
        ends = [min(ends[0], value - half), max(ends[1], value + half)]
        lowest, highest = np.clip(ends, low, high)
        return MetricEnds(value, float(lowest), float(highest))

    def difference(self, function: Callable[[Floats], float]) -> Difference:
        """Metric of the table with its uncertainty (delta method)."""
        value = float(function(self.table))
        slopes = self._slopes(function)
        rows = self.sample.rows
        predicted = self.predictions[rows]
        posteriors = self.pool.values[rows]
        # Contribution of each item to the metric, if it were linear in the cells.
        assisted = self.pool.factor * (posteriors * slopes[:, predicted].T).sum(axis=1)
        residuals = slopes[self.codes, predicted] - assisted
        ranges = np.ptp(slopes, axis=0)[predicted]
        difference = Difference.of(
            self.sample, residuals[:, None], np.zeros(1), np.full((len(rows), 1), 0.5)
        )
        size = float(self.sample.weights @ ranges)
        population = 0.0
        if self.expected:
            contributions = slopes[self.codes, predicted]
            mean = self.sample.weights @ contributions
            spread = float(self.sample.weights @ (contributions - mean) ** 2)
            items = effective_size(len(self.predictions), self.weights, None, None)
            population = spread / items
        return replace(
            difference,
            centre=np.array([value]),
            up=difference.up * size,
            down=difference.down * size,
            population=np.array([population]),
        )

    def _slopes(self, function: Callable[[Floats], float]) -> Floats:
        """Derivatives of a metric by the cells of the table."""
        K = len(self.table)
        slopes = np.empty((K, K))
        for k in range(K):
            for j in range(K):
                step = np.zeros((K, K))
                step[k, j] = _STEP
                # Towards more of the cell, and less if there is enough of it.
                back = min(_STEP, float(self.table[k, j]))
                step_back = step * back / _STEP
                ahead, behind = self.table + step, self.table - step_back
                rise = float(function(ahead / ahead.sum()))
                fall = float(function(behind / behind.sum()))
                slopes[k, j] = (rise - fall) / (_STEP + back)
        return slopes
