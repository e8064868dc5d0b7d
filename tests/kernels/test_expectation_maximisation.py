from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import expectation
from tests.oracle import likelihood as oracle

from headcount._kernels.expectation_maximisation import maximise_by_em

few = settings(max_examples=15)
RULES = [
    {"by_norm": False, "tol": 1e-4, "min_iter": 12},
    {"by_norm": True, "tol": 1e-3},
    {"by_norm": False, "tol": 1e-9, "max_iter": 7},
    {"by_norm": False, "tol": 1e-3, "min_iter": 3, "partial": True},
]


@pytest.mark.parametrize("rule", RULES)
@few
@given(seed=st.integers(0, 2**32 - 1), K=st.integers(2, 4))
def test_takes_the_steps_of_the_literature(version, rule, seed, K):
    rng = np.random.default_rng(seed)
    origin = rng.dirichlet(np.ones(K))
    ratios = rng.dirichlet(np.full(K, 0.5), 12) / origin
    arrays = [[0, 1, 1, 5], list(range(12))]
    found = expectation(ratios, arrays, origin, **rule, kernel=version(maximise_by_em))
    for s, array in enumerate(arrays):
        p, taken, change = oracle.run_em(ratios[array], origin, **rule)
        assert found.steps[s] == taken
        assert_allclose(found.shares[s], p, atol=1e-12)
        assert_allclose(found.gaps[s], change, rtol=1e-6, atol=1e-14)
        likelihood = oracle.objective(ratios[array], p)
        assert_allclose(found.values[s], likelihood, rtol=1e-9, atol=1e-12)


def test_the_likelihood_of_unlikely_items(version):
    ratios = np.random.default_rng(0).dirichlet(np.ones(2), 11)
    ratios[[1, 6, 9, 10]] *= 1e-40
    rule = {"by_norm": False, "tol": 1e-4, "kernel": version(maximise_by_em)}
    found = expectation(ratios, [range(11)], np.array([0.3, 0.7]), **rule)
    assert_allclose(found.values[0], oracle.objective(ratios, found.shares[0]), rtol=1e-12)


def test_zeros_of_the_start_stay():
    ratios = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    origin = np.array([0.5, 0.0, 0.5])
    found = expectation(ratios, [range(20)], origin, by_norm=False, tol=1e-6)
    assert found.shares[0, 1] == 0
    assert abs(found.shares.sum() - 1) <= 1e-12


def test_stays_on_the_simplex_after_many_steps():
    ratios = np.random.default_rng(0).dirichlet(np.full(5, 50.0), 40)
    rule = {"by_norm": True, "tol": 0.0, "max_iter": 5000}
    found = expectation(ratios, [range(40)], np.full(5, 0.2), **rule)
    assert found.steps[0] == 5000
    assert abs(found.shares.sum() - 1) <= 1e-12


@few
@given(seed=st.integers(0, 999), K=st.integers(2, 4))
def test_weights_of_rows_repeat_them(version, seed, K):
    rng = np.random.default_rng(seed)
    ratios, counts = rng.dirichlet(np.ones(K), 7) / 0.3, rng.integers(1, 4, 7)
    rule = {"by_norm": False, "tol": 1e-4, "kernel": version(maximise_by_em)}
    origin = np.full(K, 1 / K)
    one = expectation(ratios, [range(7)], origin, weights=counts.astype(float), **rule)
    other = expectation(ratios, [np.repeat(np.arange(7), counts)], origin, **rule)
    assert_allclose(one.shares, other.shares, atol=1e-12)
    assert_allclose(one.values, other.values, atol=1e-12)
