"""Classifier of every benchmark, fitted once on the same rows for both sides."""

from __future__ import annotations

import zlib
from typing import ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from workloads import Workload

__all__ = ["FOLDS", "RememberedLogistic", "new_classifier", "shared_scores"]

FOLDS = StratifiedKFold(5)


class RememberedLogistic(LogisticRegression):
    """Logistic regression that keeps its coefficients and reuses them for the same rows.

    Both sides then have identical scores, and their fit times leave out the classifier.
    ``fits`` counts the sets of rows: six when both sides used the same five
    folds and the whole training set.
    """

    _memory: ClassVar[dict] = {}

    @classmethod
    def fits(cls) -> int:
        return len(cls._memory)

    def fit(self, X, y, sample_weight=None):
        key = (_digest(X), _digest(y), str(self.get_params()))
        if key not in self._memory:
            super().fit(X, y, sample_weight=sample_weight)
            self._memory[key] = vars(self).copy()
        vars(self).update(self._memory[key])
        return self


def _digest(array) -> tuple:
    array = np.ascontiguousarray(array)
    return array.shape, zlib.crc32(array.view(np.uint8))


def new_classifier() -> RememberedLogistic:
    return RememberedLogistic(max_iter=1000)


def shared_scores(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-fold scores of the training set, and scores of the pool."""
    classifier = new_classifier()
    training = cross_val_predict(
        classifier, workload.X, workload.y, cv=FOLDS, method="predict_proba"
    )
    pool = classifier.fit(workload.X, workload.y).predict_proba(workload.X_pool)
    return training, pool
