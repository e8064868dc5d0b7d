"""Methods that are built on one for two classes: for any number, or on synthetic scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from headcount._support.arrays import Array, Bools, Floats, Ints, divided_by_sums
from headcount._support.documentation import documented
from headcount._support.parameters import check_choice, check_flag, check_fraction
from headcount.errors import HeadcountError
from headcount.items.arrays import check_labels
from headcount.parts.aggregation import Aggregation, Model, Moments
from headcount.parts.classifier_outputs import Histograms, as_if_half
from headcount.parts.fitted import Input, MethodInfo
from headcount.parts.solvers import Divergence, Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier, is_simple, quantifier_class
from headcount.quantifiers.matching import DyS
from headcount.samples.samples import Samples
from headcount.scores.scorer import ItemScorer, Scorer


class OfTwoClasses(Quantifier):
    """Base of methods that are built on one for two classes, and use its classifier."""

    quantifier: Quantifier | None

    def _base(self) -> Quantifier:
        base: Any = DyS() if self.quantifier is None else self.quantifier
        of_many = isinstance(base, OfTwoClasses) and base.info.multiclass == "native"
        if not is_simple(base) or of_many:
            raise HeadcountError(
                f"quantifier is {self.quantifier!r}; it must be a quantifier of two classes: "
                "pass for instance DyS()."
            )
        return base

    def _takes(self) -> Input:
        # Wrong quantifiers are refused when they are used.
        base: Any = self.quantifier
        return base._takes() if isinstance(base, Quantifier) else "posteriors"

    def _posteriors_alone(self) -> Input:
        """Posteriors, of which the quantifier may take decisions; it must not take features."""
        if OfTwoClasses._takes(self) == "features":
            raise HeadcountError(
                f"quantifier is {self.quantifier!r}, which learns from features: pass one that "
                "learns from posteriors or decisions, such as DyS()."
            )
        return "posteriors"

    def _learns_from_scores(self) -> bool:
        return self._base()._learns_from_scores()

    def _predicts_by_folds(self, scorer: Any) -> bool:
        base = self._base()
        return super()._predicts_by_folds(scorer) and base._predicts_by_folds(scorer)

    def _cv(self) -> Any:
        return self._base()._cv()

    def _scorer(self) -> Any:
        return self._base()._scorer()


@dataclass(eq=False, repr=False)
class OneVsRest(OfTwoClasses):
    """One two-class problem for each class against the others.

    The shares are divided by their sum. If all are zero, every class gets the same share.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier for the two-class problems; `DyS` by default.
    scoring : {"shared", "separate"}, default="shared"
        "shared" trains its classifier once, on all classes, and takes the posterior of each
        class; "separate" trains one classifier for each class against the others.
        Methods with their own learner, such as `SVMQ`, are always trained for each class
        against the others, as their learners take two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import MS2, OneVsRest
    >>> X, y = load_iris(return_X_y=True)
    >>> OneVsRest(MS2(random_state=0)).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="one class against the rest",
        family="meta",
        input="any",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        aliases=("OVR", "OVA"),
    )

    # Whether the problems are those of ordered classes: see `FrankHall`.
    _ordered: ClassVar[bool] = False

    quantifier: Quantifier | None = None
    _: KW_ONLY
    scoring: str = "shared"

    def _scorer(self) -> Any:
        scorer = super()._scorer()
        if check_choice("scoring", self.scoring, ("shared", "separate")) == "separate":
            return _SeparateScorer(scorer, ordered=self._ordered)
        return scorer

    def _aggregation(self) -> Aggregation:
        return _EachClass(self._base()._aggregation(), self._takes(), self._ordered)

    def _by_class(self) -> bool:
        return True

    def _noisy(self) -> bool:
        # Posteriors of separate classifiers do not sum to 1.
        return self._takes() == "posteriors" and self.scoring == "shared"


