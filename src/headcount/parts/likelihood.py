"""Maximum likelihood of the shares in a mixture of known components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.divergence import LIKELIHOOD
from headcount._kernels.expectation_maximisation import maximise_by_em
from headcount._kernels.matching import match_mixtures, match_two
from headcount._support.threads import each_range
from headcount.parts.quadratic import Solution, attainable, roughness
from headcount.samples.samples import Samples

# EM steps before Newton takes over, for more than two classes.
_EM_STEPS = 5
_NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True)
class MaximumLikelihood:
    """Minimise -mean_i log(R_i . p) over the simplex, to a proven distance from the optimum.

    Penalties can be added. For ordered classes:
    flatness/2 sum (p_{j+1} - p_j)^2 + smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2. For any
    classes: -1/n sum (a_j - 1) log p_j, which makes the solution the mode of the posterior
    under a Dirichlet prior with parameters a, given the n items of the sample.

    An item that is impossible under every class is taken to be equally likely under each, so
    it has no influence on the shares.

    Parameters
    ----------
    tol : float, default=1e-10
        Largest proven distance of the objective from its minimum.
    max_iter : int, default=100
        Largest number of steps.
    smoothness, flatness : float, default=0.0
        Weights of the penalties on bends and on jumps in the shares of ordered classes.
    concentration : float or ndarray of shape (K,), default=1.0
        Parameters a of the Dirichlet prior, at least 1; at 1 there is no prior.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> ratios = np.array([[2.0, 0.5], [0.5, 2.0]])
    >>> MaximumLikelihood().solve(ratios, Samples.whole(2)).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    tol: float = 1e-10
    max_iter: int = 100
    smoothness: float = 0.0
    flatness: float = 0.0
    concentration: float | NDArray[np.float64] = 1.0

    def solve(
        self,
        ratios: NDArray[np.float64],
        samples: Samples,
        prior: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Solution:
        """Shares for each sample; `ratios` has one row per item of the pool.

        `prior` is not used: the maximum does not depend on a start. `weights` has one number
        per entry of ``samples.indices``: how many items it stands for.
        """
        S, K = len(samples), ratios.shape[1]
        shares, steps = np.empty((S, K)), np.empty(S, np.int32)
        gaps, values = np.empty(S), np.empty(S)
        scaled, exponents = _within_range(ratios)
        penalty = roughness(K, self.smoothness, self.flatness)
        before = samples.copies * self._items_before(K)
        counts = _NO_WEIGHTS if weights is None else weights
        layout = (samples.indices, samples.offsets, counts)
        problem = (LIKELIHOOD, scaled, before, *layout, penalty)
        results = (shares, steps, gaps, values)
        rough = self.smoothness + self.flatness
        em_steps = 0 if rough else _EM_STEPS
        tol = attainable(self.tol, rough + before.sum())

        def work(start: int, stop: int) -> None:
            if K == 2:
                match_two(*problem, tol, self.max_iter, start, stop, *results)
            else:
                match_mixtures(*problem, em_steps, tol, self.max_iter, start, stop, *results)

        each_range(work, S, grain=_worthwhile(samples, K))
        return Solution(
            shares, gaps <= tol, steps, _unscaled(values, exponents, samples, counts)
        )

    def _items_before(self, K: int) -> NDArray[np.float64]:
        """Numbers of items per class that equal the prior, as a row; empty without one."""
        if isinstance(self.concentration, float) and self.concentration == 1.0:
            return np.empty((0, 0))
        before = np.full((1, K), self.concentration, dtype=np.float64) - 1
        return before if before.any() else np.empty((0, 0))


@dataclass(frozen=True)
class ExpectationMaximisation:
    """Expectation maximisation from a prior, stopped when its steps become small.

    Stopped early, the result depends on the prior and on the rule: shares that the likelihood
    hardly determines stay near the prior. An item that is impossible under every class is
    taken to be equally likely under each.

    Parameters
    ----------
    tol : float
        Stop when the last change was smaller than this.
    by_norm : bool
        Measure the change by its Euclidean norm; otherwise by its mean absolute value.
    min_iter, max_iter : int
        Smallest and largest number of steps.
    noise : float, default=0.0
        Raises the tolerance of a sample of n items to noise (1/n + 1/n_training) if that is
        larger: with fewer items EM stops sooner.
    n_training : float, default=inf
        Number of training items that the likelihoods were learnt from.
    partial : bool, default=False
        Take only a part of the last step, so that results depend continuously on the items.
        Large tolerances need it, as a whole step makes a difference.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> ratios = np.array([[2.0, 0.5], [0.5, 2.0]])
    >>> em = ExpectationMaximisation(1e-4, by_norm=False)
    >>> em.solve(ratios, Samples.whole(2), np.array([0.9, 0.1])).prevalence.round(2)
    array([[0.5, 0.5]])
    """

    tol: float
    by_norm: bool
    min_iter: int = 1
    max_iter: int = 1000
    noise: float = 0.0
    n_training: float = np.inf
    partial: bool = False

    @classmethod
    def classic(
        cls,
        max_iter: int = 1000,
        *,
        tol: float = 1e-4,
        noise: float = 0.0,
        partial: bool = False,
    ) -> ExpectationMaximisation:
        """Stop when the mean absolute change is small, as in published results."""
        return cls(
            tol, by_norm=False, min_iter=12, max_iter=max_iter, noise=noise, partial=partial
        )

    def solve(
        self,
        ratios: NDArray[np.float64],
        samples: Samples,
        prior: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> Solution:
        """Shares for each sample; `ratios` has one row per item of the pool.

        `weights` has one number per entry of ``samples.indices``: how many items it stands
        for.
        """
        S, K = len(samples), ratios.shape[1]
        shares, steps = np.empty((S, K)), np.empty(S, np.int32)
        changes, values = np.empty(S), np.empty(S)
        scaled, exponents = _within_range(ratios)
        counts = _NO_WEIGHTS if weights is None else weights
        n_items = samples.n_items if weights is None else _masses(weights, samples)
        tols = np.maximum(self.tol, self.noise * (1 / n_items + 1 / self.n_training))
        rule = (self.by_norm, tols, self.min_iter, self.max_iter, self.partial)

        def work(start: int, stop: int) -> None:
            maximise_by_em(
                scaled, samples.indices, samples.offsets, counts, prior, *rule,
                start, stop, shares, steps, changes, values,
            )  # fmt: skip

        each_range(work, S, grain=_worthwhile(samples, K))
        values = _unscaled(values, exponents, samples, counts)
        return Solution(shares, changes < tols, steps, values)


def _worthwhile(samples: Samples, K: int) -> int:
    """Number of samples that justifies starting a thread."""
    return max(1, int(50_000 // max(1.0, samples.sizes.mean() * K)))


def _within_range(
    ratios: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]:
    """Rows in the range of the kernels, and the powers of two they were divided by, if any.

    The scale of a row does not affect the shares, and a power of two keeps all digits.
    """
    total = ratios @ np.ones(ratios.shape[1])
    if total.min() > 1e-10 and total.max() < 1e10:
        return ratios, None
    largest = ratios.max(axis=1)
    exponents = np.frexp(largest)[1]
    exponents[(largest > 1e-20) & (largest < 1e20)] = 0
    scaled = np.ldexp(ratios, -exponents[:, None])
    scaled[largest == 0] = 1.0
    return scaled, exponents


def _unscaled(
    values: NDArray[np.float64],
    exponents: NDArray[np.int32] | None,
    samples: Samples,
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Mean negative log-likelihoods of the rows before scaling."""
    if exponents is None:
        return values
    item_exponents = exponents[samples.indices]
    if weights.size:
        sums = np.add.reduceat(item_exponents * weights, samples.offsets[:-1])
        means = sums / (samples.copies * _masses(weights, samples))
    else:
        sums = np.add.reduceat(item_exponents, samples.offsets[:-1], dtype=np.int64)
        means = sums / samples.sizes
    return np.asarray(values - np.log(2) * means)


def _masses(weights: NDArray[np.float64], samples: Samples) -> NDArray[np.float64]:
    """Number of items that the rows of each sample stand for."""
    return np.asarray(np.add.reduceat(weights, samples.offsets[:-1]) / samples.copies)
