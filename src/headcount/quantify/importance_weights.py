"""Methods that estimate how much more or less frequent each class has become."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import Input, MethodInfo
from headcount.representation import Dense, Posterior, PredictedClass, Training
from headcount.sampling import Samples
from headcount.solve import LeastSquares, Solution

__all__ = ["BBSE", "RLLS"]

Array = NDArray[np.float64]


class BBSE(Quantifier):
    """Black box shift estimation: the weights of classes that explain the predictions.

    The weight of a class is its share in the sample over that in training. Weights w solve
    C w = q by least squares, q the shares of the predicted classes in the sample and C those
    of true and predicted classes together in training; shares are kept on the simplex, which
    makes them those of `GAC`, or of `GPAC` if `soft`.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    soft : bool, default=False
        Mean posteriors instead of shares of predicted classes.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

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
        multiclass="native",
        shift="prior",
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
        self.classifier = classifier
        self.soft = soft
        self.cv = cv
        self.random_state = random_state

    def _input(self) -> Input:
        return "posteriors" if self.soft else "labels"

    def _aggregation(self) -> Aggregation:
        return Moments(_representation(self.soft), LeastSquares())


class RLLS(Quantifier):
    """Regularised learning under label shift: `BBSE` with weights shrunk towards 1.

    Minimises |C w - q|^2 + d K sum_j t_j (w_j - 1)^2 over weights w whose shares are on the
    simplex; t are the training shares of the K classes. The less there is to learn from, the
    larger d = alpha v (1/n + 1/m): n and m are the numbers of items in training and in the
    sample, v is the variance of a prediction within a class, averaged over classes and
    columns. So d is the variance of the noise in q, if `alpha` is one over the variance of the
    weights: 1 expects them to be 1, give or take 1. (The original has |w - 1|^2, which is the
    same if the training shares are equal, and bounds the noise by a multiple of the square
    root of 1/n.)

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    soft : bool, default=True
        Mean posteriors instead of shares of predicted classes.
    alpha : float, default=0.3
        Strength of the penalty; 0 is `BBSE`.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

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
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Azizzadenesheli et al., ICLR 2019",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        soft: bool = True,
        alpha: float = 0.3,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.soft = soft
        self.alpha = alpha
        self.cv = cv
        self.random_state = random_state

    def _input(self) -> Input:
        return "posteriors" if self.soft else "labels"

    def _aggregation(self) -> Aggregation:
        return _ShrunkWeights(
            Moments(_representation(self.soft), LeastSquares()), _check_alpha(self.alpha)
        )


def _representation(soft: Any) -> PredictedClass | Posterior:
    if not isinstance(soft, bool | np.bool_):
        raise HeadcountError(
            f"soft is {soft!r}; it must be True (mean posteriors) or False (predicted classes)."
        )
    return Posterior() if soft else PredictedClass()


def _check_alpha(alpha: Any) -> float:
    number = isinstance(alpha, numbers.Real) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha < float("inf"):
        raise HeadcountError(f"alpha is {alpha!r}; it must be a finite number of at least 0.")
    return float(alpha)


@dataclass(frozen=True, eq=False)
class _ShrunkWeights(Aggregation):
    """Least squares for the shares, with a penalty on weights away from 1.

    C w is M p, the mixture of the class means. The penalty is one more thing to explain for
    each class: seen is 1, times the root of d K t_j, and the mixture has p_j over its share
    t_j in training, times the same.
    """

    moments: Moments
    alpha: float
    prior: Array | None = None
    variance: float = 0.0
    n_training: float = 1.0

    def fit(self, training: Training) -> _ShrunkWeights:
        moments = self.moments.fit(training)
        squares = moments.profiles  # those of ones and zeros
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

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        seen = self.moments.representation.embed(items).means(samples)
        # Samples of one size share a penalty.
        sizes, which = np.unique(samples.n_items, return_inverse=True)
        order = np.argsort(which, kind="stable")
        edges = np.searchsorted(which[order], np.arange(len(sizes) + 1))
        parts = [
            self._solve_alike(seen[order[edges[i] : edges[i + 1]]], size)
            for i, size in enumerate(sizes)
        ]
        return _in_order(Solution.concatenate(parts), order)

    def _solve_alike(self, seen: Array, size: int) -> Solution:
        assert self.prior is not None
        penalty = self.alpha * self.variance * (1 / self.n_training + 1 / size)
        root = np.sqrt(penalty * len(self.prior) * self.prior)
        return self.moments.solver.solve(
            np.hstack([self.moments.profiles, np.diag(root / self.prior)]),
            np.hstack([seen, np.tile(root, (len(seen), 1))]),
        )


def _in_order(solution: Solution, order: NDArray[np.int64]) -> Solution:
    """What was solved in the given order, back in its own."""
    place = np.argsort(order)
    return Solution(
        solution.prevalence[place],
        solution.converged[place],
        solution.iterations[place],
        solution.objective[place],
    )
