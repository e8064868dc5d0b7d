"""Rules that turn what is known of an estimate into intervals at any level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["BCa", "Bounds", "Centred", "Normal", "Percentile", "Rule"]

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]


class Rule(Protocol):
    """Gives an interval for each class."""

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class."""


@dataclass(frozen=True, eq=False)
class Percentile:
    """From quantile to quantile of draws: replicates, or a posterior.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.linspace(0.2, 0.4, 101)
    >>> low, high = Percentile(np.column_stack([shares, 1 - shares])).bounds(0.9)
    >>> low.round(2), high.round(2)
    (array([0.21, 0.61]), array([0.39, 0.79]))
    """

    draws: NDArray[np.float64]

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class."""
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high


@dataclass(frozen=True, eq=False)
class Centred:
    """Quantiles of replicates, all moved so that their mean is the estimate.

    For methods whose replicates are off for reasons of their own, such as densities that
    are rougher after a training set has been drawn anew.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.linspace(0.2, 0.4, 101)
    >>> rule = Centred(np.column_stack([shares, 1 - shares]), np.array([0.28, 0.72]))
    >>> low, high = rule.bounds(0.9)
    >>> low.round(2), high.round(2)
    (array([0.19, 0.63]), array([0.37, 0.81]))
    """

    replicates: NDArray[np.float64]
    shares: NDArray[np.float64]

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class, within [0, 1]."""
        off = self.replicates.mean(axis=0) - self.shares
        low, high = Percentile(self.replicates).bounds(level)
        return np.clip(low - off, 0, 1), np.clip(high - off, 0, 1)


@dataclass(frozen=True, eq=False)
class BCa:
    """Quantiles of replicates, moved to make up for their bias and skewness.

    The bias is how far the estimate is from the median of its replicates. The acceleration,
    a sixth of the skewness of the error, comes from the jackknife; without one, from the
    replicates themselves, which for a sum of independent parts is the same.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.linspace(0.2, 0.4, 101)  # the estimate is 0.28: replicates are too large
    >>> rule = BCa(np.column_stack([shares, 1 - shares]), np.array([0.28, 0.72]))
    >>> low, high = rule.bounds(0.9)
    >>> low.round(2), high.round(2)
    (array([0.2 , 0.63]), array([0.37, 0.8 ]))
    """

    replicates: NDArray[np.float64]
    shares: NDArray[np.float64]
    acceleration: NDArray[np.float64] | None = None

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class."""
        draws, n = self.replicates, len(self.replicates)
        below = (draws < self.shares) + 0.5 * (draws == self.shares)
        shift = ndtri(np.clip(below.mean(axis=0), 0.5 / n, 1 - 0.5 / n))
        acceleration = _skewness(draws) / 6 if self.acceleration is None else self.acceleration
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            moved = shift + ndtri(tail)
            # Beyond 1 the formula turns round: what is so far out is at the end.
            room = np.maximum(1 - acceleration * moved, 0.1)
            places = ndtr(shift + moved / room)
            ends.append(np.array([np.quantile(draws[:, j], q) for j, q in enumerate(places)]))
        return ends[0], ends[1]


def _skewness(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    away = draws - draws.mean(axis=0)
    spread = np.maximum(np.sqrt((away**2).mean(axis=0)), 1e-300)
    return np.asarray(((away / spread) ** 3).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Normal:
    """The estimate, and so many standard errors to both sides, within [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> low, high = Normal(np.array([0.3, 0.7]), np.array([0.1, 0.1])).bounds(0.95)
    >>> low.round(3), high.round(3)
    (array([0.104, 0.504]), array([0.496, 0.896]))
    """

    shares: NDArray[np.float64]
    errors: NDArray[np.float64]

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class."""
        reach = ndtri((1 + level) / 2) * self.errors
        return np.clip(self.shares - reach, 0, 1), np.clip(self.shares + reach, 0, 1)
