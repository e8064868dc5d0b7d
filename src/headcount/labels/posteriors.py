"""Corrected posteriors of a pool, and what training items tell about their errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headcount.labels.difference import class_table, corrected, correlation_weight
from headcount.labels.sample import sums_by
from headcount.representation import Training

Floats = NDArray[np.float64]


# Items that calibrated posteriors count for when variances are learnt from training items.
_PRIOR_ITEMS = 10.0


def uncertainty(posteriors: Floats, importance: Floats | None = None) -> Floats:
    """Standard deviation of the class of each item, over all classes.

    ``importance`` are weights of the classes; equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> uncertainty(np.array([[0.5, 0.5], [0.0, 1.0]])).round(2)
    array([0.71, 0.  ])
    """
    weights = np.ones(posteriors.shape[1]) if importance is None else importance
    return np.sqrt((posteriors * (1 - posteriors)) @ weights)


@dataclass(frozen=True, eq=False)
class TrainingResiduals:
    """Residuals of the posteriors of training items.

    Attributes
    ----------
    posteriors : ndarray of shape (n, K)
        Out-of-fold posteriors, corrected to the shares of the pool.
    residuals : ndarray of shape (n, K)
        Classes, as 0 and 1, minus the posteriors times their factor.
    weights : ndarray of shape (n,)
        Weights that give the training items the shares of the pool.
    """

    posteriors: Floats
    residuals: Floats
    weights: Floats

    def variances(self, strata: NDArray[np.int64], calibrated: Floats, factor: float) -> Floats:
        """Expected variances of residuals in the strata of a pool.

        Variances of calibrated posteriors, (H, K), times how much larger, or smaller,
        those of training items are, whose strata are given.
        """
        ratios = np.ones_like(calibrated)
        for h in range(len(calibrated)):
            own = strata == h
            mass = self.weights[own]
            if not mass.sum() > 0:
                continue
            size = mass.sum() ** 2 / (mass**2).sum()
            mass = mass / mass.sum()
            residuals, posteriors = self.residuals[own], self.posteriors[own]
            seen = mass @ (residuals - mass @ residuals) ** 2
            spread = mass @ posteriors**2 - (mass @ posteriors) ** 2
            expected = mass @ (posteriors * (1 - posteriors)) + (1 - factor) ** 2 * spread
            above = size * seen + _PRIOR_ITEMS * calibrated[h]
            below = size * expected + _PRIOR_ITEMS * calibrated[h]
            ratios[h] = above / np.where(below > 0, below, 1.0)
        return calibrated * ratios


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
    learnt : TrainingResiduals or None
        Residuals of training items; None takes the posteriors as calibrated.

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
        """Correct posteriors to the shares of a pool.

        ``training`` has out-of-fold posteriors, ``weights`` are survey weights of the
        pool.
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

        ``training`` has predicted classes.
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
