"""Adjusted count of two classes, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.solve.quadratic import LeastSquares
from headcount.solve.solution import Solution


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