@documented(OneVsRest)
@dataclass(eq=False, repr=False)
class OneVsOne(OfTwoClasses):
    """One two-class problem for each pair of classes.

    The method of a pair learns from the items of its two classes, by the posterior of the one
    against the other, and gives their ratio in the sample. The shares are those whose ratios
    are nearest (pairwise coupling). Items of further classes are in the sample of every pair
    as well, so ratios are biased unless these items are rare: methods for any number of classes
    are usually better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import DyS, OneVsOne
    >>> X, y = load_iris(return_X_y=True)
    >>> OneVsOne(DyS(random_state=0)).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="each class against each other one",
        family="meta",
        reference="Wu, Lin & Weng, Journal of Machine Learning Research 5 (2004)",
        inconsistency="items of all classes are in the sample of each pair",
        needs_overlap=True,
        aliases=("OVO",),
    )

    quantifier: Quantifier | None = None

    def _takes(self) -> Input:
        return self._posteriors_alone()

    def _aggregation(self) -> Aggregation:
        return _EachPair(self._base()._aggregation(), super()._takes())


def _positive(codes: Ints, j: int, ordered: bool) -> Bools:
    """Items of class j, or of those after it."""
    return np.asarray(codes > j if ordered else codes == j)


@dataclass(frozen=True, eq=False)
class _EachClass(Aggregation):
    """A two-class aggregation for each class, or for each gap between ordered ones."""

    base: Aggregation
    input: Input
    ordered: bool = False
    fitted: tuple[Model, ...] = field(default=())

    def fit(self, training: Training) -> _EachClass:
        fitted = tuple(self.base.fit(problem) for problem in self._parts(training))
        return replace(self, fitted=fitted)

    def solve(self, items: Array, samples: Samples) -> Solution:
        return self._joined(
            [
                model.solve(self._view(items, j, len(self.fitted) + self.ordered), samples)
                for j, model in enumerate(self.fitted)
            ]
        )

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        problems = zip(self.fitted, self._parts(training), strict=True)
        return self._joined(
            [model.solve_training(problem, samples) for model, problem in problems]
        )

    def cross_fitted(self, training: Training) -> _EachClass:
        problems = zip(self.fitted, self._parts(training), strict=True)
        return replace(
            self, fitted=tuple(model.cross_fitted(problem) for model, problem in problems)
        )

    def _parts(self, training: Training) -> Iterator[Training]:
        """The problems of two classes."""
        for j in range(training.n_classes - self.ordered):
            items = training.items
            if items is not None:
                items = self._view(items, j, training.n_classes)
            codes = _positive(training.codes, j, self.ordered).astype(np.int64)
            yield Training(items, codes, 2, training.weights)

    def _view(self, items: Array, j: int, K: int) -> Array:
        """Items of the problem of class j of K."""
        if self.input == "features":
            return items
        # Separate classifiers of ordered classes have one column per problem already.
        positive = items[:, j]
        if self.ordered and items.shape[1] == K:
            positive = items[:, j + 1 :].sum(axis=1)
        if self.input == "labels":
            return positive.astype(np.int64)
        return np.column_stack([1 - positive, positive])

    def _joined(self, solutions: list[Solution]) -> Solution:
        positive = _positive_shares(solutions)
        shares = _from_cumulative(1 - positive) if self.ordered else divided_by_sums(positive)
        return Solution.combined(shares, solutions, np.sum)


@dataclass(frozen=True, eq=False)
class _EachPair(Aggregation):
    """A two-class aggregation for each pair of classes."""

    base: Aggregation
    input: Input
    fitted: tuple[Model, ...] = field(default=())

    def fit(self, training: Training) -> _EachPair:
        K, weights, fitted = training.n_classes, training.weights, []
        for i, j in combinations(range(K), 2):
            members = np.flatnonzero(np.isin(training.codes, (i, j)))
            problem = Training(
                self._view(training.items[members], i, j),
                (training.codes[members] == j).astype(np.int64),
                2,
                None if weights is None else weights[members],
            )
            fitted.append(self.base.fit(problem))
        return replace(self, fitted=tuple(fitted))

    def solve(self, items: Array, samples: Samples) -> Solution:
        K = items.shape[1]
        pairs = list(combinations(range(K), 2))
        solutions = [
            model.solve(self._view(items, *pair), samples)
            for model, pair in zip(self.fitted, pairs, strict=True)
        ]
        return Solution.combined(
            _coupled(_positive_shares(solutions), pairs, K), solutions, np.sum
        )

    def _view(self, items: Array, i: int, j: int) -> Array:
        """Posteriors or decisions of class j against class i."""
        pair = items[:, [i, j]]
        pair = divided_by_sums(pair)
        return (pair[:, 1] > 0.5).astype(np.int64) if self.input == "labels" else pair


def _positive_shares(solutions: list[Solution]) -> Floats:
    """Shares of the positive classes, one column per problem of two classes."""
    return np.column_stack([solution.prevalence[:, 1] for solution in solutions])


def _coupled(positive: Floats, pairs: list[tuple[int, int]], K: int) -> Floats:
    """Shares p with the least sum of (r_ji p_i - r_ij p_j)^2 (Wu, Lin & Weng's second)."""
    ratios = np.zeros((len(positive), K, K))
    for column, (i, j) in zip(positive.T, pairs, strict=True):
        ratios[:, i, j], ratios[:, j, i] = 1 - column, column
    Q = -ratios * np.swapaxes(ratios, 1, 2)
    diagonal = np.arange(K)
    Q[:, diagonal, diagonal] = (ratios**2).sum(axis=1)
    # Where the minimum is not unique, a little towards equal shares decides.
    Q[:, diagonal, diagonal] += 1e-12
    shares = np.linalg.solve(Q, np.ones((len(Q), K, 1)))[..., 0]
    return divided_by_sums(np.maximum(shares, 0.0))


def _from_cumulative(upto: Floats) -> Floats:
    """Shares of the classes from cumulative ones, which are made to ascend."""
    above = np.maximum.accumulate(upto, axis=1)
    below = np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]
    return np.diff((above + below) / 2, axis=1, prepend=0.0, append=1.0)


