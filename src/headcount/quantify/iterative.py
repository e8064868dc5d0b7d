"""Methods that relabel the sample until count and threshold agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.iterate import iterate_threshold
from headcount._parameters import check_count, check_positive
from headcount._threads import each_range
from headcount.quantify.aggregation import Aggregation
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution

__all__ = ["CDE"]


class CDE(Quantifier):
    """Class distribution estimation: count, move the threshold accordingly, repeat.

    Two classes. An item is positive if its posterior exceeds c0 / (c0 + c1), where c0
    and c1 are the ratios of the current shares of the negative and the positive class to
    their shares in training. A count of none or all positive is final.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    tol : float, default=1e-6
        Stop when the threshold changes by no more than this.
    max_iter : int, default=1000
        The most counts made.
    cv : int or splitter, default=5
        Folds for scoring the training items; not needed by this method.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import CDE
    >>> X, y = make_classification(400, random_state=0)
    >>> CDE().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="class distribution estimation",
        family="iterative",
        input="posteriors",
        multiclass="one-vs-rest",
        shift="prior",
        reference="Xue & Weiss, KDD 2009",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.random_state = random_state

    def _learns_from_scores(self) -> bool:
        return False

    def _aggregation(self) -> Aggregation:
        return _MovingThreshold(
            check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        )


@dataclass(frozen=True, eq=False)
class _MovingThreshold:
    tol: float
    max_iter: int
    prior: float = 0.5

    def fit(self, training: Training) -> _MovingThreshold:
        return replace(self, prior=float(training.prior[1]))

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        scores = np.ascontiguousarray(items[:, 1])
        positive, changes = np.empty(len(samples)), np.empty(len(samples))
        steps = np.empty(len(samples), np.int32)

        def work(start: int, stop: int) -> None:
            iterate_threshold(
                scores, samples.indices, samples.offsets, self.prior, self.tol,
                self.max_iter, start, stop, positive, steps, changes,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        return Solution(
            np.column_stack([1 - positive, positive]),
            changes <= self.tol,
            steps,
            np.full(len(samples), np.nan),
        )
