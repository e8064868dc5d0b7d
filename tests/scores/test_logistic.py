from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from tests.oracle import logistic as oracle

from headcount.scores import logistic
from headcount.scores.logistic import cross_fit, is_supported, stacked_posteriors
from headcount.scores.scorer import Scorer


def problem(n, d, n_classes, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    return spread * rng.normal(size=(n_classes, d))[codes] + rng.normal(size=(n, d)), codes


def thirds(n, seed=100):
    fold = np.random.default_rng(seed).permutation(np.arange(n) % 3)
    return [np.flatnonzero(fold != k) for k in range(3)]


def check(model, X, codes, weights, n_classes, intercept=True, atol=1e-6):
    coef, constant = oracle.fit(X, codes, weights, n_classes, intercept)
    np.testing.assert_allclose(model.coef_, coef, atol=atol)
    np.testing.assert_allclose(model.intercept_, constant, atol=atol)


# Agreement with the oracle


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_models_of_all_items_and_of_the_folds_are_those_of_the_oracle(n_classes, intercept, C):
    X, codes = problem(200, 6, n_classes)
    X[:, 0] += 5
    trains = thirds(len(X))
    found = cross_fit(
        LogisticRegression(C=C, fit_intercept=intercept), X, np.arange(n_classes), codes, trains
    )
    for model, rows in zip(found, [np.arange(len(X)), *trains], strict=True):
        weights = np.full(len(rows), C)
        check(model, X[rows], codes[rows], weights, n_classes, intercept)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sample_weights(n_classes, form):
    X, codes = problem(150, 4, n_classes, seed=1)
    weights = np.random.default_rng(2).exponential(size=len(X))
    weights[20:30] = 0
    trains = thirds(len(X))
    found = cross_fit(
        LogisticRegression(), form(X), np.arange(n_classes), codes, trains, weights
    )
    for model, rows in zip(found, [np.arange(len(X)), *trains], strict=True):
        check(model, X[rows], codes[rows], weights[rows], n_classes)


def test_rows_may_be_repeated():
    X, codes = problem(60, 3, 2)
    rows = np.random.default_rng(0).integers(60, size=60)
    model = cross_fit(LogisticRegression(), X, np.arange(2), codes, [rows])[1]
    check(model, X[rows], codes[rows], np.ones(60), 2)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_items_and_more_features_than_items(n_classes, form):
    rng = np.random.default_rng(0)
    codes = np.arange(90) % n_classes
    counts = rng.poisson(0.1 + 0.3 * rng.random((n_classes, 200))[codes])
    trains = thirds(len(codes))
    found = cross_fit(
        LogisticRegression(), form(counts.astype(float)), np.arange(n_classes), codes, trains
    )
    for model, rows in zip(found, [np.arange(90), *trains], strict=True):
        check(model, counts[rows], codes[rows], np.ones(len(rows)), n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_dense_features(n_classes, monkeypatch):
    monkeypatch.setattr(logistic, "_MAX_FACTORED", 3)
    X, codes = problem(200, 8, n_classes)
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    found = cross_fit(LogisticRegression(C=10), X, np.arange(n_classes), codes, thirds(200))
    check(found[0], X, codes, np.full(200, 10.0), n_classes)
    rows = thirds(200)[2]
    check(found[3], X[rows], codes[rows], np.full(len(rows), 10.0), n_classes)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_folds_one_after_the_other_or_together(n_classes, monkeypatch):
    X, codes = problem(300, 5, n_classes, spread=3.0)
    arguments = LogisticRegression(C=50), X, np.arange(n_classes), codes, thirds(300)
    together = cross_fit(*arguments)
    monkeypatch.setattr(logistic, "_MAX_TOGETHER", 0)
    for one, other in zip(cross_fit(*arguments), together, strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, atol=2e-6)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * 10.0 ** np.arange(-3, 3),
        lambda X: X + 10.0 ** np.arange(6),
        lambda X: np.column_stack([X, X[:, 0], X[:, 1] + 1e-7 * X[:, 2]]),
        lambda X: np.column_stack([X, np.full(len(X), 3.0)]),
    ],
    ids=["scales", "offsets", "collinear", "constant"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_awkward_features(change, n_classes):
    X, codes = problem(200, 6, n_classes)
    X = change(X)
    model = cross_fit(LogisticRegression(), X, np.arange(n_classes), codes, [])[0]
    centre = X.mean(axis=0)
    coef, constant = oracle.fit(X - centre, codes, np.ones(200), n_classes)
    np.testing.assert_allclose(
        model.decision_function(X),
        ((X - centre) @ coef.T + constant).squeeze(),
        atol=1e-5,
    )


def test_separated_classes_with_hardly_any_penalty():
    X, codes = problem(60, 3, 3, spread=30.0)
    found = cross_fit(LogisticRegression(C=1e4), X, np.arange(3), codes, thirds(60))
    for model, rows in zip(found, [np.arange(60), *thirds(60)], strict=True):
        theta = oracle.fit(X[rows], codes[rows], np.full(len(rows), 1e4), 3)
        np.testing.assert_allclose(model.coef_, theta[0], atol=1e-6)
        expected = oracle.posteriors(X[rows], np.column_stack(theta))
        np.testing.assert_allclose(model.predict_proba(X[rows]), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_feature_and_repeated_rows(n_classes, form):
    X, codes = problem(40, 1, n_classes)
    X, codes = np.repeat(X, 3, axis=0), np.repeat(codes, 3)
    trains = thirds(120)
    found = cross_fit(LogisticRegression(), form(X), np.arange(n_classes), codes, trains)
    for model, rows in zip(found, [np.arange(120), *trains], strict=True):
        check(model, X[rows], codes[rows], np.ones(len(rows)), n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_that_are_all_zero(n_classes):
    codes = np.arange(30) % n_classes
    for X in (np.zeros((30, 2)), sparse.csr_array((30, 2))):
        model = cross_fit(LogisticRegression(), X, np.arange(n_classes), codes, [])[0]
        np.testing.assert_array_equal(model.coef_, 0)
        np.testing.assert_allclose(model.intercept_, 0, atol=1e-7)


def test_huge_numbers_are_left_in_double_precision():
    X, codes = problem(100, 2, 2)
    model = cross_fit(LogisticRegression(), X * 1e30, np.arange(2), codes, [])[0]
    assert model is None or np.isfinite(model.coef_).all()


@given(
    n_classes=st.integers(2, 4),
    d=st.integers(1, 12),
    log_c=st.floats(-3, 3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=30, deadline=None)
def test_gradients_vanish(n_classes, d, log_c, seed):
    X, codes = problem(80, d, n_classes, seed)
    C = 10**log_c
    train = np.flatnonzero(np.arange(80) % 4 > 0)
    for rows, model in zip(
        [np.arange(80), train],
        cross_fit(LogisticRegression(C=C), X, np.arange(n_classes), codes, [train]),
        strict=True,
    ):
        residuals = model.predict_proba(X[rows]) - np.eye(n_classes)[codes[rows]]
        residuals = C * residuals[:, -len(model.coef_) :]
        assert np.abs(residuals.T @ X[rows] + model.coef_).max() < 1e-4 * max(C, 1)
        assert np.abs(residuals.sum(axis=0)).max() < 1e-4 * max(C, 1)


# What it applies to


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 1e-3, "fit_intercept": False, "random_state": 0},
        {"solver": "newton-cg", "max_iter": 1000, "tol": 1e-8},
        {"solver": "newton-cholesky", "C": 10},
    ],
)
def test_supported(parameters):
    assert is_supported(LogisticRegression(**parameters))


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(solver="liblinear"),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(class_weight={0: 2.0}),
        LogisticRegression(solver="saga", l1_ratio=1),
        LogisticRegression(C=np.inf),
        LogisticRegression(C=-1),
        LogisticRegression(C="1"),
        LogisticRegression(max_iter=99),
        LogisticRegression(max_iter=1e3),
        LogisticRegression(tol=None),
        LogisticRegression(fit_intercept="yes"),
        LogisticRegression(warm_start=True),
        LogisticRegression(verbose=1),
        LogisticRegressionCV(),
        type("Subclass", (LogisticRegression,), {})(),
        make_pipeline(LogisticRegression()),
        object(),
    ],
)
def test_not_supported(classifier):
    assert not is_supported(classifier)