def base_scorer(scorer: Scorer | _SeparateScorer) -> Scorer:
    """Scorer with the parameters: the one of every class, if there is one per class."""
    return scorer.scorer if isinstance(scorer, _SeparateScorer) else scorer


class _SeparateScorer(ItemScorer):
    """One scorer per class, for the class against the rest; has the methods of a `Scorer`."""

    def __init__(self, scorer: Scorer, *, ordered: bool = False) -> None:
        self.scorer = scorer
        self.ordered = ordered

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        out_of_fold: bool = True,
        posteriors: bool = True,
    ) -> Self:
        self.classes_, self.codes_ = check_labels(y)
        options: dict[str, Any] = {"out_of_fold": out_of_fold, "posteriors": posteriors}
        targets = [
            _positive(self.codes_, j, self.ordered)
            for j in range(len(self.classes_) - self.ordered)
        ]
        self.each_ = [
            clone(self.scorer).fit(X, target, sample_weight, groups=groups, **options)
            for target in targets
        ]
        self.weights_ = self.each_[0].weights_
        self.judge_ = tuple(scorer.judge_ for scorer in self.each_)
        return self

    @property
    def n_features_in_(self) -> int:
        return self.each_[0].n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        return self.each_[0].feature_names_in_

    @property
    def posteriors_(self) -> Floats:
        return np.column_stack([scorer.posteriors_[:, 1] for scorer in self.each_])

    @property
    def labels_(self) -> Ints:
        return np.column_stack([scorer.labels_ for scorer in self.each_])

    def posteriors(self, X: Any) -> Floats:
        return np.column_stack([scorer.posteriors(X)[:, 1] for scorer in self.each_])

    def labels(self, X: Any) -> Ints:
        return np.column_stack([scorer.labels(X) for scorer in self.each_])

    @property
    def fold_scoring(self) -> bool:
        return bool(self.scorer.fold_scoring)

    @property
    def has_posteriors_(self) -> bool:
        # Posteriors of classes against the rest do not sum to 1.
        return False

    @property
    def n_folds_(self) -> int:
        return min(scorer.n_folds_ for scorer in self.each_)

    @property
    def fold_judge_(self) -> tuple[Any, ...]:
        return tuple(scorer.fold_judge_ for scorer in self.each_)

    def fold_posteriors(self, X: Any) -> Floats:
        F = self.n_folds_
        return np.stack([s.fold_posteriors(X)[:F, :, 1] for s in self.each_], axis=-1)

    def fold_labels(self, X: Any) -> Ints:
        F = self.n_folds_
        return np.stack([s.fold_labels(X)[:F] for s in self.each_], axis=-1)


