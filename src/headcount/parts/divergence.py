"""Histogram matching by a divergence, on the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import bmat, csr_array, identity

from headcount._kernels import divergence as kinds
from headcount._kernels.matching import match_mixtures, match_two, match_two_absolute
from headcount._support.threads import each_range
from headcount.errors import HeadcountError
from headcount.parts.quadratic import LeastSquares, Solution, attainable, roughness

_SMOOTH = {
    "hellinger": kinds.HELLINGER,
    "topsoe": kinds.TOPSOE,
    "probsymm": kinds.PROBSYMM,
}
DIVERGENCES = (*_SMOOTH, "l1", "l2")

# Histograms need no samples. The arrays are read-only like those of samples, so that kernels
# are compiled once for likelihoods and histograms.
_NO_INDICES, _NO_OFFSETS = np.empty(0, np.int32), np.empty(0, np.int64)
_NO_WEIGHTS = np.empty(0)
_NO_INDICES.flags.writeable = _NO_OFFSETS.flags.writeable = False


@dataclass(frozen=True)
class Divergence:
    """Minimise a divergence between a histogram q and the mixture M'p, over the simplex.

    With a smoothness, smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to it.

    All are convex in p and solved to a proven distance from the optimum: Hellinger, Topsoe
    and ProbSymm by Newton's method with a certificate, L2 as a quadratic program, L1 as a
    weighted median (two classes) or a linear program.

    Parameters
    ----------
    name : {"hellinger", "topsoe", "probsymm", "l1", "l2"}
        The divergence. "hellinger" is the squared Hellinger distance, which has the
        same minimiser as the distance.
    tol : float, default=1e-10
        Largest proven distance of the objective from its minimum.
    max_iter : int, default=100
        Largest number of Newton steps.
    smoothness : float, default=0.0
        Weight of the bends in the shares of ordered classes; not for "l1".

    Examples
    --------
    >>> import numpy as np
    >>> profiles = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> Divergence("topsoe").solve(profiles, np.array([[0.4, 0.2, 0.4]])).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    name: str = "hellinger"
    tol: float = 1e-10
    max_iter: int = 100
    smoothness: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in DIVERGENCES:
            raise HeadcountError(
                f"divergence is {self.name!r}; it must be one of {', '.join(DIVERGENCES)}."
            )
        if self.name == "l1" and self.smoothness:
            raise HeadcountError(
                f"smoothness is {self.smoothness!r}, but with the divergence 'l1' it must be "
                "0: choose another divergence, for instance 'l2'."
            )

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        if self.name == "l2":
            return LeastSquares(self.smoothness).solve(profiles, seen)
        if self.name == "l1":
            return _least_absolute(profiles, seen)
        S, K = len(seen), len(profiles)
        shares, steps = np.empty((S, K)), np.empty(S, np.int32)
        gaps, values = np.empty(S), np.empty(S)
        problem = (_SMOOTH[self.name], profiles, seen, _NO_INDICES, _NO_OFFSETS, _NO_WEIGHTS)
        penalty = roughness(K, self.smoothness)
        results = (shares, steps, gaps, values)
        tol = attainable(self.tol, self.smoothness)

        def work(start: int, stop: int) -> None:
            if K == 2:
                match_two(*problem, penalty, tol, self.max_iter, start, stop, *results)
            else:
                match_mixtures(*problem, penalty, 0, tol, self.max_iter, start, stop, *results)

        each_range(work, S, grain=max(1, 100_000 // (profiles.size * K)))
        return Solution(shares, gaps <= tol, steps, values)


def _least_absolute(profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
    S, K = len(seen), len(profiles)
    shares, values = np.empty((S, K)), np.empty(S)
    if K == 2:
        each_range(
            lambda start, stop: match_two_absolute(profiles, seen, start, stop, shares, values),
            S,
            grain=500,
        )
        return Solution.closed_form(shares, values)
    # One slack per bin, at least as large as the difference in either direction.
    bins = profiles.shape[1]
    slack = identity(bins, format="csr")
    mixture = csr_array(profiles.T)
    bounds = bmat([[-mixture, -slack], [mixture, -slack]], format="csr")
    cost = np.concatenate([np.zeros(K), np.ones(bins)])
    total = csr_array(np.concatenate([np.ones(K), np.zeros(bins)])[None])
    converged, steps = np.empty(S, bool), np.empty(S, np.int32)
    for s, row in enumerate(seen):
        limits = np.concatenate([-row, row])
        result = linprog(cost, bounds, limits, total, np.ones(1), method="highs")
        converged[s] = result.status == 0
        steps[s] = result.nit
        solution = np.clip(result.x[:K], 0, None) if converged[s] else np.full(K, 1 / K)
        shares[s] = solution / solution.sum()
        values[s] = np.abs(row - shares[s] @ profiles).sum()
    return Solution(shares, converged, steps, values)
