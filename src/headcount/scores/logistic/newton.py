"""Minimum of the objective of logistic regression, for one training set or several at once.

The objective is the weighted sum of the losses plus half the squared length of the
coefficients, intercepts free. It is minimised by Newton's method. The Hessian is never formed:
steps are found by preconditioned conjugate gradients (Golub & Van Loan, Matrix Computations,
2013, chapter 11). Products with the Hessian are in single precision where that is faster, as
they only decide where steps go. Gradients, which decide where steps end, are in double
precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError

from headcount.scores.logistic.loss import Floats, Items, Softmax
from headcount.scores.logistic.preconditioner import Preconditioner

__all__ = ["Minimum", "minimise"]

# Bound on the error of coefficients, and on twice that of posteriors, at scikit-learn's tol.
_ERROR, _TOL = 1e-6, 1e-4
_MAX_STEPS = 100
_MAX_PRODUCTS = 300
# Conjugate gradients leave such a part of the gradient.
_MOST_LEFT, _LEAST_LEFT = 0.1, 1e-4
# A line search leaves such a part of the slope, and tries so many lengths.
_SLOPE_LEFT, _MAX_TRIED = 0.1, 20
# A preconditioner is stale when the curvature of the items has changed by this part.
_NEW_CURVATURE = 0.1


@dataclass(frozen=True, eq=False)
class Minimum:
    """Weights that minimise objectives.

    Attributes
    ----------
    weights : ndarray of shape (F, m, p)
        By objective, output and column of the items (the intercept last).
    n_steps : int
        Steps of Newton's method.
    preconditioner : Preconditioner
        The last one, for similar objectives.
    """

    weights: Floats
    n_steps: int
    preconditioner: Preconditioner

    def split(self) -> list[Minimum]:
        """One minimum per objective."""
        return [replace(self, weights=own[None]) for own in self.weights]


def minimise(
    items: Items,
    softmax: Softmax,
    weights: Floats,
    start: Floats,
    *,
    tol: float,
    preconditioner: Preconditioner | None = None,
) -> Minimum | None:
    """Minimise objectives that differ in the weights of the items.

    With gradient g and Hessian H, the root of g'H^-1 g bounds the length of the error of the
    coefficients and, over twice the root of an item's weight, the error of its posterior.
    H^-1 in turn is bounded by the preconditioner over the smallest eigenvalue that conjugate
    gradients have seen. Weights are accepted if the bound is at most 1e-6, times the root of
    the mean weight if that is less than 1, and times ``tol / 1e-4`` if that is less than 1.
    After 300 products with the Hessian it is enough that scikit-learn would accept them: that
    the largest entry of the gradient, over the sum of the weights, is at most `tol`.

    Parameters
    ----------
    items : Items
        The items.
    softmax : Softmax
        Their classes.
    weights : ndarray of shape (F, n)
        Weights of the items in each objective, not negative.
    start : ndarray of shape (F, m, p)
        First guess.
    tol : float
        Tolerance, as in scikit-learn.
    preconditioner : Preconditioner, default=None
        That of a similar objective.

    Returns
    -------
    Minimum or None
        None if no weights were accepted.
    """
    with np.errstate(all="ignore"):  # what is not finite is not accepted
        try:
            return _Minimiser(items, softmax, weights, tol).run(start, preconditioner)
        except LinAlgError:
            return None


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights of the columns, and what follows from them.

    Attributes
    ----------
    weights : ndarray of shape (F * m, p)
        By objective and output.
    outputs : ndarray of shape (F, m, n)
        Outputs of the items.
    posteriors : ndarray of shape (F, K, n)
        Posteriors of the items.
    """

    weights: Floats
    outputs: Floats
    posteriors: Floats


@dataclass(frozen=True, eq=False)
class _Step:
    """Step of Newton's method.

    Attributes
    ----------
    change : ndarray of shape (F * m, p)
        Change of the weights.
    outputs : ndarray of shape (F, m, n)
        Change of the outputs.
    smallest : ndarray of shape (F,)
        Smallest eigenvalues of the preconditioned Hessians, as far as they were seen.
    n_products : int
        Products with the Hessian it took.
    """

    change: Floats
    outputs: Floats
    smallest: Floats
    n_products: int


