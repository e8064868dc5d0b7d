from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from headcount_studies.comparison.classifiers import cross_fit, stratified_folds


def problem(n, d, K, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    X = rng.normal(size=(n, d))
    X[:, :K] += spread * np.eye(K)[y]
    return X, y


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
    folds = stratified_folds(y, 10)
    fitted = cross_fit(X, y, folds)
    whole = reference(X, y)
    assert np.allclose(fitted.model.coef_, whole.coef_, atol=1e-4)
    assert np.allclose(fitted.model.predict_proba(X), whole.predict_proba(X), atol=1e-4)
    for fold in np.unique(folds):
        model = reference(X[folds != fold], y[folds != fold])
        expected = model.predict_proba(X[folds == fold])
        assert np.allclose(fitted.posteriors[folds == fold], expected, atol=1e-4)


def test_few_items_of_a_class_and_a_single_fold():
    X, y = problem(40, 4, 2)
    y[:] = 0
    y[[3, 7]] = 1
    folds = stratified_folds(y, 10)
    assert folds.max() == 1
    fitted = cross_fit(X, y, folds)
    model = reference(X[folds != 0], y[folds != 0])
    assert np.allclose(
        fitted.posteriors[folds == 0], model.predict_proba(X[folds == 0]), atol=1e-4
    )
    y[7] = 0
    folds = stratified_folds(y, 10)
    assert not folds.any()
    fitted = cross_fit(X, y, folds)
    assert np.allclose(fitted.posteriors, reference(X, y).predict_proba(X), atol=1e-4)


def test_items_that_are_far_apart_and_constant_features():
    X, y = problem(60, 3, 2, spread=1e4)
    X[:, 2] = 0.0
    fitted = cross_fit(X, y, stratified_folds(y, 10))
    assert np.isfinite(fitted.posteriors).all()
    assert (fitted.posteriors.argmax(axis=1) == y).all()


@pytest.mark.parametrize("seed", range(5))
def test_folds_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, p=[0.1, 0.2, 0.3, 0.4], size=237)
    expected = np.empty(len(y), int)
    for fold, (_, test) in enumerate(StratifiedKFold(10).split(y, y)):
        expected[test] = fold
    assert np.array_equal(stratified_folds(y, 10), expected)
