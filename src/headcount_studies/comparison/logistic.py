"""Logistic regression with its cross-fitting: ten folds for about the price of one fit.

The model is that of scikit-learn's ``LogisticRegression``: C times the sum of the losses plus
half the squared length of the weights, the intercepts free. The problem on all items is solved
by Newton's method. A fold's problem is the same without a tenth of the items: from the
common solution it takes a few steps, each with the Hessian that the other nine tenths have
there, which is the Hessian of all less that of the tenth. The steps of all folds are made
together, so that their gradients are two matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, log_expit, log_softmax, softmax

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Gradients are sums over items: so small a mean is zero.
_TOL = 1e-7
_MAX_STEPS = 100


@dataclass(frozen=True)
class _Patience:
    """Number of steps with the Hessian of another point."""

    fast: float
    slowest: float
    shared_steps: int


_HASTY, _PATIENT = _Patience(0.1, 0.5, 12), _Patience(0.6, 0.8, 40)
# From so many weights on a Hessian costs as much as dozens of gradients.
_MANY_WEIGHTS = 500


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Weights of the features: one row for the second of two classes, or one row per class."""

    coef: Floats
    intercept: Floats

    def posteriors(self, X: Floats) -> Floats:
        """Posteriors of items, one column per class."""
        return _posteriors(X @ self.coef.T + self.intercept)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Model and out-of-fold posteriors of a training set."""

    model: LinearModel
    posteriors: Floats


def stratified_folds(codes: Codes, most: int) -> Codes:
    """The fold of each item: stratified, in the order of the items, not shuffled.

    As many folds as the smallest class has items, and `most` at the most; a single fold if
    that is fewer than two.

    >>> import numpy as np
    >>> stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 10)
    array([0, 0, 1, 1, 0, 1])
    """
    n_folds = max(1, min(most, int(np.bincount(codes).min())))
    present, first = np.unique(codes, return_index=True)
    folds = np.empty(len(codes), np.int64)
    dealt = 0
    # Items, class by class in the order of their first ones, are dealt out one by one: that
    # determines how many of each class a fold gets.
    for code in present[np.argsort(first)]:
        rows = np.flatnonzero(codes == code)
        folds[rows] = np.sort((dealt + np.arange(len(rows))) % n_folds)
        dealt += len(rows)
    return folds


def cross_fit(
    X: Floats, codes: Codes, folds: Codes, *, C: float = 1.0, start: LinearModel | None = None
) -> CrossFit:
    """Fit logistic regression on all items, and on all but each fold."""
    n, d = X.shape
    # Weights lie in the span of the items: with fewer items than features it is smaller.
    basis = np.linalg.qr(X.T)[0] if n < d else None
    items = X if basis is None else X @ basis
    order = np.argsort(folds, kind="stable")
    problem = _Problem(np.column_stack([items[order], np.ones(n)]), codes[order], C)
    guess = np.zeros((problem.n_outputs, items.shape[1] + 1))
    if start is not None and basis is None:
        guess = np.column_stack([start.coef, start.intercept])
    solution = problem.solve(guess)
    edges = np.concatenate([[0], np.cumsum(np.bincount(folds))])
    if len(edges) > 2:
        outputs = problem.solve_without_each(solution, edges)
    else:
        outputs = problem.items @ solution.T
    posteriors = np.empty((n, problem.n_classes))
    posteriors[order] = _posteriors(outputs)
    coef = solution[:, :-1] if basis is None else solution[:, :-1] @ basis.T
    return CrossFit(LinearModel(coef, solution[:, -1]), posteriors)


def _posteriors(outputs: Floats) -> Floats:
    if outputs.shape[1] == 1:
        return np.column_stack([expit(-outputs[:, 0]), expit(outputs[:, 0])])
    return np.asarray(softmax(outputs, axis=1))


class _Problem:
    """The objective over weights of shape (outputs, features and a constant)."""

    def __init__(self, items: Floats, codes: Codes, C: float) -> None:
        self.items, self.codes, self.C = items, codes, C
        self.light = items.astype(np.float32)
        self.n_classes = int(codes.max()) + 1
        self.n_outputs = 1 if self.n_classes == 2 else self.n_classes
        self.target = (codes[:, None] == np.arange(self.n_classes)[-self.n_outputs :]) * 1.0
        self.width = items.shape[1]
        penalty = np.ones(self.width)
        penalty[-1] = 0.0
        self.penalty = penalty
        self.tol = _TOL * C * len(codes)
        is_large = self.n_outputs * self.width >= _MANY_WEIGHTS
        self.patience = _PATIENT if is_large else _HASTY

    def chances(self, outputs: Floats) -> Floats:
        """Posteriors by output; outputs may be those of several models, (n, m, outputs)."""
        if self.n_outputs == 1:
            return np.asarray(expit(outputs))
        return np.asarray(softmax(outputs, axis=-1))

    def value(self, weights: Floats, outputs: Floats, rows: slice | Codes) -> float:
        if self.n_outputs == 1:
            signs = 2 * self.target[rows, 0] - 1
            losses = -log_expit(signs * outputs[:, 0]).sum()
        else:
            logs = log_softmax(outputs, axis=1)
            losses = -logs[np.arange(len(logs)), self.codes[rows]].sum()
        return float(self.C * losses + 0.5 * (self.penalty * weights**2).sum())

    def hessian(self, chances: Floats, rows: slice | Codes) -> Floats:
        """Second derivatives of the losses of some items, at their posteriors by output.

        In single precision: they only say where steps go, not where these end.
        """
        items, d, m = self.light[rows], self.width, self.n_outputs
        chances = chances.astype(np.float32)
        blocks = np.empty((m, d, m, d))
        for i in range(m):
            for j in range(i + 1):
                if i == j:
                    curvature = chances[:, i] * (1 - chances[:, i])
                    scaled = np.sqrt(curvature)[:, None] * items
                    block = scaled.T @ scaled
                else:
                    curvature = -chances[:, i] * chances[:, j]
                    block = items.T @ (curvature[:, None] * items)
                blocks[i, :, j] = blocks[j, :, i] = block
        return self.C * blocks.reshape(m * d, m * d)

    def factor(self, hessian: Floats) -> tuple[Floats, bool]:
        """Of the Hessian with the penalty. Intercepts of all classes may rise together."""
        ridge = np.tile(self.penalty, self.n_outputs)
        ridge[self.width - 1 :: self.width] = 1e-9 * (1 + self.C * len(self.codes))
        regularised = hessian + np.diag(ridge)
        while True:
            try:
                factored: tuple[Floats, bool] = cho_factor(regularised, lower=True)
                return factored
            except LinAlgError:  # rounding, where all items are classified with certainty
                regularised += np.diag(ridge := 10 * ridge)

    def solve(self, weights: Floats, rows: slice | Codes = slice(None)) -> Floats:
        """Newton's method, steps halved until they go down.

        A Hessian is used again as long as its steps go fast.
        """
        items, target = self.items[rows], self.target[rows]
        outputs = items @ weights.T
        value = self.value(weights, outputs, rows)
        factored, fresh, before = None, True, np.inf
        for _ in range(_MAX_STEPS):
            chances = self.chances(outputs)
            gradient = self.C * (chances - target).T @ items + self.penalty * weights
            size = np.abs(gradient).max()
            if size <= self.tol:
                break
            fresh = factored is None or size > self.patience.fast * before
            if fresh:
                factored = self.factor(self.hessian(chances, rows))
            before = size
            step = cho_solve(factored, gradient.ravel(), check_finite=False)
            step = step.reshape(weights.shape)
            change = items @ step.T
            slope, length = float((gradient * step).sum()), 1.0
            while length > 1e-6:
                tried = self.value(weights - length * step, outputs - length * change, rows)
                if tried <= value - 1e-4 * length * slope:
                    break
                length /= 2
            else:
                if fresh:
                    break  # no way down: rounding
                factored = None
                continue
            weights = weights - length * step
            outputs = outputs - length * change
            value = tried
        return weights

    def solve_without_each(self, solution: Floats, edges: Codes) -> Floats:
        """Outputs of each fold's items by the model of the others; items sorted by fold."""
        chances = self.chances(self.items @ solution.T)
        folds = [slice(first, end) for first, end in pairwise(edges)]
        hessians = [self.hessian(chances[fold], fold) for fold in folds]
        total = np.sum(hessians, axis=0)
        factors = [self.factor(total - hessian) for hessian in hessians]
        n_folds, (m, d) = len(folds), solution.shape
        weights = np.tile(solution, (n_folds, 1, 1))
        earlier = weights.copy()
        before = np.full(n_folds, np.inf)
        moving = np.ones(n_folds, bool)
        stuck = np.zeros(n_folds, bool)
        for _ in range(self.patience.shared_steps):
            now = np.flatnonzero(moving)
            gradients = self._gradients(weights[now], [folds[k] for k in now])
            sizes = np.abs(gradients).max(axis=(1, 2))
            for number, k in enumerate(now):
                if sizes[number] <= self.tol:
                    moving[k] = False
                elif sizes[number] > self.patience.slowest * before[k]:
                    moving[k], stuck[k] = False, True
                    if sizes[number] > before[k]:
                        weights[k] = earlier[k]
                else:
                    earlier[k] = weights[k]
                    step = cho_solve(factors[k], gradients[number].ravel(), check_finite=False)
                    weights[k] -= step.reshape(m, d)
            before[now] = sizes
            if not moving.any():
                break
        outputs = np.empty((len(self.codes), m))
        for weight, unsolved, fold in zip(weights, moving | stuck, folds, strict=True):
            if unsolved:
                kept_in = np.delete(np.arange(len(self.codes)), fold)
                weight[:] = self.solve(weight, kept_in)
            outputs[fold] = self.items[fold] @ weight.T
        return outputs

    def _gradients(self, weights: Floats, left_out: list[slice]) -> Floats:
        """Gradient of each model's objective, one part of the items left out of each."""
        n, (f, m, d) = len(self.codes), weights.shape
        outputs = (self.items @ weights.reshape(f * m, d).T).reshape(n, f, m)
        residuals = self.chances(outputs) - self.target[:, None]
        for number, fold in enumerate(left_out):
            residuals[fold, number] = 0.0
        products = residuals.reshape(n, f * m).T @ self.items
        return self.C * products.reshape(f, m, d) + self.penalty * weights
