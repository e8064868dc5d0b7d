"""Difference estimator: predictions for all items, corrected by labels of some.

``theta = mean(p) over the pool + mean(y - p) over the labels``, with predictions ``p`` that
are fixed before the labels are seen. It is unbiased whatever the predictions are. Its interval
needs no assumption either. On each side it reaches as far as ::

    sqrt(max(room^2, (t * SE)^2 + a * room^2))        room = -log(1 - level) * unit

Room is left by the rule of three: if an error that the predictions make was seen on none of n
labels, its share may still be up to ``-log(0.05) / n``, which is 3 / n. Where errors were seen,
``t * SE`` is enough if they are of both signs, and too short on the side to which a few large
ones pull. ``a``, from 0 to 1, is how one-sided they are: their third moment over their second,
in units of one error. For a count of rare errors it is 1; with labels alone it is ``1 - 2 p``,
and the interval covers at least 93.5% for every share and 10 to 300 labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount.labels.sample import LabelSample
from headcount.uncertainty import around_shares

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Difference:
    """Difference estimate of D means, with intervals at any level.

    Attributes
    ----------
    centre : ndarray of shape (D,)
        The estimates.
    covariance : ndarray of shape (D, D)
        Covariance of the estimates.
    df : int
        Degrees of freedom of the covariance.
    asymmetry : ndarray of shape (D,)
        Third moment of the errors over their second, positive if large ones raise an estimate;
        NaN if it is not known.
    up, down : ndarray of shape (D,)
        Change of an estimate by one more error that raises or lowers it.
    population : ndarray of shape (D,)
        Variance that is added for the mean in the population of the pool; 0 for the mean
        over the pool itself.

    Examples
    --------
    >>> import numpy as np
    >>> sample = LabelSample.simple(np.arange(100), 10_000)
    >>> nothing_seen = np.zeros((100, 1))
    >>> found = Difference.of(sample, nothing_seen, np.array([0.02]), np.ones((100, 1)))
    >>> low, high = found.ends(0.95)
    >>> high.round(3)  # 0.02 + 3 / 100
    array([0.05])
    """

    centre: Floats
    covariance: Floats
    df: int
    asymmetry: Floats
    up: Floats
    down: Floats
    population: Floats

    @classmethod
    def of(
        cls, sample: LabelSample, residuals: Floats, predicted: Floats, mass: Floats
    ) -> Difference:
        """Estimate from the residuals of labelled items.

        ``residuals`` (n, D) are values of the labelled items minus their predictions,
        ``predicted`` (D,) the mean predictions over the pool. ``mass`` (n, D) is the
        probability of the outcome 1. It determines where errors that raise (0 to 1) and
        lower (1 to 0) the estimate may be, by `error_mass`.
        """
        spread = sample.spread(residuals)
        down, up = (sample.unit(part) * spread.unseen for part in error_mass(mass))
        centre = predicted + spread.mean
        none = np.zeros(len(centre))
        return cls(centre, spread.covariance, spread.df, spread.asymmetry, up, down, none)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals, not clipped."""
        t = special.stdtrit(self.df, (1 + level) / 2)
        z = special.ndtri((1 + level) / 2)
        below, above = self._squared_reach(t, level)
        population = z**2 * self.population
        return (
            self.centre - np.sqrt(below + population),
            self.centre + np.sqrt(above + population),
        )

    def with_unseen(self) -> Floats:
        """Covariance, with the variance of errors that no label shows on the diagonal."""
        z = special.ndtri(0.975)
        reach = np.maximum(*self._squared_reach(z, 0.95))
        unseen = np.maximum(reach / z**2 - np.diag(self.covariance), 0.0)
        return np.asarray(self.covariance + np.diag(unseen))

    def _squared_reach(self, quantile: float, level: float) -> tuple[Floats, Floats]:
        """Squared distances of the ends from the estimates, below and above."""
        seen = quantile**2 * np.diag(self.covariance)
        return (
            squared_reach(seen, -self.asymmetry, self.down, level),
            squared_reach(seen, self.asymmetry, self.up, level),
        )


