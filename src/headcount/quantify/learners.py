"""Quantifiers known by the learner they are trained with: count what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.learn import ProportionWeightedKNN, QuantificationForestClassifier
from headcount.learn.neighbours import NeighbourLists
from headcount.quantify.aggregation import Aggregation, Counting, Model, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.committee import seeded
from headcount.quantify.info import MethodInfo
from headcount.quantify.training_pool import LabelledPool, SharedAggregation
from headcount.representation import PredictedClass, Training
from headcount.sampling import Samples
from headcount.scores import Scorer
from headcount.solve import AdjustedCount, Solution

__all__ = ["PWK", "QF", "QFAC", "counted"]

_OUT_OF_BAG = "oob"
_MILLI = "Milli et al., ICDM 2013"


def counted(learner: Any, random_state: Any = None) -> _Trained:
    """Train the learner and count what it predicts."""
    return _Trained(Scorer(learner, random_state=random_state), Counting(PredictedClass()))


@dataclass(frozen=True, eq=False)
class _Trained(Aggregation):
    """A learner that is trained on the features, and what is done with its predictions.

    Attributes
    ----------
    scorer : Scorer
        Trains the learner.
    then : Aggregation
        From predicted classes to shares.
    rates : {None, "oob", "folds"}
        Where predictions of training items come from, if ``then`` is to learn from any.
    """

    scorer: Scorer
    then: Aggregation
    rates: str | None = None

    @property
    def learner(self) -> Any:
        """The trained learner."""
        return self.scorer.classifier_

    def fit(self, training: Training) -> _Trained:
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
        return _Trained(scorer, self.then.fit(training), self.rates)

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        return self.then.solve(self.scorer.labels(items), samples)

    def cross_fitted(self, training: Training) -> _CrossFitted:
        # Seeded, so that nothing but the simulations of an estimate is left to chance.
        scorer = seeded(self.scorer, 0).fit(
            training.items, training.codes, training.weights, posteriors=False
        )
        return _CrossFitted(scorer, self.then)


@dataclass(frozen=True, eq=False)
class _CrossFitted(Model):
    """Learners of several folds, so that the training items are new to one of them."""

    scorer: Scorer
    then: Aggregation

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        labels = self.scorer.fold_labels(items).ravel()
        return self.then.solve(labels, samples.over(len(labels)))

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        # Beside smoothed scores, the training items are there several times over.
        return self.then.solve(np.resize(self.scorer.labels_, len(training.codes)), samples)


def _out_of_bag(forest: QuantificationForestClassifier, training: Training) -> Training:
    """What trees said of the items they were not grown on; those that all know left out."""
    voted = ~np.isnan(forest.oob_decision_function_[:, 0])
    codes = training.codes[voted]
    if len(np.unique(codes)) < training.n_classes:
        raise HeadcountError(
            f"n_estimators is {forest.n_estimators}, so few trees that all items of some class "
            "were used by each of them: grow more trees, or set cv=5."
        )
    return Training(forest.oob_prediction_[voted], codes, training.n_classes)


class PWK(Quantifier):
    """Classify and count by nearest neighbours, each class weighed against its frequency.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that vote.
    alpha : float, default=1.0
        The larger, the more alike the weights of frequent and rare classes.

    See Also
    --------
    headcount.learn.ProportionWeightedKNN : The learner; once trained it is
        ``model_.learner``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import PWK
    >>> X, y = load_iris(return_X_y=True)
    >>> PWK().fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.6, 0.4])
    """

    info: ClassVar = MethodInfo(
        title="nearest neighbours weighed by class",
        family="learner",
        input="features",
        multiclass="native",
        shift="none",
        reference="Barranquero et al., Pattern Recognition 46 (2013)",
        aliases=("PWKNN",),
    )

    def __init__(self, n_neighbors: int = 10, *, alpha: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha

    def _aggregation(self) -> Aggregation:
        learner = ProportionWeightedKNN(self.n_neighbors, alpha=self.alpha)
        return _CountedNeighbours(Scorer(learner), Counting(PredictedClass()))


@dataclass(frozen=True, eq=False)
class _CountedNeighbours(_Trained, SharedAggregation):
    """Predictions of nearest neighbours, counted."""

    def share(self, pool: LabelledPool) -> _SharedNeighbours | None:
        training, items = pool.training, pool.training.items
        if pool.seed is None or items is None or not NeighbourLists.takes(items):
            return None
        lists = NeighbourLists(items, training.codes, random_state=pool.seed)
        return _SharedNeighbours(lists, self.scorer.classifier, self.then.fit(training))


@dataclass(frozen=True, eq=False)
class _SharedNeighbours:
    """Neighbours of all items of the pool, searched once."""

    lists: NeighbourLists
    learner: ProportionWeightedKNN
    then: Aggregation

    def fit_many(self, training_sets: Sequence[NDArray[np.int64]]) -> list[partial[Solution]]:
        k, alpha = self.learner.n_neighbors, self.learner.alpha
        labels = self.lists.predict(training_sets, n_neighbors=k, alpha=alpha)
        return [partial(self.then.solve, each) for each in labels]


class QF(Quantifier):
    """Quantification forest: count the predictions of trees grown to balance their errors.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"balance", "balance_errors"}, default="balance"
        What splits make small: imbalance of errors, or imbalance times errors.
    scope : {"node", "tree"}, default="node"
        Where errors are to be in balance: in each node, or in the whole tree.
    max_features : "log2", int or None, default="log2"
        Features that a node tries.
    max_depth : int or None, default=None
        Most splits from the root to a leaf.
    min_samples_leaf : int, default=1
        Fewest items in a leaf.
    random_state : int, RandomState, Generator or None, default=None
        Draws items and features.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``model_.learner``.

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
        multiclass="native",
        shift="none",
        reference=_MILLI,
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
        forest = QuantificationForestClassifier(**self.get_params(deep=False))
        return counted(forest, self.random_state)


class QFAC(Quantifier):
    """Adjusted count of a quantification forest.

    The rates at which the forest errs come from the votes of its trees on items they were
    not grown on, so that it is grown only once.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"balance", "balance_errors"}, default="balance"
        What splits make small: imbalance of errors, or imbalance times errors.
    scope : {"node", "tree"}, default="node"
        Where errors are to be in balance: in each node, or in the whole tree.
    max_features : "log2", int or None, default="log2"
        Features that a node tries.
    max_depth : int or None, default=None
        Most splits from the root to a leaf.
    min_samples_leaf : int, default=1
        Fewest items in a leaf.
    cv : "oob", int or splitter, default="oob"
        Where the rates come from: votes out of the bag, or folds as for other methods.
    random_state : int, RandomState, Generator or None, default=None
        Draws items and features, and shuffles the folds.

    See Also
    --------
    headcount.learn.QuantificationForestClassifier : The learner; once trained it is
        ``model_.learner``.

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
        multiclass="native",
        shift="prior",
        reference=_MILLI,
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
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.scope = scope
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        parameters = self.get_params(deep=False)
        cv = parameters.pop("cv")
        scorer = Scorer(
            QuantificationForestClassifier(**parameters), random_state=self.random_state
        )
        adjusted = Moments(PredictedClass(), AdjustedCount())
        if isinstance(cv, str):
            if cv != _OUT_OF_BAG:
                raise HeadcountError(
                    f"cv is {cv!r}; it must be 'oob', a number of folds or a splitter."
                )
            return _Trained(scorer, adjusted, "oob")
        return _Trained(scorer.set_params(cv=cv), adjusted, "folds")
