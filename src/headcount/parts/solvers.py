"""Batched solvers: from the statistics of samples to shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import bmat, csr_array, identity

from headcount._kernels import divergence as kinds
from headcount._kernels.divergence import LIKELIHOOD
from headcount._kernels.expectation_maximisation import maximise_by_em
from headcount._kernels.matching import match_mixtures, match_two, match_two_absolute
from headcount._kernels.quadratic_programs import minimise_quadratics
from headcount._support.arrays import Bools, Floats
from headcount._support.documentation import documented
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.samples.samples import Samples


@dataclass(frozen=True, eq=False)
class Solution:
    """Shares of the classes in each sample, with diagnostics of the solver.

    Attributes
    ----------
    prevalence : ndarray of shape (S, K)
        Shares, one row per sample, on the simplex.
    converged : ndarray of bool, shape (S,)
        True for samples whose optimum was reached to the solver's tolerance.
    iterations : ndarray of int, shape (S,)
        Number of steps; 0 for closed forms.
    objective : ndarray of shape (S,)
        Minimum of the objective; NaN if nothing is minimised.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.parts import LeastSquares
    >>> profiles = np.array([[0.9, 0.1], [0.2, 0.8]])  # one row per class
    >>> LeastSquares().solve(profiles, np.array([[0.55, 0.45]])).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    prevalence: Floats
    converged: Bools
    iterations: NDArray[np.int32]
    objective: Floats

    def __len__(self) -> int:
        return len(self.prevalence)

    def __getitem__(self, samples: Any) -> Solution:
        """Solution of some samples, in the order of their numbers."""
        return Solution(*(values[samples] for values in vars(self).values()))

    @classmethod
    def closed_form(cls, prevalence: Floats, objective: Floats | None = None) -> Solution:
        """Solution without steps."""
        n = len(prevalence)
        return cls(
            prevalence,
            np.ones(n, bool),
            np.zeros(n, np.int32),
            np.full(n, np.nan) if objective is None else objective,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Solution]) -> Solution:
        """Join the solutions of consecutive batches."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(vars(solution).values() for solution in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    @classmethod
    def combined(
        cls,
        prevalence: Floats,
        solutions: Sequence[Solution],
        objective: Callable[..., Floats] = np.mean,
    ) -> Solution:
        """Shares made of several solutions for the same samples, with their diagnostics."""
        return cls(
            prevalence,
            np.all([solution.converged for solution in solutions], axis=0),
            np.max([solution.iterations for solution in solutions], axis=0),
            objective([solution.objective for solution in solutions], axis=0),
        )


def roughness(n_classes: int, smoothness: float = 0.0, flatness: float = 0.0) -> Floats:
    """Matrix Q such that p'Qp/2 penalises jumps and bends in the shares p of ordered classes.

    p'Qp/2 = flatness/2 sum (p_{j+1} - p_j)^2 + smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2.
    Two classes have no bends, so smoothness has no effect on them.
    """
    if not smoothness and not flatness:
        return np.zeros((n_classes, n_classes))
    jumps, bends = (np.diff(np.eye(n_classes), n, axis=0) for n in (1, 2))
    return np.asarray(flatness * jumps.T @ jumps + smoothness * bends.T @ bends)


def attainable(tol: float, weight: float) -> float:
    """Tolerance that rounding allows for, given the weight of the penalties."""
    return max(tol, 1e-14 * float(weight))


# Curvature added to flat directions, relative to the largest: it selects the most even of
# equally good solutions and is far too small to change a well-posed one.
_RIDGE = 1e-13


@dataclass(frozen=True)
class LeastSquares:
    """Minimise |q - M'p|^2 + smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 on the simplex.

    Parameters
    ----------
    smoothness : float, default=0.0
        Weight of the penalty on bends in the shares of ordered classes.

    Examples
    --------
    >>> import numpy as np
    >>> profiles = np.array([[0.9, 0.1], [0.2, 0.8]])  # one row per class
    >>> LeastSquares().solve(profiles, np.array([[0.34, 0.66]])).prevalence.round(6)
    array([[0.2, 0.8]])
    """

    smoothness: float = 0.0

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        K = len(profiles)
        H = profiles @ profiles.T + roughness(K, self.smoothness) / 2
        solution = _minimise(H, np.zeros(K), profiles, seen)
        residual = 2 * solution.objective + np.einsum("sb,sb->s", seen, seen)
        return replace(solution, objective=np.maximum(residual, 0))


@dataclass(frozen=True)
class KernelDistance:
    """Minimise the distance between kernel means: p'Bp - 2 a'p over the simplex.

    `profiles` holds B, the mean kernel between classes; `seen` a row a, the mean kernel
    between the sample and each class.

    Parameters
    ----------
    smoothness : float, default=0.0
        Weight of the penalty on bends in the shares of ordered classes:
        smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to the objective.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[1.0, 0.2], [0.2, 1.0]])
    >>> KernelDistance().solve(B, np.array([[0.76, 0.44]])).prevalence.round(6)
    array([[0.7, 0.3]])
    """

    smoothness: float = 0.0

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`."""
        K = len(profiles)
        H = _symmetric(profiles) + roughness(K, self.smoothness) / 2
        solution = _minimise(H, np.zeros(K), np.eye(K), seen)
        return replace(solution, objective=2 * solution.objective)


