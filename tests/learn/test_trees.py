from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_classification

from headcount.errors import HeadcountError
from headcount.learn.trees import QuantificationForestClassifier, QuantificationTreeClassifier

BOTH = [QuantificationTreeClassifier, QuantificationForestClassifier]


def data(n=300, n_classes=2, seed=0):
    shares = [0.6, *[0.4 / (n_classes - 1)] * (n_classes - 1)]
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, weights=shares, random_state=seed
    )


def test_a_tree_counts_its_training_items_right():
    X, y = data(n_classes=3)
    tree = QuantificationTreeClassifier(scope="tree", random_state=0).fit(X, y)
    said = np.bincount(tree.predict(X), minlength=3)
    assert np.abs(said - np.bincount(y)).max() <= 3
    assert tree.score(X, y) < 1


def test_a_node_alone_grows_deeper():
    X, y = data()
    whole = QuantificationTreeClassifier(scope="tree", random_state=0).fit(X, y)
    alone = QuantificationTreeClassifier(random_state=0).fit(X, y)
    assert whole.n_leaves_ < 10 < alone.n_leaves_
    assert alone.score(X, y) > whole.score(X, y)


def test_shares_of_a_leaf():
    X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], list("aababb")
    tree = QuantificationTreeClassifier().fit(X, y)
    assert_allclose(
        tree.predict_proba([[0.2], [0.5], [0.8]]), [[2 / 3, 1 / 3]] * 2 + [[1 / 3, 2 / 3]]
    )
    assert_array_equal(tree.predict([[0.2], [0.8]]), ["a", "b"])


@pytest.mark.parametrize("kind", BOTH)
def test_predictions_are_the_largest_share_and_ties_go_to_the_first(kind):
    X, y = data(n_classes=3)
    model = kind(random_state=0).fit(X, y)
    shares = model.predict_proba(X)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(model.predict(X), shares.argmax(axis=1))
    even = QuantificationForestClassifier(2, random_state=3).fit(X, y)
    tied = (even.predict_proba(X) == 0.5).any(axis=1)
    assert tied.any()
    assert_array_equal(even.predict(X)[tied], even.predict_proba(X)[tied].argmax(axis=1))


@pytest.mark.parametrize("kind", BOTH)
def test_labels_of_any_kind(kind):
    X, y = data()
    plain = kind(random_state=0).fit(X, y)
    for names in (["no", "yes"], [-1, 1], [False, True]):
        other = kind(random_state=0).fit(X, np.asarray(names)[y])
        assert_array_equal(other.classes_, names)
        assert_array_equal(other.predict_proba(X), plain.predict_proba(X))
        assert_array_equal(other.predict(X), np.asarray(names)[plain.predict(X)])


def test_the_order_of_items_does_not_matter_to_a_tree():
    X, y = data(n_classes=3)
    order = np.random.default_rng(0).permutation(len(y))
    one = QuantificationTreeClassifier("balance_errors", random_state=0).fit(X, y)
    other = QuantificationTreeClassifier("balance_errors", random_state=0).fit(
        X[order], y[order]
    )
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("kind", BOTH)
def test_a_monotone_change_of_the_features_does_not_matter(kind):
    X, y = data()
    X = X.round(1)  # no more than 255 values, each with a bin of its own
    one = kind(random_state=0).fit(X, y).predict_proba(X)
    other = kind(random_state=0).fit(np.exp(X), y).predict_proba(np.exp(X))
    assert_array_equal(one, other)


def test_a_forest_is_its_trees_and_not_the_threads(monkeypatch):
    X, y = data(2500, n_classes=3)
    forests = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
        forest = QuantificationForestClassifier(12, random_state=7).fit(X, y)
        forests.append([forest.predict_proba(X), forest.oob_decision_function_])
    for other in forests[1:]:
        assert_array_equal(other[0], forests[0][0])
        assert_array_equal(other[1], forests[0][1])


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState, int])
def test_sources_of_chance(source):
    X, y = data()
    one, two = (
        QuantificationForestClassifier(5, random_state=source(1)).fit(X, y).predict_proba(X)
        for _ in range(2)
    )
    assert_array_equal(one, two)
    other = QuantificationForestClassifier(5, random_state=source(2)).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), one)


