"""Quantifiers for items that their own classifier has scored already, batch by batch."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["both_scores", "taking_scores"]


def both_scores(scorer: Any, X: Any) -> NDArray[np.float64]:
    """Posteriors by the classifier, and beside them those by the folds' classifiers."""
    return np.hstack([scorer.posteriors(X), scorer.posteriors_by_folds(X)])


def taking_scores(quantifier: Any) -> Any:
    """The same quantifier, but one that is given `both_scores` where it was given items.

    Unlike with `predict_scores`, all that its classifier said of the training items is
    still known, so that the assumption can be tested.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted on items, with one classifier.

    Returns
    -------
    Quantifier
        A copy.
    """
    taking = copy(quantifier)
    taking.scorer_ = _Scored(quantifier.scorer_)
    if hasattr(quantifier, "best_quantifier_"):
        taking.best_quantifier_ = taking_scores(quantifier.best_quantifier_)
    return taking


class _Scored:
    """A scorer to which `both_scores` are handed instead of items."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def posteriors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ascontiguousarray(scores[:, : len(self._scorer.classes_)])

    def posteriors_by_folds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ascontiguousarray(scores[:, len(self._scorer.classes_) :])

    def labels(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.posteriors(scores).argmax(axis=1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)