def squared_reach(seen: Floats, asymmetry: Floats, unit: Floats, level: float) -> Floats:
    """Squared distance of an end from an estimate, from the errors seen and room for others.

    ``seen`` is the squared distance for the errors seen, ``asymmetry`` the third moment of
    the errors over their second, positive if large ones are on this side; NaN leaves all
    of the room.

    Examples
    --------
    >>> import numpy as np
    >>> none, unit = np.zeros(1), np.array([0.01])
    >>> np.sqrt(squared_reach(none, none, unit, 0.95)).round(3)  # 3 / 100
    array([0.03])
    """
    room = (np.log1p(-level) * unit) ** 2
    part = np.clip(asymmetry / np.where(unit > 0, unit, 1.0), 0.0, 1.0)
    part = np.where(np.isnan(asymmetry), 1.0, part)
    return np.asarray(np.maximum(room, seen + part * room))


def error_mass(probability: Floats) -> tuple[Floats, Floats]:
    """Chances of errors that lower and that raise an estimate, up to a factor.

    Items whose outcome is likely 1, or likely 0, and of these rather the uncertain ones. The
    square root is between errors that follow the posteriors, which are where these are
    uncertain, and errors that ignore them, which are everywhere.
    """
    other = 1 - probability
    return probability * np.sqrt(other), other * np.sqrt(probability)


class ShareEstimator(Protocol):
    """Estimates of shares that may lie outside of 0 to 1, with intervals."""

    @property
    def centre(self) -> Floats:
        """The estimates."""

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of their intervals, not clipped."""


def on_simplex(centre: Floats) -> Floats:
    """Shares without negative ones, which sum to 1."""
    positive = np.maximum(centre, 0.0)
    return np.asarray(positive / positive.sum())


def share_ends(estimate: ShareEstimator, n_items: int, level: float) -> tuple[Floats, Floats]:
    """Ends of intervals for shares, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> centre, nothing = np.array([-0.01, 1.01]), np.zeros(2)
    >>> outside = Difference(centre, np.eye(2) * 1e-4, 99, *[nothing] * 4)
    >>> [end.round(2).tolist() for end in share_ends(outside, 1000, 0.95)]
    [[0.0, 0.98], [0.02, 1.0]]
    """
    low, high = estimate.ends(level)
    # Around the nearest share that is possible.
    outside = np.clip(estimate.centre, 0, 1) - estimate.centre
    return around_shares(low + outside, high + outside, on_simplex(estimate.centre), n_items)


def corrected(posteriors: Floats, prior: Floats, shares: Floats) -> Floats:
    """Posteriors reweighted from the training shares to other shares.

    Examples
    --------
    >>> import numpy as np
    >>> corrected(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([[0.9, 0.1]])
    """
    weighted = posteriors * (shares / prior)
    total = weighted.sum(axis=1, keepdims=True)
    weighted /= np.where(total > 0, total, 1.0)
    # An item that is impossible under these shares is no evidence.
    return np.where(total > 0, weighted, shares)


def class_table(codes: Ints, labels: Ints, n_classes: int, weights: Floats | None) -> Floats:
    """Probability of each predicted class, by true class.

    Rows are true classes (``codes``), columns predicted ones (``labels``). Half an item is
    added to each cell, as in Jeffreys' prior, so that none is 0.
    """
    counts = np.bincount(codes * n_classes + labels, weights, n_classes**2)
    cells = counts.reshape(n_classes, n_classes) + 0.5
    return np.asarray(cells / cells.sum(axis=1, keepdims=True))


def correlation_weight(class_means: Floats, shares: Floats, variances: Floats) -> float:
    """Factor for the posteriors that minimises the variance of the residuals.

    From 0 (posteriors are no use) to 1, and the same for all classes, so that shares sum to
    1. ``class_means`` (K, K) are mean posteriors of training items by true class,
    ``shares`` those of the pool, ``variances`` those of its posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> means, shares = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.5, 0.5])
    >>> round(correlation_weight(means, shares, np.array([0.16, 0.16])), 2)
    0.94
    """
    together = float(shares @ (np.diag(class_means) - shares @ class_means))
    total = float(variances.sum())
    return 0.0 if total <= 1e-12 else float(np.clip(together / total, 0.0, 1.0))
