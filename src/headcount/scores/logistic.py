"""Logistic regression and its cross-fitting, for less than the price of separate fits.

The model on all items is fitted first. Each training fold differs from it by a few items, so
its model is a few steps away. New items are scored by the models of all folds at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from headcount.scores.newton import Floats, Items, Minimum, minimise

__all__ = ["cross_fit", "is_supported", "stacked_posteriors"]

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
    for found in _minima(Items(X, intercept), target, weights, guess, classifier.tol):
        if found is None:
            models.append(None)
            continue
        for theta in found.theta:
            coef, constants = theta[:, :d], np.zeros(len(theta))
            if intercept:
                constants = theta[:, d] - coef @ centre
            if len(outputs) > 1:
                constants -= constants.mean()
            model = copy(fitted)
            model.coef_, model.intercept_ = coef.astype(dtype), constants.astype(dtype)
            model.n_iter_ = np.array([found.n_steps], np.int32)
            models.append(model)
    return models


def stacked_posteriors(
    models: Sequence[Any], X: Any, classes: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Posteriors by several logistic regressions, whose coefficients are multiplied at once.

    Parameters
    ----------
    models : sequence of classifier
        Fitted classifiers.
    X : array-like, sparse matrix or frame of shape (n, d)
        The items.
    classes : ndarray of shape (K,)
        The classes.

    Returns
    -------
    ndarray of shape (F, n, K) or None
        Equal to ``predict_proba`` of each but for rounding. None if a model is no supported
        `LogisticRegression` of all the classes, or has scores that are not finite, so that
        its own ``predict_proba`` is to be used.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(random_state=0)
    >>> models = [LogisticRegression(C=C).fit(X, y) for C in (0.1, 1.0)]
    >>> stacked_posteriors(models, X, np.array([0, 1])).shape
    (2, 100, 2)
    """
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
        own = posteriors[:, rows]
        if K == 2:
            second = _logistic(scores).T
            own[:, :, 1] = second
            np.subtract(1.0, second, out=own[:, :, 0])
        else:
            own[:] = scores.reshape(-1, F, K).transpose(1, 0, 2)
            own -= own.max(axis=2, keepdims=True)
            np.exp(own, out=own)
            own /= own.sum(axis=2, keepdims=True)
    return posteriors


def _logistic(scores: Floats) -> Floats:
    """Logistic function, in place."""
    np.negative(scores, out=scores)
    with np.errstate(over="ignore"):
        np.exp(scores, out=scores)
    scores += 1.0
    return np.divide(1.0, scores, out=scores)


def _is_plain(model: Any, classes: NDArray[Any]) -> bool:
    """True if posteriors are the logistic function or the softmax of linear functions."""
    return (
        type(model) is LogisticRegression
        and model.solver in _SOLVERS
        and getattr(model, "multi_class", "deprecated") == "deprecated"  # of older versions
        and model.coef_.dtype == np.float64
        and np.array_equal(model.classes_, classes)
    )


def _without_features(totals: Floats) -> Floats:
    """Intercepts of the best model without features, given the total weight of each class."""
    logs = np.log(totals)
    return logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()


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
