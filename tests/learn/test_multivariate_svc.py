from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_matrix
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from headcount.errors import HeadcountError, HeadcountWarning
from headcount.learn.multivariate_svc import LOSSES, MultivariateSVC

COUNT_LOSSES = ("ae", "rae", "kld", "nkld")


def data(n=300, n_classes=2, seed=0):
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=1.2, random_state=seed
    )


def test_the_error_rate_gives_the_usual_linear_svm():
    X, y = data()
    ours = MultivariateSVC("error", C=0.5, tol=1e-4).fit(X, y)
    C = 100 * 0.5 / len(y)
    usual = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    signs = np.where(y == 1, 1, -1)

    def objective(w, b):
        return 0.5 * (w @ w + b * b) + C * np.maximum(0, 1 - signs * (X @ w + b)).sum()

    expected = objective(usual.coef_[0], usual.intercept_[0])
    assert_allclose(objective(ours.coef_[0], ours.intercept_[0]), expected, rtol=1e-4)
    assert_allclose(ours.objective_, expected, rtol=1e-4)
    assert_allclose(ours.coef_, usual.coef_, atol=0.02)


@pytest.mark.parametrize("loss", COUNT_LOSSES)
def test_losses_of_counts_do_not_care_which_class_is_the_positive_one(loss):
    X, y = data(150)
    one = MultivariateSVC(loss, tol=1e-4).fit(X, y)
    other = MultivariateSVC(loss, tol=1e-4).fit(X, -y)
    assert_allclose(one.objective_, other.objective_, rtol=1e-4)
    assert_allclose(one.coef_, -other.coef_, atol=0.02)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_items_does_not_matter(loss):
    X, y = data(150)
    order = np.random.default_rng(0).permutation(150)
    one = MultivariateSVC(loss, tol=1e-4).fit(X, y)
    other = MultivariateSVC(loss, tol=1e-4).fit(X[order], y[order])
    assert_allclose(one.objective_, other.objective_, rtol=1e-4)
    assert_allclose(one.coef_, other.coef_, atol=0.02)


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [-1, 1], [1, 2], [False, True], [0.0, 1.0], np.array(["a", "b"], object)],
)
def test_labels_of_any_kind(labels):
    X, y = data()
    names = np.asarray(labels)
    plain = MultivariateSVC("kld").fit(X, y)
    other = MultivariateSVC("kld").fit(X, names[y])
    assert_array_equal(other.classes_, names)
    assert_array_equal(other.decision_function(X), plain.decision_function(X))
    assert_array_equal(other.predict(X), names[plain.predict(X)])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_items_give_the_same(kernel, n_classes):
    X, y = data(120, n_classes)
    X[np.abs(X) < 0.5] = 0
    svm = MultivariateSVC("ae", kernel=kernel, n_components=30, tol=1e-4, random_state=0)
    objective, dense = svm.fit(X, y).objective_, svm.decision_function(X)
    for kind in (csr_matrix, csc_array):
        items = kind(X)
        # Sums in another order may lead along other planes, to the same end.
        assert_allclose(svm.fit(items, y).objective_, objective, rtol=1e-4)
        assert_allclose(svm.decision_function(items), dense, atol=0.05)
        assert_allclose(svm.decision_function(X), svm.decision_function(items), atol=1e-9)


def test_frames_give_the_same():
    X, y = data(120)
    plain = MultivariateSVC().fit(X, y).decision_function(X)
    for frame in (pd.DataFrame(X, columns=list("abcdef")), pl.DataFrame(X, list("abcdef"))):
        svm = MultivariateSVC().fit(frame, y)
        assert svm.feature_names_in_.tolist() == list("abcdef")
        assert_allclose(svm.decision_function(frame), plain, rtol=1e-9)


def test_two_classes_by_the_sign():
    X, y = data()
    svm = MultivariateSVC("nkld").fit(X, y)
    values = svm.decision_function(X)
    assert values.shape == (300,)
    assert svm.coef_.shape == (1, 6)
    assert_allclose(values, X @ svm.coef_[0] + svm.intercept_[0])
    assert_array_equal(svm.predict(X), values > 0)
    assert svm.score(X, y) > 0.7
    assert not hasattr(svm, "predict_proba")


