"""Logistic regression and its cross-fitting, for less than the price of separate fits.

The model on all items is fitted first. Each training fold differs from it by a few items, so
its model is a few steps away. New items are scored by the models of all folds at once.

The objective is the weighted sum of the losses plus half the squared length of the
coefficients, intercepts free. It is minimised by Newton's method. The Hessian is never formed:
steps are found by preconditioned conjugate gradients (Golub & Van Loan, Matrix Computations,
2013, chapter 11). Products with the Hessian are in single precision where that is faster, as
they only decide where steps go. Gradients, which decide where steps end, are in double
precision.

Coefficients have the shape (F, m, p): by objective, output and column, the intercept last.
There is one output for two classes, or one per class. Outputs of the items and posteriors have
the shape (F, m, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from headcount._support.arrays import Array, Floats, Ints

# Bound on the error of coefficients, and on twice that of posteriors, at scikit-learn's tol.
_ERROR, _TOL = 1e-6, 1e-4
_MAX_STEPS = 100
# Products with the Hessian, with Cholesky factors and with a diagonal as preconditioner. Where
# more are needed, scikit-learn's looser tolerance is reached in less time.
_MAX_PRODUCTS, _MAX_PRODUCTS_DIAGONAL = 300, 70
# Conjugate gradients leave such a part of the gradient.
_MOST_LEFT, _LEAST_LEFT = 0.1, 1e-4
# A line search leaves such a part of the slope, and tries so many lengths.
_SLOPE_LEFT, _MAX_TRIED = 0.1, 20
# With more features than this, or sparse ones, preconditioners are diagonal.
_MAX_FACTORED = 1000
# With fewer columns than this, a product of a sparse matrix is as fast in double precision.
_MIN_LIGHT_COLUMNS = 8
# Squares of larger numbers may be too large for single precision.
_MAX_LIGHT = 1e15


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """Items by their features, and by a constant if there is an intercept."""

    matrix: Any  # the features
    intercept: bool  # true if there is a constant

    @property
    def n_features(self) -> int:
        """Number d of features."""
        return int(self.matrix.shape[1])

    @cached_property
    def _by_column(self) -> Any:
        """Matrix, stored so that products with several columns are fastest."""
        return self.matrix.tocsc() if issparse(self.matrix) else self.matrix

    @cached_property
    def _transposed(self) -> Any:
        return self.matrix.T

    def light(self, n_columns: int) -> DesignMatrix:
        """Items to multiply with: in single precision, if that is faster."""
        X = self.matrix
        if issparse(X) and n_columns < _MIN_LIGHT_COLUMNS:
            return self
        if max(X.max(), -X.min()) > _MAX_LIGHT:
            return self
        return DesignMatrix(X.astype(np.float32), self.intercept)

    def outputs(self, theta: Array) -> Array:
        """Outputs of the items."""
        d, flat = self.n_features, theta.reshape(-1, theta.shape[-1])
        if issparse(self.matrix):
            stored = self.matrix if len(flat) == 1 else self._by_column
            outputs = (stored @ np.ascontiguousarray(flat[:, :d].T)).T
        else:
            outputs = flat[:, :d] @ self._transposed
        if self.intercept:
            outputs += flat[:, d:]
        return outputs.reshape(*theta.shape[:2], -1)

    def totals(self, values: Array) -> Array:
        """Sums over the items of their columns times values of shape (F, m, n)."""
        d, flat = self.n_features, values.reshape(-1, values.shape[-1])
        totals = np.empty((len(flat), d + self.intercept), values.dtype)
        if issparse(self.matrix):
            totals[:, :d] = (self._transposed @ np.ascontiguousarray(flat.T)).T
        else:
            np.matmul(flat, self.matrix, out=totals[:, :d])
        if self.intercept:
            totals[:, d] = flat.sum(axis=1)
        return totals.reshape(*values.shape[:2], -1)


class Preconditioner:
    """Approximate inverse of the Hessian, without what connects the outputs."""

    def __init__(self, items: DesignMatrix, curvature: Array, size: float) -> None:
        X, d = items.matrix, items.n_features
        self.intercept, self.size = items.intercept, size
        curvature = curvature.astype(X.dtype)
        self.totals = curvature.sum(axis=1, keepdims=True) + np.finfo(X.dtype).tiny
        self.means = np.zeros((len(curvature), d), X.dtype)
        if self.intercept:
            self.means = items.totals(curvature[None])[0, :, :d] / self.totals
        self.factors: list[Array] = []
        if issparse(X) or d > _MAX_FACTORED:
            squares = X.power(2) if issparse(X) else X**2
            diagonal = (squares.T @ curvature.T).T - self.totals * self.means**2
            self.inverse = 1 / (1 + np.maximum(diagonal, 0))
        else:
            self.factors = [
                _factor(X.T @ (item_curvature[:, None] * X) - total * np.outer(means, means))
                for item_curvature, total, means in zip(
                    curvature, self.totals, self.means, strict=True
                )
            ]

    def __call__(self, gradients: Array) -> Array:
        """Product with gradients."""
        d, alike = self.means.shape[1], len(self.means) == 1
        product = gradients.copy() if alike else _contrasts(gradients)
        slopes = product[..., :d]
        if self.intercept:
            slopes -= self.means * product[..., d:]
        for k, factor in enumerate(self.factors):
            block = slopes if alike else slopes[:, k]
            block[...] = dpotrs(factor, block.reshape(-1, d).T, lower=True)[0].T.reshape(
                block.shape
            )
        if not self.factors:
            slopes *= self.inverse
        if self.intercept:
            product[..., d:] /= self.totals
            product[..., d] -= np.einsum(
                "fmd,xd->fm" if alike else "fmd,md->fm", slopes, self.means
            )
        return product if alike else _contrasts(product)


def _contrasts(theta: Array) -> Array:
    """Coefficients without what is common to all classes, which changes no posterior."""
    return theta - theta.mean(axis=1, keepdims=True)


def _factor(block: Array) -> Array:
    """Cholesky factor of a block with the penalty, or more of it for rounding."""
    block = block.astype(np.float64)
    diagonal = block.diagonal().copy()
    for ridge in 10.0 ** np.arange(20):
        np.fill_diagonal(block, diagonal + ridge)
        factor, failed = dpotrf(block, lower=True)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("a block of the Hessian has no Cholesky factor")


@dataclass(frozen=True, eq=False)
class Minimum:
    """Coefficients that minimise objectives."""

    theta: Array  # coefficients
    n_steps: int  # steps of Newton's method
    preconditioner: Preconditioner  # the last one, for similar objectives


def minimise(
    items: DesignMatrix,
    target: Array,
    weights: Array,
    start: Array,
    *,
    tol: float = _TOL,
    preconditioner: Preconditioner | None = None,
) -> Minimum | None:
    """Minimise objectives that differ in the weights of the items.

    With gradient g and Hessian H, the root of g'H^-1 g bounds the length of the error of the
    coefficients and, over twice the root of an item's weight, the error of its posterior.
    H^-1 in turn is bounded by the preconditioner over the smallest eigenvalue that conjugate
    gradients have seen. Coefficients are accepted if the bound is at most 1e-6, times the root
    of the mean weight if that is less than 1, and times ``tol / 1e-4`` if that is less than 1.
    """
    with np.errstate(all="ignore"):  # what is not finite is not accepted
        try:
            return _Minimiser(items, target, weights, tol).run(start, preconditioner)
        except np.linalg.LinAlgError:
            return None


@dataclass(frozen=True, eq=False)
class _Point:
    theta: Array
    outputs: Array
    posteriors: Array


class _Minimiser:
    def __init__(self, items: DesignMatrix, target: Array, weights: Array, tol: float) -> None:
        self.items, self.target, self.weights = items, target, weights[:, None]
        self.d = items.n_features
        self.n_products = 0
        typical = weights.sum(axis=1) / (weights > 0).sum(axis=1).clip(1)
        self.error = _ERROR * np.sqrt(typical.clip(max=1)) * min(1.0, tol / _TOL)
        self._multiply_with(items.light(len(weights) * len(target)))

    def _multiply_with(self, items: DesignMatrix) -> None:
        self.light = items
        self.light_weights = self.weights.astype(items.matrix.dtype, copy=False)

    def run(self, start: Array, preconditioner: Preconditioner | None) -> Minimum | None:
        at = self._point(start)
        precondition = preconditioner or self._preconditioner(at, np.inf, by_output=False)
        before, smallest, n_before = np.full(len(start), np.inf), np.zeros(len(start)), 0
        for n_steps in range(_MAX_STEPS):
            gradient = self._gradient(at)
            steep = precondition(gradient)
            size = np.sqrt(_dots(gradient, steep))
            if (size <= self.error * np.sqrt(smallest)).all():
                return Minimum(at.theta, n_steps, precondition)
            if self._exhausted(precondition) or not np.isfinite(size).all():
                break
            if ((size > before / 2) & (size < 1)).any():
                # Newton's method is faster here, unless rounding is in the way.
                self._multiply_with(self.items)
            if precondition.size > 1 and self.n_products - n_before > self._price(precondition):
                precondition = self._preconditioner(at, size.max(), by_output=True)
                steep, n_before = precondition(gradient), self.n_products
                size = np.sqrt(_dots(gradient, steep))
            tolerance = (
                np.fmax((size / before) ** 1.5, self.error / size) / 2 if n_steps else before
            )
            tolerance = tolerance.clip(_LEAST_LEFT, _MOST_LEFT)
            change, outputs, lowest = self._step(at, gradient, steep, precondition, tolerance)
            at = self._moved(at, gradient, change, outputs)
            # Far from the minimum, the Hessian changes with each step.
            smallest = np.where(before < 1, np.minimum(smallest, lowest), lowest) * (size < 1)
            before = size
        return None

    def _point(self, theta: Array) -> _Point:
        outputs = self.items.outputs(theta)
        return _Point(theta, outputs, _posteriors(outputs))

    def _gradient(self, at: _Point) -> Array:
        gradient = self.items.totals((at.posteriors - self.target) * self.weights)
        gradient[..., : self.d] += at.theta[..., : self.d]
        return gradient

    def _preconditioner(self, at: _Point, size: float, by_output: bool) -> Preconditioner:
        curvature = (at.posteriors * (1 - at.posteriors) * self.weights).mean(axis=0)
        if not by_output and len(curvature) > 1:
            curvature = curvature.sum(axis=0, keepdims=True) / (len(curvature) - 1)
        return Preconditioner(self.light, curvature, size)

    def _exhausted(self, precondition: Preconditioner) -> bool:
        most = _MAX_PRODUCTS if precondition.factors else _MAX_PRODUCTS_DIAGONAL
        return self.n_products >= most

    def _price(self, precondition: Preconditioner) -> float:
        """Number of products with the Hessian that cost as much as a preconditioner."""
        if not precondition.factors:
            return 4.0
        return self.d / (10 * len(self.weights))

    def _step(
        self,
        at: _Point,
        gradient: Array,
        steep: Array,
        precondition: Preconditioner,
        tolerance: Array,
    ) -> tuple[Array, Array, Array]:
        """Conjugate gradients, until only a part of the gradient is left.

        Returns the change of the coefficients, that of the outputs, and the smallest
        eigenvalues of the preconditioned Hessians, as far as they were seen.
        """
        posteriors = at.posteriors.astype(self.light_weights.dtype, copy=False)
        # Gradients of length 1 are not too small for single precision.
        size = np.sqrt(_dots(gradient, steep)).clip(np.finfo(np.float64).tiny)
        residual = (gradient / _each(-size)).astype(posteriors.dtype)
        direction = (steep / _each(-size)).astype(posteriors.dtype)
        steep, change = direction, np.zeros_like(residual)
        energy = _dots(residual, steep)
        lengths, ratios, moved = [], [], np.zeros_like(at.outputs)
        while True:
            self.n_products += 1
            outputs = self.light.outputs(direction)
            changes = _changes(posteriors, outputs)
            changes *= self.light_weights
            product = self.light.totals(changes)
            product[..., : self.d] += direction[..., : self.d]
            lengths.append(_ratio(energy, _dots(direction, product)))
            along = _each(lengths[-1]).astype(change.dtype)
            change += along * direction
            residual -= along * product
            moved += along * outputs
            steep = precondition(residual)
            last, energy = energy, _dots(residual, steep)
            ratios.append(_ratio(energy, last))
            if (energy <= tolerance**2).all() or self._exhausted(precondition):
                break
            direction = _each(ratios[-1]).astype(change.dtype) * direction + steep
        change = change * _each(size)
        if change.shape[1] > 1:  # rounding
            change = _contrasts(change)
        moved = moved * _each(size) if self.light is self.items else self.items.outputs(change)
        smallest = np.linalg.eigvalsh(_tridiagonal(np.array(lengths), np.array(ratios)))[:, 0]
        return change, moved, smallest.clip(1e-6)

    def _moved(self, at: _Point, gradient: Array, change: Array, outputs: Array) -> _Point:
        """Point after a step, which is shortened where it goes too far."""
        slope, length = _dots(gradient, change), np.ones(len(change))
        features = change[..., : self.d]
        for _ in range(_MAX_TRIED):
            moved = at.outputs + _each(length) * outputs
            posteriors = _posteriors(moved)
            theta = at.theta + _each(length) * change
            residuals = (posteriors - self.target) * self.weights
            now = _dots(residuals, outputs) + _dots(theta[..., : self.d], features)
            far = now > -_SLOPE_LEFT * slope
            if not far.any():
                break
            fraction = (slope / (slope - now)).clip(0.1, 0.9)
            length = np.where(far, length * fraction, length)
        return _Point(theta, moved, posteriors)


def _posteriors(outputs: Array) -> Array:
    if outputs.shape[1] == 1:
        return (1 + np.tanh(outputs / 2)) / 2
    scores = outputs - outputs.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _changes(posteriors: Array, outputs: Array) -> Array:
    """Change of the posteriors, to first order, with a change of the outputs."""
    changes = posteriors * outputs
    if outputs.shape[1] == 1:
        return changes * (1 - posteriors)
    changes -= posteriors * changes.sum(axis=1, keepdims=True)
    return changes


def _dots(a: Array, b: Array) -> Array:
    """Inner products, one per objective."""
    return np.einsum("fmp,fmp->f", a, b).astype(np.float64)


def _each(values: Array) -> Array:
    """Values of the objectives, to multiply their coefficients or outputs with."""
    return values[:, None, None]


def _ratio(a: Array, b: Array) -> Array:
    """Ratios of positive numbers, 1 where rounding has left none."""
    return np.divide(a, b, out=np.ones_like(a), where=(a > 0) & (b > 0))


def _tridiagonal(lengths: Array, ratios: Array) -> Array:
    """Preconditioned Hessian in the basis of the conjugate gradients' residuals."""
    k, n_models = lengths.shape
    matrix = np.zeros((n_models, k, k))
    i = np.arange(k)
    matrix[:, i, i] = 1 / lengths.T
    matrix[:, i[1:], i[1:]] += (ratios / lengths)[:-1].T
    beside = -(np.sqrt(ratios) / lengths)[:-1].T
    matrix[:, i[1:], i[:-1]] = matrix[:, i[:-1], i[1:]] = beside
    return matrix


