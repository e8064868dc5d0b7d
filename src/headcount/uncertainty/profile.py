"""Intervals from the likelihood itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from headcount.sampling import Samples
from headcount.solve import MaximumLikelihood
from headcount.uncertainty.replicates import Problem
from headcount.uncertainty.rules import Bounds

__all__ = ["Profile", "profile_rule"]

# Shares at which the likelihood of a class is looked at, to each side of the estimate.
_POINTS = 12
_STANDARD_ERRORS = 6.0


@dataclass(frozen=True, eq=False)
class Profile:
    """Shares of a class that the likelihood does not rule out, the others at their best.

    The likelihood knows the noise of a sample drawn from a population. What else there is,
    or is not, comes from `errors`: the drop in likelihood that is allowed is stretched by the
    ratio of these to the standard errors that the likelihood implies.

    Attributes
    ----------
    ratios : ndarray of shape (n, K)
        Likelihoods of the items of the sample.
    shares : ndarray of shape (K,)
        Those of maximum likelihood.
    errors : ndarray of shape (K,)
        Standard errors of the shares, with all that they are to cover.

    Examples
    --------
    >>> import numpy as np
    >>> ratios = np.array([[2.0, 0.5]] * 30 + [[0.5, 2.0]] * 30)
    >>> half, errors = np.array([0.5, 0.5]), np.array([0.108, 0.108])
    >>> low, high = Profile(ratios, half, errors).bounds(0.95)
    >>> low.round(2), high.round(2)
    (array([0.29, 0.29]), array([0.71, 0.71]))
    """

    ratios: NDArray[np.float64]
    shares: NDArray[np.float64]
    errors: NDArray[np.float64]

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class."""
        ends = [self._ends(j, float(ndtri((1 + level) / 2))) for j in range(len(self.shares))]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def _ends(self, j: int, reach: float) -> tuple[float, float]:
        implied = self._implied_error(j)
        best = float(self.shares[j])
        step = _STANDARD_ERRORS * max(implied, float(self.errors[j]))
        steps = step * (np.arange(1, _POINTS + 1) / _POINTS)
        reach *= float(self.errors[j]) / implied
        low = self._crossing(j, best, np.maximum(best - steps, 0.0), reach)
        high = self._crossing(j, best, np.minimum(best + steps, 1.0), reach)
        return low, high

    def _implied_error(self, j: int) -> float:
        """The standard error by the curvature of the likelihood along the simplex."""
        K = len(self.shares)
        scores = self.ratios / (self.ratios @ self.shares)[:, None]
        # Classes without a share stay so, but for the one in question.
        free = np.flatnonzero((self.shares > 0) | (np.arange(K) == j))
        basis = np.linalg.svd(np.ones((1, len(free))))[2][1:].T
        information = basis.T @ (scores[:, free].T @ scores[:, free]) @ basis
        covariance = basis @ np.linalg.pinv(information, hermitian=True) @ basis.T
        place = int(np.searchsorted(free, j))
        return float(np.sqrt(max(covariance[place, place], 1e-12)))

    def _crossing(
        self, j: int, best: float, points: NDArray[np.float64], reach: float
    ) -> float:
        """Where the root of the drop in likelihood reaches `reach`."""
        points = np.unique(np.concatenate([[best], points]))
        drops = self._log_likelihoods(j, np.array([best])) - self._log_likelihoods(j, points)
        roots = np.sqrt(2 * np.maximum(drops, 0))
        if points[0] < best:
            points, roots = points[::-1], roots[::-1]
        # It rises away from the estimate, by convexity; rounding may hide that.
        return float(np.interp(reach, np.maximum.accumulate(roots), points))

    def _log_likelihoods(self, j: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Largest log-likelihood of the sample with the share of class j at each point.

        With that share at t, the others share 1 - t among them: a mixture again, of
        components t R_j + (1 - t) R_k.
        """
        n, K = self.ratios.shape
        others = np.delete(self.ratios, j, axis=1)
        mixed = points[:, None, None] * self.ratios[:, j, None]
        mixed = mixed + (1 - points[:, None, None]) * others
        if K == 2:
            return np.log(np.maximum(mixed[:, :, 0], 1e-300)).sum(axis=1)
        size = len(points) * n
        samples = Samples._trusted(
            np.arange(size, dtype=np.int32), np.arange(len(points) + 1) * n, size
        )
        solution = MaximumLikelihood().solve(mixed.reshape(size, K - 1), samples)
        return np.asarray(-n * solution.objective)


def profile_rule(problem: Problem, number: int, errors: NDArray[np.float64]) -> Profile | None:
    """The rule for one sample; None if the method is not one of maximum likelihood."""
    model: Any = problem.model
    if not hasattr(model, "memberships"):
        return None
    solver = model.solver(model.prior)
    believes = np.any(np.not_equal(getattr(solver, "concentration", 1.0), 1.0))
    if not isinstance(solver, MaximumLikelihood) or believes:
        return None
    if solver.smoothness or solver.flatness:
        return None
    ratios = model.likelihood.ratios(problem.items[problem.samples[number]])
    return Profile(np.asarray(ratios), problem.shares[number], errors)
