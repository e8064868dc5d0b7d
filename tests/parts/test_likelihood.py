from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import most_likely
from tests.oracle import likelihood as oracle

from headcount._kernels.matching import match_mixtures
from headcount.parts import aggregation
from headcount.parts.aggregation import Mixture
from headcount.parts.solvers import (
    ExpectationMaximisation,
    MaximumLikelihood,
    TowardsMaximum,
)
from headcount.parts.training import Training
from headcount.quantifiers.likelihood import PosteriorRatios
from headcount.samples.samples import Samples

few = settings(max_examples=15)
seeds = st.integers(0, 2**32 - 1)
both = pytest.mark.parametrize("K", [2, 4])


def ratios_of(rng, K, n, sharpness=1.0):
    return rng.dirichlet(np.full(K, 1 / sharpness), n) / rng.dirichlet(np.full(K, 5.0))


def certificate(ratios, p):
    """Largest possible distance from the optimum: max_j mean_i R_ij / (R_i . p) - 1."""
    return (ratios / (ratios @ p)[:, None]).mean(axis=0).max() - 1


@few
@given(seed=seeds, K=st.integers(2, 6), sharpness=st.sampled_from([0.2, 1.0, 20.0]))
def test_no_general_optimiser_does_better(seed, K, sharpness):
    ratios = ratios_of(np.random.default_rng(seed), K, 25, sharpness)
    solution = MaximumLikelihood().solve(ratios, Samples.whole(25))
    found = oracle.objective(ratios, solution.prevalence[0])
    assert found <= oracle.objective(ratios, oracle.maximise(ratios)) + 1e-9
    assert_allclose(solution.objective[0], found, atol=1e-12)
    assert solution.converged.all()


@few
@given(seed=seeds, K=st.sampled_from([2, 3, 10, 28]), n=st.sampled_from([1, 10, 300]))
def test_answers_are_proven(seed, K, n):
    rng = np.random.default_rng(seed)
    ratios = ratios_of(rng, K, n, rng.choice([0.2, 1.0, 20.0]))
    solution = MaximumLikelihood().solve(ratios, Samples.whole(n))
    assert solution.converged.all()
    assert certificate(ratios, solution.prevalence[0]) <= 1.1e-10
    assert solution.prevalence.min() >= 0
    assert_allclose(solution.prevalence.sum(), 1, atol=1e-12)


def test_two_classes_are_solved_as_many_are():
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, 2, 60)
    arrays = [rng.integers(0, 60, 15) for _ in range(20)]
    one = MaximumLikelihood().solve(ratios, Samples.from_arrays(arrays, n_pool=60))
    other = most_likely(match_mixtures, ratios, arrays)
    assert_allclose(one.prevalence, other.shares, atol=2e-5)
    assert_allclose(one.objective, other.values, atol=1e-10)


@both
def test_one_item_belongs_to_its_likeliest_class(K):
    ratios = ratios_of(np.random.default_rng(0), K, 8)
    one_each = Samples(np.arange(8), np.arange(9), n_pool=8)
    solution = MaximumLikelihood().solve(ratios, one_each)
    assert solution.converged.all()
    assert_allclose(solution.prevalence, np.eye(K)[ratios.argmax(axis=1)], atol=1e-9)


@pytest.mark.parametrize("K", [2, 3, 28])
def test_classes_that_look_alike_share_evenly(K):
    ratios = np.repeat(np.random.default_rng(0).random((30, 1)), K, axis=1)
    solution = MaximumLikelihood().solve(ratios, Samples.whole(30))
    assert solution.converged.all()
    assert_allclose(solution.prevalence, 1 / K, rtol=1e-12)


@both
@pytest.mark.parametrize("power", [-300, -150, -80, -12, 12, 80, 150, 300])
def test_scale_of_a_row_does_not_matter(K, power):
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, K, 40)
    expected = MaximumLikelihood().solve(ratios, Samples.whole(40))
    scale = np.where(rng.random((40, 1)) < 0.5, 1.0, 10.0**power)
    found = MaximumLikelihood().solve(ratios * scale, Samples.whole(40))
    assert found.converged.all()
    assert_allclose(found.prevalence, expected.prevalence, atol=1e-9)
    mean_log = np.log(10.0) * power * (scale != 1).mean()
    assert_allclose(found.objective, expected.objective - mean_log, rtol=1e-12)


@both
def test_scale_of_a_row_does_not_matter_to_early_steps(K):
    rng = np.random.default_rng(0)
    ratios, start = ratios_of(rng, K, 40), rng.dirichlet(np.ones(K))
    em = ExpectationMaximisation(1e-4, by_norm=False)
    expected = em.solve(ratios, Samples.whole(40), start)
    scale = rng.choice([1.0, 2.0**-1000, 2.0**900], (40, 1))
    found = em.solve(ratios * scale, Samples.whole(40), start)
    assert_array_equal(found.prevalence, expected.prevalence)
    assert_array_equal(found.iterations, expected.iterations)
    assert_allclose(found.objective, expected.objective - np.log(scale).mean(), rtol=1e-12)


