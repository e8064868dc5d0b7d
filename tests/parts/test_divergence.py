from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import KINDS, match
from tests.oracle import matching as oracle
from tests.parts.problems import make, profiles_of

from headcount._kernels.matching import match_mixtures
from headcount.errors import HeadcountError
from headcount.parts.solvers import DIVERGENCES, Divergence

few = settings(max_examples=12)
seeds = st.integers(0, 2**32 - 1)
every = pytest.mark.parametrize("name", DIVERGENCES)
smooth = pytest.mark.parametrize("name", ["hellinger", "topsoe", "probsymm"])


@every
@few
@given(seed=seeds, K=st.integers(2, 6), noisy=st.booleans())
def test_no_general_optimiser_does_better(name, seed, K, noisy):
    problem = make(name, np.random.default_rng(seed), K=K, S=1, noisy=noisy)
    solution = problem.solve()
    f = oracle.objective(name, problem.classes, problem.seen[0])
    found, best = f(solution.prevalence[0]), f(oracle.minimise_on_simplex(f, K))
    assert found <= best + 1e-9
    assert_allclose(solution.objective[0], found, atol=1e-12)


@smooth
def test_two_classes_are_solved_as_many_are(name):
    rng = np.random.default_rng(0)
    profiles, seen = profiles_of(rng, 2, 6), rng.dirichlet(np.ones(6), 50)
    one = Divergence(name).solve(profiles, seen)
    other = match(match_mixtures, KINDS[name], profiles, seen)
    assert_allclose(one.prevalence, other.shares, atol=2e-5)
    assert_allclose(one.objective, other.values, atol=1e-10)


@every
@pytest.mark.parametrize("K", [2, 4])
def test_bins_without_anything_in_them_do_not_matter(name, K):
    rng = np.random.default_rng(0)
    profiles, seen = profiles_of(rng, K, 6), rng.dirichlet(np.ones(6), 10)
    place = [0, 1, 3, 4, 5, 8]
    wide, wide_seen = np.zeros((K, 10)), np.zeros((10, 10))
    wide[:, place], wide_seen[:, place] = profiles, seen
    expected = Divergence(name).solve(profiles, seen)
    found = Divergence(name).solve(wide, wide_seen)
    assert_allclose(found.prevalence, expected.prevalence, atol=1e-9)
    assert_allclose(found.objective, expected.objective, atol=1e-12)
    assert found.converged.all()


@every
@pytest.mark.parametrize("K", [2, 4])
def test_bins_that_no_class_has_do_not_tell_classes_apart(name, K):
    rng = np.random.default_rng(0)
    profiles, seen = profiles_of(rng, K, 6), rng.dirichlet(np.ones(6), 10)
    unknown = rng.random((10, 2))
    found = Divergence(name).solve(
        np.hstack([profiles, np.zeros((K, 2))]), np.hstack([seen, unknown])
    )
    expected = Divergence(name).solve(profiles, seen)
    assert_allclose(found.prevalence, expected.prevalence, atol=2e-5)
    assert found.converged.all()


@every
def test_a_class_may_lack_a_bin_that_the_sample_uses(name):
    profiles = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5]])
    truth = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    for K in (2, 3):
        shares = truth[:, :K] + 0.01
        shares /= shares.sum(axis=1, keepdims=True)
        found = Divergence(name).solve(profiles[:K], shares @ profiles[:K])
        assert_allclose(found.prevalence, shares, atol=1e-6)


@every
@pytest.mark.parametrize("K", [2, 3])
def test_one_bin_says_nothing(name, K):
    found = Divergence(name).solve(np.ones((K, 1)), np.ones((2, 1)))
    assert found.converged.all()
    assert_allclose(found.prevalence.sum(axis=1), 1, atol=1e-12)
    if name != "l1":
        assert_allclose(found.prevalence, 1 / K, atol=5e-3)


@smooth
@pytest.mark.parametrize("K", [2, 3])
def test_samples_unlike_any_class_stay_on_the_simplex(name, K):
    profiles = np.zeros((K, 6))
    profiles[:, :3] = np.random.default_rng(0).dirichlet(np.ones(3), K)
    seen = np.array([[0, 0, 0, 1.0, 0, 0], [0, 0, 0, 0.2, 0.3, 0.5], [0] * 6])
    found = Divergence(name).solve(profiles, seen)
    assert found.converged.all()
    assert found.prevalence.min() >= 0
    assert_allclose(found.prevalence.sum(axis=1), 1, atol=1e-12)


@every
@pytest.mark.parametrize("K", [2, 3])
def test_tiny_values(name, K):
    # Histograms of next to nothing: whatever is found is as near as can be asked for.
    rng = np.random.default_rng(0)
    profiles, seen = 1e-12 * profiles_of(rng, K, 5), 1e-12 * rng.dirichlet(np.ones(5), 4)
    found = Divergence(name).solve(profiles, seen)
    assert found.converged.all()
    assert found.prevalence.min() >= 0
    assert_allclose(found.prevalence.sum(axis=1), 1, atol=1e-12)
    # A tiny bin among others is nothing special either.
    profiles, seen = profiles_of(rng, K, 5), rng.dirichlet(np.ones(5), 4)
    profiles[:, 0], seen[:, 0] = 1e-12, 1e-12
    expected = Divergence(name).solve(profiles[:, 1:].copy(), seen[:, 1:].copy())
    found = Divergence(name).solve(profiles, seen)
    assert found.converged.all()
    assert_allclose(found.prevalence, expected.prevalence, atol=1e-5)


