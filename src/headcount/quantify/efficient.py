"""Adjusted counts with the moments that are efficient for the shares."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.statistics import weighted_means
from headcount._parameters import check_count
from headcount._threads import each_range
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import AggregativeQuantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Posterior, Training
from headcount.sampling import Samples
from headcount.solve import LeastSquares, Solution

Floats = NDArray[np.float64]

# Shares are not changed in directions in which the classes differ less than this, relative to
# the largest difference, nor if all are alike.
_SINGULAR = 1e-9


@dataclass(eq=False, repr=False, kw_only=True)
class ELSA(AggregativeQuantifier):
    """Efficient label shift adaptation: adjusted counts with efficient moments.

    `GPAC` matches the means of the posteriors. Here the means of the efficient influence
    function are matched, which have the smallest asymptotic variance. It is the solution b of
    b = [S + r E(w(Y) E(b|Y) | x)] / [1 + r E(w(Y)|x)], where S is the score of the likelihood,
    w the ratio of the shares of a class in the sample and in training, and r the ratio of the
    numbers of items. Expectations are over the posteriors under the shares of the sample. Both
    the function and the shares solve linear systems. Shares of `GPAC` give the first weights.
    Posteriors that are not calibrated make the estimate less efficient, not biased.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    steps : int, default=1
        Number of times the function is renewed, each time with the shares found so far, to
        which one more item of each class is added.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import ELSA
    >>> X, y = load_iris(return_X_y=True)
    >>> ELSA(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="efficient label shift adaptation",
        family="adjusted count",
        reference="Tian, Zhang & Zhao, ICML 2023",
        depends_on_size=True,
    )
    steps: int = 1

    def _aggregation(self) -> Aggregation:
        first = Moments(Posterior(), LeastSquares())
        return _EfficientMoments(first, check_count("steps", self.steps))


@dataclass(frozen=True, eq=False)
class _EfficientMoments(Aggregation):
    """Moments that are renewed for the shares found so far, sample by sample."""

    first: Moments
    steps: int
    training: Training = field(default_factory=lambda: Training(None, np.empty(0, np.int64), 0))

    def fit(self, training: Training) -> _EfficientMoments:
        items = np.ascontiguousarray(training.items, dtype=np.float64)
        return replace(
            self, first=self.first.fit(training), training=replace(training, items=items)
        )

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        solution = self.first.solve(items, samples)
        for _ in range(self.steps):
            solution = self._renewed(solution.prevalence, items, samples)
        return replace(solution, iterations=np.full(len(samples), self.steps, np.int32))

    def _renewed(self, shares: Floats, items: NDArray[Any], samples: Samples) -> Solution:
        """Shares by the moments that are efficient for the given ones."""
        training, scores = self.training, np.ascontiguousarray(items, dtype=np.float64)
        S, K = shares.shape
        sizes = np.asarray(samples.n_items, dtype=np.float64)
        # One more item of each class, so that no weight is zero.
        likely = (sizes[:, None] * shares + 1) / (sizes[:, None] + K)
        weights, ratios = likely / training.prior, sizes / training.effective_size
        profiles, means = np.empty((S, K, K)), np.empty((S, K))

        def work(start: int, stop: int) -> None:
            weighted_means(
                training.items, training.codes, training.class_weights, scores, samples.indices,
                samples.offsets, weights, ratios, start, stop, profiles, means,
            )  # fmt: skip

        each_range(work, S, grain=20)
        return LeastSquares().solve(
            np.eye(K),
            shares + _step(shares, likely, ratios[:, None] * weights, profiles, means),
        )


def _step(
    shares: Floats, likely: Floats, pull: Floats, profiles: Floats, means: Floats
) -> Floats:
    """Change of the shares after which the efficient moments of sample and mixture agree."""
    K = shares.shape[1]
    score = np.eye(K) / likely[:, None, :] - 1
    loadings = np.linalg.solve(np.eye(K) - pull[:, :, None] * profiles, score)
    of_classes = profiles @ loadings
    missing = (means[:, None, :] - shares[:, None, :] @ profiles) @ loadings
    # Without the mean over the classes, as the changes of all shares sum to zero.
    slopes = of_classes - of_classes.mean(axis=1, keepdims=True)
    alike = np.abs(slopes).max(axis=(1, 2)) <= _SINGULAR * np.abs(loadings).max(axis=(1, 2))
    slopes[alike] = 0.0
    return np.asarray((missing @ np.linalg.pinv(slopes, rcond=_SINGULAR))[:, 0])