# Synthetic scores of a class, and bins of the histogram by which the overlap is chosen. With
# this number no score is at the edge of a bin, where classes would not be treated alike.
_N_SCORES, _BINS = 1004, 12


@quantifier_class
class QuaDapt(OfTwoClasses):
    """Learn from synthetic scores that are as hard to tell apart as those of the sample.

    For classifiers that have got worse, or better, so that their scores differ from those of
    the training set. Scores of the positive class are ``u**m`` and those of the other class
    ``1 - u**m``, with ``u`` uniform on [0, 1]. For each sample, the overlap ``m`` is chosen
    whose best mixture is nearest to the histogram of the scores, and the quantifier learns from
    its synthetic scores. If the scores of the training set still fit, methods that use them are
    better.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier of two classes that learns from the synthetic scores; `DyS` by default.
    overlaps : sequence of float, default=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        Values of ``m``: near 0 for classes that are easy to tell apart, near 1 for those
        whose scores are nearly the same.
    balanced : bool, default=True
        Rescale the scores to what they would be if both classes had been equally common in
        training. False takes the scores as they are, as in published results.
    """

    info: ClassVar = MethodInfo(
        title="synthetic scores as hard to tell apart as those of the sample",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Maletzke et al., ICDM 2021; Ortega et al. (2025)",
        inconsistency="learns from synthetic scores",
        needs_overlap=True,
        aliases=("DySyn",),
    )

    quantifier: Any = field(default=None, kw_only=False)
    overlaps: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    balanced: bool = True

    def _takes(self) -> Input:
        return self._posteriors_alone()

    def _aggregation(self) -> Aggregation:
        numbers: Any = self.overlaps
        if not isinstance(numbers, Sequence | np.ndarray) or not len(numbers):
            raise HeadcountError(
                f"overlaps is {numbers!r}; it must be a sequence of numbers, such as "
                "(0.2, 0.5)."
            )
        overlaps = tuple(check_fraction("an entry of overlaps", m) for m in numbers)
        return _Synthetic(
            self._base()._aggregation(), super()._takes(), overlaps,
            check_flag("balanced", self.balanced),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Synthetic(Aggregation):
    """A two-class aggregation for each overlap of synthetic scores."""

    base: Aggregation
    input: Input
    overlaps: tuple[float, ...]
    balanced: bool
    prior: Floats = field(default_factory=lambda: np.full(2, 0.5))
    matched: tuple[Model, ...] = ()  # models that choose the overlap
    fitted: tuple[Model, ...] = ()

    def fit(self, training: Training) -> _Synthetic:
        matched, fitted = [], []
        codes = np.repeat([1, 0], _N_SCORES)
        for overlap in self.overlaps:
            positive = synthetic_scores(_N_SCORES, overlap)
            scores = np.concatenate([positive, 1 - positive])
            posteriors = np.column_stack([1 - scores, scores])
            histograms = Moments(Histograms((_BINS,), every_class=False), Divergence("topsoe"))
            matched.append(histograms.fit(Training(posteriors, codes, 2)))
            fitted.append(self.base.fit(Training(self._view(posteriors), codes, 2)))
        return replace(self, prior=training.prior, matched=tuple(matched), fitted=tuple(fitted))

    def solve(self, items: Array, samples: Samples) -> Solution:
        if self.balanced:
            items = as_if_half(items, self.prior)
        distances = [model.solve(items, samples).objective for model in self.matched]
        # Rounded, as several may be as near; then the least overlap is taken.
        nearest = np.argmin(np.round(distances, 9), axis=0)
        solutions = [model.solve(self._view(items), samples) for model in self.fitted]
        n = len(nearest)
        return Solution.concatenate(solutions)[nearest * n + np.arange(n)]

    def _view(self, posteriors: Floats) -> Array:
        """Posteriors as the method takes them."""
        if self.input == "labels":
            return (posteriors[:, 1] > 0.5).astype(np.int64)
        return posteriors


def synthetic_scores(n: int, overlap: float) -> Floats:
    """Scores of n positive items, at the middles of n equal parts of their distribution."""
    return np.asarray(((np.arange(n) + 0.5) / n) ** overlap)