@both
def test_scale_of_a_row_shows_in_no_other_sample(K):
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, K, 40) * rng.choice([1.0, 1e-15, 1e-25, 1e25], (40, 1))
    arrays = [range(40), np.flatnonzero(ratios.max(axis=1) > 1e-18), [3, 3, 7]]
    samples = Samples.from_arrays(arrays, n_pool=40)
    together = MaximumLikelihood().solve(ratios, samples)
    for s, array in enumerate(arrays):
        alone = MaximumLikelihood().solve(ratios[array], Samples.whole(len(array)))
        assert_array_equal(alone.prevalence[0], together.prevalence[s])
        assert_array_equal(alone.objective[0], together.objective[s])


@both
def test_extreme_ratios(K):
    # Items that one class alone can have made: shares are the shares of these items.
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(K), rng.integers(0, K, 20))
    expected = np.bincount(codes, minlength=K) / len(codes)
    for other in (0.0, 1e-300, 1e-200, 1e-20):
        for own in (1.0, 1e150):
            ratios = np.where(np.eye(K, dtype=bool)[codes], own, other * own)
            found = MaximumLikelihood().solve(ratios, Samples.whole(len(codes)))
            assert found.converged.all()
            assert_allclose(found.prevalence[0], expected, atol=1e-5)


@both
def test_items_that_no_class_can_have_made_do_not_matter(K):
    rng = np.random.default_rng(0)
    ratios = ratios_of(rng, K, 30)
    expected = MaximumLikelihood().solve(ratios, Samples.whole(30)).prevalence
    with_nothing = np.vstack([ratios, np.zeros((10, K))])
    found = MaximumLikelihood(tol=1e-12).solve(with_nothing, Samples.whole(40))
    assert found.converged.all()
    assert_allclose(found.prevalence.sum(), 1, atol=1e-12)
    assert_allclose(found.prevalence, expected, atol=1e-4)
    # They count as items that all classes make alike.
    alike = np.vstack([ratios, np.ones((10, K))])
    for solver in (
        MaximumLikelihood(),
        MaximumLikelihood(smoothness=0.1, concentration=2.0),
        ExpectationMaximisation(1e-4, by_norm=False),
    ):
        one = solver.solve(with_nothing, Samples.whole(40), np.full(K, 1 / K))
        other = solver.solve(alike, Samples.whole(40), np.full(K, 1 / K))
        assert_array_equal(one.prevalence, other.prevalence)
        assert_array_equal(one.objective, other.objective)


@both
def test_nothing_but_impossible_items(K):
    nothing, start = np.zeros((5, K)), np.full(K, 1 / K)
    for solver in (MaximumLikelihood(), ExpectationMaximisation(1e-4, by_norm=False)):
        found = solver.solve(nothing, Samples.whole(5), start)
        assert found.converged.all()
        assert_allclose(found.prevalence, 1 / K, rtol=1e-12)
        assert_allclose(found.objective, 0, atol=1e-12)


@both
def test_a_class_that_no_item_can_be_of_gets_nothing(K):
    ratios = ratios_of(np.random.default_rng(0), K, 20)
    ratios[:, 0] = 0.0
    found = MaximumLikelihood().solve(ratios, Samples.whole(20))
    assert found.converged.all()
    assert_allclose(found.prevalence[0, 0], 0, atol=1e-9)


@both
def test_steps_that_run_out_are_told(K):
    ratios = ratios_of(np.random.default_rng(11), K, 40)
    ready = MaximumLikelihood().solve(ratios, Samples.whole(40))
    assert ready.prevalence.min() > 0.01
    short = MaximumLikelihood(max_iter=1).solve(ratios, Samples.whole(40))
    assert not short.converged.any()
    assert_array_equal(short.iterations, 1)
    assert short.prevalence.min() >= 0
    assert_allclose(short.prevalence.sum(), 1, atol=1e-12)


@both
def test_tolerance_bounds_the_distance_from_the_optimum(K):
    ratios = ratios_of(np.random.default_rng(0), K, 50)
    best = MaximumLikelihood(tol=1e-14).solve(ratios, Samples.whole(50)).objective
    for tol in (1e-2, 1e-4, 1e-7):
        rough = MaximumLikelihood(tol=tol).solve(ratios, Samples.whole(50))
        assert rough.converged.all()
        assert (rough.objective <= best + tol).all()


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("by_norm", [True, False])
def test_expectation_maximisation_stops_where_its_rule_says(K, by_norm):
    rng = np.random.default_rng(0)
    ratios, start = ratios_of(rng, K, 20), rng.dirichlet(np.ones(K))
    samples = Samples.from_arrays([range(20), [3, 3, 7, 1]], n_pool=20)
    rule = {"tol": 1e-5, "by_norm": by_norm, "min_iter": 3, "max_iter": 200}
    solution = ExpectationMaximisation(**rule).solve(ratios, samples, start)
    for s in range(2):
        p, taken, change = oracle.run_em(ratios[samples[s]], start, **rule)
        assert solution.iterations[s] == taken
        assert solution.converged[s] == (change < 1e-5)
        assert_allclose(solution.prevalence[s], p, atol=1e-12)


