from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracle import quadratic as oracle
from tests.oracle.matching import minimise_on_simplex
from tests.parts.problems import make

from headcount.parts.solvers import CauchySchwarz, EnergyDistance, KernelDistance, LeastSquares

few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)
small = st.integers(2, 5)


@few
@given(seed=seeds, K=small, d=st.integers(1, 8))
def test_least_squares(seed, K, d):
    rng = np.random.default_rng(seed)
    profiles, seen = rng.dirichlet(np.ones(d), K), rng.dirichlet(np.ones(d), 3)
    solution = LeastSquares().solve(profiles, seen)
    for s in range(3):
        best = oracle.minimise_on_simplex(profiles @ profiles.T, profiles @ seen[s])
        residual = ((seen[s] - solution.prevalence[s] @ profiles) ** 2).sum()
        assert residual <= ((seen[s] - best @ profiles) ** 2).sum() + 1e-9
        assert_allclose(solution.objective[s], residual, atol=1e-12)


@few
@given(seed=seeds, K=small)
def test_kernel_distance(seed, K):
    problem = make("kernel distance", np.random.default_rng(seed), K=K, noisy=True)
    solution = KernelDistance().solve(problem.classes, problem.seen)
    for s, a in enumerate(problem.seen):
        best = oracle.minimise_on_simplex(problem.classes, a)
        assert_allclose(solution.prevalence[s], best, atol=1e-7)


@few
@given(seed=seeds, K=small)
def test_energy_distance(seed, K):
    problem = make("energy distance", np.random.default_rng(seed), K=K, noisy=True)
    A = problem.classes
    solution = EnergyDistance().solve(A, problem.seen)
    # Over all but the last class, as it is usually written.
    B = -A[:-1, :-1] + A[:-1, -1:] + A[-1:, :-1] - A[-1, -1]
    for s, seen in enumerate(problem.seen):
        t = -seen[:-1] + A[:-1, -1] + seen[-1] - A[-1, -1]

        def distance(p, t=t):
            return p[:-1] @ B @ p[:-1] - 2 * p[:-1] @ t

        best = minimise_on_simplex(distance, K)
        assert distance(solution.prevalence[s]) <= distance(best) + 1e-9
        assert_allclose(solution.prevalence[s], best, atol=1e-4)
        if K == 2:
            assert_allclose(solution.prevalence[s, 0], np.clip(t[0] / B[0, 0], 0, 1), atol=1e-9)


@few
@given(seed=seeds, K=small)
def test_cauchy_schwarz(seed, K):
    problem = make("cauchy-schwarz", np.random.default_rng(seed), K=K, noisy=True)
    B = problem.classes
    solution = CauchySchwarz().solve(B, problem.seen)
    for s, a in enumerate(problem.seen):

        def divergence(p, a=a):
            return -np.log(p @ a / np.sqrt(p @ B @ p))

        best = minimise_on_simplex(divergence, K)
        assert divergence(solution.prevalence[s]) <= divergence(best) + 1e-9
        assert_allclose(solution.prevalence[s], best, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-12, 1e6])
def test_cauchy_schwarz_does_not_mind_the_scale_of_what_was_seen(scale):
    problem = make("cauchy-schwarz", np.random.default_rng(1), K=4, noisy=True)
    expected = problem.solve().prevalence
    scaled = CauchySchwarz().solve(problem.classes, problem.seen * scale)
    assert_allclose(scaled.prevalence, expected, atol=1e-9)


def test_cauchy_schwarz_of_a_sample_out_of_sight_is_even():
    solution = CauchySchwarz().solve(np.eye(4) + 0.1, np.zeros((1, 4)))
    assert_allclose(solution.prevalence, 0.25, rtol=1e-15)


@pytest.mark.parametrize("scale", [1e-12, 1e9])
@pytest.mark.parametrize("name", ["kernel distance", "energy distance", "least squares"])
def test_units_do_not_matter(name, scale):
    for seed in range(5):
        problem = make(name, np.random.default_rng(seed), K=4, noisy=True)
        expected = problem.solve().prevalence
        found = problem.solver.solve(problem.classes * scale, problem.seen * scale)
        assert_allclose(found.prevalence, expected, atol=1e-6)


def test_rounding_between_equal_means_does_not_matter():
    problem = make("energy distance", np.random.default_rng(0), K=3, noisy=True)
    noise = np.triu(np.full((3, 3), 1e-15), 1)
    found = EnergyDistance().solve(problem.classes + noise, problem.seen)
    assert_allclose(found.prevalence, problem.solve().prevalence, atol=1e-9)
