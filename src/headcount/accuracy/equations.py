"""Tables from rates of a reference, shares of a sample, and shares of the predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from headcount.solve import LeastSquares

__all__ = ["ByRows", "Exact", "LeastSquaresTables", "TableSolver", "by_rows", "equations"]

Floats = NDArray[np.float64]
TableSolver = Callable[[Floats, Floats], Floats]
"""Tables (S, K, K) from shares of true classes (S, K) and of predicted classes (S, K)."""

# Values above -1e-12 are zero up to rounding.
_ROUNDING = 1e-12
# Number of cells from which many cells are freed and bound at once.
_MANY_CELLS = 37
_MOST_ROUNDS = 60


def by_rows(shares: Floats, rates: Floats) -> Floats:
    """Rates times shares: x_ij = q_i R_ij.

    Examples
    --------
    >>> import numpy as np
    >>> by_rows(np.array([[0.5, 0.5]]), np.array([[0.8, 0.2], [0.4, 0.6]]))
    array([[[0.4, 0.1],
            [0.2, 0.3]]])
    """
    return shares[:, :, None] * rates


@dataclass(frozen=True, eq=False)
class ByRows:
    """Rates times shares; the predictions are not used."""

    rates: Floats

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares."""
        return by_rows(shares, self.rates)


@dataclass(frozen=True, eq=False)
class Exact:
    """As many equations as cells: the first class gets the remaining predictions.

    Least squares if the remainder is negative.
    """

    rates: Floats

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares and predictions."""
        tables = by_rows(shares, self.rates)
        tables[:, 0] = predicted - tables[:, 1:].sum(axis=1)
        outside = tables[:, 0].min(axis=1) < -_ROUNDING
        if outside.any():
            tables[outside] = self._nearest(shares[outside], predicted[outside])
        return np.maximum(tables, 0.0)

    @cached_property
    def _nearest(self) -> LeastSquaresTables:
        return LeastSquaresTables(self.rates, every=False)


@dataclass(frozen=True, eq=False)
class LeastSquaresTables:
    """Least-squares solution of the equations: see `equations`."""

    rates: Floats
    every: bool

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares and predictions."""
        K, first = len(self.rates), 0 if self.every else 1
        profiles = equations(self.rates, every=self.every)
        zeros = np.zeros((len(shares), profiles.shape[1] - 2 * (K - first)))
        seen = np.hstack([zeros, predicted[:, first:], shares[:, first:]])
        return _least_squares(profiles, np.ascontiguousarray(seen)).reshape(-1, K, K)


def equations(rates: Floats, *, every: bool) -> Floats:
    """Left sides of the equations for a table: one column per equation, one row per cell.

    First x_ij - R_ij sum_k x_ik = 0, then the sums of columns, then the sums of rows: of all
    classes, or of all but the first. The solver adds that all cells sum to 1.
    """
    K, first = len(rates), 0 if every else 1
    cells = np.eye(K * K).reshape(K, K, K, K)  # row, column, cell's row, cell's column
    row_sums, column_sums = cells.sum(axis=1), cells.sum(axis=0)
    by_rate = cells - rates[:, :, None, None] * row_sums[:, None]
    parts = [
        by_rate[first:, first:].reshape(-1, K * K),
        column_sums[first:].reshape(-1, K * K),
        row_sums[first:].reshape(-1, K * K),
    ]
    return np.ascontiguousarray(np.concatenate(parts).T)


def _least_squares(profiles: Floats, seen: Floats) -> Floats:
    """Points of the simplex nearest to the observed sums, one row per sample."""
    if len(profiles) < _MANY_CELLS:
        return LeastSquares().solve(profiles, seen).prevalence
    H = profiles @ profiles.T
    H += 1e-13 * np.trace(H) / len(H) * np.eye(len(H))
    found = np.empty((len(seen), len(H)))
    for number, row in enumerate(seen):
        point = _nearest(H, profiles @ row)
        if point is None:
            point = LeastSquares().solve(profiles, row[None]).prevalence[0]
        found[number] = point
    return found


def _nearest(H: Floats, c: Floats) -> Floats | None:
    """Minimise x'Hx/2 - c'x on the simplex; None if the sets of free cells repeat.

    Each round frees all cells with a descent direction and binds all negative ones: a few
    rounds, where one cell at a time would need hundreds.
    """
    free = np.ones(len(c), bool)
    ones = np.ones(len(c))
    tolerance = 1e-13 * max(1.0, float(np.abs(c).max()))
    for _ in range(_MOST_ROUNDS):
        x = np.zeros(len(c))
        try:
            factor = cho_factor(H[np.ix_(free, free)])
        except LinAlgError:
            return None
        own, unit = cho_solve(factor, np.column_stack([c[free], ones[free]])).T
        level = (1 - own.sum()) / unit.sum()
        x[free] = own + level * unit
        slope = H @ x - c - level
        wanted = np.where(free, x > -_ROUNDING, slope < -tolerance)
        if not wanted.any():
            return None
        if np.array_equal(wanted, free):
            x = np.maximum(x, 0.0)
            return np.asarray(x / x.sum())
        free = wanted
    return None
