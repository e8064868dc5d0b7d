"""Likelihood with a Dirichlet prior on the shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle import likelihood as oracle
from tests.oracle.matching import minimise_on_simplex, penalised

from headcount.parts.solvers import MaximumLikelihood
from headcount.samples.samples import Samples

few = settings(max_examples=15)
seeds = st.integers(0, 2**32 - 1)
classes = pytest.mark.parametrize("K", [2, 3, 28])


def ratios_of(rng, K, n):
    return rng.dirichlet(np.full(K, rng.choice([0.2, 1.0, 5.0])), n) / rng.dirichlet(
        np.full(K, 5.0)
    )


@few
@given(seed=seeds, K=st.integers(2, 5), n=st.integers(1, 30), rough=st.booleans())
def test_no_general_optimiser_does_better(seed, K, n, rough):
    rng = np.random.default_rng(seed)
    ratios, a = ratios_of(rng, K, n), rng.choice([1.0, 1.001, 2.0, 30.0], K)
    flatness, smoothness = (0.2, 0.05) if rough else (0.0, 0.0)
    solver = MaximumLikelihood(smoothness=smoothness, flatness=flatness, concentration=a)
    solution = solver.solve(ratios, Samples.whole(n))
    f = penalised(lambda p: oracle.with_prior(ratios, a, p), smoothness, flatness)
    found = f(solution.prevalence[0])
    assert found <= f(minimise_on_simplex(f, K)) + 1e-9
    assert_allclose(solution.objective[0], found, rtol=1e-11, atol=1e-11)
    assert solution.converged.all()


@few
@given(seed=seeds, K=st.sampled_from([2, 3, 10, 28]), n=st.sampled_from([1, 10, 300]))
def test_answers_are_proven(seed, K, n):
    rng = np.random.default_rng(seed)
    ratios, a = ratios_of(rng, K, n), 1 + rng.exponential(3, K)
    p = MaximumLikelihood(concentration=a).solve(ratios, Samples.whole(n)).prevalence[0]
    gradient = -(ratios / (ratios @ p)[:, None]).mean(axis=0) - (a - 1) / (n * p)
    assert gradient @ p - gradient.min() <= 2e-10
    assert p.min() > 0
    assert_allclose(p.sum(), 1, atol=1e-12)


@classes
def test_sure_items_are_counted_with_those_seen_before(K):
    # With items that are each of one class for certain, the mode of the posterior is known.
    rng = np.random.default_rng(0)
    for n in (1, 40, 500):
        codes, a = rng.integers(0, K, n), 1 + 5 * rng.random(K)
        solver = MaximumLikelihood(tol=1e-13, concentration=a)
        found = solver.solve(np.eye(K)[codes], Samples.whole(n))
        counts = np.bincount(codes, minlength=K) + a - 1
        assert_allclose(found.prevalence[0], counts / counts.sum(), atol=1e-6)


@classes
def test_twice_the_items_halve_the_weight_of_the_prior(K):
    rng = np.random.default_rng(0)
    ratios, before = ratios_of(rng, K, 30), 6 * rng.random(K)
    twice = Samples.from_arrays([np.tile(np.arange(30), 2)], n_pool=30)
    once = MaximumLikelihood(concentration=1 + before / 2).solve(ratios, Samples.whole(30))
    found = MaximumLikelihood(concentration=1 + before).solve(ratios, twice)
    assert_allclose(found.prevalence, once.prevalence, atol=1e-6)
    assert_allclose(found.objective, once.objective, rtol=1e-9)


@classes
def test_concentration_of_one_is_no_prior(K):
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, K, 30)
    plain = MaximumLikelihood().solve(ratios, Samples.whole(30))
    for a in (1, np.ones(K)):
        found = MaximumLikelihood(concentration=a).solve(ratios, Samples.whole(30))
        assert_array_equal(found.prevalence, plain.prevalence)
        assert_array_equal(found.objective, plain.objective)


@classes
def test_one_number_is_meant_for_all_classes(K):
    ratios = ratios_of(np.random.default_rng(0), K, 30)
    one = MaximumLikelihood(concentration=2.5).solve(ratios, Samples.whole(30))
    other = MaximumLikelihood(concentration=np.full(K, 2.5)).solve(ratios, Samples.whole(30))
    assert_array_equal(one.prevalence, other.prevalence)


@classes
def test_zeros_only_where_the_prior_allows_them(K):
    ratios = np.eye(K)[np.zeros(20, int)]
    a = np.where(np.arange(K) == K - 1, 2.0, 1.0)
    found = MaximumLikelihood(concentration=a).solve(ratios, Samples.whole(20)).prevalence[0]
    assert_array_equal(found[1:-1], 0)
    assert_allclose(found[[0, -1]], np.array([20, 1]) / 21, atol=1e-6)


@classes
@pytest.mark.parametrize("strength", [1 + 1e-9, 1e3, 1e6, 1e9])
def test_any_strength_converges(K, strength):
    rng = np.random.default_rng(0)
    for n in (1, 100):
        ratios = ratios_of(rng, K, n)
        found = MaximumLikelihood(concentration=strength).solve(ratios, Samples.whole(n))
        assert found.converged.all()
        if strength > 2e5:
            assert_allclose(found.prevalence, 1 / K, atol=1e-3)


@pytest.mark.parametrize("K", [2, 4])
@few
@given(seed=seeds)
def test_order_of_the_classes_does_not_matter(K, seed):
    rng = np.random.default_rng(seed)
    ratios, a, order = ratios_of(rng, K, 20), 1 + rng.exponential(2, K), rng.permutation(K)
    samples = Samples.from_arrays([rng.integers(0, 20, size) for size in (1, 7, 50)], n_pool=20)
    solution = MaximumLikelihood(concentration=a).solve(ratios, samples)
    moved = np.ascontiguousarray(ratios[:, order])
    reordered = MaximumLikelihood(concentration=a[order]).solve(moved, samples)
    assert_allclose(reordered.prevalence, solution.prevalence[:, order], atol=5e-5)


@pytest.mark.parametrize("K", [2, 4])
def test_a_sample_is_solved_alike_in_any_batch(K):
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, K, 60)
    arrays = [rng.integers(0, 60, size) for size in (5, 80, 1, 30)]
    samples = Samples.from_arrays(arrays, n_pool=60)
    solver = MaximumLikelihood(smoothness=0.1, concentration=1 + rng.random(K))
    together = solver.solve(ratios, samples)
    for s in range(4):
        alone = solver.solve(ratios, samples[s : s + 1])
        assert_array_equal(alone.prevalence[0], together.prevalence[s])
        assert_array_equal(alone.objective[0], together.objective[s])
