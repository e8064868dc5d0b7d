from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import sums, values_at
from tests.oracle import density as oracle

from headcount._kernels.density import _exponentials, kernel_sums, kernel_values

# Exponents are differences of numbers as large as |x|^2 / h^2, and rounded as these are.
ROUNDING = 4e-16


few = settings(max_examples=12)


def test_exponentials_to_the_last_bits(version):
    values = np.concatenate(
        [np.linspace(-699.99, 0, 3001), -np.logspace(-300, 2.8, 500), [0.0, -0.5 * math.log(2)]]
    )
    found = values.copy()
    version(_exponentials)(found, len(found))
    expected = np.array([math.exp(value) for value in values])
    assert_allclose(found, expected, rtol=5e-16)
    assert found[values == 0].tolist() == [1.0, 1.0]


def test_exponentials_far_down_are_zero(version):
    values = np.array([-700.0, -701.0, -1e5, -1e300, -np.inf, -1.0, -1.0])
    version(_exponentials)(values, 6)
    assert_array_equal(values[:5], 0)
    assert values[6] == -1.0  # beyond the first six


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 5),
    bandwidth=st.sampled_from([1.0, 0.1, 0.03]),
)
def test_sums_over_classes(version, seed, d, bandwidth):
    rng = np.random.default_rng(seed)
    points, centres = rng.random((4, d)), rng.random((9, d))
    codes = np.array([0, 2, 2, 0, 1, 2, 0, 2, 1])
    weights = rng.random(9)
    for j in range(3):
        weights[codes == j] /= weights[codes == j].sum()
    kernel = version(kernel_sums)
    found, shifts = sums(points, centres, codes, weights, 3, 0.5 / bandwidth**2, kernel)
    expected = oracle.mean_kernels(points, centres, codes, weights, 3, bandwidth)
    assert_allclose(found * np.exp(shifts)[:, None], expected, rtol=1e-11, atol=1e-300)
    nearest = [min(oracle.squared_distance(p, c) for c in centres) for p in points]
    assert_allclose(shifts, -np.array(nearest) / (2 * bandwidth**2), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1024, 1030])
def test_classes_of_any_size(n):
    # Sums are made tile by tile, and rescaled when a later tile is nearer.
    rng = np.random.default_rng(n)
    points, centres = np.array([[0.5, 0.5], [0.0, 0.0]]), rng.random((n + 3, 2))
    codes = np.append(np.zeros(n, np.int64), [2, 2, 2])
    weights = np.where(codes == 0, 1 / n, 1 / 3)
    found, shifts = sums(points, centres, codes, weights, 3, 50.0)
    expected = oracle.mean_kernels(points, centres[:n], codes[:n], weights[:n], 1, 0.1)
    assert_allclose((found * np.exp(shifts)[:, None])[:, :1], expected, rtol=1e-11)
    assert_array_equal(found[:, 1], 0)  # a class without centres


def test_nearer_centres_may_come_last():
    centres = np.linspace(1.0, 0.0, 600)[:, None]
    codes = np.repeat([0, 1], 300)
    points = np.array([[0.0], [1.0]])
    found, shifts = sums(points, centres, codes, np.full(600, 1 / 300), 2, 50.0)
    assert_allclose(shifts, 0, atol=1e-13)
    expected = oracle.mean_kernels(points, centres, codes, np.ones(600), 2, 0.1)
    assert_allclose(found, expected, rtol=1e-11)


def test_tiny_bandwidths_keep_the_ratios_of_the_nearest():
    # Every kernel value is below the least number there is; their ratios are not.
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.ones(3), 12)
    points = centres[:4] + 0.02
    codes = np.arange(12) % 2
    weights = np.full(12, 1 / 6)
    bandwidth = 2e-4
    found, shifts = sums(points, centres, codes, weights, 2, 0.5 / bandwidth**2)
    expected = oracle.log_mean_kernels(points, centres, codes, 2, bandwidth)
    assert np.exp(shifts).max() == 0
    assert found.max(axis=1).min() >= 1 / 6
    with np.errstate(divide="ignore"):
        logs = np.log(found) + shifts[:, None]
    near = expected > shifts[:, None] - 690
    assert near.sum() >= 4
    assert_allclose(logs[near], expected[near], atol=ROUNDING * 8 / bandwidth**2)
    assert_array_equal(found[expected < shifts[:, None] - 710], 0)


@few
@given(seed=st.integers(0, 2**32 - 1), bandwidth=st.sampled_from([1.0, 0.1, 1e-3]))
def test_values_at_points(version, seed, bandwidth):
    rng = np.random.default_rng(seed)
    points, centres = rng.random((3, 4)), rng.random((5, 4))
    found = values_at(points, centres, 0.5 / bandwidth**2, version(kernel_values))
    expected = [[oracle.kernel(p, c, bandwidth) for c in centres] for p in points]
    assert_allclose(found, expected, rtol=1e-12 + ROUNDING * 8 / bandwidth**2, atol=1e-300)
    assert found.max() <= 1


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 11])
def test_a_point_does_not_depend_on_its_neighbours(d):
    # Points are treated in groups: which group, and which place in it, must not show.
    rng = np.random.default_rng(d)
    points, centres = rng.random((11, d)), rng.random((40, d))
    codes, weights = np.arange(40) % 3, np.full(40, 0.1)
    together = *sums(points, centres, codes, weights, 3, 50.0), values_at(points, centres, 50.0)
    for i in range(len(points)):
        own = points[i : i + 1].copy()
        alone = *sums(own, centres, codes, weights, 3, 50.0), values_at(own, centres, 50.0)
        for mine, all_of_them in zip(alone, together, strict=True):
            assert_array_equal(mine[0], all_of_them[i])