def test_votes_out_of_bag():
    X, y = data(600)
    names = np.array(["z", "a"])[y]
    single = QuantificationForestClassifier(1, random_state=0).fit(X, names)
    unseen = ~np.isnan(single.oob_decision_function_[:, 0])
    assert 0.3 < unseen.mean() < 0.44
    shares = single.oob_decision_function_[unseen]
    assert_array_equal(shares, single.predict_proba(X)[unseen])
    assert_array_equal(single.oob_prediction_[unseen], single.predict(X)[unseen])
    frequent = "z" if (names == "z").sum() > 300 else "a"
    assert set(single.oob_prediction_[~unseen]) == {frequent}
    many = QuantificationForestClassifier(60, random_state=0).fit(X, names)
    assert_allclose(many.oob_decision_function_.sum(axis=1), 1)
    inside, outside = many.score(X, names), (many.oob_prediction_ == names).mean()
    assert 0.75 < outside < inside


def test_out_of_bag_rates_are_those_of_new_items():
    X, y = make_classification(4000, 6, n_informative=4, class_sep=1.0, random_state=1)
    forest = QuantificationForestClassifier(50, random_state=0).fit(X[:2000], y[:2000])
    out_of_bag = (forest.oob_prediction_ == y[:2000]).mean()
    assert_allclose(out_of_bag, forest.score(X[2000:], y[2000:]), atol=0.03)


@pytest.mark.parametrize("kind", BOTH)
def test_bounds_on_leaves(kind):
    X, y = data(n_classes=3)
    few = kind(max_depth=1, random_state=0).fit(X, y)
    trees = [few._tree] if kind is BOTH[0] else [few._forest]
    splits = sum(int((tree.features >= 0).sum()) for tree in trees)
    assert 1 <= splits <= (1 if kind is BOTH[0] else 100)
    tree = QuantificationTreeClassifier(min_samples_leaf=20).fit(X, y)
    counts = tree._tree.counts[tree._tree.features < 0]
    assert counts.sum() == len(y)
    assert counts.sum(axis=1).min() >= 20


def test_frames_and_sparse_items():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    plain = QuantificationForestClassifier(5, random_state=0).fit(X, y)
    framed = QuantificationForestClassifier(5, random_state=0).fit(frame, y)
    assert_array_equal(framed.predict_proba(frame), plain.predict_proba(X))
    for bad in (lambda: plain.fit(csr_array(X), y), lambda: plain.predict(csr_array(X))):
        with pytest.raises(HeadcountError, match=r"X is sparse, but .* takes dense items"):
            bad()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"criterion": "gini"},
            "criterion is 'gini'; it must be one of 'balance', 'balance_err",
        ),
        ({"scope": "leaf"}, "scope is 'leaf'; it must be one of 'node', 'tree'"),
        ({"max_features": "sqrt"}, "max_features is 'sqrt'; it must be one of 'log2'"),
        ({"max_features": 0}, "max_features is 0; it must be a whole number of at least 1"),
        ({"max_depth": 0}, "max_depth is 0"),
        ({"min_samples_leaf": 0.5}, "min_samples_leaf is 0.5"),
        ({"random_state": "x"}, "random_state is 'x'"),
    ],
)
def test_bad_parameters(kind, parameters, message):
    with pytest.raises(HeadcountError, match=message):
        kind(**parameters).fit(*data(40))


def test_a_forest_needs_trees():
    with pytest.raises(HeadcountError, match="n_estimators is 0"):
        QuantificationForestClassifier(0).fit(*data(40))
