"""What holds for every solver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.parts.problems import ALL, EXACT, SMOOTH, make

import headcount._support.execution as threads
from headcount.parts.solvers import Solution

few = settings(max_examples=15)
seeds = st.integers(0, 2**32 - 1)
every = pytest.mark.parametrize("name", [*ALL, *SMOOTH])
classes = st.integers(2, 6)


def assert_on_simplex(solution: Solution) -> None:
    assert not np.isnan(solution.prevalence).any()
    assert solution.prevalence.min() >= 0
    assert_allclose(solution.prevalence.sum(axis=1), 1, rtol=0, atol=1e-12)


def assert_same_bits(one: Solution, other: Solution) -> None:
    assert_array_equal(one.prevalence, other.prevalence)
    assert_array_equal(one.converged, other.converged)
    assert_array_equal(one.iterations, other.iterations)
    assert_array_equal(one.objective, other.objective)


@every
@few
@given(seed=seeds, K=classes, noisy=st.booleans())
def test_answers_are_shares(name, seed, K, noisy):
    solution = make(name, np.random.default_rng(seed), K=K, noisy=noisy).solve()
    assert_on_simplex(solution)
    assert solution.prevalence.shape == (4, K)
    if name in (*EXACT, *SMOOTH):  # expectation maximisation can be as slow as it likes
        assert solution.converged.all()
    for part in (solution.converged, solution.iterations, solution.objective):
        assert part.shape == (4,)


@pytest.mark.parametrize("name", EXACT)
@few
@given(seed=seeds, K=classes)
def test_true_shares_are_found_when_there_is_no_noise(name, seed, K):
    problem = make(name, np.random.default_rng(seed), K=K)
    # Objectives within the tolerance of the optimum have shares within its square root.
    assert_allclose(problem.solve().prevalence, problem.truth, atol=3e-5)
    if hasattr(problem.solver, "tol"):
        problem = replace(problem, solver=replace(problem.solver, tol=1e-14))
    assert_allclose(problem.solve().prevalence, problem.truth, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
@few
@given(seed=seeds, K=classes, noisy=st.booleans())
def test_order_of_the_classes_does_not_matter(name, seed, K, noisy):
    rng = np.random.default_rng(seed)
    problem = make(name, rng, K=K, noisy=noisy)
    order = rng.permutation(K)
    solution, reordered = problem.solve(), problem.reorder(order).solve()
    assert_allclose(reordered.objective, solution.objective, atol=2e-10)
    if name != "l1" or K == 2 or not noisy:  # the least absolute fit may have many answers
        assert_allclose(reordered.prevalence, solution.prevalence[:, order], atol=5e-5)


@pytest.mark.parametrize("name", SMOOTH)
@few
@given(seed=seeds, K=classes, noisy=st.booleans())
def test_ordered_classes_may_be_reversed(name, seed, K, noisy):
    problem = make(name, np.random.default_rng(seed), K=K, noisy=noisy)
    solution, reversed_ = problem.solve(), problem.reorder(np.arange(K)[::-1]).solve()
    assert_allclose(reversed_.objective, solution.objective, atol=2e-10)
    assert_allclose(reversed_.prevalence, solution.prevalence[:, ::-1], atol=5e-5)


@every
@few
@given(seed=seeds, K=st.sampled_from([2, 3, 5]), noisy=st.booleans())
def test_a_sample_is_solved_alike_in_any_batch(name, seed, K, noisy):
    rng = np.random.default_rng(seed)
    problem = make(name, rng, K=K, S=7, noisy=noisy)
    together = problem.solve()
    one_by_one = [problem.take(slice(s, s + 1)).solve() for s in range(7)]
    assert_same_bits(Solution.concatenate(one_by_one), together)
    order = rng.permutation(7)
    shuffled = problem.take(order).solve()
    inverse = np.argsort(order)
    assert_same_bits(
        Solution(
            shuffled.prevalence[inverse],
            shuffled.converged[inverse],
            shuffled.iterations[inverse],
            shuffled.objective[inverse],
        ),
        together,
    )


@pytest.mark.parametrize("K", [2, 3])
@every
def test_number_of_threads_does_not_matter(name, K, monkeypatch):
    sizes = []

    class Recording(ThreadPoolExecutor):
        def __init__(self, max_workers):
            sizes.append(max_workers)
            super().__init__(max_workers)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Recording)
    rng = np.random.default_rng(0)
    # Enough samples that solvers see work for two threads at least.
    problem = make(name, rng, K=K, S=50, noisy=True).take(rng.integers(0, 50, 24_000))
    if name == "l1" and K > 2:  # linear programs, one after the other
        problem = problem.take(slice(0, 20))
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "1")
    alone = problem.solve()
    assert not sizes
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "4")
    assert_same_bits(problem.solve(), alone)
    if not (name == "adjusted count" and K == 2) and not (name == "l1" and K > 2):
        assert sizes
        assert min(sizes) > 1


def test_solutions_of_batches_are_joined():
    problem = make("least squares", np.random.default_rng(0), K=3, S=6)
    whole = problem.solve()
    parts = [problem.take(slice(0, 2)).solve(), problem.take(slice(2, 6)).solve()]
    assert_same_bits(Solution.concatenate(parts), whole)
    assert len(whole) == 6
    assert Solution.concatenate([whole]) is whole
