from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import quadratics
from tests.oracle import quadratic as oracle

from headcount._kernels.quadratic_programs import minimise_quadratics

few = settings(max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def random_problem(seed: int, K: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(K, rank))
    return factor @ factor.T, factor @ rng.normal(size=rank) * rng.choice([0.1, 1, 10])


@few
@given(seed=seeds, K=st.integers(1, 5), on_simplex=st.booleans())
def test_matches_the_enumeration_of_supports(version, seed, K, on_simplex):
    H, c = random_problem(seed, K, K + 2)
    x, rounds, values = quadratics(
        H, c[None], on_simplex=on_simplex, kernel=version(minimise_quadratics)
    )
    by_hand = oracle.minimise_on_simplex if on_simplex else oracle.minimise_non_negative
    expected = by_hand(H, c)
    assert_allclose(x[0], expected, atol=1e-8 * max(1, expected.max()))
    assert oracle.value(H, c, x[0]) <= oracle.value(H, c, expected) + 1e-9
    assert_allclose(values[0], oracle.value(H, c, x[0]), rtol=1e-12, atol=1e-12)
    assert x.min() >= 0
    assert rounds[0] > 0
    if on_simplex:
        assert abs(x.sum() - 1) <= 1e-12


@few
@given(seed=seeds, K=st.integers(2, 5), rank=st.integers(1, 2))
def test_directions_without_curvature_do_no_harm(seed, K, rank):
    H, c = random_problem(seed, K, rank)
    x, rounds, _ = quadratics(H + 1e-13 * np.eye(K), c[None], on_simplex=True)
    best = oracle.value(H, c, oracle.minimise_on_simplex(H, c))
    assert oracle.value(H, c, x[0]) <= best + 1e-9 * max(1, np.trace(H), np.abs(c).max())
    assert x.min() >= 0
    assert abs(x.sum() - 1) <= 1e-12
    assert rounds[0] > 0


@pytest.mark.parametrize("on_simplex", [True, False])
def test_conditions_of_optimality_with_many_variables(on_simplex):
    for seed in range(20):
        H, c = random_problem(seed, 28, 40)
        x, rounds, _ = quadratics(H, c[None], on_simplex=on_simplex)
        slopes = H @ x[0] - c
        level = slopes[x[0] > 0].mean() if on_simplex else 0.0
        noise = 1e-10 * np.abs(c).max()
        assert 0 < rounds[0] < 200
        assert_allclose(slopes[x[0] > 0], level, atol=noise)
        assert (slopes[x[0] == 0] >= level - noise).all()
        assert (x[0] > 0).any()


def test_linear_term_is_base_plus_loadings():
    rng = np.random.default_rng(0)
    H, _ = random_problem(0, 3, 5)
    base, loadings, seen = rng.normal(size=3), rng.normal(size=(3, 4)), rng.normal(size=(6, 4))
    out, rounds, values = np.empty((6, 3)), np.empty(6, np.int32), np.empty(6)
    minimise_quadratics(H, base, loadings, seen, True, 0, 6, out, rounds, values)
    expected, _, of_expected = quadratics(H, base + seen @ loadings.T, on_simplex=True)
    assert_allclose(out, expected, atol=1e-12)
    assert_allclose(values, of_expected, atol=1e-12)


def test_what_does_not_pay_stays_exactly_zero():
    x, _, _ = quadratics(np.eye(3), np.array([[5.0, 0.0, -5.0]]), on_simplex=True)
    assert_array_equal(x, [[1.0, 0.0, 0.0]])
    x, _, _ = quadratics(np.eye(3), np.array([[-1.0, 0.0, -5.0]]), on_simplex=False)
    assert_array_equal(x, [[0.0, 0.0, 0.0]])
