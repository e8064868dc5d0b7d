"""Representation of features whose means approximate kernel means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.representation.embedding import Dense
from headcount.representation.feature_table import Features, Header
from headcount.representation.training import Training


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """Random Fourier features: cosines and sines of random projections of the features.

    Inner products of the vectors are Gaussian kernels of the items, up to an error that falls
    with the root of the number of projections. Least squares of their means is therefore
    kernel mean matching, in time that is linear in the number of items.

    Parameters
    ----------
    n_projections : int
        Number of projections; each has a cosine and a sine.
    bandwidth : float or None
        Standard deviation of the kernel. None is the root of the sum of the variances of the
        training features.
    seed : int
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> fitted = FourierFeatures(2000, 5.0, 0).fit(Training(X, np.array([0, 1, 1]), 2))
    >>> vectors = fitted.embed(X).values
    >>> (vectors @ vectors.T).round(1)  # exp(-1/2) and exp(-2)
    array([[1. , 0.6, 0.1], [0.6, 1. , 0.6], [0.1, 0.6, 1. ]])

    References
    ----------
    Rahimi & Recht, NIPS 2007.
    """

    n_projections: int
    bandwidth: float | None
    seed: int
    header: Header | None = None
    directions: NDArray[np.float64] | None = None

    def fit(self, training: Training) -> FourierFeatures:
        """Draw the projections."""
        features = Features.of(training.items)
        shape = (features.header.n_columns, self.n_projections)
        directions = np.random.default_rng(self.seed).normal(size=shape)
        bandwidth = _spread(features, training) if self.bandwidth is None else self.bandwidth
        return replace(self, header=features.header, directions=directions / bandwidth)

    def embed(self, items: Any) -> Dense:
        """Embed items given as features."""
        assert self.header is not None
        assert self.directions is not None
        features = Features.of(items)
        self.header.check(features.header)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = np.asarray(_table(features) @ self.directions)
        finite = np.isfinite(angles).all(axis=1)
        if not finite.all():
            raise HeadcountError(
                f"X has numbers in row {int(finite.argmin())} that are too large to be "
                "projected: divide its columns by their scale."
            )
        waves = np.hstack([np.cos(angles), np.sin(angles)])
        return Dense(waves / np.sqrt(self.n_projections))


def _table(features: Features) -> Any:
    return features.table if features.is_sparse else features.numbers()


def _spread(features: Features, training: Training) -> float:
    """Root of the sum of the variances of the features; 1 if they are constant."""
    weights = np.ones(len(training.codes)) if training.weights is None else training.weights
    weights = weights / weights.sum()
    table = _table(features)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = table.multiply(table) if features.is_sparse else table**2
        variance = float(np.sum(squares.T @ weights - (table.T @ weights) ** 2))
    return float(np.sqrt(variance)) if 0 < variance < np.inf else 1.0
