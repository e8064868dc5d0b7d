"""Posteriors with one more class: items unlike all that the classifier was trained on.

What such items look like is learnt by leaving classes out: the items of a known class are
scored by a classifier, and compared with neighbours, that do not know their class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import base_seeds
from headcount.errors import HeadcountError
from headcount.items.arrays import check_labels, check_lengths, count_rows, take_rows
from headcount.scores.folds import Fold, check_cv, make_folds, numeric_space
from headcount.scores.scorer import ItemScorer, Scorer

NOVELTIES = ("both", "scores", "distance")
"""Signs of items that belong to no known class."""
# Items that distances are measured to, and how many of the nearest count.
_MOST_REFERENCES, _NEIGHBOURS = 5000, 5
# Standard deviations that count at most, so that a column that is hardly ever used does not
# outweigh the others.
_FARTHEST = 3.0
_SMALLEST = 1e-12


class NoveltyScorer(ItemScorer):
    """Scores items by the known classes and a further one, of items unlike all of them.

    Has the methods of a fitted `Scorer`. Its training items are the labelled ones, followed by
    the items of some classes once more, scored as if their class were not known. These stand
    for the further class. Together they weigh as much as a known class on average.
    """

    def __init__(
        self, scorer: Scorer, *, novelty: str = "both", other: Any = "other", held_out: int = 6
    ) -> None:
        self.scorer = scorer
        self.novelty = novelty
        self.other = other
        self.held_out = held_out

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier of the known classes, and those without one of them."""
        classes, codes = check_labels(y)
        K = len(classes)
        self._check(classes)
        check_lengths("X", count_rows(X), codes)
        check_cv(self.scorer.cv)
        seed = base_seeds(self.scorer.random_state, 1)[0]
        own_groups = None if groups is None else np.asarray(groups)
        folds = make_folds(
            self.scorer.cv, X, codes, classes, self.scorer.random_state, own_groups
        )
        if folds is None:
            raise HeadcountError(
                "a class has a single item, which cannot be cross-fitted: label more items of "
                "it, or drop it."
            )
        self.fitted_ = clone(self.scorer).set_params(cv=folds).fit(X, y, sample_weight)
        rng = np.random.default_rng(seed)
        signs = self._known_signs(X, folds, rng)
        unseen, source, new_signs = [], [], []
        for i, j in enumerate(rng.permutation(K)[: self.held_out].tolist()):
            train = folds[i % len(folds)][0]
            posteriors, own_signs = self._without(X, codes, train, j, K, sample_weight, rng)
            unseen.append(posteriors)
            new_signs.append(own_signs)
            source.append(np.full(len(posteriors), j))
        weights = self.fitted_.weights_
        weights = np.ones(len(codes)) if weights is None else weights
        of_unseen = weights[
            np.concatenate([np.flatnonzero(codes == left_out[0]) for left_out in source])
        ]
        of_unseen = of_unseen * (weights.sum() / K / of_unseen.sum())
        self._learn_novelty(signs, np.concatenate(new_signs), weights, of_unseen)
        self.weights_ = np.concatenate([weights, of_unseen])
        self.classes_ = _with_other(classes, self.other)
        self.codes_ = np.concatenate([codes, np.full(len(of_unseen), K)])
        self.source_ = np.concatenate([np.full(len(codes), -1), *source])
        self.posteriors_ = np.concatenate(
            [
                self._extended(self.fitted_.posteriors_, signs),
                self._extended(np.concatenate(unseen), np.concatenate(new_signs)),
            ]
        )
        self.judge_ = (self.fitted_.judge_, self._whole, self._novelty)
        self.fold_judge_ = (self.fitted_.fold_judge_, self._folds, self._novelty)
        return self

    def _known_signs(self, X: Any, folds: list[Fold], rng: np.random.Generator) -> Floats:
        """Signs of the training items, out-of-fold; keeps what distances are measured to."""
        posteriors = self.fitted_.posteriors_
        every = np.arange(len(posteriors))
        self._whole = self._reference(self.fitted_.classifier_, X, every, rng)
        self._folds = []
        signs = np.empty((len(posteriors), 4))
        for model, (train, test) in zip(self.fitted_.fold_classifiers_, folds, strict=True):
            near = self._reference(model, X, train, rng)
            self._folds.append(near)
            items = take_rows(X, test)
            signs[test] = _signs(posteriors[test], near, model, items, posteriors.shape[1])
        return signs

    def _check(self, classes: Array) -> None:
        if isinstance(self.scorer.classifier, FrozenEstimator):
            raise HeadcountError(
                "classifier is frozen, but it must be trained without some classes to learn "
                "what new ones look like: pass an unfitted one."
            )
        if self.other in classes.tolist():
            raise HeadcountError(
                f"other is {self.other!r}, which is a class of y: choose another name."
            )
        if len(classes) == 2 and self.novelty != "distance":
            raise HeadcountError(
                f"novelty is {self.novelty!r}, which takes at least three classes, but y has "
                "two: set novelty to 'distance'."
            )

    def _reference(
        self, model: Any, X: Any, rows: NDArray[np.intp], rng: np.random.Generator
    ) -> _Neighbours | None:
        if self.novelty == "scores":
            return None
        if len(rows) > _MOST_REFERENCES:
            rows = np.sort(rng.choice(rows, _MOST_REFERENCES, replace=False))
        return _Neighbours.of(numeric_space(model, take_rows(X, rows)))

    def _without(
        self,
        X: Any,
        codes: Ints,
        train: NDArray[np.intp],
        j: int,
        K: int,
        sample_weight: ArrayLike | None,
        rng: np.random.Generator,
    ) -> tuple[Floats, Floats]:
        """Posteriors and signs of the items of class j by a classifier without it."""
        rows = train[codes[train] != j]
        items = take_rows(X, np.flatnonzero(codes == j))
        posteriors = np.zeros((count_rows(items), K))
        kept_classes = np.delete(np.arange(K), j)
        if K == 2:
            # A single class needs no classifier. Neighbours are those in the space of all.
            model = self.fitted_.classifier_
            posteriors[:, kept_classes] = 1.0
        else:
            weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
            scorer = clone(self.scorer)
            scorer.fit(take_rows(X, rows), codes[rows], weights, out_of_fold=False)
            model = scorer.classifier_
            posteriors[:, kept_classes] = scorer.posteriors(items)
        near = self._reference(model, X, rows, rng)
        signs = _signs(posteriors, near, model, items, K - 1)
        # The left-out class gets the posterior of a class that is neither likely nor unlikely.
        logs = np.log(np.maximum(posteriors[:, kept_classes], _SMALLEST))
        posteriors[:, j] = np.exp(logs.mean(axis=1))
        return posteriors / posteriors.sum(axis=1, keepdims=True), signs

    def _learn_novelty(
        self, familiar: Floats, new: Floats, weights: Floats, new_weights: Floats
    ) -> None:
        columns = {"both": [0, 1, 2, 3], "scores": [0, 1], "distance": [2, 3]}[self.novelty]
        is_new = np.repeat([0, 1], [len(familiar), len(new)])
        all_weights = np.concatenate([weights, new_weights])
        self._columns = columns
        self._novelty = make_pipeline(StandardScaler(), LogisticRegression()).fit(
            np.concatenate([familiar, new])[:, columns],
            is_new,
            logisticregression__sample_weight=all_weights,
        )
        q = self._novelty.predict_proba(np.concatenate([familiar, new])[:, columns])[:, 1]
        self.separation_ = float(roc_auc_score(is_new, q, sample_weight=all_weights))

    def _extended(self, posteriors: Floats, signs: Floats) -> Floats:
        """Posteriors of the known classes and of the further one."""
        new = self._novelty.predict_proba(signs[:, self._columns])[:, 1]
        return np.column_stack([posteriors * (1 - new)[:, None], new])

    @property
    def fold_scoring(self) -> bool:
        """True if the classifiers of the folds score new items."""
        return bool(self.scorer.fold_scoring)

    @property
    def has_posteriors_(self) -> bool:
        """True: there are out-of-fold posteriors of the training items."""
        return True

    @property
    def n_folds_(self) -> int:
        """Number of classifiers that scored the training items."""
        return self.fitted_.n_folds_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the items that the scorer was fitted on, if they have any."""
        return self.fitted_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the frame that the scorer was fitted on."""
        return self.fitted_.feature_names_in_

    @property
    def labels_(self) -> Ints:
        """Classes with the highest out-of-fold posteriors of the training items."""
        return self.posteriors_.argmax(axis=1)

    def posteriors(self, X: Any) -> Floats:
        """Score items."""
        posteriors, model = self.fitted_.posteriors(X), self.fitted_.classifier_
        return self._extended(
            posteriors, _signs(posteriors, self._whole, model, X, posteriors.shape[1])
        )

    def fold_posteriors(self, X: Any) -> Floats:
        """Score items by the classifier of every fold."""
        by_fold = self.fitted_.fold_posteriors(X)
        folds = zip(by_fold, self._folds, self.fitted_.fold_classifiers_, strict=True)
        return np.stack(
            [
                self._extended(posteriors, _signs(posteriors, near, model, X, by_fold.shape[2]))
                for posteriors, near, model in folds
            ]
        )

    def labels(self, X: Any) -> Ints:
        """Predict the classes of items."""
        return self.posteriors(X).argmax(axis=1)

    def fold_labels(self, X: Any) -> Ints:
        """Predict the classes of items by the classifier of every fold."""
        return self.fold_posteriors(X).argmax(axis=2)


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Mean distances of items to the nearest of some reference items.

    Dense items are compared in two ways: as they are, and with standardised columns, in which
    values far outside count as three standard deviations. Sparse items are compared by the
    angle.
    """

    plain: NearestNeighbors
    scaled: NearestNeighbors | None = None
    scaler: StandardScaler | None = None

    @classmethod
    def of(cls, Z: Any) -> _Neighbours:
        if issparse(Z):
            return cls(_index(Z, "cosine"))
        scaler = StandardScaler().fit(Z)
        return cls(_index(Z, "euclidean"), _index(_clipped(scaler, Z), "euclidean"), scaler)

    def distances(self, Z: Any) -> Floats:
        """Mean distance to the nearest items, in both ways, (n, 2)."""
        if self.scaled is None:
            return np.repeat(_mean_distance(self.plain, Z)[:, None], 2, axis=1)
        Z = Z.toarray() if issparse(Z) else Z
        scaled = _mean_distance(self.scaled, _clipped(self.scaler, Z))
        return np.column_stack([_mean_distance(self.plain, Z), scaled])


def _index(Z: Any, metric: str) -> NearestNeighbors:
    n_neighbours = min(_NEIGHBOURS, Z.shape[0])
    return NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute", metric=metric).fit(Z)


def _clipped(scaler: StandardScaler | None, Z: Any) -> Floats:
    assert scaler is not None
    return np.clip(scaler.transform(Z), -_FARTHEST, _FARTHEST)


def _mean_distance(index: NearestNeighbors, Z: Any) -> Floats:
    return np.asarray(index.kneighbors(Z)[0].mean(axis=1))


def _signs(
    posteriors: Floats, near: _Neighbours | None, model: Any, X: Any, n_classes: int
) -> Floats:
    """Log-odds of the highest posterior, entropy, and log distances to neighbours."""
    k = max(n_classes, 2)
    highest = np.clip(posteriors.max(axis=1), _SMALLEST, 1 - 1e-9)
    logs = np.log(np.maximum(posteriors, _SMALLEST))
    signs = np.zeros((len(posteriors), 4))
    signs[:, 0] = np.log(highest / (1 - highest)) + np.log(k - 1)
    signs[:, 1] = -(posteriors * logs).sum(axis=1) / np.log(k)
    if near is not None:
        signs[:, 2:] = np.log(near.distances(numeric_space(model, X)) + 1e-6)
    return signs


def _with_other(classes: Array, other: Any) -> Array:
    """Names of the classes, with the further one at the end."""
    names = np.array([*classes.tolist(), other])
    if names.tolist() == [*classes.tolist(), other]:
        return names
    mixed = np.empty(len(classes) + 1, dtype=object)
    mixed[:] = [*classes.tolist(), other]
    return mixed
