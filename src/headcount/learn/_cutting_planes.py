"""Cutting-plane training of a structural SVM with one example and one slack variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.structural_svm import solve_planes
from headcount.learn._labellings import WorstLabelling

__all__ = ["Hyperplane", "train"]

_IDLE_ROUNDS = 50
_CLOSE = 0.005
_MAX_STEPS = 30_000
_ROOM = 64

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane, and the accuracy of its training.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Weights of the features.
    intercept : float
        Weight of the constant feature.
    n_rounds : int
        Number of searches for the most violated labelling.
    objective : float
        |w|^2 / 2 + C times the largest violation, where w includes the intercept.
    gap : float
        Upper bound on the distance of the objective from its minimum.
    converged : bool
        True if the last labelling was violated by at most the slack plus tol.
    """

    coef: _Floats
    intercept: float
    n_rounds: int
    objective: float
    gap: float
    converged: bool


def train(
    X: Any,
    positive: NDArray[np.bool_],
    worst: WorstLabelling,
    *,
    C: float,
    tol: float,
    max_iter: int,
    constant: float,
) -> Hyperplane:
    """Minimise |w|^2 / 2 + C xi, so that no labelling is violated by more than xi + tol.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The items.
    positive : ndarray of shape (n,)
        True for positive items.
    worst : callable
        Function that finds the most violated labelling.
    C, tol : float
        Weight of the slack, and tolerated violation in percent.
    max_iter : int
        Largest number of rounds.
    constant : float
        Value of the constant feature. 0 for none.
    """
    n, d = X.shape
    planes = _Planes(d + 1, C)
    w, slack = np.zeros(d + 1), 0.0
    rounds, converged = 0, False
    while not converged and rounds < max_iter:
        rounds += 1
        said, loss = worst(X @ w[:-1] + constant * w[-1])
        shares = (100.0 / n) * (positive.astype(np.float64) - said)
        plane = np.append(X.T @ shares, constant * shares.sum())
        violation = max(loss - float(plane @ w), slack)
        objective = 0.5 * float(w @ w) + C * violation
        gap = objective - planes.dual(w)
        converged = gap <= min(C * tol, _CLOSE * objective)
        if not converged and rounds < max_iter:
            planes.add(plane, loss)
            # No more accurate than the planes found so far describe the problem.
            w, slack = planes.solve(0.1 * gap / C)
    return Hyperplane(
        coef=w[:-1],
        intercept=float(constant * w[-1]),
        n_rounds=rounds,
        objective=objective,
        gap=gap,
        converged=converged,
    )


class _Planes:
    """Constraints found so far, with their weights in the dual problem.

    Plane 0 is the true labelling, which has no loss. Its weight is the unused part of C.
    """

    def __init__(self, width: int, C: float) -> None:
        self.n = 1
        self.planes = np.zeros((_ROOM, width))
        self.losses, self.slopes, self.weights = np.zeros((3, _ROOM))
        self.gram = np.zeros((_ROOM, _ROOM))
        self.idle = np.zeros(_ROOM, dtype=np.int64)
        self.weights[0] = C

    def add(self, plane: _Floats, loss: float) -> None:
        if self.n == len(self.planes):
            self._rearrange(np.arange(self.n), 2 * self.n)
        at = self.n
        self.n += 1
        self.planes[at] = plane
        self.losses[at], self.weights[at], self.idle[at] = loss, 0.0, 0
        products = self.planes[: self.n] @ plane
        self.gram[at, : self.n] = self.gram[: self.n, at] = products

    def solve(self, tol: float) -> tuple[_Floats, float]:
        """Return the best w for these planes, and its slack."""
        solve_planes(self.gram, self.losses, self.weights, self.n, tol, _MAX_STEPS, self.slopes)
        weights = self.weights[: self.n]
        w: _Floats = weights @ self.planes[: self.n]
        slack = float(self.slopes[: self.n].max())
        self.idle[: self.n] = np.where(weights > 0.0, 0, self.idle[: self.n] + 1)
        self.idle[0] = 0
        kept = np.flatnonzero(self.idle[: self.n] < _IDLE_ROUNDS)
        if len(kept) < self.n:
            self._rearrange(kept, len(self.planes))
        return w, slack

    def dual(self, w: _Floats) -> float:
        """Return a lower bound on the objective."""
        return float(self.weights[: self.n] @ self.losses[: self.n]) - 0.5 * float(w @ w)

    def _rearrange(self, kept: NDArray[np.int64], room: int) -> None:
        n = len(kept)
        for name in ("planes", "losses", "slopes", "weights", "idle"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[:n] = old[kept]
            setattr(self, name, new)
        gram = np.zeros((room, room))
        gram[:n, :n] = self.gram[np.ix_(kept, kept)]
        self.gram, self.n = gram, n
