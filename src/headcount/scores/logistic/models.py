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
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from headcount.scores.logistic.loss import Floats, Items, Softmax
from headcount.scores.logistic.newton import Minimum, minimise

__all__ = ["LinearModel", "cross_fit", "fit_linear_models", "is_supported"]

Codes = NDArray[np.int64]

_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
_FREE = {"C", "class_weight", "fit_intercept", "max_iter", "random_state", "solver", "tol"}
# Folds are fitted together if arrays of all their outputs stay this small.
_MAX_TOGETHER = 2_000_000


def is_supported(classifier: Any, sample_weight: Floats | None = None) -> bool:
    """Whether `cross_fit` minimises what the classifier's own ``fit`` would minimise.

    It does for scikit-learn's ``LogisticRegression`` with an L2 penalty and a solver that
    leaves the intercept free (lbfgs, newton-cg, newton-cholesky). ``C``, ``fit_intercept``,
    ``class_weight`` and ``tol`` may be set; other parameters must have their defaults. With
    ``max_iter`` below 100 an early stop is wanted. With weights, ``class_weight="balanced"``
    depends on the version of scikit-learn. Both are left to the classifier.

    Parameters
    ----------
    classifier : object
        An unfitted classifier.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the items.

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
    balanced = isinstance(given["class_weight"], str)
    return (
        all(given[name] == default[name] for name in default.keys() - _FREE)
        and given["solver"] in _SOLVERS
        and isinstance(given["fit_intercept"], bool)
        and isinstance(C, float | int)
        and 0 < C < np.inf
        and isinstance(tol, float | int)
        and isinstance(max_iter, int)
        and max_iter >= default["max_iter"]
        and not (balanced and sample_weight is not None)
    )


def cross_fit(
    classifier: LogisticRegression,
    X: Any,
    classes: NDArray[Any],
    codes: Codes,
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
    sets = [np.arange(len(codes)), *trains]
    weights = [_weights(classifier, classes, codes, rows, sample_weight) for rows in sets]
    found = fit_linear_models(
        X,
        codes,
        np.stack(weights),
        n_classes=len(classes),
        intercept=classifier.fit_intercept,
        tol=classifier.tol,
    )
    return [None if each is None else _as_fitted(fitted, each, X.dtype) for each in found]


def _weights(
    classifier: LogisticRegression,
    classes: NDArray[Any],
    codes: Codes,
    rows: NDArray[np.intp],
    sample_weight: Floats | None,
) -> Floats:
    """Weight of the loss of each item, 0 for those not trained on."""
    found = classifier.C * np.bincount(rows, minlength=len(codes))
    if classifier.class_weight is not None:
        by_class = compute_class_weight(
            classifier.class_weight, classes=classes, y=classes[codes[rows]]
        )
        found *= by_class[codes]
    return found if sample_weight is None else found * sample_weight


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
    codes: Codes,
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
        Whether there are intercepts.
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
    softmax = Softmax(codes, n_classes)
    centre = np.zeros(X.shape[1])
    if intercept and not issparse(X):
        centre = X.mean(axis=0, dtype=np.float64)
    items = Items(X.astype(np.float64, copy=False) if issparse(X) else X - centre, intercept)
    if start is None:
        start = _without_features(np.bincount(codes, weights[0], n_classes), X.shape[1])
    guess = np.column_stack([start.coef, start.intercept + start.coef @ centre])
    guess = softmax.contrasts.T @ guess[:, : X.shape[1] + intercept]
    first = minimise(items, softmax, weights[:1], guess[None], tol=tol)
    if first is None:
        return [None] * len(weights)
    models: list[LinearModel | None] = []
    others = (
        _minimise_others(items, softmax, weights[1:], first, tol) if len(weights) > 1 else []
    )
    for found in [first, *others]:
        if found is None:
            models.append(None)
            continue
        by_class = softmax.contrasts @ found.weights[0]
        coef = by_class[:, : X.shape[1]]
        constant = by_class[:, -1] - coef @ centre if intercept else np.zeros(len(coef))
        models.append(LinearModel(coef, constant, found.n_steps))
    return models


def _without_features(totals: Floats, n_features: int) -> LinearModel:
    """Best model without features, given the total weight of each class."""
    logs = np.log(np.maximum(totals, np.finfo(np.float64).tiny))
    logs = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
    return LinearModel(np.zeros((len(logs), n_features)), logs)


def _minimise_others(
    items: Items, softmax: Softmax, weights: Floats, first: Minimum, tol: float
) -> list[Minimum | None]:
    """Minima for other weights of the same items, together or one after the other."""
    shared = first.preconditioner
    if (not issparse(items.matrix) or softmax.binary) and weights.size * softmax.n_outputs <= _MAX_TOGETHER:
        guess = np.repeat(first.weights, len(weights), axis=0)
        found = minimise(items, softmax, weights, guess, tol=tol, preconditioner=shared)
        return [None] * len(weights) if found is None else [*found.split()]
    each: list[Minimum | None] = []
    for own in weights:
        rows = np.flatnonzero(own)
        part, target = items.take(rows), softmax.take(rows)
        found = minimise(
            part, target, own[None, rows], first.weights, tol=tol, preconditioner=shared
        )
        if found is not None and shared.stale:
            shared = found.preconditioner
        each.append(found)
    return each
