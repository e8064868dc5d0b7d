from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import labels as oracle

from headcount.estimates.labels.difference import (
    ExactBounds,
    betting_ends,
    clopper_pearson,
    hypergeometric_ends,
)


@given(st.integers(1, 25), st.data())
def test_clopper_pearson(n, data):
    count = data.draw(st.integers(0, n))
    level = data.draw(st.sampled_from([0.8, 0.95]))
    found = clopper_pearson(np.array([count]), n, level)
    expected = oracle.clopper_pearson(count, n, level)
    np.testing.assert_allclose([end[0] for end in found], expected, atol=1e-9)


@given(st.integers(1, 12), st.integers(0, 20), st.data())
def test_hypergeometric(n, more, data):
    count = data.draw(st.integers(0, n))
    level = data.draw(st.sampled_from([0.8, 0.95]))
    found = hypergeometric_ends(np.array([count]), n, n + more, level)
    expected = oracle.hypergeometric(count, n, n + more, level)
    np.testing.assert_allclose([end[0] for end in found], expected)


def test_hypergeometric_tends_to_clopper_pearson():
    counts = np.array([0, 3, 20])
    large = hypergeometric_ends(counts, 20, 10**7, 0.95)
    for a, b in zip(large, clopper_pearson(counts, 20, 0.95), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_betting(seed):
    rng = np.random.default_rng(seed)
    values = rng.beta(2, 5, 6)
    found = betting_ends(values, 9, 0.02, 0.9)
    np.testing.assert_allclose(found, oracle.betting(values.tolist(), 9, 0.02, 0.9), atol=1e-9)


def test_betting_holds_for_rare_large_values():
    """Where a normal interval would miss the mean in a third of the cases."""
    rng = np.random.default_rng(0)
    pool = (rng.permutation(2000) < 40).astype(float)
    covered = []
    for _ in range(200):
        low, high = betting_ends(pool[rng.choice(2000, 50, replace=False)], 2000, 0.01, 0.95)
        covered.append(low <= 0.02 <= high)
    assert np.mean(covered) >= 0.95


def bounds(expected=False, factor=1.0, n=400):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], n // 2)
    sharp = np.where(codes == 1, 0.99, 0.01)
    posteriors = factor * np.column_stack([1 - sharp, sharp])
    return ExactBounds(
        rng.permutation(codes),
        posteriors,
        factor * np.array([0.5, 0.5]),
        factor,
        np.array([0.5, 0.5]),
        np.array([0.01, 0.01]),
        10_000,
        expected,
    )


def test_bets_where_scores_promise_more_than_labels_alone():
    assert bounds().bets.all()
    assert not bounds(expected=True).bets.any()
    assert not bounds(factor=0.0).bets.any()
    assert not bounds(n=20).bets.any()


@pytest.mark.parametrize("expected", [False, True])
def test_higher_levels_are_wider(expected):
    made = bounds(expected)
    low, high = made.ends(0.99)
    inner = made.ends(0.9)
    assert (low <= inner[0]).all()
    assert (inner[1] <= high).all()
    assert (low >= 0).all()
    assert (high <= 1).all()