class _Minimiser:
    """Newton's method for F objectives at once.

    Arrays by item have the shape (F, m, n), those by column of the items (F * m, p).
    """

    def __init__(self, items: Items, softmax: Softmax, weights: Floats, tol: float) -> None:
        self.items, self.softmax, self.weights = items, softmax, weights[:, None]
        self.n_models, self.n_outputs = len(weights), softmax.n_outputs
        totals = weights.sum(axis=1)
        scale = np.sqrt(totals / (weights > 0).sum(axis=1)).clip(max=1)
        self.error = _ERROR * scale * np.clip(tol / _TOL, 1e-4, 1)
        self.tol = tol * totals
        self.n_products = 0
        self._multiply_with(items.light(self.n_models * self.n_outputs))

    def _multiply_with(self, items: Items) -> None:
        self.light, self.light_weights = items, self.weights.astype(items.matrix.dtype)

    def run(self, start: Floats, given: Preconditioner | None) -> Minimum | None:
        at = self._point(start.reshape(-1, start.shape[-1]))
        precondition = given if given is not None else self._preconditioner(at, False)
        if precondition.stale:
            precondition = self._preconditioner(at, precondition.by_class)
        first = curvature = self._curvature(at)
        before, smallest, since = np.full(self.n_models, np.inf), np.zeros(self.n_models), 0
        for n_steps in range(_MAX_STEPS):
            gradient = self._gradient(at)
            size = self._size(gradient, precondition)
            if self._accepts(gradient, size, smallest):
                if precondition is not given:
                    precondition.stale = precondition.factored and _differ(first, curvature)
                return Minimum(at.weights.reshape(start.shape), n_steps, precondition)
            if self.n_products >= _MAX_PRODUCTS:
                break
            if ((size > before / 2) & (size < 1)).any():
                # Newton's method is faster here, unless rounding is in the way.
                self._multiply_with(self.items)
            by_class = precondition.by_class or self._pays(True, precondition, since)
            if by_class != precondition.by_class or (
                _differ(first, curvature) and self._pays(by_class, precondition, since)
            ):
                precondition, first, since = self._preconditioner(at, by_class), curvature, 0
                size = self._size(gradient, precondition)
            left = np.full(self.n_models, _MOST_LEFT)
            if n_steps:
                left = np.fmax((size / before) ** 1.5, self.error / size) / 2
            step = self._step(
                at,
                gradient,
                size,
                precondition,
                left.clip(_LEAST_LEFT, _MOST_LEFT),
                learns=precondition is not given,
            )
            at = self._moved(at, gradient, step)
            before, since = size, since + step.n_products
            last, curvature = curvature, self._curvature(at)
            # What was seen of the Hessian holds as long as it does not change.
            smallest = step.smallest * (not _differ(last, curvature))
        return None

    def _accepts(self, gradient: Floats, size: Floats, smallest: Floats) -> bool:
        if (size <= self.error * np.sqrt(smallest)).all():
            return True
        largest = np.abs(gradient).reshape(self.n_models, -1).max(axis=1)
        return self.n_products >= _MAX_PRODUCTS and bool((largest <= self.tol).all())

    def _point(self, weights: Floats) -> _Point:
        outputs = self._outputs(self.items, weights)
        return _Point(weights, outputs, self.softmax.posteriors(outputs))

    def _preconditioner(self, at: _Point, by_class: bool) -> Preconditioner:
        return Preconditioner(self.light, self.softmax, self._curvature(at, by_class))

    def _pays(self, by_class: bool, precondition: Preconditioner, n_products: int) -> bool:
        """Whether a new preconditioner costs less than products with the old one did."""
        if by_class and self.softmax.binary:
            return False
        if not precondition.factored:
            return n_products > 4
        n_blocks = self.n_outputs + 1 if by_class else 1
        price = n_blocks * self.items.n_features / (10 * self.n_models * self.n_outputs)
        return n_products > price

    def _curvature(self, at: _Point, by_class: bool = False) -> Floats:
        """Curvature of the items, the mean over the objectives."""
        return (self.softmax.curvature(at.posteriors, by_class) * self.weights).mean(axis=0)

    def _size(self, gradient: Floats, precondition: Preconditioner) -> Floats:
        return np.sqrt(self._dots(gradient, precondition(gradient)))

    def _outputs(self, items: Items, weights: Floats) -> Floats:
        return items.outputs(weights).reshape(self.n_models, self.n_outputs, -1)

    def _totals(self, items: Items, values: Floats) -> Floats:
        return items.totals(values.reshape(self.n_models * self.n_outputs, -1))

    def _gradient(self, at: _Point) -> Floats:
        residuals = self.softmax.residuals(at.posteriors) * self.weights
        gradient = self._totals(self.items, residuals)
        gradient[:, : self.items.n_features] += at.weights[:, : self.items.n_features]
        return gradient

    def _dots(self, a: Floats, b: Floats) -> Floats:
        """Inner products, one per objective."""
        if self.n_models == 1:
            return np.array([np.vdot(a, b)], np.float64)
        products = np.einsum("cp,cp->c", a, b).astype(np.float64)
        return products.reshape(self.n_models, -1).sum(axis=1)

    def _each(self, values: Floats, like: Floats) -> Floats:
        """Values of the objectives, repeated for their outputs."""
        return np.repeat(values, self.n_outputs).astype(like.dtype)[:, None]

    def _step(
        self,
        at: _Point,
        gradient: Floats,
        size: Floats,
        precondition: Preconditioner,
        left: Floats,
        learns: bool,
    ) -> _Step:
        """Conjugate gradients, until only a part of the gradient is left."""
        learns = learns and not precondition.factored and self.n_models == self.n_outputs == 1
        posteriors = at.posteriors.astype(self.light_weights.dtype, copy=False)
        residual = (gradient / self._each(-size, gradient)).astype(posteriors.dtype)
        residual[self._each(size, size)[:, 0] == 0] = 0
        steep = precondition(residual)
        direction, change, scaled = steep.copy(), np.zeros_like(residual), np.empty_like(steep)
        outputs = np.zeros_like(at.outputs)
        energy = self._dots(residual, steep)
        lengths, ratios, basis = [], [], []
        while True:
            if learns:
                basis.append(steep[0] / np.sqrt(energy).astype(steep.dtype))
            moved, product = self._product(posteriors, direction)
            lengths.append(_ratio(energy, self._dots(direction, product)))
            along = self._each(lengths[-1], change)
            change += np.multiply(direction, along, out=scaled)
            residual -= np.multiply(product, along, out=scaled)
            if self.light is self.items:
                outputs += lengths[-1][:, None, None] * moved
            steep = precondition(residual)
            last, energy = energy, self._dots(residual, steep)
            ratios.append(_ratio(energy, last))
            if (energy <= left**2).all() or self.n_products >= 2 * _MAX_PRODUCTS:
                break
            direction *= self._each(ratios[-1], direction)
            direction += steep
        change = change * self._each(size, gradient)
        if self.light is self.items:
            outputs *= size[:, None, None]
        else:
            outputs = self._outputs(self.items, change)
        seen = _tridiagonal(np.array(lengths), np.array(ratios))
        if learns:
            precondition.correct(np.array(basis), seen[0])
        smallest = np.linalg.eigvalsh(seen)[:, 0].clip(1e-6)
        return _Step(change, outputs, smallest, len(lengths))

    def _product(self, posteriors: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Outputs of a direction, and its product with the Hessian."""
        self.n_products += 1
        outputs = self._outputs(self.light, direction)
        changes = self.softmax.changes(posteriors, outputs)
        changes *= self.light_weights
        product = self._totals(self.light, changes)
        product[:, : self.items.n_features] += direction[:, : self.items.n_features]
        return outputs, product

    def _moved(self, at: _Point, gradient: Floats, step: _Step) -> _Point:
        """Point after a step.

        Where a whole step goes too far, the best length is found to a part of the slope.
        """
        W, change = at.weights, step.change
        d = self.items.n_features
        first = self._dots(gradient, change)
        at_start, bend = (
            self._dots(W[:, :d], change[:, :d]),
            self._dots(change[:, :d], change[:, :d]),
        )
        short, long = np.zeros(self.n_models), np.ones(self.n_models)
        before, beyond = first, first
        length, done = long, np.zeros(self.n_models, bool)
        for tried in range(_MAX_TRIED):
            outputs = at.outputs + length[:, None, None] * step.outputs
            posteriors = self.softmax.posteriors(outputs)
            residuals = self.softmax.residuals(posteriors) * self.weights
            slope = np.einsum("fmn,fmn->f", residuals, step.outputs) + at_start + length * bend
            done |= (slope if tried == 0 else np.abs(slope)) <= -_SLOPE_LEFT * first
            if done.all():
                break
            far = slope > 0
            short, before = np.where(far, short, length), np.where(far, before, slope)
            long, beyond = np.where(far, length, long), np.where(far, slope, beyond)
            part = (before / (before - beyond)).clip(0.1, 0.9)
            length = np.where(done, length, short + (long - short) * part)
        return _Point(W + self._each(length, change) * change, outputs, posteriors)


def _differ(before: Floats, now: Floats) -> bool:
    return bool(np.abs(now - before).sum() > _NEW_CURVATURE * before.sum())


def _ratio(a: Floats, b: Floats) -> Floats:
    """Ratios of numbers, 1 where both are 0."""
    return np.divide(a, b, out=np.ones_like(a), where=b > 0)


def _tridiagonal(lengths: Floats, ratios: Floats) -> Floats:
    """Preconditioned Hessian in the basis of the conjugate gradients' residuals.

    Parameters
    ----------
    lengths : ndarray of shape (k, F)
        Lengths of the steps.
    ratios : ndarray of shape (k, F)
        Energy of each residual over that of the one before.

    Returns
    -------
    ndarray of shape (F, k, k)
    """
    k, n_models = lengths.shape
    found = np.zeros((n_models, k, k))
    i = np.arange(k)
    found[:, i, i] = 1 / lengths.T
    found[:, i[1:], i[1:]] += (ratios / lengths)[:-1].T
    beside = -(np.sqrt(ratios) / lengths)[:-1].T
    found[:, i[1:], i[:-1]] = found[:, i[:-1], i[1:]] = beside
    return found
