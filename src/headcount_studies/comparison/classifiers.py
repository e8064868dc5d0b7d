"""Logistic regression with its cross-fitting, and classifiers tuned on each training set.

Of the settings of a tuned classifier the one with the highest accuracy is chosen, of equal ones
the first of the grid. Accuracy, and the scores of the training items, are those of items that a
classifier has not seen: of stratified folds, or, for random forests, out of bag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from headcount._support.parameters import check_count, check_grid
from headcount.errors import HeadcountError
from headcount.scores.logistic import cross_fit as cross_fit_logistic
from headcount_studies.engine.spec import check_keys

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_MAX_ITER = 1000


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Logistic regression, and out-of-fold posteriors of its training set."""

    model: LogisticRegression
    posteriors: Floats


def stratified_folds(codes: Codes, most: int) -> Codes:
    """The fold of each item: stratified, in the order of the items, not shuffled.

    As many folds as the smallest class has items, and `most` at the most; a single fold if
    that is fewer than two.

    >>> import numpy as np
    >>> stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 10)
    array([0, 0, 1, 1, 0, 1])
    """
    n_folds, folds = min(most, int(np.bincount(codes).min())), np.zeros(len(codes), np.int64)
    if n_folds >= 2:
        for fold, (_, held) in enumerate(StratifiedKFold(n_folds).split(codes, codes)):
            folds[held] = fold
    return folds


def cross_fit(X: Floats, codes: Codes, folds: Codes, *, C: float = 1.0) -> CrossFit:
    """Fit logistic regression on all items, and on all but each fold."""
    classifier = LogisticRegression(C=C, max_iter=_MAX_ITER)
    held = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    seen = [np.flatnonzero(folds != fold) for fold in range(len(held))] if held[1:] else []
    models = [
        clone(classifier).fit(X[rows], codes[rows]) if model is None else model
        for model, rows in zip(
            cross_fit_logistic(classifier, X, np.unique(codes), codes, seen),
            [np.arange(len(codes)), *seen],
            strict=True,
        )
    ]
    posteriors = np.empty((len(codes), len(models[0].classes_)))
    for model, rows in zip(models[1:] or models, held, strict=True):
        posteriors[rows] = model.predict_proba(X[rows])
    return CrossFit(models[0], posteriors)


FOLDS = 10
"""Folds of the scores of training items."""

_ALMOST = 1e-9  # settings within this accuracy are equal


@dataclass(frozen=True, eq=False)
class ClassifierScores:
    """Scores of the training items, by models that have not seen them, and of the pool."""

    training: Floats
    pool: Floats
    codes: Codes


class Learner(Protocol):
    """A classifier with a grid, for one labelled table."""

    def accuracy(self, folds: Codes, setting: Mapping[str, Any]) -> float:
        """Share of the items that are classified correctly, unseen."""

    def scores(self, folds: Codes, setting: Mapping[str, Any], pool: Floats) -> Any:
        """Scores of the items, unseen, and of a pool."""


@dataclass(eq=False)
class _Logistic:
    """Logistic regression."""

    X: Floats
    codes: Codes
    seed: int

    def accuracy(self, folds: Codes, setting: Mapping[str, Any]) -> float:
        posteriors = cross_fit(self.X, self.codes, folds, C=setting["C"]).posteriors
        return float((posteriors.argmax(axis=1) == self.codes).mean())

    def scores(
        self, folds: Codes, setting: Mapping[str, Any], pool: Floats
    ) -> tuple[Floats, Floats]:
        fitted = cross_fit(self.X, self.codes, folds, C=setting["C"])
        return fitted.posteriors, fitted.model.predict_proba(pool)


