from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import KINDS, match, most_likely, plain
from tests.oracle import likelihood as likelihoods
from tests.oracle import matching as oracle

from headcount._kernels.matching import match_mixtures, match_two, mix, project

few = settings(max_examples=20)
seeds = st.integers(0, 2**32 - 1)
each_kind = pytest.mark.parametrize("name", KINDS)


def histograms(rng: np.random.Generator, K: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Profiles and one sample: smooth, or counts of few items with many empty bins."""
    profiles = rng.dirichlet(np.full(bins, rng.choice([0.1, 1.0, 5.0])), K)
    if rng.random() < 0.5:
        profiles = np.array([rng.multinomial(12, row / row.sum()) for row in profiles]) / 12
    seen = rng.dirichlet(np.ones(K)) @ profiles
    if rng.random() < 0.7:
        seen = rng.multinomial(20, seen / seen.sum()) / 20
    return profiles, seen


def likelihood_rows(rng: np.random.Generator, K: int, n: int) -> np.ndarray:
    posteriors = rng.dirichlet(np.full(K, rng.choice([0.05, 0.5, 2.0])), n)
    return posteriors / rng.dirichlet(np.full(K, 3.0))


def assert_proven(found, f, best, tol=1e-10):
    """On the simplex, within its certificate of the optimum, and the certificate small."""
    assert found.shares.min() >= 0
    assert abs(found.shares.sum() - 1) <= 1e-12
    assert f(found.shares[0]) <= f(best) + 1e-9
    assert f(found.shares[0]) - f(best) <= found.gaps[0] + 1e-12
    assert found.gaps[0] <= tol


@each_kind
@few
@given(seed=seeds, K=st.integers(2, 5), bins=st.integers(1, 10))
def test_histograms_match_a_general_optimiser(name, seed, K, bins):
    profiles, seen = histograms(np.random.default_rng(seed), K, bins)
    f = oracle.objective(name, profiles, seen)
    best = oracle.minimise_on_simplex(f, K)
    for kernel in (match_mixtures, match_two) if K == 2 else (match_mixtures,):
        found = match(kernel, KINDS[name], profiles, seen[None])
        assert_proven(found, f, best)
        assert_allclose(found.values[0], f(found.shares[0]), atol=1e-12)


@few
@given(seed=seeds, K=st.integers(2, 5), n=st.integers(1, 12))
def test_weights_of_rows_repeat_them(seed, K, n):
    rng = np.random.default_rng(seed)
    ratios, counts = likelihood_rows(rng, K, n), rng.integers(1, 5, n)
    before = rng.random(K)
    repeated = np.repeat(np.arange(n), counts)
    for kernel in (match_mixtures, match_two) if K == 2 else (match_mixtures,):
        rule = {"before": before, "tol": 1e-12}
        one = most_likely(kernel, ratios, [range(n)], weights=counts.astype(float), **rule)
        other = most_likely(kernel, ratios, [repeated], **rule)
        assert_allclose(one.shares, other.shares, atol=1e-6)
        assert_allclose(one.values, other.values, atol=1e-12)


@few
@given(seed=seeds, K=st.integers(2, 5), n=st.integers(1, 30))
def test_likelihoods_match_a_general_optimiser(seed, K, n):
    ratios = likelihood_rows(np.random.default_rng(seed), K, n)
    best = likelihoods.maximise(ratios)
    for kernel in (match_mixtures, match_two) if K == 2 else (match_mixtures,):
        found = most_likely(kernel, ratios, [range(n)])
        assert_proven(found, lambda p: likelihoods.objective(ratios, p), best)
        expected = likelihoods.objective(ratios, found.shares[0])
        assert_allclose(found.values[0], expected, atol=1e-12)


@each_kind
@few
@given(seed=seeds, bins=st.integers(2, 12))
def test_two_classes_by_either_way(name, seed, bins):
    profiles, seen = histograms(np.random.default_rng(seed), 2, bins)
    one = match(match_two, KINDS[name], profiles, seen[None])
    other = match(match_mixtures, KINDS[name], profiles, seen[None])
    assert_allclose(one.values, other.values, atol=1e-9)
    if np.abs(profiles[0] - profiles[1]).max() > 0.05:
        assert_allclose(one.shares, other.shares, atol=1e-4)


@few
@given(seed=seeds, n=st.integers(1, 30))
def test_two_likelihoods_by_either_way(seed, n):
    ratios = likelihood_rows(np.random.default_rng(seed), 2, n)
    one = most_likely(match_two, ratios, [range(n)])
    other = most_likely(match_mixtures, ratios, [range(n)])
    assert_allclose(one.values, other.values, atol=1e-9)
    assert_allclose(one.shares, other.shares, atol=1e-4)


def kernels_for(K):
    return (match_two, match_mixtures) if K == 2 else (match_mixtures,)


@each_kind
@pytest.mark.parametrize("K", [2, 4])
@few
@given(seed=seeds)
def test_penalty_is_part_of_what_is_minimised(name, K, seed):
    rng = np.random.default_rng(seed)
    profiles, seen = histograms(rng, K, 8)
    factor = rng.normal(size=(K, 2))
    Q = factor @ factor.T
    divergence = oracle.objective(name, profiles, seen)
    f = lambda p: divergence(p) + p @ Q @ p / 2  # noqa: E731
    best = oracle.minimise_on_simplex(f, K)
    for kernel in kernels_for(K):
        found = match(kernel, KINDS[name], profiles, seen[None], Q=Q)
        assert_proven(found, f, best)
        assert_allclose(found.values[0], f(found.shares[0]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("K", [2, 4])
@few
@given(seed=seeds, n=st.integers(1, 30), penalty=st.booleans())
def test_items_seen_before_are_part_of_the_likelihood(K, seed, n, penalty):
    rng = np.random.default_rng(seed)
    ratios = likelihood_rows(rng, K, n)
    before = rng.choice([0.0, 0.01, 1.0, 50.0], K)
    factor = rng.normal(size=(K, 2))
    Q = factor @ factor.T if penalty else np.zeros((K, K))
    f = lambda p: likelihoods.with_prior(ratios, 1 + before, p) + p @ Q @ p / 2  # noqa: E731
    best = oracle.minimise_on_simplex(f, K)
    for kernel in kernels_for(K):
        early = 0 if penalty else 5
        found = most_likely(kernel, ratios, [range(n)], before=before, Q=Q, em_steps=early)
        assert_proven(found, f, best)
        assert_allclose(found.values[0], f(found.shares[0]), rtol=1e-12, atol=1e-12)


def test_first_steps_count_the_items_seen_before():
    ratios = likelihood_rows(np.random.default_rng(3), 3, 12)
    before = np.array([0.0, 2.0, 7.0])
    expected = np.full(3, 1 / 3)
    for _ in range(3):
        expected = (12 * likelihoods.em_step(ratios, expected) + before) / (12 + before.sum())
    given = {"before": before, "em_steps": 3, "max_iter": 3}
    found = most_likely(match_mixtures, ratios, [range(12)], **given)
    assert_allclose(found.shares[0], expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [match_two, match_mixtures])
@each_kind
def test_certificate_holds_before_the_optimum_is_reached(name, kernel):
    K = 2 if kernel is match_two else 3
    for seed in range(15):
        profiles, seen = histograms(np.random.default_rng(seed), K, 6)
        f = oracle.objective(name, profiles, seen)
        least = f(oracle.minimise_on_simplex(f, K))
        for max_iter in (1, 2, 3):
            found = match(kernel, KINDS[name], profiles, seen[None], max_iter=max_iter)
            assert f(found.shares[0]) - least <= found.gaps[0] + 1e-12
            assert found.steps[0] <= max_iter


def test_certificate_of_a_likelihood_holds_after_each_step():
    ratios = likelihood_rows(np.random.default_rng(0), 4, 25)
    least = likelihoods.objective(ratios, likelihoods.maximise(ratios))
    gaps = []
    for max_iter in range(10):
        found = most_likely(match_mixtures, ratios, [range(25)], max_iter=max_iter)
        excess = likelihoods.objective(ratios, found.shares[0]) - least
        assert excess <= found.gaps[0] + 1e-12
        gaps.append(found.gaps[0])
    assert gaps[0] > 1e-3
    assert gaps[-1] <= 1e-10


def test_first_steps_of_a_likelihood_are_expectation_maximisation():
    ratios = likelihood_rows(np.random.default_rng(3), 4, 12)
    expected = np.full(4, 0.25)
    for _ in range(3):
        expected = likelihoods.em_step(ratios, expected)
    found = most_likely(match_mixtures, ratios, [range(12)], em_steps=3, max_iter=3)
    assert_allclose(found.shares[0], expected, rtol=1e-12)


def test_where_it_started_from_does_not_show():
    for seed in range(10):
        ratios = likelihood_rows(np.random.default_rng(seed), 5, 40)
        at_once = most_likely(match_mixtures, ratios, [range(40)], em_steps=0, tol=1e-12)
        later = most_likely(match_mixtures, ratios, [range(40)], em_steps=9, tol=1e-12)
        assert_allclose(at_once.shares, later.shares, atol=1e-5)
        assert_allclose(at_once.values, later.values, atol=1e-11)


@pytest.mark.parametrize("kernel", [match_two, match_mixtures])
def test_uncompiled(kernel):
    K = 2 if kernel is match_two else 3
    rng = np.random.default_rng(5)
    profiles, seen = histograms(rng, K, 5)
    ratios = likelihood_rows(rng, K, 7)
    for name in KINDS:
        one = match(plain(kernel), KINDS[name], profiles, seen[None])
        other = match(kernel, KINDS[name], profiles, seen[None])
        for mine, theirs in zip(one, other, strict=True):
            assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    for before in (None, np.arange(K)):
        one = most_likely(plain(kernel), ratios, [range(7)], before=before)
        other = most_likely(kernel, ratios, [range(7)], before=before)
        for mine, theirs in zip(one, other, strict=True):
            assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_mix_and_project(version):
    rng = np.random.default_rng(0)
    A, p, w = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=5)
    mixed, along = np.empty(5), np.empty(3)
    version(mix)(A, p, mixed)
    version(project)(A, w, along)
    assert_allclose(mixed, (A.T @ p)[:5], rtol=1e-13)
    assert_allclose(along, A[:, :5] @ w, rtol=1e-13)
