"""Classifiers with a grid, and scores of training items by models that have not seen them.

Of the settings of a classifier the one with the highest accuracy is chosen, of equal ones the
first of the grid. Accuracy, and the scores of the training items, are those of items that a
classifier has not seen: of stratified folds, or, for random forests, out of bag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from headcount._support.parameters import check_count, check_grid
from headcount.errors import HeadcountError
from headcount.scores.scorer import Scorer
from headcount_studies.engine.spec import check_keys

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FOLDS = 10
"""Folds of the scores of training items."""

_MAX_ITER = 1000
_ALMOST = 1e-9  # settings within this accuracy are equal


def stratified_folds(codes: Codes, most: int) -> StratifiedKFold | None:
    """Folds that are not shuffled, at most as many as the smallest class has items, if any."""
    n_folds = min(most, int(np.bincount(codes).min()))
    return StratifiedKFold(n_folds) if n_folds >= 2 else None


@dataclass(frozen=True, eq=False)
class ClassifierScores:
    """Scores of the training items, by models that have not seen them, and of the pool."""

    training: Floats
    pool: Floats
    codes: Codes


@dataclass(eq=False)
class _Learner:
    """A classifier with a grid, for one labelled table; its scores are predicted classes."""

    X: Floats
    codes: Codes
    options: Mapping[str, Any]
    seed: int

    GRID: ClassVar[tuple[str, ...]]
    FIXED: ClassVar[tuple[str, ...]] = ()

    def settings(self) -> list[dict[str, Any]]:
        """Settings of the grid, the first parameter changing least often."""
        values = product(*(self.options["grid"][name] for name in self.GRID))
        return [dict(zip(self.GRID, setting, strict=True)) for setting in values]

    def make(self, setting: Mapping[str, Any]) -> Any:
        """Unfitted classifier in a setting."""
        raise NotImplementedError

    def accuracy(self, setting: Mapping[str, Any], n_folds: int) -> float:
        """Share of the items that are classified correctly, unseen."""
        return float((self.unseen(setting, n_folds).argmax(axis=1) == self.codes).mean())

    def scores(self, setting: Mapping[str, Any], pool: Floats) -> tuple[Floats, Floats]:
        """Scores of the items, unseen, and of a pool."""
        model = self.make(setting).fit(self.X, self.codes)
        return self.unseen(setting, FOLDS), self.table(model.predict(pool))

    def unseen(self, setting: Mapping[str, Any], n_folds: int) -> Floats:
        """Scores of the items, each by a model of the other folds."""
        return self.table(self.by_folds(self.make(setting), self.X, n_folds))

    def by_folds(self, model: Any, X: Floats, n_folds: int, method: str = "predict") -> Any:
        """Predictions of items, unseen; seen ones if there are no folds."""
        folds = stratified_folds(self.codes, n_folds)
        if folds is None:
            return getattr(model.fit(X, self.codes), method)(X)
        return cross_val_predict(model, X, self.codes, cv=folds, method=method)

    def table(self, predicted: Any) -> Floats:
        """Predicted classes as indicators."""
        return np.eye(int(self.codes.max()) + 1)[predicted]


class _Logistic(_Learner):
    """Logistic regression, whose scores are posteriors."""

    GRID = ("C",)

    def make(self, setting: Mapping[str, Any]) -> LogisticRegression:
        return LogisticRegression(max_iter=_MAX_ITER, **setting)

    def scores(self, setting: Mapping[str, Any], pool: Floats) -> tuple[Floats, Floats]:
        scorer, unseen = self._fitted(setting, FOLDS)
        return unseen, scorer.posteriors(pool)

    def unseen(self, setting: Mapping[str, Any], n_folds: int) -> Floats:
        return self._fitted(setting, n_folds)[1]

    def _fitted(self, setting: Mapping[str, Any], n_folds: int) -> tuple[Scorer, Floats]:
        folds = stratified_folds(self.codes, n_folds)
        scorer = Scorer(self.make(setting), cv=folds, fold_scoring=False)
        scorer.fit(self.X, self.codes, out_of_fold=folds is not None)
        return scorer, scorer.posteriors(self.X) if folds is None else scorer.posteriors_


class _Boosted(_Learner):
    """AdaBoost of stumps."""

    GRID, FIXED = ("learning_rate",), ("n_estimators",)

    def make(self, setting: Mapping[str, Any]) -> AdaBoostClassifier:
        n_estimators = self.options.get("n_estimators", 50)
        return AdaBoostClassifier(n_estimators=n_estimators, random_state=self.seed, **setting)


@dataclass(eq=False)
class _Kernel(_Learner):
    """SVM with a Gaussian kernel; for two classes the scores give its decision values.

    The distances between the items are measured once for all settings.
    """

    GRID = ("gamma", "C")

    def __post_init__(self) -> None:
        self.distances = euclidean_distances(self.X, squared=True)
        self.kernel: tuple[float, Floats] = (np.nan, self.distances)

    def make(self, setting: Mapping[str, Any]) -> SVC:
        return SVC(kernel="rbf", random_state=self.seed, **setting)

    def accuracy(self, setting: Mapping[str, Any], n_folds: int) -> float:
        gamma = setting["gamma"]
        if self.kernel[0] != gamma:
            self.kernel = gamma, np.exp(-gamma * self.distances)
        model = SVC(C=setting["C"], kernel="precomputed", random_state=self.seed)
        return float((self.by_folds(model, self.kernel[1], n_folds) == self.codes).mean())

    def scores(self, setting: Mapping[str, Any], pool: Floats) -> tuple[Floats, Floats]:
        if self.codes.max() > 1:
            return super().scores(setting, pool)
        model, method = self.make(setting), "decision_function"
        values = self.by_folds(model, self.X, FOLDS, method)
        pooled = model.fit(self.X, self.codes).decision_function(pool)
        unseen, scores = (np.column_stack([expit(-v), expit(v)]) for v in (values, pooled))
        return unseen, scores


class _Forest(_Learner):
    """Random forest; unseen items are those out of bag, so no folds are needed."""

    GRID, FIXED = ("max_features", "min_samples_split"), ("n_estimators", "search_trees")

    def settings(self) -> list[dict[str, Any]]:
        """Settings without those of more features than there are, which make no difference."""
        most = self.X.shape[1]
        capped = [
            {**s, "max_features": min(s["max_features"], most)} for s in super().settings()
        ]
        return [setting for i, setting in enumerate(capped) if setting not in capped[:i]]

    def make(self, setting: Mapping[str, Any], trees: str = "n_estimators") -> Any:
        n_trees = self.options.get(trees, 100)
        return RandomForestClassifier(
            n_trees, oob_score=True, random_state=self.seed, **setting
        )

    def accuracy(self, setting: Mapping[str, Any], n_folds: int) -> float:
        forest = self.make(setting, "search_trees").fit(self.X, self.codes)
        return float(forest.oob_score_)

    def scores(self, setting: Mapping[str, Any], pool: Floats) -> tuple[Floats, Floats]:
        model = self.make(setting).fit(self.X, self.codes)
        unseen = np.nan_to_num(model.oob_decision_function_).argmax(axis=1)
        return self.table(unseen), self.table(model.predict(pool))


_LEARNERS: Mapping[str, type[_Learner]] = {
    "LR": _Logistic,
    "SV": _Kernel,
    "RF": _Forest,
    "AB": _Boosted,
}
CLASSIFIERS = tuple(_LEARNERS)
"""Logistic regression, SVM with a Gaussian kernel, random forest and AdaBoost."""


def check_tuning(where: str, kind: str, table: Any) -> None:
    """Refuse, in one sentence, a grid that cannot be used."""
    if not isinstance(table, dict):
        raise HeadcountError(f"{where} is {table!r}; it must be a table with a grid.")
    learner, grid = _LEARNERS[kind], table.get("grid")
    check_keys(where, table, ("grid", "folds", *learner.FIXED))
    for name in ("folds", *learner.FIXED):
        check_count(f"{name} of {where}", table.get(name, 2), least=2)
    check_grid(grid)
    assert isinstance(grid, dict)
    check_keys(f"grid of {where}", grid, (), needed=learner.GRID)


@dataclass(frozen=True, eq=False)
class ScoreTrainer:
    """Trains a classifier, in the best setting of a grid, on one training set after another."""

    X: Floats
    y: Codes
    kind: str = "LR"
    options: Mapping[str, Any] = field(default_factory=lambda: {"grid": {"C": [1.0]}})
    seed: int = 0

    def score(self, rows: Codes, against_rest: int | None) -> ClassifierScores:
        """Scores of all classes, or of one class against the others."""
        y = self.y[rows]
        codes = y if against_rest is None else (y == against_rest).astype(np.int64)
        learner = _LEARNERS[self.kind](self.X[rows], codes, self.options, self.seed)
        training, pool = learner.scores(self.choose(learner), self.X)
        return ClassifierScores(training, pool, codes)

    def choose(self, learner: _Learner) -> dict[str, Any]:
        """The setting of the grid with the highest accuracy on unseen items."""
        settings, n_folds = learner.settings(), self.options.get("folds", 5)
        if len(settings) == 1:
            return settings[0]
        most, best = -1.0, settings[0]
        for setting in settings:
            accuracy = learner.accuracy(setting, n_folds)
            if accuracy > most + _ALMOST:
                most, best = accuracy, setting
        return best
