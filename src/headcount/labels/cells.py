"""Accuracy of a classifier on a pool, from labels of some of its items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_fraction
from headcount.labels.difference import Difference
from headcount.labels.posteriors import PoolPosteriors
from headcount.labels.sample import LabelSample
from headcount.labels.weighting import effective_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Step of numerical derivatives of metrics.
_STEP = 1e-5


class MetricEnds(NamedTuple):
    """Estimate of a metric and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Shares of a pool by true and predicted class, from labels of some items.

    Attributes
    ----------
    table : ndarray of shape (K, K)
        Estimated shares, rows true and columns predicted; they sum to 1.
    pool : PoolPosteriors
        Corrected posteriors of the pool.
    predictions : ndarray of shape (N,)
        Predicted classes of the pool.
    sample : LabelSample
        The labelled items.
    codes : ndarray of shape (n,)
        Classes of the labelled items.
    weights : ndarray of shape (N,) or None
        Survey weights of the items.
    expected : bool
        True for metrics of the population that the pool is a random sample of.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(2000)
    >>> truth = (rng.random(2000) < positive).astype(int)
    >>> posteriors = np.column_stack([1 - positive, positive])
    >>> pool = PoolPosteriors(posteriors, 1.0)
    >>> rows = rng.choice(2000, 200, replace=False)
    >>> sample = LabelSample.simple(rows, 2000)
    >>> right = (positive > 0.5).astype(int)
    >>> found = LabelledTable.of(pool, right, sample, truth[rows])
    >>> value, low, high = found.metric(np.trace)
    >>> low < (right == truth).mean() < high
    np.True_
    """

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
        own = sample.weights[:, None] * pool.values[rows]
        at_labels = np.stack(
            [np.bincount(predictions[rows], column, K) for column in own.T], axis=0
        )
        seen = np.bincount(codes * K + predictions[rows], sample.weights, K * K).reshape(K, K)
        table = pool.factor * (predicted - at_labels) + seen
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
        """Metric of the table with its interval (delta method).

        Parameters
        ----------
        function : callable
            Metric of a K x K table of shares, rows true and columns predicted.
        level : float, default=0.95
            Probability that the interval contains the metric.
        low, high : float, default=0.0 and 1.0
            Lowest and highest possible value.

        Returns
        -------
        MetricEnds
            Value, lower and upper end.
        """
        level = check_fraction("level", level)
        found = self.difference(function)
        value = float(found.centre[0])
        ends = [float(end[0]) for end in found.ends(level)]
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
        found = Difference.of(
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
            found,
            centre=np.array([value]),
            up=found.up * size,
            down=found.down * size,
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
