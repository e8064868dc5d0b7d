"""Methods that estimate the ratio of new to training shares: importance weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from headcount._kernels.accumulation import weighted_means
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import parametrised
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_not_negative
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation, Moments
from headcount.parts.classifier_outputs import Posterior, PredictedClass
from headcount.parts.fitted import Input, MethodInfo
from headcount.parts.solvers import LeastSquares, Solution
from headcount.parts.training import Dense, Reduced, Reduction, Training
from headcount.quantifiers.base import AggregativeQuantifier, quantifier_class
from headcount.samples.samples import Samples


@parametrised
class _WithSoft(AggregativeQuantifier):
    """Base of methods on mean posteriors or on shares of predicted classes.

    Parameters
    ----------
    soft : bool, default=True
        Mean posteriors instead of shares of predicted classes.
    """

    soft: bool = True

    def _takes(self) -> Input:
        return "posteriors" if self.soft else "labels"

    def _moments(self) -> Moments:
        if not isinstance(self.soft, bool | np.bool_):
            raise HeadcountError(
                f"soft is {self.soft!r}; it must be True (mean posteriors) or False (predicted "
                "classes)."
            )
        return Moments(Posterior() if self.soft else PredictedClass(), LeastSquares())


@quantifier_class
class BBSE(_WithSoft):
    """Black box shift estimation: importance weights that explain the predictions.

    The weight of a class is its share in the sample divided by that in training. Weights w
    solve C w = q by least squares, where q are the shares of the predicted classes in the
    sample and C the joint shares of true and predicted classes in training. Shares are kept
    on the simplex, so the estimates are those of `GAC`, or of `GPAC` if `soft`.

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
    soft: bool = False

    def _aggregation(self) -> Aggregation:
        return self._moments()


@quantifier_class
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
    shrinkage : float, default=0.3
        Strength of the penalty; 0 is `BBSE`.
    """

    info: ClassVar = MethodInfo(
        title="regularised learning under label shift",
        family="adjusted count",
        reference="Azizzadenesheli et al., ICLR 2019",
        inconsistency="shrinks towards the training shares",
        depends_on_size=True,
    )
    shrinkage: float = 0.3

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
    prior: Floats | None = None
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

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        means = np.asarray(reduced[0])
        # Samples of equal size have the same penalty.
        distinct, which = np.unique(sizes, return_inverse=True)
        order = np.argsort(which, kind="stable")
        edges = np.searchsorted(which[order], np.arange(len(distinct) + 1))
        solutions = [
            self._solve_alike(means[order[edges[i] : edges[i + 1]]], size)
            for i, size in enumerate(distinct)
        ]
        return Solution.concatenate(solutions)[np.argsort(order)]

    def _solve_alike(self, seen: Floats, size: int) -> Solution:
        assert self.prior is not None
        penalty = self.shrinkage * self.variance * (1 / self.n_training + 1 / size)
        root = np.sqrt(penalty * len(self.prior) * self.prior)
        return self.moments.solver.solve(
            np.hstack([self.moments.profiles, np.diag(root / self.prior)]),
            np.hstack([seen, np.tile(root, (len(seen), 1))]),
        )


# Shares are not changed in directions in which the classes differ less than this, relative to
# the largest difference, nor if all are alike.
_SINGULAR = 1e-9


@quantifier_class
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
    steps : int, default=1
        Number of times the function is renewed, each time with the shares found so far, to
        which one more item of each class is added.
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

    def solve(self, items: Array, samples: Samples) -> Solution:
        solution = self.first.solve(items, samples)
        for _ in range(self.steps):
            solution = self._renewed(solution.prevalence, items, samples)
        return replace(solution, iterations=np.full(len(samples), self.steps, np.int32))

    def _renewed(self, shares: Floats, items: Array, samples: Samples) -> Solution:
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
