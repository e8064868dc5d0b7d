"""Elliptic regions for the shares of all classes together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.uncertainty.intervals import check_shares, spread_over, volume_of

Floats = NDArray[np.float64]

# Points inside the ellipse that its volume is computed from.
_N_POINTS = 10_000


@dataclass(frozen=True, eq=False)
class Ellipse:
    """Elliptic region for the shares of all classes, on the simplex or in log-ratios.

    Draws of the shares give its centre and axes, and its size is such that it contains the
    fraction ``level`` of them. In log-ratios it follows the border of the simplex; centred
    and isometric log-ratios give the same region.

    Attributes
    ----------
    middle : ndarray of shape (K - 1,)
        Its centre, in coordinates.
    axes : ndarray of shape (K - 1, K - 1)
        Root of the covariance of the draws, in coordinates.
    reach : float
        Extent of the region around its centre, in standard errors.
    n_items : int
        Number of items. In log-ratios half an item is added to each class.
    logs : bool
        True if the coordinates are log-ratios.
    level : float
        Probability that the region contains the shares.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).dirichlet([20, 30, 50], size=1000)
    >>> region = Ellipse.of(draws, 100, 0.95, logs=True)
    >>> region.contains([0.22, 0.3, 0.48]), region.contains([0.5, 0.3, 0.2])
    (True, False)
    >>> round(region.volume, 2)  # of all possible shares
    0.06
    """

    middle: Floats
    axes: Floats
    reach: float
    n_items: int
    logs: bool
    level: float

    @classmethod
    def of(cls, draws: Floats, n_items: int, level: float, *, logs: bool) -> Ellipse:
        """Region that contains the fraction `level` of the draws."""
        places = _coordinates(draws, n_items, logs)
        middle = places.mean(axis=0)
        away = places - middle
        variance = away.T @ away / len(away)
        # Shares among n items are accurate to half an item at best.
        least = np.diag(np.full(len(variance), 0.25 / n_items**2))
        axes = np.linalg.cholesky(variance + least)
        distances = np.linalg.norm(np.linalg.solve(axes, away.T), axis=0)
        return cls(middle, axes, float(np.quantile(distances, level)), n_items, logs, level)

    @property
    def centre(self) -> Floats:
        """Shares at the centre."""
        shares, n = self._shares(self.middle[None])[0], self.n_items
        if self.logs:
            shares = np.clip((shares * (n + len(shares) / 2) - 0.5) / n, 0, None)
        return np.asarray(shares / shares.sum())

    @cached_property
    def volume(self) -> float:
        """Fraction of all possible shares that the region contains; see `volume_of`."""
        d = len(self.middle)
        shares = self._shares(self.middle + self.reach * _within_ball(d) @ self.axes.T)
        # Size of the ellipse in coordinates, relative to the simplex.
        ball = d / 2 * np.log(np.pi) - lgamma(d / 2 + 1) + d * np.log(max(self.reach, 1e-300))
        simplex = np.log(d + 1) / 2 - lgamma(d + 1)
        size = ball + np.log(np.diag(self.axes)).sum() - simplex
        added = (d + 1) / 2 / self.n_items  # half an item of each class
        least = added / (1 + added) / (d + 1) if self.logs else 0.0
        density = np.zeros(len(shares))
        if self.logs:
            # Area of the simplex per unit of the coordinates at each point.
            density = np.log(shares).sum(axis=1) + np.log(d + 1) + d * np.log1p(added)
        around = np.where((shares >= least).all(axis=1), np.exp(size + density), 0.0)
        return volume_of(around, self._inside(spread_over(d + 1)))

    def contains(self, shares: ArrayLike) -> bool:
        """Return True if shares lie in the region.

        Parameters
        ----------
        shares : array-like of shape (K,)
            Shares that sum to 1.

        Returns
        -------
        bool
        """
        return bool(self._inside(check_shares(shares, len(self.middle) + 1)[None])[0])

    def _inside(self, shares: Floats) -> NDArray[np.bool_]:
        """Check shares, one row each."""
        away = _coordinates(shares, self.n_items, self.logs) - self.middle
        distances = np.linalg.norm(np.linalg.solve(self.axes, away.T), axis=0)
        return np.asarray(distances <= self.reach + 1e-9)

    def _shares(self, places: Floats) -> Floats:
        """Shares at some coordinates; in log-ratios those with half an item added."""
        plane = places @ _basis(places.shape[1] + 1)
        if not self.logs:
            return np.asarray(plane + 1 / plane.shape[1])
        odds = np.exp(plane - plane.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _coordinates(shares: Floats, n_items: int, logs: bool) -> Floats:
    """Coordinates of shares on the plane of the simplex, or of their log-ratios."""
    values = np.log(n_items * shares + 0.5) if logs else shares
    return np.asarray(values @ _basis(shares.shape[1]).T)


def _basis(K: int) -> Floats:
    """Orthonormal rows that are orthogonal to equal numbers (Helmert)."""
    rows = np.tri(K - 1, K) - np.diag(np.arange(1.0, K), 1)[:-1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _within_ball(d: int) -> Floats:
    """Points spread evenly within the unit ball; the same ones each time."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(_N_POINTS, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    levels = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
    return np.asarray(points * levels[:, None] ** (1 / d))
