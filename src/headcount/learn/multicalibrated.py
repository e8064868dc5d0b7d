"""A classifier whose posteriors are calibrated in parts of the feature space as well."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_matrix, hstack, issparse
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_count, check_positive
from headcount.items.arrays import check_labels, check_weights
from headcount.scores.folds import numeric_space
from headcount.scores.scorer import Scorer

_SMALLEST = 1e-9
# Folds that choose the number of rounds, and rounds without progress after which they stop.
_FOLDS, _PATIENCE = 3, 10
# Features that a tree chooses from, if there are many.
_MOST_FEATURES = 200
_DEPTH, _LEAST_IN_LEAF = 3, 20


@dataclass(eq=False, repr=False)
class MulticalibratedClassifier(ClassifierMixin, BaseEstimator):
    """Classifier whose mean posterior is right in parts of the feature space, too.

    Posteriors that are calibrated on average may be wrong for large x, or for one shop. Then
    the mean posterior, which is the estimate of `PCC`, is wrong as soon as there are more such
    items. Here small trees of the features and of the log-posteriors are boosted on what the
    out-of-fold posteriors of the classifier leave unexplained, as long as the log loss of
    held-out items falls. With it `PCC` is right under covariate shift: a change of the features
    that leaves their relation to the classes alone.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Trees are grown on the features that it takes, or for a
        pipeline on those that its last step takes.
    rounds : int, default=100
        Largest number of rounds of boosting. The number is chosen by the log loss on held-out
        items, and may be 0.
    learning_rate : float, default=0.1
        Part of each correction that is applied.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds and trees.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    scorer_ : Scorer
        Fitted scorer of the classifier.
    rounds_ : list
        Trees of each round.

    References
    ----------
    Linder, Leeper, Haimovich, Tax, Perini & Vojnovic, arXiv 2604.21549 (2026).

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> from headcount.learn import MulticalibratedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = rng.random(4000) < 1 / (1 + np.exp(1 - X[:, 0] ** 2))  # no line separates these
    >>> shifted = X[:, 0] > 0.5
    >>> plain = hc.PCC(random_state=0).fit(X[:2000], y[:2000])
    >>> multi = MulticalibratedClassifier(random_state=0)
    >>> multi = hc.PCC(multi, cv=None).fit(X[:2000], y[:2000])
    >>> new = X[2000:][shifted[2000:]]
    >>> plain.predict(new)[1].round(2), multi.predict(new)[1].round(2)
    (np.float64(0.44), np.float64(0.54))
    >>> y[2000:][shifted[2000:]].mean().round(2)
    np.float64(0.58)
    """

    classifier: Any = None
    _: KW_ONLY
    rounds: int = 100
    learning_rate: float = 0.1
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier, and the corrections of its posteriors.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, or sequence of texts
            The items, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items. The trees use their ratios alone.
        """
        check_count("rounds", self.rounds, 0)
        check_positive("learning_rate", self.learning_rate)
        self.classes_, codes = check_labels(y)
        weights = check_weights(sample_weight, len(codes), name="sample_weight")
        weights = weights / weights.mean()
        seed = base_seeds(self.random_state, 1)[0] % 2**32
        self.scorer_ = Scorer(self.classifier, random_state=seed)
        self.scorer_.fit(X, y, sample_weight)
        margins = _margins(self.scorer_.posteriors_)
        features = _features(self.scorer_.classifier_, X, margins)
        target = np.eye(len(self.classes_))[codes]
        n_rounds = 0
        if self.rounds and np.bincount(codes).min() >= _FOLDS:
            n_rounds = self._best_rounds(features, margins, target, codes, weights, seed)
        self.rounds_: list[list[_LeafCorrection]] = []
        moved = margins.copy()
        for i in range(n_rounds):
            self.rounds_.append(self._round(features, moved, target, weights, seed + i))
            _move(moved, self.rounds_[-1], features)
        return self

    def _best_rounds(
        self,
        features: Any,
        margins: Floats,
        target: Floats,
        codes: Ints,
        weights: Floats,
        seed: int,
    ) -> int:
        """Number of rounds with the lowest log loss on held-out items."""
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
        splits = list(folds.split(codes, codes))
        moved = [margins.copy() for _ in splits]
        losses = [self._loss(moved, splits, target, weights)]
        for i in range(self.rounds):
            for of_fold, (train, _) in zip(moved, splits, strict=True):
                trees = self._round(
                    features[train], of_fold[train], target[train], weights[train], seed + i
                )
                _move(of_fold, trees, features)
            losses.append(self._loss(moved, splits, target, weights))
            if len(losses) - int(np.argmin(losses)) > _PATIENCE:
                break
        return int(np.argmin(losses))

    def _loss(self, moved: list[Floats], splits: Any, target: Floats, weights: Floats) -> float:
        """Mean log loss of the held-out items of all folds."""
        total = 0.0
        for of_fold, (_, test) in zip(moved, splits, strict=True):
            logs = (target[test] * log_softmax(of_fold[test], axis=1)).sum(axis=1)
            total -= float(weights[test] @ logs)
        return total / float(weights.sum())

    def _round(
        self, features: Any, margins: Floats, target: Floats, weights: Floats, seed: int
    ) -> list[_LeafCorrection]:
        """One tree per class; of two classes for the second alone."""
        posteriors = softmax(margins, axis=1)
        columns = [1] if target.shape[1] == 2 else range(target.shape[1])
        trees = []
        for j in columns:
            residuals = target[:, j] - posteriors[:, j]
            curvature = np.maximum(posteriors[:, j] * (1 - posteriors[:, j]), _SMALLEST)
            tree = DecisionTreeRegressor(
                max_depth=_DEPTH,
                min_samples_leaf=_LEAST_IN_LEAF,
                max_features=min(features.shape[1], _MOST_FEATURES),
                random_state=seed % 2**32,
            ).fit(features, residuals, sample_weight=weights)
            leaves = tree.apply(features)
            n = tree.tree_.node_count
            slope = np.bincount(leaves, weights * residuals, n)
            # One item more, that is halfway, keeps small leaves from large steps.
            curved = np.bincount(leaves, weights * curvature, n) + 0.25
            trees.append(_LeafCorrection(j, tree, self.learning_rate * slope / curved))
        return trees

    @documented(fit)
    def predict_proba(self, X: Any) -> Floats:
        """Posteriors of the classes.

        Returns
        -------
        ndarray of shape (n, K)
        """
        check_is_fitted(self, "scorer_")
        posteriors = self.scorer_.posteriors(X)
        if not self.rounds_:
            return posteriors
        margins = _margins(posteriors)
        features = _features(self.scorer_.classifier_, X, margins)
        for trees in self.rounds_:
            _move(margins, trees, features)
        return np.asarray(softmax(margins, axis=1))

    @documented(fit)
    def predict(self, X: Any) -> Array:
        """Class with the highest posterior.

        Returns
        -------
        ndarray of shape (n,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


@dataclass(frozen=True, eq=False)
class _LeafCorrection:
    """Correction of the log-posterior of one class, by leaf of a tree."""

    column: int
    tree: DecisionTreeRegressor
    values: Floats


def _move(margins: Floats, trees: list[_LeafCorrection], features: Any) -> None:
    """Add the corrections of one round to log-posteriors, in place."""
    for tree in trees:
        margins[:, tree.column] += tree.values[tree.tree.apply(features)]


def _margins(posteriors: Floats) -> Floats:
    """Centred log-posteriors."""
    logs = np.log(np.clip(posteriors, _SMALLEST, None))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _features(model: Any, X: Any, margins: Floats) -> Any:
    """Features and log-posteriors, for trees."""
    Z = numeric_space(model, X)
    if issparse(Z):
        return hstack([Z, csc_matrix(margins)], format="csr").astype(np.float32)
    return np.column_stack([Z, margins]).astype(np.float32)
