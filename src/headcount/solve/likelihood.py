"""Maximum likelihood of the shares in a mixture whose components are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.divergence import LIKELIHOOD
from headcount._kernels.expectation import maximise_by_em
from headcount._kernels.matching import match_mixtures
from headcount._kernels.matching_two import match_two
from headcount._threads import each_range
from headcount.sampling import Samples
from headcount.solve.solution import Solution

__all__ = ["ExpectationMaximisation", "MaximumLikelihood"]

# EM steps before Newton takes over, for more than two classes.
_EM_STEPS = 5


@dataclass(frozen=True)
class MaximumLikelihood:
    """Minimise -mean_i log(R_i . p) over the simplex, to a proven distance from the optimum.

    Parameters
    ----------
    tol : float, default=1e-10
        Largest proven distance of the mean log-likelihood from its maximum.
    max_iter : int, default=100
        Steps before giving up.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> ratios = np.array([[2.0, 0.5], [0.5, 2.0]])
    >>> MaximumLikelihood().solve(ratios, Samples.whole(2)).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    tol: float = 1e-10
    max_iter: int = 100

    def solve(self, ratios: NDArray[np.float64], samples: Samples) -> Solution:
        """Shares for each sample; `ratios` has a row an item of the pool."""
        S, K = len(samples), ratios.shape[1]
        shares, steps = np.empty((S, K)), np.empty(S, np.int32)
        gaps, values = np.empty(S), np.empty(S)
        nothing_seen, penalty = np.empty((0, 0)), np.zeros((K, K))
        problem = (LIKELIHOOD, ratios, nothing_seen, samples.indices, samples.offsets, penalty)
        results = (shares, steps, gaps, values)

        def work(start: int, stop: int) -> None:
            if K == 2:
                match_two(*problem, self.tol, self.max_iter, start, stop, *results)
            else:
                match_mixtures(
                    *problem, _EM_STEPS, self.tol, self.max_iter, start, stop, *results
                )

        each_range(work, S, grain=_worthwhile(samples, K))
        return Solution(shares, gaps <= self.tol, steps, values)


@dataclass(frozen=True)
class ExpectationMaximisation:
    """The same maximum, approached by plain EM and left when its steps become small.

    Stopped early, the answer depends on the start and the rule: this is for agreeing
    with results that were obtained so.

    Parameters
    ----------
    start : ndarray of shape (K,)
        The shares to start from.
    tol : float
        Stop when the last change was smaller than this.
    by_norm : bool
        Measure the change by its Euclidean norm; otherwise by its mean absolute value.
    min_iter, max_iter : int
        Fewest and most steps.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> ratios = np.array([[2.0, 0.5], [0.5, 2.0]])
    >>> em = ExpectationMaximisation(np.array([0.9, 0.1]), 1e-4, by_norm=False)
    >>> em.solve(ratios, Samples.whole(2)).prevalence.round(2)
    array([[0.5, 0.5]])
    """

    start: NDArray[np.float64]
    tol: float
    by_norm: bool
    min_iter: int = 1
    max_iter: int = 1000

    def solve(self, ratios: NDArray[np.float64], samples: Samples) -> Solution:
        """Shares for each sample; `ratios` has a row an item of the pool."""
        S, K = len(samples), ratios.shape[1]
        shares, steps = np.empty((S, K)), np.empty(S, np.int32)
        changes, values = np.empty(S), np.empty(S)
        rule = (self.by_norm, self.tol, self.min_iter, self.max_iter)

        def work(start: int, stop: int) -> None:
            maximise_by_em(
                ratios, samples.indices, samples.offsets, self.start, *rule,
                start, stop, shares, steps, changes, values,
            )  # fmt: skip

        each_range(work, S, grain=_worthwhile(samples, K))
        return Solution(shares, changes < self.tol, steps, values)


def _worthwhile(samples: Samples, K: int) -> int:
    """Samples that make a thread worth its start."""
    return max(1, int(50_000 // max(1.0, samples.sizes.mean() * K)))
