"""Shares with the least expected error, and absent classes, compared with the oracles."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.actions import absence, action
from tests.oracle import actions as oracle

N_ITEMS = 200


def sparse_draws(seed, n=60, K=4):
    rng = np.random.default_rng(seed)
    draws = rng.dirichlet(np.full(K, 0.7), n) * (rng.random((n, K)) < 0.6)
    draws[draws.sum(axis=1) == 0] = 1.0
    draws /= draws.sum(axis=1, keepdims=True)
    weights = rng.random(n)
    return draws, weights / weights.sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["ae", "rae"])
def test_no_shares_have_a_smaller_expected_error(metric, seed):
    draws, weights = sparse_draws(seed)
    relative = metric == "rae"
    shares = action(metric, draws, weights, N_ITEMS)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    least = oracle.least_error(draws, weights, N_ITEMS, relative=relative)
    error = oracle.expected_error(shares, draws, weights, N_ITEMS, relative=relative)
    assert least <= error + 1e-9
    # Between two draws the quantile is interpolated.
    assert error < 1.02 * least
    mean = oracle.expected_error(weights @ draws, draws, weights, N_ITEMS, relative=relative)
    assert error < mean


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["ae", "rae"])
def test_the_kernel_matches_the_oracle(metric, seed):
    draws, weights = sparse_draws(seed)
    expected = oracle.common_quantiles(draws, weights, N_ITEMS, relative=metric == "rae")
    shares = action(metric, draws, weights, N_ITEMS)
    np.testing.assert_allclose(shares, expected, atol=1e-9)


def test_the_mean_is_the_mean():
    draws, weights = sparse_draws(0)
    np.testing.assert_allclose(action("mean", draws, weights, N_ITEMS), weights @ draws)


def test_the_order_of_draws_and_classes_is_irrelevant():
    draws, weights = sparse_draws(1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(draws)), rng.permutation(draws.shape[1])
    for metric in ("ae", "rae"):
        plain = action(metric, draws, weights, N_ITEMS)
        mixed = action(metric, draws[rows][:, columns], weights[rows], N_ITEMS)
        np.testing.assert_allclose(mixed, plain[columns], atol=1e-6)


def test_a_class_absent_from_most_draws_gets_nothing():
    draws = np.array([[0.0, 0.3, 0.7]] * 6 + [[0.2, 0.2, 0.6]] * 4)
    equal = np.full(10, 0.1)
    assert action("ae", draws, equal, N_ITEMS)[0] == 0
    assert action("mean", draws, equal, N_ITEMS)[0] > 0.05


def some_absent(seed, n, K):
    rng = np.random.default_rng(seed)
    absent = rng.random((n, K)) < rng.uniform(0, 0.8, (n, 1))
    absent[absent.all(axis=1), 0] = False
    weights = rng.random(n)
    return absent, weights / weights.sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [2, 3, 6])
def test_absence_matches_the_sum_over_all_sets(K, seed):
    absent, weights = some_absent(seed, 80, K)
    alone = np.random.default_rng(seed).uniform(0.001, 0.999, K)
    expected = oracle.absence(alone, absent, weights)
    np.testing.assert_allclose(absence(alone, absent, weights), expected, atol=1e-12)


def test_absence_of_a_hundred_classes_is_a_probability():
    absent, weights = some_absent(0, 400, 100)
    for alone in (np.full(100, 1 - 1e-9), np.full(100, 1e-9), np.linspace(1e-9, 1 - 1e-9, 100)):
        probabilities = absence(alone, absent, weights)
        assert np.isfinite(probabilities).all()
        assert (probabilities >= 0).all()
        assert (probabilities <= 1).all()


def test_classes_that_are_absent_by_themselves_are_judged_alone():
    rng = np.random.default_rng(0)
    absent = rng.random((50_000, 5)) < 0.1
    alone = np.array([0.02, 0.9, 0.3, 0.1, 0.5])
    weights = np.full(len(absent), 1 / len(absent))
    np.testing.assert_allclose(absence(alone, absent, weights), alone, atol=0.03)


def test_a_class_is_there_if_all_others_are():
    # Half of the simulations lack half of the classes, the others none.
    rng = np.random.default_rng(0)
    K = 10
    absent = rng.random((400, K)) < np.repeat([0.0, 0.5], 200)[:, None]
    draws = np.tile([*[0.01] * (K - 1), 0.91], (400, 1)) * rng.uniform(0.8, 1.2, (400, K))
    # One draw in twelve lacks the first class, hardly any the others.
    draws[::12, 0] = 0.0
    draws /= draws.sum(axis=1, keepdims=True)
    equal = np.full(400, 1 / 400)
    assert action("rae", draws, equal, 1000)[0] == 0
    assert action("rae", draws, equal, 1000, absent)[0] == pytest.approx(0.01, rel=0.2)
    # If others are absent, too, it probably is.
    draws[:, 1:6] = 0.0
    draws /= draws.sum(axis=1, keepdims=True)
    assert action("rae", draws, equal, 1000, absent)[0] < 0.001


def test_the_order_of_classes_is_irrelevant_for_absence():
    absent, weights = some_absent(3, 100, 7)
    alone = np.random.default_rng(3).random(7)
    order = np.random.default_rng(4).permutation(7)
    mixed = absence(alone[order], absent[:, order], weights)
    np.testing.assert_allclose(mixed, absence(alone, absent, weights)[order], atol=1e-12)


def test_an_estimate_offers_the_shares_for_each_metric():
    X, y = make_classification(1500, weights=[0.7], random_state=0)
    q = hc.SLD(random_state=0).fit(X[:500], y[:500])
    estimate = q.estimate(X[500:])
    np.testing.assert_allclose(estimate.point("ae"), estimate.shares)
    assert not np.allclose(estimate.point("mean"), estimate.shares, atol=1e-12)
    expected = q.estimate(X[500:], estimand="expected")
    for metric in ("mean", "ae", "rae"):
        assert expected.point(metric).sum() == pytest.approx(1)
    with pytest.raises(HeadcountError, match="metric"):
        estimate.point("mse")