_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
_FREE = {"C", "fit_intercept", "max_iter", "random_state", "solver", "tol"}
# Folds are fitted together if arrays of all their outputs stay this small.
_MAX_TOGETHER = 2_000_000
# Items that are scored at a time, so that their scores stay in the cache.
_BLOCK_ROWS = 4096


def is_supported(classifier: Any) -> bool:
    """Return True if `cross_fit` minimises what the classifier's own ``fit`` minimises.

    That holds for scikit-learn's ``LogisticRegression`` with an L2 penalty and a solver that
    leaves the intercept free (lbfgs, newton-cg, newton-cholesky). ``C``, ``fit_intercept`` and
    ``tol`` may be set, and ``max_iter`` to 100 or more: with fewer, an early stop is wanted.
    Other parameters must have their defaults.
    """
    if type(classifier) is not LogisticRegression:
        return False
    parameters, default = classifier.get_params(), LogisticRegression().get_params()
    C, tol, max_iter = parameters["C"], parameters["tol"], parameters["max_iter"]
    return (
        all(parameters[name] == default[name] for name in default.keys() - _FREE)
        and parameters["solver"] in _SOLVERS
        and isinstance(parameters["fit_intercept"], bool)
        and isinstance(C, float | int)
        and 0 < C < np.inf
        and isinstance(tol, float | int)
        and tol > 0
        and isinstance(max_iter, int)
        and max_iter >= default["max_iter"]
    )


