"""Result of a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    >>> from headcount.solve import LeastSquares
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
            np.concatenate([part.prevalence for part in parts]),
            np.concatenate([part.converged for part in parts]),
            np.concatenate([part.iterations for part in parts]),
            np.concatenate([part.objective for part in parts]),
        )
