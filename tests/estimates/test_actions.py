"""Shares with the least expected error, compared with linear programs."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.conditioning import action
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