@documented(KernelDistance)
@dataclass(frozen=True)
class EnergyDistance:
    """Minimise the energy distance 2 s'p - p'Ap over the simplex.

    `profiles` holds A, the mean distance between classes; `seen` a row s, the mean
    distance between the sample and each class.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[0.2, 1.0], [1.0, 0.4]])
    >>> EnergyDistance().solve(A, np.array([[0.6, 0.7]])).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    smoothness: float = 0.0

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`."""
        K = len(profiles)
        between = _symmetric(profiles)
        # On the simplex, A and its centred form differ by linear and constant terms only. The
        # centred -A has no negative curvature, and the constant gives it full rank.
        rows = between.mean(axis=0)
        H = -(between - rows - rows[:, None] + rows.mean())
        scale = float(np.abs(between).max()) or 1.0
        H += scale / K**2 + roughness(K, self.smoothness) / 2
        solution = _minimise(H, rows, -np.eye(K), seen, scale=scale)
        constant = rows.mean() - scale / K**2
        return replace(solution, objective=2 * solution.objective + constant)


@dataclass(frozen=True)
class CauchySchwarz:
    """Minimise the Cauchy-Schwarz divergence: the angle between p'f and the sample's density.

    Its cosine, a'p / sqrt(p'Bp), does not depend on the length of p: the best direction
    solves min x'Bx/2 - a'x over x >= 0, and is then divided by its sum.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[1.0, 0.2], [0.2, 1.0]])
    >>> CauchySchwarz().solve(B, np.array([[0.76, 0.44]])).prevalence.round(6)
    array([[0.7, 0.3]])
    """

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`."""
        K = len(profiles)
        # Kernel means of remote samples can be tiny: their scale has no effect either.
        scaled = seen / np.maximum(seen.max(axis=1, keepdims=True), 1e-300)
        solution = _minimise(
            _symmetric(profiles), np.zeros(K), np.eye(K), scaled, on_simplex=False
        )
        total = solution.prevalence.sum(axis=1, keepdims=True)
        shares = np.divide(
            solution.prevalence, total, out=np.full_like(scaled, 1 / K), where=total > 0
        )
        return replace(solution, prevalence=shares)


def _minimise(
    H: Floats,
    base: Floats,
    loadings: Floats,
    seen: Floats,
    *,
    on_simplex: bool = True,
    scale: float | None = None,
) -> Solution:
    """Minimise x'Hx/2 - (base + loadings . seen[s])'x for each sample s."""
    S, K = len(seen), len(H)
    scale = (np.trace(H) / K or 1.0) if scale is None else scale
    H = H + _RIDGE * scale * np.eye(K)
    shares, rounds, values = np.empty((S, K)), np.empty(S, np.int32), np.empty(S)
    loadings = np.ascontiguousarray(loadings)

    def work(start: int, stop: int) -> None:
        minimise_quadratics(
            H, base, loadings, seen, on_simplex, start, stop, shares, rounds, values
        )

    each_range(work, S, grain=max(1, 20_000 // K**2))
    return Solution(shares, rounds > 0, np.abs(rounds), values)


def _symmetric(matrix: Floats) -> Floats:
    """Symmetric part: without the rounding that makes two equal means differ."""
    return (matrix + matrix.T) / 2


@dataclass(frozen=True)
class AdjustedCount:
    """(count - false rate) / (true rate - false rate), clipped; least squares for K > 2.

    With more than two classes, `solution` may also be the exact solution of the equations, of
    which negative shares are set to zero and the others divided by their sum ("clip"), or the
    nearest point on the simplex ("project"). If the equations have several solutions, it is
    the shortest one.

    Two classes are distinguished by the last column only: the share of items predicted as
    positive, or their mean score. If both classes have the same rate, the count is returned
    unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> rates = np.array([[0.9, 0.1], [0.3, 0.7]])  # false rate .1, true rate .7
    >>> AdjustedCount().solve(rates, np.array([[0.6, 0.4], [0.95, 0.05]])).prevalence
    array([[0.5, 0.5], [1. , 0. ]])
    """

    solution: str = "least-squares"

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        if len(profiles) > 2 and self.solution == "least-squares":
            return LeastSquares().solve(profiles, seen)
        if len(profiles) > 2:
            return self._exact(profiles, seen)
        false_rate, true_rate = profiles[:, -1]
        count = seen[:, -1]
        spread = true_rate - false_rate
        positive = np.clip((count - false_rate) / spread, 0, 1) if spread else count
        prevalence = np.column_stack([1 - positive, positive])
        mixed = prevalence[:, 0] * false_rate + positive * true_rate
        return Solution.closed_form(prevalence, np.abs(count - mixed))

    def _exact(self, profiles: Floats, seen: Floats) -> Solution:
        exact = seen @ np.linalg.pinv(profiles)
        if self.solution == "project":
            shares = nearest_shares(exact)
        else:
            shares = np.maximum(exact, 0)
            total = shares.sum(axis=1, keepdims=True)
            even = np.full_like(shares, 1 / len(profiles))
            shares = np.divide(shares, total, out=even, where=total > 0)
        residual = ((seen - shares @ profiles) ** 2).sum(axis=1)
        return Solution.closed_form(shares, residual)


SOLUTIONS = ("least-squares", "clip", "project")


def nearest_shares(points: Floats) -> Floats:
    """Nearest points on the simplex, by Euclidean distance, of the rows of a table."""
    falling = -np.sort(-points, axis=1)
    numbers = np.arange(1, points.shape[1] + 1)
    excess = (np.cumsum(falling, axis=1) - 1) / numbers
    last = (falling > excess).sum(axis=1) - 1
    return np.maximum(points - excess[np.arange(len(points)), last][:, None], 0)


_SMOOTH = {"hellinger": kinds.HELLINGER, "topsoe": kinds.TOPSOE, "probsymm": kinds.PROBSYMM}
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

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
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


def _least_absolute(profiles: Floats, seen: Floats) -> Solution:
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


# EM steps before Newton takes over, for more than two classes.
_EM_STEPS = 5


@documented(Divergence)
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
    concentration: float | Floats = 1.0

    def solve(
        self,
        ratios: Floats,
        samples: Samples,
        prior: Floats | None = None,
        weights: Floats | None = None,
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

    def _items_before(self, K: int) -> Floats:
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
        self, ratios: Floats, samples: Samples, prior: Floats, weights: Floats | None = None
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


# Evidence of a change, per free share, up to which the early answer stands.
_LEAST_EVIDENCE = 3.0
# Likelihood of an impossible item, as in `divergence`.
_LEAST_LIKELIHOOD = 1e-90


@dataclass(frozen=True)
class TowardsMaximum:
    """Early-stopped expectation maximisation, moved to the maximum if the shares changed.

    Twice the gain in log-likelihood from the prior to the maximum, divided by 1 + n / m for n
    items and m training items, is about K - 1 on average if the shares are those of training.
    Up to 3 (K - 1) the result is the early one. Above it, the part of the way from the maximum
    to the early one falls with the square of the gain, so that shares come next to zero.
    """

    early: ExpectationMaximisation

    def solve(
        self, ratios: Floats, samples: Samples, prior: Floats, weights: Floats | None = None
    ) -> Solution:
        """Shares for each sample; the arguments are those of `ExpectationMaximisation`."""
        near = self.early.solve(ratios, samples, prior, weights)
        best = MaximumLikelihood(max_iter=self.early.max_iter).solve(
            ratios, samples, prior, weights
        )
        n_items = samples.n_items if weights is None else _masses(weights, samples)
        gain = 2 * n_items * (_costs(ratios, samples, prior, weights) - best.objective)
        evidence = gain / (1 + n_items / self.early.n_training)
        least = _LEAST_EVIDENCE * (len(prior) - 1)
        part = (least / np.maximum(evidence, least)) ** 2
        return Solution(
            best.prevalence + part[:, None] * (near.prevalence - best.prevalence),
            near.converged & best.converged,
            near.iterations + best.iterations,
            best.objective,
        )


def _costs(ratios: Floats, samples: Samples, shares: Floats, weights: Floats | None) -> Floats:
    """Mean negative log-likelihood of each sample with the same shares."""
    scaled, exponents = _within_range(ratios)
    mixed = np.einsum("ij,j->i", scaled, shares)
    logs = np.log(np.maximum(mixed, _LEAST_LIKELIHOOD))[samples.indices]
    counts = _NO_WEIGHTS if weights is None else weights
    sums = np.add.reduceat(logs * counts if counts.size else logs, samples.offsets[:-1])
    n_items = samples.n_items if weights is None else _masses(weights, samples)
    return _unscaled(-sums / (samples.copies * n_items), exponents, samples, counts)


def _worthwhile(samples: Samples, K: int) -> int:
    """Number of samples that justifies starting a thread."""
    return max(1, int(50_000 // max(1.0, samples.sizes.mean() * K)))


def _within_range(ratios: Floats) -> tuple[Floats, NDArray[np.int32] | None]:
    """Rows in the range of the kernels, and the powers of two they were divided by, if any."""
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
    values: Floats, exponents: NDArray[np.int32] | None, samples: Samples, weights: Floats
) -> Floats:
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


def _masses(weights: Floats, samples: Samples) -> Floats:
    """Number of items that the rows of each sample stand for."""
    return np.asarray(np.add.reduceat(weights, samples.offsets[:-1]) / samples.copies)
