"""Scaled logits, fitted by Newton's method: the model behind all calibrations but isotonic.

Class k of item i gets the logit ``slope_k * x_ik + bias_k``, and softmax makes posteriors of
the logits. The weighted mean log-loss is convex in slopes and biases. A ridge far too weak
to be seen pulls towards the identity (slopes 1, biases 0): what the data leave open, such as
a constant added to all biases, is thus settled the same way for every class, and the fit
stays finite where perfectly separated classes would send it to infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_factor, cho_solve
from scipy.special import log_softmax, softmax

from headcount.errors import warn

__all__ = ["Scaling", "fit_scaling"]

_RIDGE = 1e-9
_MAX_STEPS = 200
_MIN_DECREASE = 1e-14


@dataclass(frozen=True)
class Scaling:
    """Slopes and biases of the logits, one per class."""

    slopes: NDArray[np.float64]
    biases: NDArray[np.float64]

    def posteriors(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn values, one column per class, into posteriors."""
        scaled: NDArray[np.float64] = softmax(values * self.slopes + self.biases, axis=1)
        return scaled


@dataclass(frozen=True)
class _LogLoss:
    """Mean log-loss as a function of the free parameters; ``tie @ free`` are all 2K.

    ``targets`` are class probabilities and the positive ``weights`` sum to 1.
    """

    values: NDArray[np.float64]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    tie: NDArray[np.float64]
    identity: NDArray[np.float64]

    def logits(self, free: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes, biases = np.split(self.tie @ free, 2)
        return self.values * slopes + biases

    def loss(self, free: NDArray[np.float64]) -> float:
        losses = -np.einsum("ik,ik->i", self.targets, log_softmax(self.logits(free), axis=1))
        moved = free - self.identity
        return float(self.weights @ losses + 0.5 * _RIDGE * moved @ moved)

    def derivatives(
        self, free: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient with the ridge, Hessian without it."""
        weighted = softmax(self.logits(free), axis=1) * self.weights[:, None]
        residual = weighted - self.targets * self.weights[:, None]
        gradient = np.concatenate([(residual * self.values).sum(axis=0), residual.sum(axis=0)])
        by_slope = weighted * self.values
        cross = np.diag(by_slope.sum(axis=0))
        own = np.block(
            [
                [np.diag((by_slope * self.values).sum(axis=0)), cross],
                [cross, np.diag(weighted.sum(axis=0))],
            ]
        )
        rooted = np.concatenate([by_slope, weighted], axis=1)
        rooted /= np.sqrt(self.weights)[:, None]
        hessian = own - rooted.T @ rooted
        gradient = self.tie.T @ gradient + _RIDGE * (free - self.identity)
        return gradient, self.tie.T @ hessian @ self.tie


def fit_scaling(
    values: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    one_slope: bool,
    with_bias: bool,
) -> Scaling:
    """Fit slopes (one for all classes, or one per class) and biases (or none) by log-loss.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        Values to scale: log posteriors or decision values.
    targets : ndarray of shape (n, K)
        The class probabilities to aim at: one-hot labels, or softened ones.
    weights : ndarray of shape (n,)
        Positive.
    one_slope : bool
        Whether all classes share a slope.
    with_bias : bool
        Whether there are biases.

    Returns
    -------
    Scaling
        Slopes and biases of all classes.
    """
    n_classes = values.shape[1]
    problem = _LogLoss(
        values,
        targets,
        weights / weights.sum(),
        tie=_tie(n_classes, one_slope, with_bias),
        identity=_identity(n_classes, one_slope, with_bias),
    )
    free = _minimise(problem)
    if targets.min() == 0.0:  # softened targets always have a finite optimum
        _warn_if_open(problem, free)
    slopes, biases = np.split(problem.tie @ free, 2)
    return Scaling(slopes, biases)


def _tie(n_classes: int, one_slope: bool, with_bias: bool) -> NDArray[np.float64]:
    slopes = np.ones((n_classes, 1)) if one_slope else np.eye(n_classes)
    biases = np.eye(n_classes) if with_bias else np.empty((n_classes, 0))
    tie: NDArray[np.float64] = block_diag(slopes, biases)
    return tie


def _identity(n_classes: int, one_slope: bool, with_bias: bool) -> NDArray[np.float64]:
    slopes = np.ones(1 if one_slope else n_classes)
    return np.concatenate([slopes, np.zeros(n_classes if with_bias else 0)])


def _minimise(problem: _LogLoss) -> NDArray[np.float64]:
    # From zero, where all posteriors are equal and the curvature is at its best.
    free = np.zeros_like(problem.identity)
    loss = problem.loss(free)
    ridge = _RIDGE * np.eye(len(free))
    for _ in range(_MAX_STEPS):
        gradient, hessian = problem.derivatives(free)
        step = -cho_solve(cho_factor(hessian + ridge), gradient)
        slope = float(gradient @ step)
        if -slope < _MIN_DECREASE:
            return free
        size = 1.0
        while (lower := problem.loss(free + size * step)) > loss + 1e-4 * size * slope:
            size /= 2
            if size < 1e-10:  # rounding hides any further decrease
                return free
        free, loss = free + size * step, lower
    warn(f"the calibration did not converge in {_MAX_STEPS} steps: its result is approximate.")
    return free


def _warn_if_open(problem: _LogLoss, free: NDArray[np.float64]) -> None:
    """Warn if the ridge, not the data, stopped the fit in some direction."""
    curvatures, directions = np.linalg.eigh(problem.derivatives(free)[1])
    moved = np.abs(directions.T @ (free - problem.identity))
    if np.any((curvatures < 100 * _RIDGE) & (moved > 1.0)):
        warn(
            "the scores separate some classes perfectly, or a class has no items, so the "
            "calibration has no finite optimum and its posteriors are near 0 and 1: give more "
            "items, or use 'platt'."
        )
