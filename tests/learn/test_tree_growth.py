from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle.forest import every_split, imbalance_and_errors, replay

from headcount._kernels import forest as kernels
from headcount.learn import trees
from headcount.learn.trees import CRITERIA, bin_features, check_options, grow


def data(seed, n=60, d=4, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(
        n_classes, n, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    )
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] * rng.random(d)
    X[:, 0] = X[:, 0].round()  # a feature with ties
    return X, y


def grown(X, y, criterion, *, weights=None, seed=0, **rules):
    checked = {
        "scope": "tree",
        "max_features": None,
        "max_depth": None,
        "min_samples_leaf": 1,
    } | rules
    weights = np.ones(len(y), dtype=np.int64) if weights is None else weights
    rule = check_options(criterion, **checked, d=X.shape[1])
    return grow(bin_features(X), y, int(y.max()) + 1, weights, rule, seed)


def better(one, other):
    """Whether one (imbalance, errors) is ahead of the other, with rounding forgiven."""
    same = abs(one[0] - other[0]) <= 1e-9 * max(one[0], other[0])
    return one[1] < other[1] if same else one[0] < other[0]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("least", [1, 5])
def test_each_split_is_the_best_and_each_leaf_has_none(criterion, n_classes, least):
    splits = 0
    for seed in range(3):
        X, y = data(seed, n_classes=n_classes)
        tree = grown(X, y, criterion, seed=seed, min_samples_leaf=least)
        nodes = (tree.features, tree.thresholds, tree.children)
        for node, rows, said, after in replay(X, y, *nodes):
            assert_array_equal(tree.counts[node], np.bincount(y[rows], minlength=n_classes))
            now = imbalance_and_errors(y, said, criterion)
            options = list(every_split(X, y, said, rows, criterion, least))
            if tree.features[node] < 0:
                assert not any(better(option, now) for option in options)
                continue
            splits += 1
            found = imbalance_and_errors(y, after, criterion)
            assert better(found, now)
            assert not any(better(option, found) for option in options)
    assert splits >= 3


@pytest.mark.parametrize("criterion", CRITERIA)
def test_fewer_features_still_better_the_tree_and_leaves_have_tried_all(criterion):
    chosen = set()
    for seed in range(6):
        X, y = data(1)
        tree = grown(X, y, criterion, seed=seed, max_features=1)
        chosen.add(int(tree.features[0]))
        for node, rows, said, after in replay(
            X, y, tree.features, tree.thresholds, tree.children
        ):
            now = imbalance_and_errors(y, said, criterion)
            if tree.features[node] >= 0:
                assert better(imbalance_and_errors(y, after, criterion), now)
            else:
                options = every_split(X, y, said, rows, criterion)
                assert not any(better(option, now) for option in options)
    assert len(chosen) > 1


def test_a_split_without_gain_is_made_if_it_lowers_the_errors():
    # After the first split 2 too many are called 0. The second calls 4 of them 1: then 2 too
    # few, but 2 errors less.
    X = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [10, 4, 20], axis=0)
    y = np.repeat([1, 0, 1, 0], [9, 1, 3, 21])
    tree = grown(X, y, "balance")
    values = [
        imbalance_and_errors(y, after, "balance")
        for *_, after in replay(X, y, tree.features, tree.thresholds, tree.children)
    ]
    assert_allclose(values[0], (2 * np.sqrt(2), 4))
    assert_allclose(values[-1], (2 * np.sqrt(2), 2))
    assert sorted(tree.features) == [-1, -1, -1, 0, 1]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_alone_each_node_is_split_as_a_tree_of_its_own(criterion):
    X, y = data(6, n=80)
    tree = grown(X, y, criterion, scope="node")
    assert (tree.features >= 0).sum() > 5
    for node, rows, _, after in replay(X, y, tree.features, tree.thresholds, tree.children):
        mine, labels = X[rows], y[rows]
        said = np.full(len(labels), np.bincount(labels).argmax())
        now = imbalance_and_errors(labels, said, criterion)
        everything = np.ones(len(labels), dtype=bool)
        options = list(every_split(mine, labels, said, everything, criterion))
        found = imbalance_and_errors(labels, after[rows], criterion)
        if tree.features[node] >= 0:
            assert better(found, now)
            assert not any(better(option, found) for option in options)
        else:
            assert not any(better(option, now) for option in options)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_count_as_items_given_again(criterion):
    X, y = data(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weights)
    assert set(y[again]) == set(y)
    binned, rules = bin_features(X), check_options(criterion, "tree", None, None, 1, X.shape[1])
    weighted = grow(binned, y, 3, weights, rules, 5)
    repeated = trees.BinnedFeatures(np.ascontiguousarray(binned.bins[:, again]), binned.edges)
    ones = np.ones(len(again), dtype=np.int64)
    plain = grow(repeated, y[again], 3, ones, rules, 5)
    for name in ("features", "thresholds", "children", "counts"):
        assert_array_equal(getattr(weighted, name), getattr(plain, name))


def test_the_compiler_changes_nothing(monkeypatch):
    X, y = data(4)
    expected = grown(X, y, "balance_errors", seed=3, max_features=2)
    for name in ("_search", "_add_leaf", "_part", "_mix"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    monkeypatch.setattr(trees, "grow_tree", kernels.grow_tree.py_func)
    plain = grown(X, y, "balance_errors", seed=3, max_features=2)
    for name in ("features", "thresholds", "children", "counts"):
        assert_array_equal(getattr(plain, name), getattr(expected, name))


def test_depth_is_bounded():
    X, y = data(5, n=200, n_classes=4)
    full, stump = grown(X, y, "balance"), grown(X, y, "balance", max_depth=1)
    assert len(full.features) > 5
    assert len(stump.features) == 3


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.just(1)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
@settings(max_examples=60)
def test_few_values_have_a_bin_each(X):
    binned = bin_features(X)
    values, codes = np.unique(X[:, 0], return_inverse=True)
    assert_array_equal(binned.bins[0], codes)
    edges = binned.edges[0]
    assert len(edges) == len(values) - 1
    assert (values[:-1] <= edges).all()
    assert (edges < values[1:]).all()


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_many_values_share_bins_of_equal_counts(spread):
    X = np.random.default_rng(0).lognormal(size=(5000, 1))
    X = (X / spread).round() * spread if spread < 1 else X
    binned = bin_features(X)
    edges = binned.edges[0]
    assert len(edges) <= 254
    assert (np.diff(edges) > 0).all()
    for b, edge in enumerate(edges):
        assert_array_equal(X[:, 0] <= edge, binned.bins[0] <= b)
    counts = np.bincount(binned.bins[0])
    assert counts.min() > 0
    if spread == 1.0:
        assert len(edges) == 254
        assert_allclose(counts, 5000 / 255, atol=1)