@dataclass(eq=False)
class _Folded:
    """A classifier of scikit-learn: trained on all items but a fold, for each fold."""

    X: Floats
    codes: Codes
    seed: int

    def make(self, setting: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def answers(self, model: Any, X: Floats) -> Floats:
        """Predicted classes as indicators."""
        return np.eye(int(self.codes.max()) + 1)[model.predict(X)]

    def accuracy(self, folds: Codes, setting: Mapping[str, Any]) -> float:
        unseen = self._unseen(folds, setting)
        return float((unseen.argmax(axis=1) == self.codes).mean())

    def scores(
        self, folds: Codes, setting: Mapping[str, Any], pool: Floats
    ) -> tuple[Floats, Floats]:
        model = self.make(setting).fit(self.X, self.codes)
        return self._unseen(folds, setting), self.answers(model, pool)

    def _unseen(self, folds: Codes, setting: Mapping[str, Any]) -> Floats:
        answers = np.empty((len(self.codes), int(self.codes.max()) + 1))
        for fold in np.unique(folds):
            held = folds == fold
            seen = held if held.all() else ~held
            model = self.make(setting).fit(self.X[seen], self.codes[seen])
            answers[held] = self.answers(model, self.X[held])
        return answers


@dataclass(eq=False)
class _Boosted(_Folded):
    """AdaBoost of stumps."""

    def make(self, setting: Mapping[str, Any]) -> AdaBoostClassifier:
        return AdaBoostClassifier(random_state=self.seed, **setting)


@dataclass(eq=False)
class _Kernel(_Folded):
    """SVM with a Gaussian kernel; for two classes the scores give its decision values.

    The distances between the items are measured once for all settings.
    """

    def __post_init__(self) -> None:
        self.distances = euclidean_distances(self.X, squared=True)
        self.kernel: tuple[float, Floats] = (np.nan, self.distances)

    def make(self, setting: Mapping[str, Any]) -> SVC:
        return SVC(kernel="rbf", random_state=self.seed, **setting)

    def answers(self, model: Any, X: Floats) -> Floats:
        if len(model.classes_) > 2:
            return super().answers(model, X)
        decisions = model.decision_function(X)
        return np.column_stack([expit(-decisions), expit(decisions)])

    def accuracy(self, folds: Codes, setting: Mapping[str, Any]) -> float:
        gamma = setting["gamma"]
        if self.kernel[0] != gamma:
            self.kernel = gamma, np.exp(-gamma * self.distances)
        kernel, correct = self.kernel[1], 0
        for fold in np.unique(folds):
            held = folds == fold
            seen = np.flatnonzero(held if held.all() else ~held)
            model = SVC(C=setting["C"], kernel="precomputed", random_state=self.seed)
            model.fit(kernel[np.ix_(seen, seen)], self.codes[seen])
            rows = np.flatnonzero(held)
            correct += int(
                (model.predict(kernel[np.ix_(rows, seen)]) == self.codes[rows]).sum()
            )
        return correct / len(self.codes)


@dataclass(eq=False)
class _Forest(_Folded):
    """Random forest; unseen items are those out of bag, so no folds are needed."""

    search_trees: int = 100

    def make(self, setting: Mapping[str, Any]) -> RandomForestClassifier:
        features = min(setting["max_features"], self.X.shape[1])
        return RandomForestClassifier(
            **{**setting, "max_features": features}, oob_score=True, random_state=self.seed
        )

    def accuracy(self, folds: Codes, setting: Mapping[str, Any]) -> float:
        smaller = {**setting, "n_estimators": self.search_trees}
        return float(self.make(smaller).fit(self.X, self.codes).oob_score_)

    def scores(
        self, folds: Codes, setting: Mapping[str, Any], pool: Floats
    ) -> tuple[Floats, Floats]:
        model = self.make(setting).fit(self.X, self.codes)
        indicators = np.eye(int(self.codes.max()) + 1)
        unseen = np.nan_to_num(model.oob_decision_function_).argmax(axis=1)
        return indicators[unseen], self.answers(model, pool)


_LEARNERS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "LR": (_Logistic, ("C",)),
    "SV": (_Kernel, ("gamma", "C")),
    "RF": (_Forest, ("max_features", "min_samples_split")),
    "AB": (_Boosted, ("learning_rate",)),
}
CLASSIFIERS = tuple(_LEARNERS)
"""Logistic regression, SVM with a Gaussian kernel, random forest and AdaBoost."""

_FIXED = {"LR": (), "SV": (), "RF": ("n_estimators", "search_trees"), "AB": ("n_estimators",)}


def check_tuning(where: str, kind: str, table: Any) -> None:
    """Refuse, in one sentence, a grid that cannot be used."""
    if not isinstance(table, dict):
        raise HeadcountError(f"{where} is {table!r}; it must be a table with a grid.")
    check_keys(where, table, ("grid", "folds", *_FIXED[kind]))
    for name in ("folds", *_FIXED[kind]):
        check_count(f"{name} of {where}", table.get(name, 2), least=2)
    grid, names = table.get("grid"), _LEARNERS[kind][1]
    check_grid(grid)
    assert isinstance(grid, dict)
    check_keys(f"grid of {where}", grid, names)
    for name in names:
        if name not in grid:
            raise HeadcountError(f"grid of {where} has no {name!r}: add its values.")


@dataclass(frozen=True, eq=False)
class TunedTrainer:
    """Trains a classifier with a grid on one training set after the other."""

    X: Floats
    y: Codes
    kind: str
    settings: Mapping[str, Any]
    seed: int

    def score(self, rows: Codes, against_rest: int | None) -> ClassifierScores:
        """Scores of all classes, or of one class against the others."""
        y = self.y[rows]
        codes = y if against_rest is None else (y == against_rest).astype(np.int64)
        learner, fixed = self._learner(self.X[rows], codes)
        best = self.choose(learner, codes)
        training, pool = learner.scores(
            stratified_folds(codes, FOLDS), {**fixed, **best}, self.X
        )
        return ClassifierScores(training, pool, codes)

    def choose(self, learner: Learner, codes: Codes) -> dict[str, Any]:
        """The setting of the grid with the highest accuracy on unseen items."""
        folds = stratified_folds(codes, self.settings.get("folds", 5))
        grid, names = self.settings["grid"], _LEARNERS[self.kind][1]
        most, best = -1.0, {}
        for values in product(*(self._distinct(name, grid[name]) for name in names)):
            setting = dict(zip(names, values, strict=True))
            accuracy = learner.accuracy(folds, {**self._fixed, **setting})
            if accuracy > most + _ALMOST:
                most, best = accuracy, setting
        return best

    def _learner(self, X: Floats, codes: Codes) -> tuple[Any, dict[str, Any]]:
        make = _LEARNERS[self.kind][0]
        options = {
            name: self.settings[name] for name in ("search_trees",) if name in self.settings
        }
        return make(X, codes, self.seed, **options), self._fixed

    @property
    def _fixed(self) -> dict[str, Any]:
        trees = self.settings.get("n_estimators")
        return {} if trees is None else {"n_estimators": trees}

    def _distinct(self, name: str, values: list[Any]) -> list[Any]:
        """Values of a parameter; more features than there are make no difference."""
        if name != "max_features":
            return values
        return list(dict.fromkeys(min(value, self.X.shape[1]) for value in values))
