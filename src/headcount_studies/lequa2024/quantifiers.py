"""Methods of teams of the challenge that are not part of the library."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.parts.aggregation import Aggregation, Mixture
from headcount.parts.solvers import ExpectationMaximisation, Solution
from headcount.parts.training import Training
from headcount.quantifiers.adjusted import GPAC
from headcount.quantifiers.likelihood import SLD
from headcount.samples.samples import Samples


class EMQIni(SLD):
    """SLD whose expectation maximisation starts at the shares that GPAC estimates.

    Stopped early, as in published results, it stays nearer to those than to the shares of
    training. Parameters are those of SLD, of which ``stop`` is not used.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> EMQIni(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    def _learns_from_scores(self) -> bool:
        return True  # GPAC does

    def _aggregation(self) -> Aggregation:
        em = ExpectationMaximisation.classic(self.max_iter)
        return _StartedMixture(self._ratios(), em, first=GPAC()._aggregation())


@dataclass(frozen=True, eq=False)
class _StartedMixture(Mixture):
    """Mixture whose solver starts at the shares that another aggregation finds."""

    first: Any = None

    def fit(self, training: Training) -> Self:
        return replace(super().fit(training), first=self.first.fit(training))

    def reduction(self) -> None:  # type: ignore[override]
        return None

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        starts = self.first.solve(items, samples).prevalence
        ratios = np.ascontiguousarray(self.likelihood.ratios(items))
        # A class that GPAC takes for absent could not come back.
        least = 1e-3 / starts.shape[1]
        starts = np.maximum(starts, least)
        starts /= starts.sum(axis=1, keepdims=True)
        solutions = [
            self.solver.solve(ratios, samples[i : i + 1], start)
            for i, start in enumerate(starts)
        ]
        return replace(
            solutions[0],
            **{
                name: np.concatenate([getattr(solution, name) for solution in solutions])
                for name, value in vars(solutions[0]).items()
                if isinstance(value, np.ndarray)
            },
        )
