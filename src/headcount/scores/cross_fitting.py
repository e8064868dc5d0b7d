"""Classifiers fitted on all training items, and on the training folds of cross-fitting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from headcount.data import take_rows
from headcount.errors import HeadcountError
from headcount.scores.folds import Fold
from headcount.scores.logistic import cross_fit, is_supported
from headcount.scores.outputs import request_weights, weight_parameter

__all__ = ["CrossFits", "Crossed", "check_classifier"]

Crossed = tuple[Any, NDArray[np.intp] | slice]
"""A classifier, and the rows of the training items that it scores."""


def check_classifier(classifier: Any) -> Any:
    """Classifier of a scorer, logistic regression by default; others are refused."""
    if classifier is None:
        return LogisticRegression(max_iter=1000)
    needed = ("fit", "predict", "get_params")
    if isinstance(classifier, type) or not all(hasattr(classifier, name) for name in needed):
        raise HeadcountError(
            f"classifier is {classifier!r}, but must be a scikit-learn classifier "
            "(an object with fit, predict and get_params): pass for instance "
            "LogisticRegression()."
        )
    return classifier


class CrossFits:
    """Copies of a classifier, fitted on labelled items and on parts of them.

    Parameters
    ----------
    classifier : classifier
        It is cloned, unless frozen.
    X : features
        The items.
    classes : ndarray of shape (K,)
        The classes.
    codes : ndarray of shape (n,)
        Labels of the items, as positions in `classes`.
    weights : ndarray of shape (n,) or None
        Weights of the items.
    make_folds : callable
        Returns the folds; None if a class is too small to split.

    Attributes
    ----------
    targets : ndarray of shape (K,)
        Labels that the classifiers were trained on: the classes, or their positions.
    """

    def __init__(
        self,
        classifier: Any,
        X: Any,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        make_folds: Callable[[], list[Fold] | None],
    ) -> None:
        self.classifier, self.X, self.targets = classifier, X, classes
        self._classes, self._codes, self._weights = classes, codes, weights
        self._make_folds = make_folds
        self._crossed: Iterable[Crossed] | None = None
        self._whole: Any = None

    def whole(self, *, with_folds: bool) -> Any:
        """Classifier fitted on all items; logistic regression on the folds as well."""
        if isinstance(self.classifier, FrozenEstimator):
            _check_frozen(self.classifier, self._classes)
            self._whole = self.classifier
        elif is_supported(self.classifier):
            self._crossed = self._cross_fit(self._make_folds() if with_folds else None)
        else:
            self._whole = self._fit_whole()
        return self._whole

    def crossed(self) -> Iterable[Crossed]:
        """Each model that scores training items, with the rows of these items."""
        return self._models() if self._crossed is None else self._crossed

    def _fit_whole(self) -> Any:
        """Classifier trained on everything; it determines the labels of all others."""
        try:
            return self._fit_clone()
        except HeadcountError:
            raise
        except (ValueError, TypeError) as refused:  # XGBoost, skorch
            codes = np.arange(len(self._classes))
            known = self._classes.tolist() == codes.tolist()
            if known or type_of_target(self._classes) not in ("binary", "multiclass"):
                raise
            self.targets = codes
            try:
                return self._fit_clone()
            except Exception:
                raise refused from None

    def _fit_clone(self, rows: NDArray[np.intp] | slice = slice(None)) -> Any:
        """Clone of the classifier, fitted on some rows of the items."""
        items = self.X if isinstance(rows, slice) else take_rows(self.X, rows)
        return self._fit_on(self.classifier, items, rows)

    def _fit_on(self, classifier: Any, items: Any, rows: NDArray[np.intp] | slice) -> Any:
        """Clone of a classifier, fitted on items that are the given rows."""
        fitted = clone(classifier)
        weights = {}
        if self._weights is not None:
            parameter = weight_parameter(fitted)
            if parameter is None:
                raise HeadcountError(
                    f"sample_weight was given, but {type(fitted).__name__} takes none when "
                    "fitted: leave it out or choose another classifier."
                )
            weights = {parameter: self._weights[rows]}
            if get_config()["enable_metadata_routing"]:
                request_weights(fitted)
        fitted.fit(items, self.targets[self._codes[rows]], **weights)
        return fitted

    def _cross_fit(self, folds: list[Fold] | None) -> list[Crossed]:
        """Fit logistic regression on everything and on the training folds, all at once."""
        trains = [train for train, _ in folds or ()]
        first, *others = cross_fit(
            self.classifier, self.X, self._classes, self._codes, trains, self._weights
        )
        self._whole = self._fit_clone() if first is None else first
        if folds is None:
            return [(self._whole, slice(None))]
        return [
            (self._fit_clone(train) if model is None else model, test)
            for model, (train, test) in zip(others, folds, strict=True)
        ]

    def _models(self) -> Iterator[Crossed]:
        frozen = isinstance(self.classifier, FrozenEstimator)
        folds = None if frozen else self._make_folds()
        if folds is None:
            yield self._whole, slice(None)
            return
        for train, test in folds:
            yield self._fit_clone(train), test


def _check_frozen(classifier: Any, classes: NDArray[Any]) -> None:
    try:
        check_is_fitted(classifier)
    except NotFittedError:
        raise HeadcountError(
            "classifier is frozen, but was never fitted: fit it before it is wrapped in "
            "FrozenEstimator."
        ) from None
    if not hasattr(classifier, "classes_"):
        raise HeadcountError(
            "classifier is frozen and has no classes_, so its columns cannot be told apart: "
            "wrap one that follows scikit-learn's conventions."
        )
    known, given = np.asarray(classifier.classes_).tolist(), classes.tolist()
    strange = [label for label in given if label not in known]
    if strange:
        raise HeadcountError(
            f"y has the label {strange[0]!r}, which the frozen classifier does not know (its "
            f"classes are {known}): drop these items or train it on them."
        )
    missing = [label for label in known if label not in given]
    if missing:
        raise HeadcountError(
            f"y has no items of class {missing[0]!r}, which the frozen classifier predicts: "
            "add some, as the share of a class cannot be learnt without examples."
        )
