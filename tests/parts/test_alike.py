"""Classes that look alike: nothing tells them apart, so none is preferred."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.parts.problems import ON_HISTOGRAMS, ON_PAIRS

classes = pytest.mark.parametrize("K", [2, 3, 5, 28])
# Where curvature is missing, a trace of it decides: to three digits, and no better.
NEARLY = 5e-3


def assert_shares(solution):
    assert np.isfinite(solution.prevalence).all()
    assert solution.prevalence.min() >= 0
    assert_allclose(solution.prevalence.sum(axis=1), 1, atol=1e-12)


@classes
@pytest.mark.parametrize("name", ON_HISTOGRAMS)
def test_same_histograms(name, K):
    rng = np.random.default_rng(0)
    profiles = np.repeat(rng.dirichlet(np.ones(10), 1), K, axis=0)
    solution = ON_HISTOGRAMS[name].solve(profiles, rng.dirichlet(np.ones(10), 4))
    assert_shares(solution)
    assert solution.converged.all()
    if name != "l1" or K == 2:  # a linear program answers with a corner
        assert_allclose(solution.prevalence, 1 / K, atol=NEARLY)


@classes
@pytest.mark.parametrize("scale", [1.0, 0.37, 1e6])
@pytest.mark.parametrize("name", ON_PAIRS)
def test_same_kernels_or_distances(name, scale, K):
    rng = np.random.default_rng(0)
    seen = scale * np.repeat(rng.random((4, 1)), K, axis=1)
    solution = ON_PAIRS[name].solve(np.full((K, K), 0.37 * scale), seen)
    assert_shares(solution)
    if name != "cauchy-schwarz" or K < 28:
        assert_allclose(solution.prevalence, 1 / K, atol=NEARLY)


@classes
def test_distances_that_are_all_zero(K):
    solution = ON_PAIRS["energy distance"].solve(np.zeros((K, K)), np.full((2, K), 0.3))
    assert_shares(solution)
    assert_allclose(solution.prevalence, 1 / K, atol=NEARLY)


@classes
def test_distances_that_differ_by_rounding(K):
    rng = np.random.default_rng(0)
    between = 0.4 + 1e-16 * rng.normal(size=(K, K))
    solution = ON_PAIRS["energy distance"].solve(between, 0.4 + 1e-16 * rng.normal(size=(3, K)))
    assert_shares(solution)


@pytest.mark.parametrize("name", [*ON_HISTOGRAMS, *ON_PAIRS])
def test_two_alike_leave_the_others_alone(name):
    rng = np.random.default_rng(0)
    if name in ON_PAIRS:
        points = rng.dirichlet(np.ones(3), (3, 8))
        points[2] = points[1]
        apart = np.abs(points[:, None, :, None] - points[None, :, None]).sum(axis=-1)
        profiles = (apart if name == "energy distance" else np.exp(-(apart**2))).mean((2, 3))
    else:
        profiles = rng.dirichlet(np.ones(6), 3)
        profiles[2] = profiles[1]
    seen = np.array([[0.4, 0.3, 0.3], [0.9, 0.1, 0.0]]) @ profiles
    solution = (ON_PAIRS | ON_HISTOGRAMS)[name].solve(profiles, seen)
    assert_shares(solution)
    assert_allclose(solution.prevalence[:, 0], [0.4, 0.9], atol=1e-3)
