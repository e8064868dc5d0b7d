"""Classifiers of prepared columns, and the choice between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from headcount._parameters import check_choice
from headcount.data.preparation import Preparation
from headcount.errors import HeadcountError
from headcount.scores import Scorer

__all__ = ["CLASSIFIERS", "best_scorer", "make_classifier"]

CLASSIFIERS = ("logistic", "forest", "boosting", "auto")
"""Classifiers by name."""
_TRIED = ("logistic", "boosting")


def best_scorer(
    preparation: Preparation, classifier: Any, X: Any, y: NDArray[Any], random_state: int
) -> tuple[Scorer, str]:
    """Scorer of prepared columns, fitted.

    Parameters
    ----------
    preparation : Preparation
        Treatment of the columns.
    classifier : {"logistic", "forest", "boosting", "auto"} or classifier
        "auto" fits logistic regression and gradient boosting, and returns the one with the
        lower log loss on items that it was not trained on. With texts it is logistic
        regression.
    X : polars.DataFrame
        The columns.
    y : ndarray of shape (n,)
        Labels.
    random_state : int
        Random seed.

    Returns
    -------
    scorer : Scorer
        The scorer.
    why : str
        Reason for the choice; empty if the caller chose.
    """
    has_texts = any(column.kind == "text" for column in preparation.columns)
    if isinstance(classifier, str):
        check_choice("`classifier`", classifier, CLASSIFIERS)
    if classifier == "boosting" and has_texts:
        raise HeadcountError(
            "`classifier` is 'boosting', which takes no columns of texts: choose logistic or "
            "forest, or leave these columns out."
        )
    if classifier != "auto":
        return _fitted(preparation, classifier, X, y, random_state), ""
    if has_texts:
        why = "classifier: logistic, as there are texts."
        return _fitted(preparation, "logistic", X, y, random_state), why
    scorers = {name: _fitted(preparation, name, X, y, random_state) for name in _TRIED}
    losses = {name: _log_loss(scorer) for name, scorer in scorers.items()}
    best = min(losses, key=losses.__getitem__)
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    return scorers[
        best
    ], f"classifier: {best}, by log loss on held-out labelled items ({listed})."


def _fitted(
    preparation: Preparation, classifier: Any, X: Any, y: NDArray[Any], random_state: int
) -> Scorer:
    pipeline = make_classifier(preparation, classifier, random_state)
    return Scorer(pipeline, random_state=random_state).fit(X, y)


def make_classifier(preparation: Preparation, classifier: Any, random_state: int) -> Pipeline:
    """Pipeline of the prepared columns and a classifier.

    Parameters
    ----------
    preparation : Preparation
        Treatment of the columns.
    classifier : {"logistic", "forest", "boosting"} or classifier
        Classifier, by name or from scikit-learn.
    random_state : int
        Random seed.

    Returns
    -------
    Pipeline
    """
    model = _named(classifier, random_state) if isinstance(classifier, str) else classifier
    columns = preparation.pipeline()
    if classifier == "boosting":
        columns.set_params(sparse_threshold=0)
    return make_pipeline(columns, model)


def _log_loss(scorer: Scorer) -> float:
    """Mean log loss of the out-of-fold posteriors."""
    own = scorer.posteriors_[np.arange(len(scorer.codes_)), scorer.codes_]
    return float(-np.log(np.clip(own, 1e-12, None)).mean())


def _named(name: str, random_state: int) -> BaseEstimator:
    # Imported here: trees take a while to import.
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            200, min_samples_leaf=3, n_jobs=-1, random_state=random_state
        )
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=random_state)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)