@both
def test_expectation_maximisation_goes_to_the_maximum(K):
    ratios = ratios_of(np.random.default_rng(2), K, 50)
    best = MaximumLikelihood(tol=1e-14).solve(ratios, Samples.whole(50))
    start = np.full(K, 1 / K)
    em = ExpectationMaximisation(1e-10, by_norm=True, max_iter=100_000)
    found = em.solve(ratios, Samples.whole(50), start)
    assert found.converged.all()
    assert_allclose(found.prevalence, best.prevalence, atol=1e-5)


@both
def test_expectation_maximisation_tells_that_its_steps_ran_out(K):
    ratios = ratios_of(np.random.default_rng(0), K, 20)
    em = ExpectationMaximisation(1e-8, by_norm=False, max_iter=1)
    found = em.solve(ratios, Samples.whole(20), np.full(K, 1 / K))
    assert not found.converged.any()
    assert_allclose(found.prevalence[0], oracle.em_step(ratios, np.full(K, 1 / K)), rtol=1e-12)


def test_two_classes_alike_among_others():
    # What the two share is determined, how they share it is not.
    for seed in range(200):
        rng = np.random.default_rng(seed)
        ratios = np.exp(rng.normal(size=(100, 6)))
        ratios[:, 1] = ratios[:, 0]
        solution = MaximumLikelihood().solve(ratios, Samples.whole(100))
        assert solution.prevalence.min() >= 0
        assert_allclose(solution.prevalence.sum(), 1, atol=1e-12)
        apart = MaximumLikelihood().solve(ratios[:, 1:].copy(), Samples.whole(100))
        assert_allclose(solution.objective, apart.objective, atol=1e-9)
        assert solution.converged.all(), seed


@pytest.mark.parametrize("size", [5, 3000])
def test_training_items_that_are_repeated_are_counted(size, monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=60)
    training = Training(rng.dirichlet(np.ones(4), 60), codes, 4)
    fitted = Mixture(PosteriorRatios(), ExpectationMaximisation.classic()).fit(training)
    samples = Samples.from_arrays(rng.integers(60, size=(3, size)), n_pool=60)
    counted = []
    distinct = aggregation._distinct
    monkeypatch.setattr(aggregation, "_distinct", lambda s: counted.append(s) or distinct(s))
    shares = fitted.solve_training(training, samples).prevalence
    assert_allclose(shares, fitted.solve(training.items, samples).prevalence, rtol=1e-12)
    # A few samples are counted to see whether it pays.
    assert len(counted) == (2 if size > 60 else 1)


@few
@given(seed=seeds, K=st.integers(2, 5), sharpness=st.sampled_from([0.2, 1.0, 5.0]))
def test_shares_move_to_the_maximum_with_the_evidence(seed, K, sharpness):
    rng = np.random.default_rng(seed)
    ratios, prior = ratios_of(rng, K, 40, sharpness), rng.dirichlet(np.ones(K)) * 0.9 + 0.1 / K
    em = ExpectationMaximisation.classic(noise=0.4, partial=True)
    solver = TowardsMaximum(replace(em, n_training=60.0))
    found = solver.solve(ratios, Samples.whole(40), prior)
    early = solver.early.solve(ratios, Samples.whole(40), prior).prevalence[0]
    expected = oracle.towards_maximum(ratios, prior, early, 60.0)
    assert_allclose(found.prevalence[0], expected, atol=1e-5)


def test_shares_towards_the_maximum_do_not_depend_on_the_form_of_the_items():
    rng = np.random.default_rng(0)
    ratios, prior = ratios_of(rng, 3, 40, 5.0), np.full(3, 1 / 3)
    ratios[7] = 0.0
    solver = TowardsMaximum(ExpectationMaximisation.classic(noise=0.4, partial=True))
    arrays = [rng.integers(0, 40, 60) for _ in range(4)]
    expected = solver.solve(ratios, Samples.from_arrays(arrays, n_pool=40), prior)
    counts = [np.unique(array, return_counts=True) for array in arrays]
    distinct = Samples.from_arrays([rows for rows, _ in counts], n_pool=40)
    weights = np.concatenate([number for _, number in counts]).astype(float)
    scale = np.where(rng.random((40, 1)) < 0.5, 1.0, 2.0**300)
    for other in (ratios, ratios * scale):
        found = solver.solve(other, distinct, prior, weights)
        assert_allclose(found.prevalence, expected.prevalence, atol=1e-7)
    copies = Samples.from_arrays(arrays, n_pool=40).over(80)
    found = solver.solve(np.concatenate([ratios, ratios]), copies, prior)
    assert_allclose(found.prevalence, expected.prevalence, atol=1e-7)
