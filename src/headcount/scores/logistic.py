"""Logistic regression and its cross-fitting, for less than the price of separate fits.

The model on all items is fitted first. Each training fold differs from it by a few items, so
its model is a few steps away.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from headcount.scores.newton import Floats, Items, Minimum, minimise

__all__ = ["LinearModel", "cross_fit", "fit_linear_models", "is_supported"]

_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
_FREE = {"C", "fit_intercept", "max_iter", "random_state", "solver", "tol"}
# Folds are fitted together if arrays of all their outputs stay this small.
_MAX_TOGETHER = 2_000_000


def is_supported(classifier: Any) -> bool:
    """Return True if `cross_fit` minimises what the classifier's own ``fit`` minimises.

    That holds for scikit-learn's ``LogisticRegression`` with an L2 penalty and a solver that
    leaves the intercept free (lbfgs, newton-cg, newton-cholesky). ``C``, ``fit_intercept`` and
    ``tol`` may be set, and ``max_iter`` to 100 or more: with fewer, an early stop is wanted.
    Other parameters must have their defaults.

    Parameters
    ----------
    classifier : object
        An unfitted classifier.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> is_supported(LogisticRegression(C=10)), is_supported(LogisticRegression(max_iter=5))
    (True, False)
    """
    if type(classifier) is not LogisticRegression:
        return False
    given, default = classifier.get_params(), LogisticRegression().get_params()
    C, tol, max_iter = given["C"], given["tol"], given["max_iter"]
    return (
        all(given[name] == default[name] for name in default.keys() - _FREE)
        and given["solver"] in _SOLVERS
        and isinstance(given["fit_intercept"], bool)
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
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    trains: Sequence[NDArray[np.intp]],
    sample_weight: Floats | None = None,
) -> list[LogisticRegression | None]:
    """Fit a supported classifier on all items, and on each of several training folds.

    Parameters
    ----------
    classifier : LogisticRegression
        A supported one. It is not changed.
    X : array-like, sparse matrix or frame of shape (n, d)
        The items.
    classes : ndarray of shape (K,)
        The classes, sorted.
    codes : ndarray of shape (n,)
        Classes of the items, as positions in `classes`.
    trains : sequence of ndarray of int
        Rows of the training folds, with items of all classes in each.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the items.

    Returns
    -------
    list of LogisticRegression or None
        Fitted: that of all items, then those of the folds. None where the solution was not
        accepted (see `minimise`), and the classifier's own ``fit`` is to be used.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(random_state=0)
    >>> trains = [np.arange(50, 100), np.arange(50)]
    >>> models = cross_fit(LogisticRegression(), X, np.unique(y), y, trains)
    >>> [model.coef_.shape for model in models]
    [(1, 20), (1, 20), (1, 20)]
    """
    fitted = clone(classifier)
    X = validate_data(fitted, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    fitted.classes_ = classes
    counts = [
        np.ones(len(codes)),
        *(np.bincount(rows, minlength=len(codes)) for rows in trains),
    ]
    weights = classifier.C * np.array(counts)
    found = fit_linear_models(
        X,
        codes,
        weights if sample_weight is None else weights * sample_weight,
        n_classes=len(classes),
        intercept=classifier.fit_intercept,
        tol=classifier.tol,
    )
    return [None if each is None else _as_fitted(fitted, each, X.dtype) for each in found]


def _as_fitted(
    classifier: LogisticRegression, model: LinearModel, dtype: Any
) -> LogisticRegression:
    fitted = copy(classifier)
    fitted.coef_ = model.coef.astype(dtype)
    fitted.intercept_ = model.intercept.astype(dtype)
    fitted.n_iter_ = np.array([model.n_steps], np.int32)
    return fitted


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Coefficients of logistic regression, as scikit-learn has them.

    Attributes
    ----------
    coef : ndarray of shape (1, d) or (K, d)
        One row for the second of two classes, or one row per class.
    intercept : ndarray of shape (1,) or (K,)
        Intercepts.
    n_steps : int
        Steps of Newton's method.
    """

    coef: Floats
    intercept: Floats
    n_steps: int = 0


def fit_linear_models(
    X: Any,
    codes: NDArray[np.int64],
    weights: Floats,
    *,
    n_classes: int,
    intercept: bool = True,
    tol: float = 1e-4,
    start: LinearModel | None = None,
) -> list[LinearModel | None]:
    """Fit logistic regression to differently weighted items.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The items.
    codes : ndarray of shape (n,)
        Their classes, 0 to K - 1.
    weights : ndarray of shape (F, n)
        Weights of the losses. The first model is fitted first, the others from there.
    n_classes : int
        Number K of classes.
    intercept : bool, default=True
        Fit intercepts.
    tol : float, default=1e-4
        As in ``LogisticRegression``.
    start : LinearModel, default=None
        First guess, such as the model of a similar training set.

    Returns
    -------
    list of LinearModel or None
        One per row of the weights; None where the solution was not accepted.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> weights = np.array([[1, 1, 1, 1], [0, 0, 1, 1]])
    >>> every, last = fit_linear_models(X, y, weights, n_classes=2)
    >>> every.coef.round(3), last.coef.round(3)
    (array([[0.453]]), array([[0.445]]))
    """
    d = X.shape[1]
    rows = np.arange(n_classes)[-1:] if n_classes == 2 else np.arange(n_classes)
    target = (codes == rows[:, None]).astype(np.float64)
    X, centre = X.astype(np.float64, copy=False), np.zeros(d)
    if intercept and not issparse(X):
        centre = X.mean(axis=0)
        X = X - centre
    if start is None:
        start = _without_features(np.bincount(codes, weights[0], n_classes), d)
    guess = np.column_stack([start.coef, start.intercept + start.coef @ centre])
    guess = guess[None, :, : d + intercept]
    models: list[LinearModel | None] = []
    for found in _minima(Items(X, intercept), target, weights, guess, tol):
        if found is None:
            models.append(None)
            continue
        for theta in found.theta:
            coef, constant = theta[:, :d], np.zeros(len(theta))
            if intercept:
                constant = theta[:, d] - theta[:, d].mean() * (n_classes > 2) - coef @ centre
            models.append(LinearModel(coef, constant, found.n_steps))
    return models


def _without_features(totals: Floats, n_features: int) -> LinearModel:
    """Best model without features, given the total weight of each class."""
    logs = np.log(np.maximum(totals, np.finfo(np.float64).tiny))
    logs = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
    return LinearModel(np.zeros((len(logs), n_features)), logs)


def _minima(
    items: Items, target: Floats, weights: Floats, guess: Floats, tol: float
) -> list[Minimum | None]:
    """Minimum for the first weights, then those for the others, together or one by one."""
    first = minimise(items, target, weights[:1], guess, tol=tol)
    if first is None:
        return [None] * len(weights)
    others, start, shared = weights[1:], first.theta, first.preconditioner
    together = not issparse(items.matrix) or len(target) == 1
    if len(others) and together and others.size * len(target) <= _MAX_TOGETHER:
        start = np.repeat(start, len(others), axis=0)
        found = minimise(items, target, others, start, tol=tol, preconditioner=shared)
        return [first, *([None] * len(others) if found is None else [found])]
    each: list[Minimum | None] = [first]
    for own in others:
        rows = np.flatnonzero(own)
        part = Items(items.matrix[rows], items.intercept)
        each.append(
            minimise(
                part, target[:, rows], own[None, rows], start, tol=tol, preconditioner=shared
            )
        )
    return each
