"""Shares of ordered classes that are expected to be smooth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle import likelihood as likelihoods
from tests.oracle import matching as oracle
from tests.oracle import quadratic
from tests.parts.problems import ON_ITEMS, SMOOTH, make, profiles_of, smoothed

from headcount.errors import HeadcountError
from headcount.parts.solvers import (
    Divergence,
    EnergyDistance,
    LeastSquares,
    MaximumLikelihood,
    roughness,
)
from headcount.samples.samples import Samples

few = settings(max_examples=12)
seeds = st.integers(0, 2**32 - 1)
weights = st.sampled_from([1e-4, 0.03, 1.0, 100.0])
NAMES = [name.removeprefix("smooth ") for name in SMOOTH]
every = pytest.mark.parametrize("name", NAMES)
on_means = pytest.mark.parametrize("name", [name for name in NAMES if name not in ON_ITEMS])


def objectives(problem):
    """What is minimised for each sample, without the penalty."""
    if problem.name == "maximum likelihood":
        ratios = [problem.classes[array] for array in problem.seen]
        return [
            lambda p, R=R: likelihoods.with_prior(R, np.ones(R.shape[1]), p) for R in ratios
        ]
    if problem.name == "kernel distance":
        return [lambda p, a=a: p @ problem.classes @ p - 2 * a @ p for a in problem.seen]
    if problem.name == "energy distance":
        return [lambda p, s=s: 2 * s @ p - p @ problem.classes @ p for s in problem.seen]
    name = "l2" if problem.name == "least squares" else problem.name
    return [oracle.objective(name, problem.classes, q) for q in problem.seen]


def straight(K, slope):
    """Shares on a straight line, from even (0) to as steep as it can be (1)."""
    return (1 + slope * np.linspace(-1, 1, K)) / K


@few
@given(seed=seeds, K=st.integers(2, 8), smoothness=weights, flatness=weights)
def test_roughness_is_what_it_says(seed, K, smoothness, flatness):
    p = np.random.default_rng(seed).normal(size=K)
    Q = roughness(K, smoothness, flatness)
    expected = smoothness / 2 * oracle.bends(p) + flatness / 2 * oracle.jumps(p)
    assert_allclose(p @ Q @ p / 2, expected, rtol=1e-10)
    assert_array_equal(Q, Q.T)
    assert not roughness(K).any()
    assert not roughness(2, smoothness).any()


@every
@few
@given(seed=seeds, K=st.integers(3, 6), smoothness=weights)
def test_no_general_optimiser_does_better(name, seed, K, smoothness):
    rng = np.random.default_rng(seed)
    problem = smoothed(make(name, rng, K=K, S=1, noisy=True), smoothness)
    solution = problem.solve()
    assert solution.converged.all()
    f = oracle.penalised(objectives(problem)[0], smoothness)
    found, best = solution.prevalence[0], oracle.minimise_on_simplex(f, K)
    assert f(found) <= f(best) + 1e-9
    assert_allclose(solution.objective[0], f(found), rtol=1e-10, atol=1e-11)


@few
@given(seed=seeds, K=st.integers(3, 5), smoothness=weights)
def test_least_squares_by_every_support(seed, K, smoothness):
    rng = np.random.default_rng(seed)
    profiles, q = rng.dirichlet(np.ones(6), K), rng.dirichlet(np.ones(6))
    bends = np.diff(np.eye(K), 2, axis=0)
    # |q - M'p|^2 + smoothness/2 |bends p|^2, halved.
    H = profiles @ profiles.T + smoothness / 2 * bends.T @ bends
    best = quadratic.minimise_on_simplex(H, profiles @ q)
    found = LeastSquares(smoothness).solve(profiles, q[None])
    assert_allclose(found.prevalence[0], best, atol=1e-7)


@few
@given(seed=seeds, K=st.integers(3, 5), smoothness=weights)
def test_energy_distance_by_every_support(seed, K, smoothness):
    problem = make("energy distance", np.random.default_rng(seed), K=K, noisy=True)
    A, bends = problem.classes, np.diff(np.eye(K), 2, axis=0)
    # Any multiple of 11' is a constant on the simplex; enough of it makes -A convex.
    H = K * A.max() - A + smoothness / 2 * bends.T @ bends
    solution = EnergyDistance(smoothness).solve(A, problem.seen)
    for s, seen in enumerate(problem.seen):
        best = quadratic.minimise_on_simplex(H, -seen)
        assert_allclose(solution.prevalence[s], best, atol=1e-6)


@every
@pytest.mark.parametrize("noisy", [True, False])
def test_two_classes_have_no_bends(name, noisy):
    problem = make(name, np.random.default_rng(0), K=2, S=6, noisy=noisy)
    plain, smooth = problem.solve(), smoothed(problem, 1e3).solve()
    assert_array_equal(smooth.prevalence, plain.prevalence)
    assert_array_equal(smooth.objective, plain.objective)


@on_means
@pytest.mark.parametrize("smoothness", [1e-3, 1.0, 1e3])
def test_straight_shares_are_found_however_firmly_they_are_expected(name, smoothness):
    rng = np.random.default_rng(0)
    for K in (3, 6):
        problem = smoothed(make(name, rng, K=K), smoothness)
        truth = np.array([straight(K, slope) for slope in (-1, -0.4, 0, 0.7, 1)])
        tight = replace(problem.solver, tol=1e-13) if hasattr(problem.solver, "tol") else None
        problem = replace(problem, seen=truth @ problem.classes, solver=tight or problem.solver)
        assert_allclose(problem.solve().prevalence, truth, atol=1e-5)


@pytest.mark.parametrize("smoothness", [1e-3, 1.0, 1e3])
def test_straight_shares_of_items(smoothness):
    counts = np.array([[6, 3, 1], [2, 5, 3], [1, 3, 6]])  # outcomes of ten items of each class
    times = np.array([[1, 1, 1], [1, 2, 3], [4, 2, 0]])
    arrays = [np.repeat(np.arange(3), row @ counts) for row in times]
    solver = MaximumLikelihood(tol=1e-13, smoothness=smoothness)
    ratios = np.ascontiguousarray(counts.T / 10)
    found = solver.solve(ratios, Samples.from_arrays(arrays, n_pool=3))
    assert_allclose(found.prevalence, times / times.sum(axis=1, keepdims=True), atol=1e-5)


@every
@pytest.mark.parametrize("K", [3, 5, 12])
def test_the_more_smoothness_the_fewer_bends(name, K):
    problem = make(name, np.random.default_rng(K), K=K, S=5, noisy=True)
    solutions = [
        smoothed(problem, smoothness).solve() for smoothness in (0.0, 1e-3, 0.1, 10, 1e3, 1e6)
    ]
    bends = np.array([(np.diff(s.prevalence, 2) ** 2).sum(axis=1) for s in solutions])
    assert (np.diff(bends, axis=0) <= 1e-9).all()
    assert bends[0].max() > 0.01
    assert bends[-1].max() < 1e-6
    assert all(solution.converged.all() for solution in solutions)


def test_only_the_absolute_difference_cannot_be_smooth():
    with pytest.raises(HeadcountError, match=r"^smoothness is 0\.1, but with .*'l1'.* 'l2'\.$"):
        Divergence("l1", smoothness=0.1)
    assert Divergence("l1", smoothness=0.0).smoothness == 0


@pytest.mark.parametrize("K", [2, 3, 6])
def test_flat_shares(K):
    rng = np.random.default_rng(0)
    ratios = rng.dirichlet(np.full(K, 0.5), 30)
    spreads = []
    for flatness in (0.0, 0.1, 1.0, 10.0, 1e6):
        found = MaximumLikelihood(flatness=flatness).solve(ratios, Samples.whole(30))
        assert found.converged.all()
        f = oracle.penalised(
            lambda p: likelihoods.with_prior(ratios, np.ones(K), p), 0.0, flatness
        )
        assert f(found.prevalence[0]) <= f(oracle.minimise_on_simplex(f, K)) + 1e-9
        assert_allclose(found.objective[0], f(found.prevalence[0]), rtol=1e-9, atol=1e-11)
        spreads.append(oracle.jumps(found.prevalence[0]))
    assert np.all(np.diff(spreads) < 0)
    assert_allclose(found.prevalence, 1 / K, atol=1e-5)


def test_many_ordered_classes():
    rng = np.random.default_rng(0)
    profiles = profiles_of(rng, 28, 60, clarity=0.2)
    truth = np.array([straight(28, slope) for slope in (-1, 0, 0.5)])
    noisy = np.array([rng.multinomial(200, row / row.sum()) for row in truth @ profiles]) / 200
    for solver in (LeastSquares, lambda tau: Divergence("topsoe", smoothness=tau)):
        rough, smooth = solver(0.0).solve(profiles, noisy), solver(1.0).solve(profiles, noisy)
        assert smooth.converged.all()
        errors = [np.abs(found.prevalence - truth).mean() for found in (rough, smooth)]
        assert errors[1] < 0.5 * errors[0]
