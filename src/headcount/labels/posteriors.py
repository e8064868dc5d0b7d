"""Corrected posteriors of a pool, and what training items tell about their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.labels.difference import (
    class_table,
    corrected,
    correlation_weight,
    residual_scale,
)
from headcount.representation import Training

__all__ = ["PoolPosteriors"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PoolPosteriors:
    """Posteriors of the items of a pool, corrected to estimated shares.

    No label of the pool is used for them, so that estimates stay unbiased.

    Attributes
    ----------
    values : ndarray of shape (N, K)
        The corrected posteriors.
    factor : float
        Factor that the posteriors are multiplied by, from 0 to 1.
    scale : ndarray of shape (K,)
        Expected variance of residuals, relative to that of calibrated posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat([0, 1], 500)
    >>> positive = 1 / (1 + np.exp(1 - rng.normal(2 * codes)))
    >>> training = Training(np.column_stack([1 - positive, positive]), codes, 2)
    >>> pool = PoolPosteriors.of(training.items[:600], training, np.array([0.8, 0.2]))
    >>> round(pool.factor, 1)
    1.0
    """

    values: Floats
    factor: float
    scale: Floats

    @classmethod
    def of(
        cls,
        posteriors: Floats,
        training: Training,
        shares: Floats,
        weights: Floats | None = None,
    ) -> PoolPosteriors:
        """Correct posteriors to the shares of a pool.

        Parameters
        ----------
        posteriors : ndarray of shape (N, K)
            Posteriors of the pool.
        training : Training
            Training items by their out-of-fold posteriors.
        shares : ndarray of shape (K,)
            Estimated shares of the pool.
        weights : ndarray of shape (N,), default=None
            Survey weights of the items of the pool.

        Returns
        -------
        PoolPosteriors
        """
        learnt = np.asarray(training.items, np.float64)
        return cls._corrected(posteriors, learnt, training, training.prior, shares, weights)

    @classmethod
    def of_decisions(
        cls,
        decisions: NDArray[np.int64],
        training: Training,
        shares: Floats,
        weights: Floats | None = None,
    ) -> PoolPosteriors:
        """Posteriors given the predicted classes of a pool.

        Parameters
        ----------
        decisions : ndarray of shape (N,)
            Predicted classes of the pool.
        training : Training
            Training items by their predicted classes.
        shares, weights
            As for `of`.

        Returns
        -------
        PoolPosteriors
        """
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
        return cls(values, 0.0, np.ones(len(shares)))

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
        by_class = [np.bincount(training.codes, mass * column, K) for column in of_training.T]
        means = np.stack(by_class, axis=1).astype(np.float64)
        mean = np.average(values, axis=0, weights=weights)
        variances = np.average(values**2, axis=0, weights=weights) - mean**2
        factor = correlation_weight(means, shares, variances)
        mass = mass * shares[training.codes]
        scale = residual_scale(of_training, training.codes, mass, factor)
        return cls(values, factor, scale)
