"""Methods that count the predictions of a learner made for quantification."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.learn import ProportionWeightedKNN, QuantificationForestClassifier
from headcount.quantify.aggregation import Aggregation, Counting, Model, Moments
from headcount.quantify.base import Quantifier, seeded
from headcount.quantify.info import MethodInfo
from headcount.representation import PredictedClass, Training
from headcount.sampling import Samples
from headcount.scores import Scorer
from headcount.solve import AdjustedCount, Solution

__all__ = ["PWK", "QF", "QFAC"]

_OUT_OF_BAG = "oob"
_MILLI = "Milli et al., ICDM 2013"


def counted(learner: Any, random_state: Any = None) -> Trained:
    """Train the learner and count its predictions."""
    return Trained(Scorer(learner, random_state=random_state), Counting(PredictedClass()))


@dataclass(frozen=True, eq=False)
class Trained(Aggregation):
    """Learner trained on the features, and an aggregation of its predictions.

    Attributes
    ----------
    scorer : Scorer
        Trains the learner.
    then : Aggregation
        From predicted classes to shares.
    rates : {None, "oob", "folds"}
        Source of the predictions of training items that ``then`` learns from; None if it
        needs none.
    """

    scorer: Scorer
    then: Aggregation
    rates: str | None = None

    @property
    def learner(self) -> Any:
        """The trained learner."""
        return self.scorer.classifier_

    def fit(self, training: Training) -> Trained:
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

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        return self.then.solve(self.scorer.labels(items), samples)

    def cross_fitted(self, training: Training) -> _CrossFitted:
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

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
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


class PWK(Quantifier):
    """Classify and count by nearest neighbours, with larger weights for rare classes.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours that vote.
    alpha : float, default=1.0
        The larger, the more similar the weights of frequent and rare classes.

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

    def __init__(self, n_neighbors: int = 10, *, alpha: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha

    def _aggregation(self) -> Aggregation:
        learner = ProportionWeightedKNN(self.n_neighbors, alpha=self.alpha)
        return counted(learner)


class QF(Quantifier):
    """Quantification forest: count the predictions of trees grown to balance their errors.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"balance", "balance_errors"}, default="balance"
        Criterion that splits minimise: imbalance of errors, or imbalance times errors.
    scope : {"node", "tree"}, default="node"
        Part in which errors are balanced: each node, or the whole tree.
    max_features : "log2", int or None, default="log2"
        Number of features that a node tries.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf.
    min_samples_leaf : int, default=1
        Smallest number of items in a leaf.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of items and features.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import QF
    >>> X, y = load_iris(return_X_y=True)
    >>> QF(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="quantification forest",
        family="learner",
        input="features",
        shift="none",
        reference=_MILLI,
        sparse=False,
    )

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "balance",
        scope: str = "node",
        max_features: int | str | None = "log2",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.scope = scope
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

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


class QFAC(QF):
    """Adjusted count of a quantification forest.

    The error rates of the forest come from the votes of trees on items they were not grown
    on, so it is grown only once.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"balance", "balance_errors"}, default="balance"
        Criterion that splits minimise: imbalance of errors, or imbalance times errors.
    scope : {"node", "tree"}, default="node"
        Part in which errors are balanced: each node, or the whole tree.
    max_features : "log2", int or None, default="log2"
        Number of features that a node tries.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf.
    min_samples_leaf : int, default=1
        Smallest number of items in a leaf.
    cv : "oob", int or splitter, default="oob"
        Source of the error rates: out-of-bag votes, or folds as for other methods.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of items, features and folds.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import QFAC
    >>> X, y = load_iris(return_X_y=True)
    >>> QFAC(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="adjusted count of a quantification forest",
        family="learner",
        input="features",
        reference=_MILLI,
        sparse=False,
        aliases=("QF-AC",),
    )

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "balance",
        scope: str = "node",
        max_features: int | str | None = "log2",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        cv: Any = _OUT_OF_BAG,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            scope=scope,
            max_features=max_features,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            random_state=random_state,
        )
        self.cv = cv

    def _aggregation(self) -> Aggregation:
        scorer = Scorer(self._forest(), random_state=self.random_state)
        adjusted = Moments(PredictedClass(), AdjustedCount())
        if isinstance(self.cv, str):
            if self.cv != _OUT_OF_BAG:
                raise HeadcountError(
                    f"cv is {self.cv!r}; it must be 'oob', a number of folds or a splitter."
                )
            return Trained(scorer, adjusted, "oob")
        return Trained(scorer.set_params(cv=self.cv), adjusted, "folds")