@every
def test_many_classes(name):
    rng = np.random.default_rng(0)
    profiles = profiles_of(rng, 28, 40, clarity=0.3)
    truth = rng.dirichlet(np.full(28, 0.3), 5)
    found = Divergence(name).solve(profiles, truth @ profiles)
    assert found.converged.all()
    assert_allclose(found.prevalence, truth, atol=2e-5)


@smooth
@pytest.mark.parametrize("K", [2, 3])
def test_steps_that_run_out_are_told(name, K):
    rng = np.random.default_rng(1)
    profiles, seen = profiles_of(rng, K, 6), rng.dirichlet(np.ones(6), 20)
    inside = Divergence(name).solve(profiles, seen).prevalence.min(axis=1) > 0.01
    assert inside.sum() >= 3
    short = Divergence(name, max_iter=1).solve(profiles, seen[inside])
    assert not short.converged.any()
    assert_array_equal(short.iterations, 1)
    assert short.prevalence.min() >= 0
    assert_allclose(short.prevalence.sum(axis=1), 1, atol=1e-12)


@smooth
@pytest.mark.parametrize("K", [2, 5])
def test_tolerance_bounds_the_distance_from_the_optimum(name, K):
    rng = np.random.default_rng(0)
    profiles, seen = profiles_of(rng, K, 7), rng.dirichlet(np.ones(7), 40)
    best = Divergence(name, tol=1e-14).solve(profiles, seen).objective
    for tol in (1e-2, 1e-4, 1e-7):
        rough = Divergence(name, tol=tol).solve(profiles, seen)
        assert rough.converged.all()
        assert (rough.objective <= best + tol).all()


@pytest.mark.parametrize("K", [3, 5])
def test_class_that_is_hardly_there(K):
    # Where one class alone has mass and the sample hardly any, curvature is enormous.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        profiles = profiles_of(rng, K, 2 * K, clarity=0.9)
        profiles[:, -1] = 0
        profiles[0, -1] = 0.05
        for rare in (1e-6, 1e-9, 1e-12):
            shares = np.append(rare, (1 - rare) * rng.dirichlet(np.ones(K - 1)))
            for name in ("hellinger", "topsoe", "probsymm"):
                found = Divergence(name).solve(profiles, (shares @ profiles)[None])
                assert found.converged.all(), (name, seed, rare)
                assert_allclose(found.prevalence[0], shares, atol=1e-5)


@pytest.mark.parametrize("bandwidth", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("K", [3, 5, 10])
def test_densities_that_hardly_overlap(K, bandwidth):
    # Far from all items of a sample, its density is 1e-40 or 1e-300, and so are classes'.
    rng = np.random.default_rng(0)

    def draw(j, n):
        return 0.3 * rng.dirichlet(np.full(K, 0.5), n) + 0.7 * np.eye(K)[j]

    clouds = [draw(j, 20) for j in range(K)]
    points = np.concatenate(
        [cloud + rng.normal(scale=bandwidth, size=cloud.shape) for cloud in clouds]
    )

    def density(cloud):
        apart = ((cloud[:, None] - points[None]) ** 2).sum(axis=2)
        return np.exp(-apart / (2 * bandwidth**2)).mean(axis=0)

    profiles = np.array([density(cloud) for cloud in clouds])
    weights = 1 / (len(points) * profiles.mean(axis=0))
    seen = []
    for _ in range(100):
        present = rng.permutation(K)[: rng.integers(1, K)]
        sample = [draw(j, rng.integers(1, 30)) for j in present]
        seen.append(density(np.concatenate(sample)))
    found = Divergence("hellinger").solve(profiles * weights, np.array(seen) * weights)
    assert found.converged.all()


def test_flat_optimum_of_the_absolute_distance_gives_its_middle():
    profiles = np.array([[0.0, 0.0, 1.0], [0.4, 0.4, 0.2]])
    seen = np.array([[0.1, 0.3, 0.6]])  # the first bin says 1/4, the second 3/4, the third 1/2
    found = Divergence("l1").solve(profiles, seen)
    assert_allclose(found.prevalence, [[0.5, 0.5]], atol=1e-12)
    flat = Divergence("l1").solve(profiles[:, :2].copy(), np.array([[0.0, 0.2]]))
    assert_allclose(flat.prevalence, [[0.75, 0.25]], atol=1e-12)


def test_unknown_divergence_is_refused():
    with pytest.raises(HeadcountError, match=r"'kl'.*hellinger, topsoe, probsymm, l1, l2"):
        Divergence("kl")
