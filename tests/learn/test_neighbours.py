from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from headcount.errors import HeadcountError
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount_studies.comparison.training_pool import NeighbourLists


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


# Many training sets of one pool


def whole_numbers(seed, n=300, d=4, values=9):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, values, (n, d)).astype(float), rng.integers(0, 2, n)
    return X, y, [rng.permutation(n)[:size] for size in (20, 60, 200)]


def test_neighbours_are_the_nearest_and_lots_decide():
    X, y, sets = whole_numbers(0)
    lots = np.random.default_rng(7).permutation(300) / 600
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2) + lots
    for rows, counts in zip(sets, NeighbourLists(X, y, 7).counts(sets, 5), strict=True):
        near = y[rows[np.argsort(squares[:, rows], axis=1)[:, :5]]]
        assert np.array_equal(counts, np.stack([(near == k).sum(axis=1) for k in (0, 1)], 1))


@pytest.mark.parametrize("name", ["_LONGEST_LIST", "_BLOCK_PAIRS"])
def test_short_lists_and_small_blocks_make_no_difference(monkeypatch, name):
    X, y, sets = whole_numbers(0)
    expected = NeighbourLists(X, y, 0).counts(sets, 5)
    monkeypatch.setattr(f"headcount_studies.comparison.training_pool.{name}", 30)
    for found, counts in zip(NeighbourLists(X, y, 0).counts(sets, 5), expected, strict=True):
        assert np.array_equal(found, counts)
        assert (found.sum(axis=1) == 5).all()


def test_classes_are_those_of_the_learner():
    X, y, sets = whole_numbers(1, values=200)
    found = NeighbourLists(X, y, 0).predict(sets, n_neighbors=7, alpha=2.0)
    for rows, labels in zip(sets, found, strict=True):
        learner = ProportionWeightedKNN(7, alpha=2.0).fit(X[rows], y[rows])
        assert (learner.predict(X) == labels).mean() > 0.98  # but for ties


@pytest.mark.parametrize(
    ("X", "taken"),
    [
        (np.array([[0, 1], [2, 3]]), True),
        (np.array([[0.0, 1.0], [2.0, 3.0]]), True),
        (np.array([[1e6, 1e6 + 1], [1e6 + 2, 1e6 + 3]]), True),
        (np.array([[0.5, 1.0], [2.0, 3.0]]), False),
        (np.array([[0.0, 1.0], [1e4, 3.0]]), False),
        (csr_array(np.eye(2)), False),
        (np.array([["a", "b"], ["c", "d"]]), False),
    ],
)
def test_items_that_lists_take(X, taken):
    assert NeighbourLists.takes(X) == taken
