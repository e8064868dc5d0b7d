from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from headcount.errors import HeadcountError
from headcount.learn import ProportionWeightedKNN


def data(seed=0, sizes=(60, 25, 15)):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(y))
    return (rng.normal(size=(len(y), 3)) + y[:, None])[order], y[order]


def votes_by_hand(X, y, items, k, alpha):
    sizes = np.bincount(y)
    out = np.zeros((len(items), len(sizes)))
    for row, item in enumerate(items):
        for i in np.argsort(((X - item) ** 2).sum(axis=1))[:k]:
            out[row, y[i]] += (sizes[y[i]] / sizes.min()) ** (-1 / alpha)
    return out


@pytest.mark.parametrize("k", [1, 7, 10])
@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_votes_weigh_the_inverse_of_the_class(k, alpha):
    X, y = data()
    items = np.random.default_rng(1).normal(1, 1, (40, 3))
    knn = ProportionWeightedKNN(k, alpha=alpha).fit(X, y)
    votes = votes_by_hand(X, y, items, k, alpha)
    assert_allclose(knn.predict_proba(items), votes / votes.sum(axis=1, keepdims=True))
    clear = np.sort(votes, axis=1)[:, -1] > np.sort(votes, axis=1)[:, -2] + 1e-9
    assert clear.sum() > 30
    assert_array_equal(knn.predict(items)[clear], votes.argmax(axis=1)[clear])


def test_the_weights():
    X, y = data()
    assert_allclose(ProportionWeightedKNN().fit(X, y).weights_, [15 / 60, 15 / 25, 1])
    assert_allclose(ProportionWeightedKNN(alpha=2).fit(X, y).weights_[0], 0.5)


def test_equal_classes_vote_as_usual():
    X, y = data(sizes=(40, 40, 40))
    items = np.random.default_rng(1).normal(1, 1, (40, 3))
    usual = KNeighborsClassifier(7).fit(X, y)
    ours = ProportionWeightedKNN(7).fit(X, y)
    assert_allclose(ours.predict_proba(items), usual.predict_proba(items))
    assert_array_equal(ours.predict(items), usual.predict(items))


@pytest.mark.parametrize("many", [3, 49, 98, 103, 107])
@pytest.mark.parametrize("rare", ["a", "z"])
def test_a_tie_goes_to_the_first_class(many, rare):
    # With all items as neighbours, `many` votes of 1 / many meet a single vote of 1.
    X = np.arange(many + 1.0)[:, None]
    y = ["m"] * many + [rare]
    knn = ProportionWeightedKNN(many + 1).fit(X, y)
    assert knn.predict([[0.0]])[0] == min("m", rare)


def test_labels_of_any_kind_and_order_of_items():
    X, y = data(sizes=(60, 40))
    plain = ProportionWeightedKNN().fit(X, y)
    order = np.random.default_rng(0).permutation(100)
    for names in (["no", "yes"], [-1, 1], [False, True]):
        other = ProportionWeightedKNN().fit(X[order], np.asarray(names)[y[order]])
        assert_allclose(other.predict_proba(X), plain.predict_proba(X))
        assert_array_equal(other.predict(X), np.asarray(names)[plain.predict(X)])


def test_sparse_items_and_few_items():
    X, y = data()
    X[X < 0.5] = 0
    dense = ProportionWeightedKNN(algorithm="brute").fit(X, y).predict_proba(X)
    sparse = ProportionWeightedKNN().fit(csr_array(X), y).predict_proba(csr_array(X))
    assert_allclose(np.abs(sparse - dense).mean(), 0, atol=0.02)
    few = ProportionWeightedKNN(10).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert_allclose(few.predict_proba([[5.0]]), [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0; it must be a whole number of at least 1"),
        ({"n_neighbors": True}, "n_neighbors is True"),
        ({"alpha": 0.0}, "alpha is 0.0; it must be a finite number above 0"),
        ({"alpha": "1"}, "alpha is '1'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(HeadcountError, match=message):
        ProportionWeightedKNN(**parameters).fit(*data())


def test_one_class_is_refused():
    with pytest.raises(HeadcountError, match="y has only one class"):
        ProportionWeightedKNN().fit([[1.0], [2.0]], [1, 1])
