"""Minimisation of losses of one's own, or of several added up, over the simplex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import xlogy

from headcount._support.arrays import Floats
from headcount.errors import HeadcountError
from headcount.parts.solvers import DIVERGENCES, LeastSquares, Solution, roughness

Loss = Callable[[Floats, Floats], float]

# Places at which a loss of two classes is computed before the best one is refined.
_PLACES = 65
# A share below is that of a class without items: optimisers stay inside the simplex.
_LEAST, _TOLERANCE, _MOST_STEPS = 1e-9, 1e-10, 300


def _hellinger(seen: Floats, mixture: Floats) -> float:
    return float(((np.sqrt(seen) - np.sqrt(np.maximum(mixture, 0))) ** 2).sum() / 2)


def _topsoe(seen: Floats, mixture: Floats) -> float:
    mixture = np.maximum(mixture, 0)
    middle = np.where(seen + mixture > 0, (seen + mixture) / 2, 1.0)
    return float((xlogy(seen, seen / middle) + xlogy(mixture, mixture / middle)).sum())


def _probsymm(seen: Floats, mixture: Floats) -> float:
    total = np.where(seen + mixture > 0, seen + mixture, 1.0)
    return float((2 * (seen - mixture) ** 2 / total).sum())


_LOSSES: dict[str, Loss] = {
    "hellinger": _hellinger,
    "topsoe": _topsoe,
    "probsymm": _probsymm,
    "l1": lambda seen, mixture: float(np.abs(seen - mixture).sum()),
    "l2": lambda seen, mixture: float(((seen - mixture) ** 2).sum()),
}


@dataclass(frozen=True)
class Losses:
    """Minimise the weighted sum of losses between a sample and the mixture M'p.

    A loss is a name of `DIVERGENCES`, or a function of the mean vector of the sample and that
    of the mixture that returns a number. They are minimised by general optimisers: of two
    classes from a grid, of more from several starts, by sequential quadratic programming. Use
    `Divergence` for a single named one, which is solved to a proven distance and much faster.

    Parameters
    ----------
    losses : sequence of loss, or of pairs of a weight and a loss
        What is added up.
    smoothness : float, default=0.0
        Weight of the penalty on bends in the shares of ordered classes.

    Examples
    --------
    >>> import numpy as np
    >>> def chi_square(seen, mixture):
    ...     return float(((seen - mixture) ** 2 / (mixture + 1e-9)).sum())
    >>> profiles = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> both = Losses([(0.5, "l2"), (0.5, chi_square)])
    >>> both.solve(profiles, np.array([[0.4, 0.2, 0.4]])).prevalence.round(4)
    array([[0.5, 0.5]])
    """

    losses: Sequence[Any]
    smoothness: float = 0.0

    def __post_init__(self) -> None:
        self._terms()

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""
        K, terms = len(profiles), self._terms()
        penalty = roughness(K, self.smoothness)
        starts = LeastSquares().solve(profiles, seen).prevalence
        solutions = []
        for row, start in zip(seen, starts, strict=True):

            def loss(shares: Floats, row: Floats = row) -> float:
                mixture = shares @ profiles
                total = sum(weight * term(row, mixture) for weight, term in terms)
                return float(total + shares @ penalty @ shares / 2)

            solutions.append(_on_line(loss) if K == 2 else _on_simplex(loss, start))
        shares, converged, steps, values = zip(*solutions, strict=True)
        return Solution(
            np.array(shares), np.array(converged), np.array(steps, np.int32), np.array(values)
        )

    def _terms(self) -> list[tuple[float, Loss]]:
        """Weights and functions."""
        if isinstance(self.losses, str) or not isinstance(self.losses, Sequence):
            raise HeadcountError(
                f"losses is {self.losses!r}; it must be a list of losses, or of pairs of a "
                "weight and a loss."
            )
        terms = []
        for item in self.losses:
            weight, loss = item if isinstance(item, tuple) and len(item) == 2 else (1.0, item)
            function = _LOSSES.get(loss) if isinstance(loss, str) else loss
            if not callable(function) or not weight >= 0:
                raise HeadcountError(
                    f"losses has {item!r}; each must be one of {', '.join(DIVERGENCES)}, or a "
                    "function of two vectors, alone or in a pair after its weight."
                )
            terms.append((float(weight), function))
        if not terms or not any(weight for weight, _ in terms):
            raise HeadcountError("losses is empty: pass at least one loss with a weight.")
        return terms


def _on_line(loss: Callable[[Floats], float]) -> tuple[Floats, bool, int, float]:
    """Shares of two classes with the least loss."""
    places = np.linspace(0, 1, _PLACES)
    values = [loss(np.array([1 - place, place])) for place in places]
    best = int(np.argmin(values))
    low, high = places[max(best - 1, 0)], places[min(best + 1, _PLACES - 1)]
    optimum = minimize_scalar(
        lambda place: loss(np.array([1 - place, place])),
        bounds=(low, high),
        method="bounded",
        options={"xatol": _TOLERANCE},
    )
    place, value = (
        (optimum.x, optimum.fun) if optimum.fun < values[best] else (places[best], values[best])
    )
    return np.array([1 - place, place]), bool(optimum.success), int(optimum.nit), float(value)


def _on_simplex(
    loss: Callable[[Floats], float], start: Floats
) -> tuple[Floats, bool, int, float]:
    """Shares with the least loss, from several starts."""
    K = len(start)
    even = np.full(K, 1 / K)
    best = None
    for first in (start, even, 0.5 * start + 0.5 * even):
        optimum = minimize(
            loss,
            np.clip(first, _LEAST, 1),
            method="SLSQP",
            bounds=[(_LEAST, 1)] * K,
            constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
            options={"ftol": _TOLERANCE, "maxiter": _MOST_STEPS},
        )
        if best is None or optimum.fun < best.fun:
            best = optimum
    assert best is not None
    shares = np.where(best.x <= 2 * _LEAST, 0, best.x)
    return shares / shares.sum(), bool(best.success), int(best.nit), float(best.fun)
