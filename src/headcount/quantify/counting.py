"""Methods that count without a correction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.quantify.aggregation import Aggregation, Counting
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import (
    Posterior,
    PredictedClass,
    Reduced,
    Reduction,
    Training,
)
from headcount.solve import Solution

__all__ = ["CC", "MLPE", "PCC"]


class MLPE(Quantifier):
    """Shares of the training set for every sample: unbiased if nothing has shifted.

    The baseline to compare methods with.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount import MLPE
    >>> MLPE().fit(np.zeros((4, 1)), ["a", "b", "b", "b"]).predict(np.zeros((9, 1)))
    array([0.25, 0.75])
    """

    info: ClassVar = MethodInfo(
        title="training shares",
        family="baseline",
        input="features",
        shift="none",
        reference="folklore",
        inconsistency="does not use the sample",
    )

    def __init__(self) -> None:
        pass

    def _aggregation(self) -> Aggregation:
        return _TrainingShares()


@dataclass(frozen=True, eq=False)
class _TrainingShares(Aggregation):
    """The training shares for every sample."""

    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> _TrainingShares:
        return _TrainingShares(training.prior)

    def reduction(self) -> tuple[Reduction, ...]:
        return ()

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        return Solution.closed_form(np.tile(self.prior, (len(sizes), 1)))


class CC(Quantifier):
    """Classify and count: the share of items that the classifier puts in each class.

    Biased as soon as the shares differ from those in training. It is a baseline, and useful
    with classifiers trained for quantification.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int, splitter or None, default=5
        Folds for scoring the training items, which only estimates with intervals need; None
        does without.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import CC
    >>> X, y = make_classification(400, random_state=0)
    >>> CC().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="classify and count",
        family="counting",
        input="labels",
        shift="none",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        inconsistency="counts the errors of the classifier",
    )

    def _learns_from_scores(self) -> bool:
        return False

    def _aggregation(self) -> Aggregation:
        return Counting(PredictedClass())


class PCC(Quantifier):
    """Probabilistic classify and count: the mean posterior of each class.

    Unbiased under pure covariate shift with a calibrated classifier, biased towards the
    training shares under prior shift.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int, splitter or None, default=5
        Folds for scoring the training items, which only estimates with intervals need; None
        does without.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import PCC
    >>> X, y = make_classification(400, random_state=0)
    >>> PCC().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="probabilistic classify and count",
        family="counting",
        shift="covariate",
        reference="Bella et al., ICDM 2010",
        inconsistency="posteriors refer to the training shares",
        aliases=("PA",),
    )

    def _learns_from_scores(self) -> bool:
        return False

    def _aggregation(self) -> Aggregation:
        return Counting(Posterior())
