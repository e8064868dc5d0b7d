"""Fitted methods that predict accuracy: statistics of samples, and metrics of these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.model_outputs import ModelOutputs
from headcount.accuracy.tables import TableMetric
from headcount.representation import Reduced, Reduction
from headcount.sampling import Samples

__all__ = ["Model", "TableModel"]

Floats = NDArray[np.float64]


class Model:
    """Fitted method: statistics of samples, and metrics computed from them."""

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Statistics that metrics are computed from, one entry per sample."""
        raise NotImplementedError

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric on each sample, given its statistics."""
        raise NotImplementedError

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        """Metric on each sample of a pool, given their statistics."""
        return self.values(statistics, metric)

    def cross_fitted(self) -> tuple[Model, Model]:
        """Models for new items and for the items of the reference, with equal behaviour.

        This model twice, unless it trains a classifier or a calibration on the reference.
        """
        return self, self

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Means over the outputs of a sample that determine its statistics.

        None if the outputs themselves are needed.
        """
        return None

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        """Statistics of samples given by the values of each `reduction`."""
        raise NotImplementedError


class TableModel(Model):
    """Fitted method that estimates tables of true and predicted classes."""

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample, (S, K, K): shares, rows true and columns predicted."""
        raise NotImplementedError

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample."""
        return self.tables(pool, samples)

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric of each table."""
        return metric(statistics)
