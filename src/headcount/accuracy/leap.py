"""Accuracy from estimated shares: equations for the table of true and predicted classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import clone

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import parametrised
from headcount.accuracy.base import Predictor, predictor_class
from headcount.accuracy.fitted import ConfusionModel
from headcount.accuracy.metrics import ModelOutputs, Reference, among
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts
from headcount.parts.fitted import Fitted, Input, MethodInfo
from headcount.parts.solvers import LeastSquares
from headcount.parts.training import (
    Binned,
    CellsOf,
    Embedding,
    MeanOf,
    Reduced,
    Reduction,
    Training,
)
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.kernels import KDEyML
from headcount.samples.samples import Samples


def check_quantifier(quantifier: Any, default: Quantifier) -> Quantifier:
    """Check the parameter ``quantifier``; None is the default."""
    quantifier = default if quantifier is None else quantifier
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a quantifier of this library, such as "
            "SLD() or KDEyML()."
        )
    return quantifier


@dataclass(frozen=True, eq=False)
class FittedQuantifier:
    """Quantifier for samples of any pool, or of its own training items if these are given."""

    fitted: Fitted
    model: Any = None
    training: Training | None = None

    def cross_fitted(self) -> tuple[FittedQuantifier, FittedQuantifier]:
        """Quantifiers for new items and for the training items, with equal behaviour."""
        training = self.fitted.training
        if training is None or training.items is None:
            return self, self  # its classifier was not trained on these items
        of_new = FittedQuantifier(self.fitted, self.fitted.model.cross_fitted(training))
        return of_new, replace(of_new, training=training)

    def shares(self, X: Any, samples: Samples) -> Floats:
        """Shares of the classes of the quantifier in samples of a pool."""
        shares: Floats
        if self.training is not None:
            n_pool = len(self.training.codes)
            if samples.n_pool != n_pool:
                samples = Samples(samples.indices, samples.offsets, n_pool=n_pool)
            shares = self.model.solve_training(self.training, samples).prevalence
        elif self.model is None:
            shares = self.fitted.solve_many(X, samples).prevalence
        else:
            by_folds, reduced = self.fitted.source.has_folds, self.fitted.reduce(X, samples)
            shares = self.fitted.answer(reduced, self.model, by_folds=by_folds).prevalence
        return self.checked(shares)

    @property
    def answering_model(self) -> Any:
        """Model that answers."""
        return self.fitted.model if self.model is None else self.model

    def checked(self, shares: Floats) -> Floats:
        """Shares, if there is one answer."""
        if shares.shape[1] != len(self.fitted.classes):
            raise HeadcountError(
                f"quantifier is {self.fitted.method}, which combines the answers "
                "of several quantifiers, and estimates with intervals need one answer: use "
                "predict, or a single quantifier such as SLD() or KDEyML()."
            )
        return shares


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Shares of all classes in samples; 0 for classes that the reference has no items of."""

    quantifier: FittedQuantifier | None
    present: Ints
    n_classes: int
    form: str

    def of(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Shares of the classes in each sample, one row per sample."""
        shares = np.zeros((len(samples), self.n_classes))
        if self.quantifier is None:
            shares[:, self.present] = 1.0
        else:
            X = _items(pool, self.present, self.form, self.quantifier.fitted.method)
            shares[:, self.present] = self.quantifier.shares(X, samples)
        return shares

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Means over outputs that determine the shares; None if the outputs are needed."""
        if self.quantifier is None:
            return ()
        reductions = self.quantifier.answering_model.reduction()
        if reductions is None or self.form == "items":
            return None
        takes = self.quantifier.fitted.takes
        return tuple(
            _of_outputs(reduction, self.present, self.form, takes) for reduction in reductions
        )

    def of_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        """Shares of the classes in samples given by the values of each `reduction`."""
        shares = np.zeros((len(sizes), self.n_classes))
        if self.quantifier is None:
            shares[:, self.present] = 1.0
        else:
            solution = self.quantifier.answering_model.solve_reduced(reduced, sizes)
            shares[:, self.present] = self.quantifier.checked(solution.prevalence)
        return shares

    def cross_fitted(self) -> tuple[ClassShares, ClassShares]:
        """Shares in samples of new items and of the reference, with equal behaviour."""
        if self.quantifier is None:
            return self, self
        of_new, of_reference = self.quantifier.cross_fitted()
        return replace(self, quantifier=of_new), replace(self, quantifier=of_reference)


@dataclass(frozen=True)
class PredictedLabels:
    """Predicted class of each item, given by its outputs."""

    n_classes: int

    def embed(self, items: ModelOutputs) -> Binned:
        """Embed outputs."""
        return Binned(items.labels.astype(np.int32)[:, None], self.n_classes)


@dataclass(frozen=True, eq=False)
class _OfOutputs:
    """Representation or likelihood of a quantifier, applied to outputs of a classifier."""

    inner: Any
    present: Ints
    form: str
    takes: str

    def embed(self, items: ModelOutputs) -> Embedding:
        return self.inner.embed(self._items(items))

    def ratios(self, items: Any) -> Floats:
        scores = self._items(items)
        return np.asarray(scores if self.inner is None else self.inner.ratios(scores))

    def _items(self, outputs: ModelOutputs) -> Any:
        items, classes = _items(outputs, self.present, self.form), np.arange(len(self.present))
        if self.takes == "posteriors":
            return items.posteriors_of(classes)
        return items.codes_of(classes)


def _of_outputs(reduction: Reduction, present: Ints, form: str, takes: str) -> Reduction:
    """Reduction of a quantifier, applied to outputs of a classifier."""
    if isinstance(reduction, MeanOf):
        return MeanOf(_OfOutputs(reduction.representation, present, form, takes))
    before = _OfOutputs(reduction.before, present, form, takes)
    return CellsOf(reduction.n_classes, before)


def fit_class_shares(quantifier: Quantifier, reference: Reference) -> ClassShares:
    """Fit a copy of a quantifier on the outputs of a classifier, which are held out."""
    present, outputs = reference.present, reference.items
    form = "items"
    if ScoringPlan(quantifier).takes in ("posteriors", "labels"):
        form = "labels" if outputs.scores is None else "posteriors"
    fitted = None
    if len(present) > 1:
        X = _items(outputs, present, form, type(quantifier).__name__)
        labels = np.searchsorted(present, reference.codes)
        fitted = FittedQuantifier(clone(quantifier).fit(X, labels).fitted_)
    return ClassShares(fitted, present, reference.n_classes, form)


def _items(outputs: ModelOutputs, present: Ints, form: str, method: str = "") -> Any:
    """Items in the form that a quantifier of the present classes takes."""
    if form == "items":
        if outputs.X is None:
            raise HeadcountError(
                f"quantifier is {method}, which works on the items "
                "themselves, but only the outputs of the classifier were given: pass the "
                "items, or choose a quantifier of scores such as KDEyML()."
            )
        return outputs.X
    if form == "posteriors" and outputs.scores is not None:
        return Scored(among(outputs.scores, present))
    codes = np.searchsorted(present, outputs.labels)
    is_present = present[np.minimum(codes, len(present) - 1)] == outputs.labels
    if not is_present.all():
        raise HeadcountError(
            "Verdicts has decisions for a class that the labelled items have none of: add "
            "labelled items of it, or pass posteriors as hc.Scored(posteriors)."
        )
    return Verdicts(codes)


TableSolver = Callable[[Floats, Floats], Floats]
"""Tables (S, K, K) from shares of true classes (S, K) and of predicted classes (S, K)."""

# Values above -1e-12 are zero up to rounding.
_ROUNDING = 1e-12
# Number of cells from which many cells are freed and bound at once.
_MANY_CELLS = 37
_MOST_ROUNDS = 60
_REFERENCE = "Volpi, Moreo & Sebastiani, Discovery Science (2024)"


def by_rows(shares: Floats, rates: Floats) -> Floats:
    """Rates times shares: x_ij = q_i R_ij."""
    return shares[:, :, None] * rates


@dataclass(frozen=True, eq=False)
class ByRows:
    """Rates times shares; the predictions are not used."""

    rates: Floats

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares."""
        return by_rows(shares, self.rates)


@dataclass(frozen=True, eq=False)
class Exact:
    """As many equations as cells: the first class gets the remaining predictions."""

    rates: Floats

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares and predictions."""
        tables = by_rows(shares, self.rates)
        tables[:, 0] = predicted - tables[:, 1:].sum(axis=1)
        outside = tables[:, 0].min(axis=1) < -_ROUNDING
        if outside.any():
            tables[outside] = self._nearest(shares[outside], predicted[outside])
        return np.maximum(tables, 0.0)

    @cached_property
    def _nearest(self) -> LeastSquaresTables:
        return LeastSquaresTables(self.rates, every=False)


@dataclass(frozen=True, eq=False)
class LeastSquaresTables:
    """Least-squares solution of the equations: see `equations`."""

    rates: Floats
    every: bool

    def __call__(self, shares: Floats, predicted: Floats) -> Floats:
        """Tables of samples with these shares and predictions."""
        K, first = len(self.rates), 0 if self.every else 1
        profiles = equations(self.rates, every=self.every)
        zeros = np.zeros((len(shares), profiles.shape[1] - 2 * (K - first)))
        sums = np.hstack([zeros, predicted[:, first:], shares[:, first:]])
        return _least_squares(profiles, np.ascontiguousarray(sums)).reshape(-1, K, K)


def equations(rates: Floats, *, every: bool) -> Floats:
    """Left sides of the equations for a table: one column per equation, one row per cell.

    First x_ij - R_ij sum_k x_ik = 0, then the sums of columns, then the sums of rows: of all
    classes, or of all but the first. The solver adds that all cells sum to 1.
    """
    K, first = len(rates), 0 if every else 1
    cells = np.eye(K * K).reshape(K, K, K, K)  # row, column, cell's row, cell's column
    row_sums, column_sums = cells.sum(axis=1), cells.sum(axis=0)
    by_rate = cells - rates[:, :, None, None] * row_sums[:, None]
    sides = [
        by_rate[first:, first:].reshape(-1, K * K),
        column_sums[first:].reshape(-1, K * K),
        row_sums[first:].reshape(-1, K * K),
    ]
    return np.ascontiguousarray(np.concatenate(sides).T)


def _least_squares(profiles: Floats, sums: Floats) -> Floats:
    """Points of the simplex nearest to the observed sums, one row per sample."""
    if len(profiles) < _MANY_CELLS:
        return LeastSquares().solve(profiles, sums).prevalence
    H = profiles @ profiles.T
    H += 1e-13 * np.trace(H) / len(H) * np.eye(len(H))
    points = np.empty((len(sums), len(H)))
    for number, row in enumerate(sums):
        point = _nearest(H, profiles @ row)
        if point is None:
            point = LeastSquares().solve(profiles, row[None]).prevalence[0]
        points[number] = point
    return points


def _nearest(H: Floats, c: Floats) -> Floats | None:
    """Minimise x'Hx/2 - c'x on the simplex, many cells a round; None if free cells repeat."""
    free = np.ones(len(c), bool)
    ones = np.ones(len(c))
    tolerance = 1e-13 * max(1.0, float(np.abs(c).max()))
    for _ in range(_MOST_ROUNDS):
        x = np.zeros(len(c))
        try:
            factor = cho_factor(H[np.ix_(free, free)])
        except LinAlgError:
            return None
        base, unit = cho_solve(factor, np.column_stack([c[free], ones[free]])).T
        level = (1 - base.sum()) / unit.sum()
        x[free] = base + level * unit
        slope = H @ x - c - level
        positive = np.where(free, x > -_ROUNDING, slope < -tolerance)
        if not positive.any():
            return None
        if np.array_equal(positive, free):
            x = np.maximum(x, 0.0)
            return np.asarray(x / x.sum())
        free = positive
    return None


@parametrised
class _Equations(Predictor):
    """Base of methods with a quantifier and the rates of the reference.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the outputs of the classifier; `KDEyML` by
        default. With one of predicted labels, such as `ACC`, `Verdicts` are accepted.
    """

    _mixes_classes: ClassVar[bool] = True
    quantifier: Any = None

    def _takes(self) -> Input:
        return ScoringPlan(self._checked_quantifier()).takes

    def _checked_quantifier(self) -> Quantifier:
        return check_quantifier(self.quantifier, KDEyML())

    def _solver(self, rates: Floats) -> TableSolver:
        raise NotImplementedError

    def _learn(self, reference: Reference) -> ConfusionModel:
        shares = fit_class_shares(self._checked_quantifier(), reference)
        return _Leap(shares, self._solver(reference.rates))


@dataclass(frozen=True, eq=False)
class _Leap(ConfusionModel):
    """Tables from the shares of the classes and of the predicted classes."""

    shares: ClassShares
    solver: TableSolver

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        q = self.shares.of(pool, samples)
        predicted = samples.prevalence_of(pool.labels, q.shape[1])
        return self.solver(q, predicted)

    def reduction(self) -> tuple[Reduction, ...] | None:
        of_shares = self.shares.reduction()
        if of_shares is None:
            return None
        return (*of_shares, MeanOf(PredictedLabels(self.shares.n_classes)))

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        q = self.shares.of_reduced(reduced[:-1], sizes)
        return self.solver(q, np.asarray(reduced[-1]))

    def cross_fitted(self) -> tuple[_Leap, _Leap]:
        of_new, of_reference = self.shares.cross_fitted()
        return replace(self, shares=of_new), replace(self, shares=of_reference)


@parametrised
class LEAP(_Equations):
    """Linear equations for the table, as many as it has cells.

    Three things are known under prior shift: the rates at which items of a class are
    predicted as each class, which are those of the reference; the shares of the classes, by a
    quantifier; and the shares of the predicted classes. Rates and shares determine the rows
    of all classes but the first. The first class gets the remaining predictions, so the
    result depends on which class is first in ``classes_``. If the remainder is negative, the
    equations are solved by least squares.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(6000, weights=[0.8], class_sep=0.6, random_state=0)
    >>> model = LogisticRegression().fit(X[:2000], y[:2000])
    >>> leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X[2000:4000], y[2000:4000])
    >>> new, truth = X[4000:], y[4000:]
    >>> new, truth = new[truth == 1], truth[truth == 1]
    >>> round(leap.predict(new), 1), round(model.score(new, truth), 1)
    (0.4, 0.4)
    """

    info: ClassVar = MethodInfo(
        title="linear equations, as many as cells",
        family="equations",
        input="any",
        gives="table",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return Exact(rates)


@predictor_class
class OLEAP(_Equations):
    """All linear equations for the table, solved by least squares.

    The equations are those of `LEAP` for every class: more than the table has cells. The
    order of the classes does not matter.
    """

    info: ClassVar = MethodInfo(
        title="linear equations, all of them",
        family="equations",
        input="any",
        gives="table",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return LeastSquaresTables(rates, every=True)


@predictor_class
class SLEAP(_Equations):
    """Rates of the reference times shares of the sample."""

    info: ClassVar = MethodInfo(
        title="rates times shares",
        family="equations",
        input="any",
        gives="table",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return ByRows(rates)
