from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle import labels as oracle

from headcount import HeadcountError
from headcount.estimates.labels.sample import (
    LabelSample,
    check_rows,
    cluster_effect,
    effective_size,
    weighted_rows,
)
from headcount.items.arrays import check_clusters


def made(seed, n_strata=3, most=12):
    """Values in strata, and the sizes of the strata."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, most, n_strata)
    strata = rng.permutation(np.repeat(np.arange(n_strata), counts))
    sizes = counts + rng.integers(0, 50, n_strata)
    return rng.normal(size=(len(strata), 2)), strata, sizes


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_mean_and_variance_are_those_of_stratified_sampling(seed, n_strata):
    values, strata, sizes = made(seed, n_strata)
    sample = LabelSample.stratified(np.arange(len(values)), strata, sizes)
    spread = sample.spread(values)
    for d in range(2):
        mean, variance = oracle.stratified(values[:, d].tolist(), strata, sizes.tolist())
        assert spread.mean[d] == pytest.approx(mean)
        assert spread.covariance[d, d] == pytest.approx(variance, abs=1e-15)
    assert spread.df == len(values) - n_strata
    assert spread.unseen.tolist() == [1.0, 1.0]


@given(st.integers(0, 10**6))
def test_clusters_are_summed_as_wholes(seed):
    rng = np.random.default_rng(seed)
    n, size = 30, int(rng.integers(31, 500))
    values, clusters = rng.normal(size=(n, 1)), rng.integers(0, 8, size)
    clusters[:2] = 0, 1
    sample = LabelSample.simple(np.arange(n), size, None, clusters)
    mean, variance = oracle.clustered(values[:, 0].tolist(), clusters[:n].tolist(), size)
    spread = sample.spread(values)
    assert spread.mean[0] == pytest.approx(mean)
    assert spread.covariance[0, 0] == pytest.approx(variance)
    assert spread.df == len(set(clusters[:n].tolist())) - 1


def test_single_items_as_clusters_change_nothing():
    values, _, _ = made(3)
    plain = LabelSample.simple(np.arange(len(values)), 100).spread(values)
    alone = LabelSample.simple(np.arange(len(values)), 100, None, np.arange(100)).spread(values)
    np.testing.assert_allclose(alone.covariance, plain.covariance)
    np.testing.assert_allclose(alone.unseen, 1.0)


def test_equal_weights_change_nothing():
    values, strata, sizes = made(4)
    rows = np.arange(len(values))
    plain = LabelSample.stratified(rows, strata, sizes)
    equal = LabelSample.stratified(rows, strata, sizes, np.full(len(values), 7.0))
    np.testing.assert_allclose(equal.weights, plain.weights)


def test_weighted_mean_counts_items_as_often_as_they_stand_for():
    values = np.array([[1.0], [0.0], [0.0]])
    sample = LabelSample.simple(np.arange(3), 100, np.array([2.0, 1.0, 1.0] + [1.0] * 97))
    assert sample.spread(values).mean[0] == 0.5


def test_nothing_is_uncertain_if_all_are_labelled():
    sample = LabelSample.simple(np.arange(10), 10)
    spread = sample.spread(np.random.default_rng(0).normal(size=(10, 2)))
    assert not spread.covariance.any()
    assert not sample.unit(np.ones((10, 1))).any()


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_unit_is_between_the_weights_of_labels(seed, n_strata):
    values, strata, sizes = made(seed, n_strata)
    sample = LabelSample.stratified(np.arange(len(values)), strata, sizes)
    mass = np.random.default_rng(seed).random((len(values), 3))
    unit = sample.unit(mass)
    left = sample.weights * sample.unlabelled[strata]
    assert (unit >= left.min() - 1e-12).all()
    assert (unit <= left.max() + 1e-12).all()


def test_unit_of_a_simple_sample_is_one_over_n():
    sample = LabelSample.simple(np.arange(50), 10**9)
    np.testing.assert_allclose(sample.unit(np.random.default_rng(0).random((50, 2))), 1 / 50)
    np.testing.assert_allclose(sample.unit(np.zeros((50, 1))), 1 / 50)


def test_effect_of_clusters_that_are_all_alike_is_their_size():
    values = np.repeat(np.random.default_rng(0).normal(size=200), 5)[:, None]
    clusters = np.repeat(np.arange(200), 5)
    assert cluster_effect(values, clusters, None)[0] == pytest.approx(5)
    assert cluster_effect(np.zeros((10, 1)), np.arange(10), None)[0] == 1
    sample = LabelSample.simple(np.arange(1000), 10**6, None, np.arange(10**6) // 5)
    assert sample.spread(values).unseen[0] == pytest.approx(5, rel=0.02)
    # Where nothing varies, items of a cluster are taken as all alike.
    assert sample.spread(np.ones((1000, 1))).unseen[0] == pytest.approx(5)


def test_effective_size():
    rng = np.random.default_rng(0)
    assert effective_size(10, None, None, None) == 10
    assert effective_size(4, np.array([1.0, 1.0, 0.0, 0.0]), None, None) == 2
    clusters, values = np.arange(4000) // 4, rng.normal(size=(4000, 1))
    assert effective_size(4000, None, clusters, values) == pytest.approx(4000, rel=0.1)
    alike = np.repeat(rng.normal(size=1000), 4)[:, None]
    assert effective_size(4000, None, clusters, alike) == pytest.approx(1000, rel=0.01)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.integers(1, 500))
def test_weighted_rows_are_in_proportion(weights, size):
    weights = np.array(weights)
    if weights.sum() == 0:
        return
    counts = np.bincount(weighted_rows(weights, size), minlength=len(weights))
    assert counts.sum() == size
    assert (np.abs(counts - size * weights / weights.sum()) <= 1 + 1e-6).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "rows of labelled is empty"),
        ([0, 3, 3], "has row 3 2 times: name each row once"),
        ([0, 10], r"has 10, but X has 10 items: rows go from 0 to 9"),
        ([-1, 2], "has -1, but X has 10 items"),
        (["a", "b"], "must have whole numbers"),
        ([0.5, 1.0], "must have whole numbers"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(HeadcountError, match=message):
        check_rows(rows, 10)


def test_rows_may_be_floats_that_are_whole():
    assert check_rows([1.0, 4.0], 10).tolist() == [1, 4]


def test_clusters_are_checked():
    assert check_clusters(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    with pytest.raises(HeadcountError, match="clusters has 2 values, but there are 3 items"):
        check_clusters(["b", "a"], 3)