def cross_fit(
    classifier: LogisticRegression,
    X: Any,
    classes: Array,
    codes: Ints,
    trains: Sequence[NDArray[np.intp]],
    sample_weight: Array | None = None,
) -> list[LogisticRegression | None]:
    """Fit a supported classifier on all items, and on each of several training folds."""
    fitted = clone(classifier)
    X = validate_data(fitted, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    check_classification_targets(classes)
    fitted.classes_ = classes
    (n, d), intercept, dtype = X.shape, classifier.fit_intercept, X.dtype
    weights = np.array([np.ones(n), *(np.bincount(rows, minlength=n) for rows in trains)])
    weights *= classifier.C if sample_weight is None else classifier.C * sample_weight
    X, centre = X.astype(np.float64, copy=False), np.zeros(d)
    if intercept and not issparse(X):
        centre = X.mean(axis=0)
        X = X - centre
    outputs = np.arange(len(classes))[-1:] if len(classes) == 2 else np.arange(len(classes))
    target = (codes == outputs[:, None]).astype(np.float64)
    totals = weights @ (codes[:, None] == np.arange(len(classes)))
    if not totals.all():  # there is no minimum: the intercept of a class goes to -inf
        return [None] * len(weights)
    guess = np.zeros((1, len(outputs), d + intercept))
    if intercept:
        guess[0, :, d] = _without_features(totals[0])
    models: list[LogisticRegression | None] = []
    for minimum in _minima(DesignMatrix(X, intercept), target, weights, guess, classifier.tol):
        if minimum is None:
            models.append(None)
            continue
        for theta in minimum.theta:
            coef, constants = theta[:, :d], np.zeros(len(theta))
            if intercept:
                constants = theta[:, d] - coef @ centre
            if len(outputs) > 1:
                constants -= constants.mean()
            model = copy(fitted)
            model.coef_, model.intercept_ = coef.astype(dtype), constants.astype(dtype)
            model.n_iter_ = np.array([minimum.n_steps], np.int32)
            models.append(model)
    return models


def stacked_posteriors(models: Sequence[Any], X: Any, classes: Array) -> Floats | None:
    """Posteriors by several logistic regressions, whose coefficients are multiplied at once."""
    if not all(_is_plain(model, classes) for model in models):
        return None
    # Of numbers that are not finite neither are the scores.
    X = validate_data(models[0], X, accept_sparse="csr", reset=False, ensure_all_finite=False)
    if X.dtype != np.float64:
        return None
    weights = np.concatenate([model.coef_ for model in models]).T
    constants = np.concatenate([model.intercept_ for model in models])
    n, F, K = X.shape[0], len(models), len(classes)
    posteriors = np.empty((F, n, K))
    for first in range(0, n, _BLOCK_ROWS):
        rows = slice(first, first + _BLOCK_ROWS)
        scores = X[rows] @ weights
        scores += constants
        if not np.isfinite(scores).all():
            return None
        batch = posteriors[:, rows]
        if K == 2:
            second = _logistic(scores).T
            batch[:, :, 1] = second
            np.subtract(1.0, second, out=batch[:, :, 0])
        else:
            batch[:] = scores.reshape(-1, F, K).transpose(1, 0, 2)
            batch -= batch.max(axis=2, keepdims=True)
            np.exp(batch, out=batch)
            batch /= batch.sum(axis=2, keepdims=True)
    return posteriors


def _logistic(scores: Array) -> Array:
    """Logistic function, in place."""
    np.negative(scores, out=scores)
    with np.errstate(over="ignore"):
        np.exp(scores, out=scores)
    scores += 1.0
    return np.divide(1.0, scores, out=scores)


def _is_plain(model: Any, classes: Array) -> bool:
    """True if posteriors are the logistic function or the softmax of linear functions."""
    return (
        type(model) is LogisticRegression
        and model.solver in _SOLVERS
        and getattr(model, "multi_class", "deprecated") == "deprecated"  # of older versions
        and model.coef_.dtype == np.float64
        and np.array_equal(model.classes_, classes)
    )


def _without_features(totals: Array) -> Array:
    """Intercepts of the best model without features, given the total weight of each class."""
    logs = np.log(totals)
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


def _minima(
    items: DesignMatrix, target: Array, weights: Array, guess: Array, tol: float
) -> list[Minimum | None]:
    """Minimum for the first weights, then those for the others, together or one by one."""
    first = minimise(items, target, weights[:1], guess, tol=tol)
    if first is None:
        return [None] * len(weights)
    fold_weight_rows, start, shared = weights[1:], first.theta, first.preconditioner
    together = not issparse(items.matrix) or len(target) == 1
    if (
        len(fold_weight_rows)
        and together
        and fold_weight_rows.size * len(target) <= _MAX_TOGETHER
    ):
        start = np.repeat(start, len(fold_weight_rows), axis=0)
        minimum = minimise(
            items, target, fold_weight_rows, start, tol=tol, preconditioner=shared
        )
        return [first, *([None] * len(fold_weight_rows) if minimum is None else [minimum])]
    minima: list[Minimum | None] = [first]
    for fold_weights in fold_weight_rows:
        rows = np.flatnonzero(fold_weights)
        members = DesignMatrix(items.matrix[rows], items.intercept)
        minima.append(
            minimise(
                members,
                target[:, rows],
                fold_weights[None, rows],
                start,
                tol=tol,
                preconditioner=shared,
            )
        )
    return minima