# Fitted classifiers


def test_classifiers_look_as_if_fitted_by_scikit_learn():
    X, codes = problem(100, 3, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.array(["x", "y", "z"])
    classifier = LogisticRegression(C=0.5)
    found = cross_fit(classifier, frame, labels, codes, thirds(100))
    own = LogisticRegression(C=0.5).fit(frame, labels[codes])
    assert not hasattr(classifier, "coef_")
    for model in found:
        assert vars(model).keys() == vars(own).keys()
        assert model.get_params() == classifier.get_params()
        for name in ("coef_", "intercept_", "n_iter_", "classes_", "feature_names_in_"):
            one, other = getattr(model, name), getattr(own, name)
            assert one.shape == other.shape
            assert one.dtype == other.dtype
        assert (model.predict(frame) == labels[codes]).mean() > 0.4


def test_badly_scaled_sparse_items_are_left_to_scikit_learn():
    X, codes = problem(200, 30, 2)
    X = sparse.csr_array(X * 10.0 ** np.linspace(-2, 2, 30) + 10)
    classifier = LogisticRegression(C=1e4, max_iter=100_000)
    assert cross_fit(classifier, X, np.arange(2), codes, thirds(200)) == [None] * 4
    scorer = Scorer(classifier, random_state=0).fit(X, codes)
    own = LogisticRegression(C=1e4, max_iter=100_000).fit(X, codes)
    np.testing.assert_array_equal(scorer.classifier_.coef_, own.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_without_weight_is_left_to_scikit_learn(n_classes):
    X, codes = problem(60, 2, n_classes)
    weights = (codes > 0).astype(float)
    arguments = LogisticRegression(), X, np.arange(n_classes), codes, thirds(60)
    assert cross_fit(*arguments, weights) == [None] * 4


def test_a_continuous_target_is_refused_as_by_scikit_learn():
    X, codes = problem(20, 2, 2)
    with pytest.raises(ValueError, match="continuous"):
        cross_fit(LogisticRegression(), X, np.array([0.1, 0.2]), codes, [])


def test_single_precision_is_kept():
    X, codes = problem(100, 3, 2)
    model = cross_fit(LogisticRegression(), X.astype(np.float32), np.arange(2), codes, [])[0]
    own = LogisticRegression().fit(X.astype(np.float32), codes)
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, own.coef_, atol=1e-3)


def test_nothing_is_accepted_that_did_not_converge(monkeypatch):
    monkeypatch.setattr(logistic, "_MAX_STEPS", 2)
    X, codes = problem(100, 3, 2)
    found = cross_fit(LogisticRegression(), X, np.arange(2), codes, thirds(100))
    assert found == [None] * 4


# Scorers


def test_the_classifier_of_everything_does_not_depend_on_the_folds():
    X, codes = problem(120, 5, 3)
    alone = Scorer().fit(X, codes, out_of_fold=False)
    for cv in (2, 5):
        scorer = Scorer(cv=cv, random_state=cv).fit(X, codes)
        assert joblib.hash(scorer.judge_) == joblib.hash(alone.judge_)


@pytest.mark.parametrize(
    "parameters", [{"class_weight": "balanced"}, {"max_iter": 60}, {"solver": "liblinear"}]
)
def test_other_classifiers_are_fitted_by_scikit_learn(parameters):
    X, codes = problem(120, 5, 2)
    scorer = Scorer(LogisticRegression(**parameters), random_state=0).fit(X, codes)
    own = LogisticRegression(**parameters).fit(X, codes)
    np.testing.assert_array_equal(scorer.classifier_.coef_, own.coef_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scorers_have_the_posteriors_of_separate_fits(n_classes, form):
    X, codes = problem(150, 6, n_classes)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(exact, X, codes, cv=folds, method="predict_proba")
    scorer = Scorer(random_state=0).fit(form(X), codes)
    np.testing.assert_allclose(scorer.posteriors_, expected, atol=1e-6)


def test_scorers_fall_back_on_the_classifiers_own_fit(monkeypatch):
    X, codes = problem(120, 5, 3)
    exact = Scorer(random_state=0).fit(X, codes)
    monkeypatch.setattr(logistic, "_MAX_STEPS", 0)
    scorer = Scorer(random_state=0).fit(X, codes)
    own = LogisticRegression(max_iter=1000).fit(X, codes)
    np.testing.assert_array_equal(scorer.classifier_.coef_, own.coef_)
    np.testing.assert_allclose(scorer.posteriors_, exact.posteriors_, atol=1e-2)
    assert np.abs(scorer.posteriors_ - exact.posteriors_).max() > 1e-9


# All folds at once


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_stacked_posteriors_are_those_of_each_model(monkeypatch, n_classes, form):
    monkeypatch.setattr(logistic, "_BLOCK_ROWS", 17)
    X, codes = problem(60, 4, n_classes, spread=3.0)
    X[0] *= 1e4  # posteriors of 0 and 1
    items = form(X)
    if form is pd.DataFrame:
        items.columns = list("abcd")
    models = [
        LogisticRegression(C=C, fit_intercept=intercept, max_iter=1000).fit(items, codes)
        for C, intercept in [(1.0, True), (0.1, False), (10.0, True)]
    ]
    found = stacked_posteriors(models, items, np.arange(n_classes))
    expected = [model.predict_proba(items) for model in models]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-15)


class Own(LogisticRegression):
    """May have a predict_proba of its own."""


def test_other_models_are_not_stacked():
    X, codes = problem(60, 4, 2)
    fine, single_precision = (LogisticRegression().fit(X, codes) for _ in range(2))
    # Set here, as versions of scikit-learn differ in the type of the coefficients.
    single_precision.coef_ = single_precision.coef_.astype(np.float32)
    others = [
        Own().fit(X, codes),
        LogisticRegression(solver="liblinear").fit(X, codes),
        single_precision,
        make_pipeline(LogisticRegression()).fit(X, codes),
        LogisticRegression().fit(X, codes + 1),
    ]
    for other in others:
        assert stacked_posteriors([fine, other], X, np.arange(2)) is None
    assert stacked_posteriors([fine], X.astype(np.float32), np.arange(2)) is None
    with np.errstate(all="ignore"):
        assert stacked_posteriors([fine], 1.7e308 * np.sign(X), np.arange(2)) is None
