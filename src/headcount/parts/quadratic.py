"""Result of a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.quadratic_programs import minimise_quadratics
from headcount._support.threads import each_range


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

    prevalence: NDArray[np.float64]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int32]
    objective: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.prevalence)

    @classmethod
    def closed_form(
        cls, prevalence: NDArray[np.float64], objective: NDArray[np.float64] | None = None
    ) -> Solution:
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
        return cls(
            np.concatenate([solution.prevalence for solution in parts]),
            np.concatenate([solution.converged for solution in parts]),
            np.concatenate([solution.iterations for solution in parts]),
            np.concatenate([solution.objective for solution in parts]),
        )


def roughness(
    n_classes: int, smoothness: float = 0.0, flatness: float = 0.0
) -> NDArray[np.float64]:
    """Matrix Q such that p'Qp/2 penalises jumps and bends in the shares p of ordered classes.

    p'Qp/2 = flatness/2 sum (p_{j+1} - p_j)^2 + smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2.
    Two classes have no bends, so smoothness has no effect on them.

    >>> import numpy as np
    >>> p = np.array([0.2, 0.5, 0.3])
    >>> round(float(p @ roughness(3, smoothness=2.0) @ p / 2), 6)  # (0.2 - 1 + 0.3)^2
    0.25
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

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        K = len(profiles)
        H = profiles @ profiles.T + roughness(K, self.smoothness) / 2
        solution = _minimise(H, np.zeros(K), profiles, seen)
        residual = 2 * solution.objective + np.einsum("sb,sb->s", seen, seen)
        return _with_objective(solution, np.maximum(residual, 0))


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

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
        """Shares for each row of `seen`."""
        K = len(profiles)
        H = _symmetric(profiles) + roughness(K, self.smoothness) / 2
        solution = _minimise(H, np.zeros(K), np.eye(K), seen)
        return _with_objective(solution, 2 * solution.objective)


@dataclass(frozen=True)
class EnergyDistance:
    """Minimise the energy distance 2 s'p - p'Ap over the simplex.

    `profiles` holds A, the mean distance between classes; `seen` a row s, the mean
    distance between the sample and each class.

    Parameters
    ----------
    smoothness : float, default=0.0
        Weight of the penalty on bends in the shares of ordered classes:
        smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to the objective.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[0.2, 1.0], [1.0, 0.4]])
    >>> EnergyDistance().solve(A, np.array([[0.6, 0.7]])).prevalence.round(6)
    array([[0.5, 0.5]])
    """

    smoothness: float = 0.0

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
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
        return _with_objective(solution, 2 * solution.objective + constant)


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

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
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
        return Solution(shares, solution.converged, solution.iterations, solution.objective)


def _minimise(
    H: NDArray[np.float64],
    base: NDArray[np.float64],
    loadings: NDArray[np.float64],
    seen: NDArray[np.float64],
    *,
    on_simplex: bool = True,
    scale: float | None = None,
) -> Solution:
    """Minimise x'Hx/2 - (base + loadings . seen[s])'x for each sample s.

    `scale` is the size of the numbers that H was computed from, if it is not the size of H.
    """
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


def _symmetric(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric part: without the rounding that makes two equal means differ."""
    return (matrix + matrix.T) / 2


def _with_objective(solution: Solution, objective: NDArray[np.float64]) -> Solution:
    return Solution(solution.prevalence, solution.converged, solution.iterations, objective)


@dataclass(frozen=True)
class AdjustedCount:
    """(count - false rate) / (true rate - false rate), clipped; least squares for K > 2.

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

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        if len(profiles) > 2:
            return LeastSquares().solve(profiles, seen)
        false_rate, true_rate = profiles[:, -1]
        count = seen[:, -1]
        spread = true_rate - false_rate
        positive = np.clip((count - false_rate) / spread, 0, 1) if spread else count
        prevalence = np.column_stack([1 - positive, positive])
        mixed = prevalence[:, 0] * false_rate + positive * true_rate
        return Solution.closed_form(prevalence, np.abs(count - mixed))
