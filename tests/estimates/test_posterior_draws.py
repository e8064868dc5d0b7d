"""Draws from posterior distributions, compared with integrals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headcount._kernels.draws import binomial, gamma
from headcount.errors import HeadcountError
from headcount.estimates.posterior_draws import (
    check_dirichlet,
    posteriors_from_counts,
    posteriors_from_ratios,
)
from headcount.samples.samples import Samples
from tests.oracle import posterior as oracle

# Of a thousand draws, the mean is off by four of these at most.
MEAN, SPREAD = 4 / np.sqrt(1000), 0.12


def numbers(kernel, *given, n=4000):
    state = np.array([11], np.uint64)
    with np.errstate(over="ignore"):
        return np.array([kernel(*given, state) for _ in range(n)])


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 400.0])
def test_gamma_numbers(shape):
    assert stats.kstest(numbers(gamma, shape), stats.gamma(shape).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("n", "p"), [(0, 0.5), (5, 0.0), (7, 1.0), (9, 0.3), (500, 0.02)])
def test_binomial_numbers(n, p):
    found = numbers(binomial, n, p)
    assert found.min() >= 0
    assert found.max() <= n
    assert found.mean() == pytest.approx(n * p, abs=4 * np.sqrt(n * p * (1 - p) / 4000))
    assert found.var() == pytest.approx(n * p * (1 - p), rel=0.15)


def two_normals(n, distance, share, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) + distance * (rng.random(n) < share)
    return np.exp(-((x[:, None] - [0.0, distance]) ** 2) / 2)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0), (8.0, 3.0)])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize(("n", "distance"), [(200, 1.2), (30, 2.5), (400, 0.3)])
def test_likelihoods_of_two_classes(n, distance, prior, temperature):
    ratios = two_normals(n, distance, 0.3)
    # The scale of a row makes no difference.
    scaled = ratios * np.random.default_rng(1).uniform(1e-30, 1e30, (n, 1))
    warmth = np.array([temperature])
    (found,) = posteriors_from_ratios(scaled, Samples.whole(n), np.array(prior), 1, warmth)
    mean, spread = oracle.of_two_classes(ratios, prior, temperature=temperature)
    share = found.draws[:, 1]
    assert share.mean() == pytest.approx(mean, abs=MEAN * spread)
    assert share.std() == pytest.approx(spread, rel=SPREAD)
    np.testing.assert_allclose(share * n, np.rint(share * n), atol=1e-6)


def test_likelihoods_that_separate_three_classes_are_counted():
    ratios = np.eye(3)[np.repeat([0, 1, 2], [10, 20, 70])]
    (found,) = posteriors_from_ratios(ratios, Samples.whole(100), np.ones(3), 0)
    np.testing.assert_allclose(found.draws, np.tile([0.1, 0.2, 0.7], (1000, 1)), atol=1e-9)


def test_the_prior_decides_where_items_tell_nothing():
    prior, n = np.array([2.0, 6.0, 12.0]), 5000
    for ratios in (np.ones((n, 3)), np.zeros((n, 3))):
        (found,) = posteriors_from_ratios(ratios, Samples.whole(n), prior, 0)
        expected = stats.dirichlet(prior)
        np.testing.assert_allclose(found.mean, expected.mean(), atol=0.015)
        np.testing.assert_allclose(found.draws.var(axis=0), expected.var(), rtol=0.2)


@pytest.mark.parametrize(
    ("known", "seen"),
    [
        ([[50, 30, 15, 5], [4, 10, 16, 20]], [60, 60, 50, 30]),
        ([[40, 10], [5, 25]], [30, 20]),
        ([[6, 3, 1], [0, 2, 8]], [500, 200, 300]),
    ],
)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (4.0, 2.0)])
def test_counts_in_bins(known, seen, prior):
    known, seen = np.array(known, float), np.array(seen)
    (found,) = posteriors_from_counts(known, seen[None], np.array(prior), 2)
    mean, spread = oracle.of_counts(known, seen, prior)
    assert found.draws[:, 1].mean() == pytest.approx(mean, abs=1.5 * MEAN * spread)
    assert found.draws[:, 1].std() == pytest.approx(spread, rel=SPREAD)


def test_a_sample_has_the_same_draws_alone_and_by_any_number_of_threads():
    ratios = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    arrays = [np.arange(20), np.arange(15, 60), np.arange(3)]
    together = posteriors_from_ratios(
        ratios, Samples.from_arrays(arrays, n_pool=60), np.ones(3), 7
    )
    for rows, found in zip(arrays, together, strict=True):
        (alone,) = posteriors_from_ratios(
            ratios, Samples.from_arrays([rows], n_pool=60), np.ones(3), 7
        )
        np.testing.assert_array_equal(alone.draws, found.draws)
    counts, seen = np.array([[9.0, 2], [3, 8]]), np.array([[5, 6], [200, 10]])
    both = posteriors_from_counts(counts, seen, np.ones(2), 7)
    (second,) = posteriors_from_counts(counts, seen[1:], np.ones(2), 7)
    np.testing.assert_array_equal(second.draws, both[1].draws)
    (other,) = posteriors_from_counts(counts, seen[1:], np.ones(2), 8)
    assert (other.draws != second.draws).any()


def test_priors():
    np.testing.assert_array_equal(check_dirichlet(None, 3), np.ones(3))
    np.testing.assert_array_equal(check_dirichlet([1, 2], 2), [1.0, 2.0])
    with pytest.raises(HeadcountError, match="prior holds draws"):
        check_dirichlet([[0.5, 0.5]], 2)
    with pytest.raises(HeadcountError, match="prior is"):
        check_dirichlet(-1, 2)
