"""Methods that count the predictions of a learner made for quantification."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from headcount._support.arrays import Array
from headcount._support.documentation import documented
from headcount.errors import HeadcountError
from headcount.learn.multivariate_svc import MultivariateSVC
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.learn.trees import QuantificationForestClassifier
from headcount.parts.aggregation import Aggregation, Counting, Model, Moments
from headcount.parts.classifier_outputs import PredictedClass
from headcount.parts.fitted import MethodInfo
from headcount.parts.solvers import AdjustedCount, Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier, quantifier_class, seeded
from headcount.samples.samples import Samples
from headcount.scores.folds import check_cv
from headcount.scores.scorer import Scorer

_OUT_OF_BAG = "oob"
_MILLI = "Milli et al., ICDM 2013"


def counted(learner: Any, random_state: Any = None) -> Trained:
    """Train the learner and count its predictions."""
    return Trained(Scorer(learner, random_state=random_state), Counting(PredictedClass()))


@dataclass(frozen=True, eq=False)
class Trained(Aggregation):
    """Learner trained on the features, and an aggregation of its predictions."""

    scorer: Scorer
    then: Aggregation
    rates: str | None = None

    @property
    def learner(self) -> Any:
        """The trained learner."""
        return self.scorer.classifier_

    def fit(self, training: Training) -> Trained:
        """Learner trained on the items, and an aggregation fitted on its predictions."""
        scorer = copy(self.scorer).fit(
            training.items,
            training.codes,
            training.weights,
            out_of_fold=self.rates == "folds",
            posteriors=False,
        )
        if self.rates == _OUT_OF_BAG:
            training = _out_of_bag(scorer.classifier_, training)
        else:
            labels = None if self.rates is None else scorer.labels_
            training = replace(training, items=labels)
        return Trained(scorer, self.then.fit(training), self.rates)

    def solve(self, items: Array, samples: Samples) -> Solution:
        """Shares by the predictions for the items."""
        return self.then.solve(self.scorer.labels(items), samples)

    def cross_fitted(self, training: Training) -> _CrossFitted:
        """Learners of the folds, which have not been trained on the items that they solve."""
        # Seeded, so that only the simulations of an estimate are random.
        scorer = seeded(self.scorer, 0).fit(
            training.items, training.codes, training.weights, posteriors=False
        )
        return _CrossFitted(scorer, self.then)


@dataclass(frozen=True, eq=False)
class _CrossFitted(Model):
    """Learners of several folds: each training item is new to one of them."""

    scorer: Scorer
    then: Aggregation

    def solve(self, items: Array, samples: Samples) -> Solution:
        labels = self.scorer.fold_labels(items).ravel()
        return self.then.solve(labels, samples.over(len(labels)))

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        # Next to smoothed scores, the training items are repeated several times.
        return self.then.solve(np.resize(self.scorer.labels_, len(training.codes)), samples)


def _out_of_bag(forest: QuantificationForestClassifier, training: Training) -> Training:
    """Predictions by trees that were not grown on an item, where there are any."""
    voted = ~np.isnan(forest.oob_decision_function_[:, 0])
    codes = training.codes[voted]
    if len(np.unique(codes)) < training.n_classes:
        raise HeadcountError(
            f"n_estimators is {forest.n_estimators}, so few trees that each of them was grown "
            "on all items of some class: grow more trees, or set cv=5."
        )
    return Training(forest.oob_prediction_[voted], codes, training.n_classes)


@documented(Quantifier, ProportionWeightedKNN)
@dataclass(eq=False, repr=False)
class PWK(Quantifier):
    """Classify and count by nearest neighbours, with larger weights for rare classes.

    See Also
    --------
    headcount.learn.ProportionWeightedKNN : The learner; once trained it is
        ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import PWK
    >>> X, y = load_iris(return_X_y=True)
    >>> PWK().fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.6, 0.4])
    """

    info: ClassVar = MethodInfo(
        title="nearest neighbours weighted by class",
        family="learner",
        input="features",
        shift="none",
        reference="Barranquero et al., Pattern Recognition 46 (2013)",
        aliases=("PWKNN",),
    )
    n_neighbors: int = 10
    _: KW_ONLY
    alpha: float = 1.0

    def _aggregation(self) -> Aggregation:
        learner = ProportionWeightedKNN(self.n_neighbors, alpha=self.alpha)
        return counted(learner)


@documented(QuantificationForestClassifier)
@quantifier_class
class QF(Quantifier):
    """Quantification forest: count the predictions of trees grown to balance their errors.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Random seed of items and features.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``fitted_.model.learner``.
    """

    info: ClassVar = MethodInfo(
        title="quantification forest",
        family="learner",
        input="features",
        shift="none",
        reference=_MILLI,
        sparse=False,
    )
    n_estimators: int = field(default=100, kw_only=False)
    criterion: str = "balance"
    scope: str = "node"
    max_features: int | str | None = "log2"
    max_depth: int | None = None
    min_samples_leaf: int = 1
    random_state: Any = None

    def _aggregation(self) -> Aggregation:
        return counted(self._forest(), self.random_state)

    def _forest(self) -> QuantificationForestClassifier:
        return QuantificationForestClassifier(
            self.n_estimators,
            criterion=self.criterion,
            scope=self.scope,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )


@quantifier_class
class QFAC(QF):
    """Adjusted count of a quantification forest.

    The error rates of the forest come from the votes of trees on items they were not grown
    on, so it is grown only once.

    Parameters
    ----------
    cv : "oob", int or splitter, default="oob"
        Source of the error rates: out-of-bag votes, or folds as for other methods.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of items, features and folds.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``fitted_.model.learner``.
    """

    info: ClassVar = MethodInfo(
        title="adjusted count of a quantification forest",
        family="learner",
        input="features",
        reference=_MILLI,
        sparse=False,
        aliases=("QF-AC",),
    )
    cv: Any = _OUT_OF_BAG

    def _aggregation(self) -> Aggregation:
        scorer = Scorer(self._forest(), random_state=self.random_state)
        adjusted = Moments(PredictedClass(), AdjustedCount())
        if isinstance(self.cv, str):
            if self.cv != _OUT_OF_BAG:
                raise HeadcountError(
                    f"cv is {self.cv!r}; it must be 'oob', a number of folds or a splitter."
                )
            return Trained(scorer, adjusted, "oob")
        check_cv(self.cv)
        return Trained(scorer.set_params(cv=self.cv), adjusted, "folds")


def _info(title: str, reference: str, *aliases: str) -> MethodInfo:
    return MethodInfo(
        title=title,
        family="learner",
        input="features",
        multiclass="one-vs-rest",
        shift="none",
        reference=reference,
        aliases=aliases,
    )


@documented(Quantifier, MultivariateSVC)
@dataclass(eq=False, repr=False)
class SVMQ(Quantifier):
    """Classify and count with a machine trained for recall and count together (Q).

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMQ
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMQ().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.4, 0.6])
    """

    info: ClassVar = _info(
        "SVM for the Q measure",
        "Barranquero, Díez & del Coz, Pattern Recognition 48 (2015)",
        "SVM-Q",
        "SVM(Q)",
    )
    _loss: ClassVar = "q"
    C: float | None = None
    _: KW_ONLY
    kernel: str = "linear"
    gamma: float | str = "auto"
    n_components: int | None = 300
    tol: float = 0.1
    max_iter: int = 5000
    random_state: Any = None

    def _aggregation(self) -> Aggregation:
        learner = MultivariateSVC(self._loss, **self.get_params(deep=False))
        return counted(learner, self.random_state)


@quantifier_class
class SVMK(SVMQ):
    """`SVMQ` with a machine trained for the Kullback-Leibler divergence."""

    info: ClassVar = _info(
        "SVM for the Kullback-Leibler divergence",
        "Esuli & Sebastiani, ACM TKDD 9 (2015)",
        "SVM-K",
        "SVM(KLD)",
    )
    _loss: ClassVar = "kld"


@quantifier_class
class SVMN(SVMQ):
    """`SVMQ` with a machine trained for the normalised divergence."""

    info: ClassVar = _info(
        "SVM for the normalised divergence", "Esuli & Sebastiani, DART 2014", "SVM(NKLD)"
    )
    _loss: ClassVar = "nkld"


@quantifier_class
class SVMAE(SVMQ):
    """`SVMQ` with a machine trained for the absolute error of the count."""

    info: ClassVar = _info(
        "SVM for the absolute error", "Moreo & Sebastiani, PLoS ONE 17 (2022)", "SVM(AE)"
    )
    _loss: ClassVar = "ae"


@quantifier_class
class SVMRAE(SVMQ):
    """`SVMQ` with a machine trained for the relative error of the count."""

    info: ClassVar = _info(
        "SVM for the relative absolute error",
        "Moreo & Sebastiani, PLoS ONE 17 (2022)",
        "SVM(RAE)",
    )
    _loss: ClassVar = "rae"
