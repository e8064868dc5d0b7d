from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from headcount_studies.comparison.classifiers import FOLDS, ScoreTrainer, stratified_folds


def problem(n, d, K, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    X = rng.normal(size=(n, d))
    X[:, :K] += spread * np.eye(K)[y]
    return X, y


def scores(X, y):
    return ScoreTrainer(X, y).score(np.arange(len(y)), None)


def reference(X, y):
    return LogisticRegression(C=1.0, tol=1e-10, max_iter=100_000).fit(X, y)


@pytest.mark.parametrize(
    ("n", "d", "K", "spread"),
    [
        (200, 5, 2, 1.0), (150, 6, 3, 1.0), (30, 50, 2, 1.0), (25, 40, 4, 2.0),
        (80, 3, 2, 20.0), (400, 130, 4, 2.0),
    ],
)  # fmt: skip
def test_the_same_minimum_as_scikit_learn(n, d, K, spread):
    X, y = problem(n, d, K, spread=spread)
    fitted = scores(X, y)
    assert np.allclose(fitted.pool, reference(X, y).predict_proba(X), atol=1e-4)
    n_folds = min(FOLDS, np.bincount(y).min())
    for train, held in StratifiedKFold(n_folds).split(X, y):
        expected = reference(X[train], y[train]).predict_proba(X[held])
        assert np.allclose(fitted.training[held], expected, atol=1e-4)


def test_few_items_of_a_class_and_a_single_fold():
    X, y = problem(40, 4, 2)
    y[:] = 0
    y[[3, 7]] = 1
    folds = stratified_folds(y, 10)
    assert folds.n_splits == 2
    train, held = next(folds.split(X, y))
    model = reference(X[train], y[train])
    assert np.allclose(scores(X, y).training[held], model.predict_proba(X[held]), atol=1e-4)
    y[7] = 0
    assert stratified_folds(y, 10) is None
    assert np.allclose(scores(X, y).training, reference(X, y).predict_proba(X), atol=1e-4)


def test_items_that_are_far_apart_and_constant_features():
    X, y = problem(60, 3, 2, spread=1e4)
    X[:, 2] = 0.0
    fitted = scores(X, y)
    assert np.isfinite(fitted.training).all()
    assert (fitted.training.argmax(axis=1) == y).all()
