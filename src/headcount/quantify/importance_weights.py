"""Methods that estimate the ratio of new to training shares: importance weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_not_negative
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import Input, MethodInfo
from headcount.representation import (
    Dense,
    Posterior,
    PredictedClass,
    Reduced,
    Reduction,
    Training,
)
from headcount.solve import LeastSquares, Solution

__all__ = ["BBSE", "RLLS"]

Array = NDArray[np.float64]


class _WithSoft(Quantifier):
    """Base of methods on mean posteriors or on shares of predicted classes."""

    soft: bool

    def _takes(self) -> Input:
        return "posteriors" if self.soft else "labels"

    def _moments(self) -> Moments:
        if not isinstance(self.soft, bool | np.bool_):
            raise HeadcountError(
                f"soft is {self.soft!r}; it must be True (mean posteriors) or False (predicted "
                "classes)."
            )
        return Moments(Posterior() if self.soft else PredictedClass(), LeastSquares())


class BBSE(_WithSoft):
    """Black box shift estimation: importance weights that explain the predictions.

    The weight of a class is its share in the sample divided by that in training. Weights w
    solve C w = q by least squares, where q are the shares of the predicted classes in the
    sample and C the joint shares of true and predicted classes in training. Shares are kept
    on the simplex, so the estimates are those of `GAC`, or of `GPAC` if `soft`.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    soft : bool, default=False
        Mean posteriors instead of shares of predicted classes.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import BBSE
    >>> X, y = make_classification(400, random_state=0)
    >>> quantifier = BBSE(random_state=0).fit(X[:200], y[:200])
    >>> quantifier.predict(X[200:]).round(1)
    array([0.5, 0.5])
    >>> (quantifier.predict(X[200:]) / quantifier.prior_).round(1)  # the weights
    array([1., 1.])
    """

    info: ClassVar = MethodInfo(
        title="black box shift estimation",
        family="adjusted count",
        input="labels",
        reference="Lipton et al., ICML 2018",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        soft: bool = False,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.soft = soft

    def _aggregation(self) -> Aggregation:
        return self._moments()


class RLLS(_WithSoft):
    """Regularised learning under label shift: `BBSE` with weights shrunk towards 1.

    Minimises |C w - q|^2 + d K sum_j t_j (w_j - 1)^2 over weights w whose shares are on the
    simplex, where t are the training shares of the K classes and
    d = shrinkage v (1/n + 1/m). Here n and m are the numbers of items in training and in the
    sample, and v is the variance of a prediction within a class, averaged over classes and
    columns. If `shrinkage` is one over the variance of the weights, d is the variance of the
    noise in q. (The original has |w - 1|^2, which is the same if the training shares are
    equal, and bounds the noise by a multiple of the square root of 1/n.)

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    soft : bool, default=True
        Mean posteriors instead of shares of predicted classes.
    shrinkage : float, default=0.3
        Strength of the penalty; 0 is `BBSE`.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import RLLS
    >>> X, y = make_classification(400, random_state=0)
    >>> RLLS(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="regularised learning under label shift",
        family="adjusted count",
        reference="Azizzadenesheli et al., ICLR 2019",
        inconsistency="shrinks towards the training shares",
        depends_on_size=True,
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        soft: bool = True,
        shrinkage: float = 0.3,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.soft = soft
        self.shrinkage = shrinkage

    def _aggregation(self) -> Aggregation:
        shrinkage = check_not_negative("shrinkage", self.shrinkage)
        return _ShrunkWeights(self._moments(), shrinkage)


@dataclass(frozen=True, eq=False)
class _ShrunkWeights(Aggregation):
    """Least squares for the shares, with a penalty on weights other than 1.

    C w is M p, the mixture of the class means. The penalty is one more equation per class,
    with the factor sqrt(d K t_j): the value seen is 1, that of the mixture is p_j divided by
    the training share t_j.
    """

    moments: Moments
    shrinkage: float
    prior: Array | None = None
    variance: float = 0.0
    n_training: float = 1.0

    def fit(self, training: Training) -> _ShrunkWeights:
        moments = self.moments.fit(training)
        squares = moments.profiles  # of ones and zeros
        if isinstance(moments.representation, Posterior):
            assert training.items is not None
            squares = training.class_means(Dense(np.asarray(training.items) ** 2))
        within = training.prior @ (squares - moments.profiles**2)
        return replace(
            self,
            moments=moments,
            prior=training.prior,
            variance=max(float(within.mean()), 0.0),
            n_training=training.effective_size,
        )

    def reduction(self) -> tuple[Reduction, ...] | None:
        return self.moments.reduction()

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        seen = np.asarray(reduced[0])
        # Samples of equal size have the same penalty.
        distinct, which = np.unique(sizes, return_inverse=True)
        order = np.argsort(which, kind="stable")
        edges = np.searchsorted(which[order], np.arange(len(distinct) + 1))
        solutions = [
            self._solve_alike(seen[order[edges[i] : edges[i + 1]]], size)
            for i, size in enumerate(distinct)
        ]
        return _in_order(Solution.concatenate(solutions), order)

    def _solve_alike(self, seen: Array, size: int) -> Solution:
        assert self.prior is not None
        penalty = self.shrinkage * self.variance * (1 / self.n_training + 1 / size)
        root = np.sqrt(penalty * len(self.prior) * self.prior)
        return self.moments.solver.solve(
            np.hstack([self.moments.profiles, np.diag(root / self.prior)]),
            np.hstack([seen, np.tile(root, (len(seen), 1))]),
        )


def _in_order(solution: Solution, order: NDArray[np.int64]) -> Solution:
    """Results of samples that were solved in the given order, in their original order."""
    place = np.argsort(order)
    return Solution(
        solution.prevalence[place],
        solution.converged[place],
        solution.iterations[place],
        solution.objective[place],
    )
