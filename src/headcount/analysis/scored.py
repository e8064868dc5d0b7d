"""Quantifiers for items that their own classifiers have scored already, batch by batch."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.quantify import Conditioned

__all__ = ["all_scores", "taking_scores"]


def all_scores(scorer: Any, X: Any) -> NDArray[np.float64]:
    """Posteriors by the classifier, followed by those by the classifiers of the folds."""
    return np.hstack([scorer.posteriors(X), *scorer.fold_posteriors(X)])


def taking_scores(quantifier: Any) -> Any:
    """The same quantifier, but one that takes `all_scores` instead of items.

    Unlike with `predict_scores`, the scores by the folds are known, so that the assumption
    can be tested and estimates are conditioned on scores made as in training.

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
    if isinstance(quantifier, Conditioned):
        taking.members_ = [taking_scores(member) for member in quantifier.members_]
        taking.scorer_ = taking.members_[0].scorer_
        means: Any = quantifier.model_
        joint = replace(means.answers, members=taking.members_)
        taking.model_ = replace(means, answers=joint)
    else:
        taking.scorer_ = _Scored(quantifier.scorer_)
    return taking


class _Scored:
    """A scorer that takes `all_scores` instead of items."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def posteriors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ascontiguousarray(scores[:, : len(self._scorer.classes_)])

    def labels(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.posteriors(scores).argmax(axis=1)

    def fold_posteriors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        K = len(self._scorer.classes_)
        by_fold = scores[:, K:].reshape(len(scores), -1, K)
        return np.ascontiguousarray(by_fold.transpose(1, 0, 2))

    def fold_labels(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.fold_posteriors(scores).argmax(axis=2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)