def test_more_classes_one_against_the_rest(monkeypatch):
    X, y = data(n_classes=3)
    svm = MultivariateSVC("kld").fit(X, y)
    values = svm.decision_function(X)
    assert values.shape == (300, 3)
    assert_array_equal(svm.predict(X), values.argmax(axis=1))
    for k in range(3):
        alone = MultivariateSVC("kld").fit(X, y == k)
        assert_allclose(values[:, k], alone.decision_function(X))
        assert svm.n_iter_[k] == alone.n_iter_[0]
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "1")
    assert_array_equal(MultivariateSVC("kld").fit(X, y).coef_, svm.coef_)


@pytest.mark.parametrize(("n", "C"), [(10_000, 1.0), (10_001, 0.1)])
def test_without_a_weight_many_items_weigh_less(n, C):
    X, y = data(n)
    usual, named = (MultivariateSVC("ae", C=each).fit(X, y) for each in (None, C))
    assert_array_equal(usual.coef_, named.coef_)


def test_without_an_intercept_the_origin_decides():
    X, y = data()
    svm = MultivariateSVC("error", fit_intercept=False).fit(X, y)
    assert_array_equal(svm.intercept_, [0.0])
    assert_array_equal(svm.decision_function(np.zeros((1, 6))), [0.0])


def test_a_count_loss_gets_the_count_right_where_the_error_rate_does_not():
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.25
    X = rng.normal(size=(2000, 2)) + 0.7 * y[:, None]
    off = {
        loss: abs(MultivariateSVC(loss).fit(X, y).predict(X).mean() - y.mean())
        for loss in ("error", "kld")
    }
    assert off["kld"] < 0.05 < 0.15 < off["error"]


@pytest.mark.parametrize("gamma", ["scale", "auto", 1.0])
def test_the_rbf_kernel_bends_the_border(gamma):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] * X[:, 1] > 0
    straight = MultivariateSVC("error").fit(X, y)
    bent = MultivariateSVC("error", kernel="rbf", gamma=gamma, random_state=0).fit(X, y)
    assert straight.score(X, y) < 0.7 < 0.95 < bent.score(X, y)
    assert bent.coef_.shape == (1, 300)


def test_all_components_are_the_exact_kernel():
    X, y = data(60)
    seeds = [
        MultivariateSVC(
            "error", kernel="rbf", n_components=n, gamma=0.1, tol=1e-5, random_state=s
        )
        for n, s in [
            (None, 0),
            (None, np.random.default_rng(1)),
            (1000, np.random.RandomState(2)),
        ]
    ]
    first, *others = [svm.fit(X, y).decision_function(X) for svm in seeds]
    for other in others:
        assert_allclose(other, first, atol=2e-3)


def test_one_random_state_one_result():
    X, y = data()
    svm = MultivariateSVC("ae", kernel="rbf", n_components=10, random_state=3)
    first, again = svm.fit(X, y).coef_, svm.fit(X, y).coef_
    assert_array_equal(first, again)
    assert not np.allclose(svm.set_params(random_state=4).fit(X, y).coef_, first)


def test_too_few_rounds_are_told():
    X, y = data()
    with pytest.warns(HeadcountWarning, match="stopped after max_iter=3 rounds"):
        svm = MultivariateSVC(max_iter=3).fit(X, y)
    assert svm.n_iter_[0] == 3
    assert svm.gap_[0] > 0.005 * svm.objective_[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "loss is 'hinge'; it must be one of 'q', 'ae'"),
        ({"C": 0}, "C is 0; it must be a finite number above 0"),
        ({"C": float("inf")}, "C is inf"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"max_iter": 2.5}, "max_iter is 2.5; it must be a whole number of at least 1"),
        ({"kernel": "poly"}, "kernel is 'poly'; it must be one of 'linear', 'rbf'"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma is 'wide'; it must be one of"),
        ({"kernel": "rbf", "gamma": -1}, "gamma is -1"),
        ({"kernel": "rbf", "n_components": 0}, "n_components is 0"),
        ({"kernel": "rbf", "random_state": "x"}, "random_state is 'x'"),
        ({"kernel": "rbf", "random_state": -1}, "random_state is -1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(HeadcountError, match=message):
        MultivariateSVC(**parameters).fit(*data(40))


def test_bad_labels():
    X, y = data(40)
    with pytest.raises(HeadcountError, match="y"):
        MultivariateSVC().fit(X, [None, *["a", "b"] * 20][:40])
    with pytest.raises(ValueError, match="Unknown label type"):
        MultivariateSVC().fit(X, y + 0.5 * X[:, 0])


def test_one_class_is_refused():
    with pytest.raises(HeadcountError, match="y has only one class, 'a', but at least two"):
        MultivariateSVC().fit(np.eye(3), ["a", "a", "a"])
