"""Simulated samples: composed as stated, of items that were resampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headcount.estimates.conditioning import (
    Prior,
    _near,
    simulate,
    simulated_size,
    size_factor,
    whole_counts,
)
from headcount.parts.training import Training
from tests.kernels import calls
from tests.oracle import uncertainty as oracle

CODES = np.array([0, 1, 1, 0, 2, 1, 0, 2, 2, 2, 1, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_matches_the_oracle(weighted):
    rng = np.random.default_rng(0)
    strata = [np.flatnonzero(np.equal(CODES, j)) for j in range(3)]
    resampled = np.array([2, 4, 3])
    weights = rng.random(len(CODES)) if weighted else None
    counts = np.array([[3, 0, 4], [1, 5, 1], [0, 7, 0]])
    seeds = rng.integers(2**64, size=3, dtype=np.uint64)
    drawn = calls.resampled(seeds, counts, strata, resampled, weights)
    for seed, row, found in zip(seeds.tolist(), counts, drawn, strict=True):
        items = [stratum.tolist() for stratum in strata]
        expected = oracle.draw_resampled(seed, row, items, resampled, weights, foreign=0.8)
        assert found.tolist() == expected


def training(n, weights=None):
    return Training(None, np.repeat([0, 1], n), 2, weights)


def test_samples_have_the_shares_that_are_stated():
    made = simulate(training([30, 12]), 25, 1500, Prior(), 0)
    counted = made.samples.prevalence_of(np.repeat([0, 1], [30, 12]), 2)
    np.testing.assert_allclose(made.shares, counted, atol=1e-12)
    assert (made.samples.sizes == 25).all()
    assert (np.abs(made.shares * 25 - np.rint(made.shares * 25)) < 1e-9).all()


def test_a_class_is_resampled_before_items_are_drawn():
    # Of m - 3 draws from m items, so many are distinct on average.
    m = 24
    made = simulate(training([m, 5]), 4000, 1000, Prior(draws=np.array([[1.0, 0.0]])), 1)
    distinct = np.array([len(np.unique(sample)) for sample in made.samples])
    assert distinct.max() <= m - 3
    assert distinct.mean() == pytest.approx(m * (1 - (1 - 1 / m) ** (m - 3)), abs=0.15)
    # Means of samples vary as Student's distribution says of the mean of m items.
    value = np.arange(m + 5.0) % m
    means = np.array([value[sample].mean() for sample in made.samples])
    variance = stats.t(m - 1).var() * value[:m].var(ddof=1) / m
    assert means.var() == pytest.approx(variance, rel=0.15)
    assert means.mean() == pytest.approx(value[:m].mean(), abs=0.3)


def test_items_are_drawn_by_weight():
    weights = np.array([1.0, 0.0, 3.0, 2.0, 2.0])
    made = simulate(training([3, 2], weights), 50, 2000, Prior(np.ones(2)), 0)
    counts = np.bincount(made.samples.indices, minlength=5)
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.2)
    assert counts[4] / counts[3] == pytest.approx(1, rel=0.2)


def test_counts_stand_for_items():
    # A class that stands for many items hardly varies, however few rows it has.
    few, many = (
        simulate(training([4, 4]), 3000, 1000, Prior(), 0, np.array([n, n])).samples
        for n in (4, 4000)
    )
    value = np.arange(8.0) % 4
    spread = [
        np.std([value[s[s < 4]].mean() for s in drawn if (s < 4).sum() > 500])
        for drawn in (few, many)
    ]
    assert spread[1] < 0.15 * spread[0]


def test_seeds_and_sizes_decide():
    base = training([9, 7])
    one, two, other = (simulate(base, 10, 1000, Prior(), seed).samples for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.indices, two.indices)
    assert (one.indices != other.indices).any()
    larger = simulate(base, 11, 1000, Prior(), 0)
    assert (larger.samples.sizes == 11).all()


def test_large_samples_are_fewer():
    assert len(simulate(training([5, 5]), 20_000, 4000, Prior(), 0).samples) == 1000
    assert len(simulate(training([5, 5]), 10, 1200, Prior(), 0).samples) == 1200


@given(
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda p: sum(p) > 0.1),
    size=st.integers(1, 500),
)
@settings(max_examples=60)
def test_whole_counts_are_next_to_their_expectation(shares, size):
    p = np.array(shares) / sum(shares)
    counts = whole_counts(np.tile(p, (50, 1)), size, np.random.default_rng(0))
    assert (counts.sum(axis=1) == size).all()
    assert (counts >= 0).all()
    assert (np.abs(counts - p * size) < 1 + 1e-6).all()


def test_whole_counts_are_right_on_average():
    p = np.array([0.03, 0.27, 0.7])
    counts = whole_counts(np.tile(p, (20_000, 1)), 7, np.random.default_rng(0))
    np.testing.assert_allclose(counts.mean(axis=0), 7 * p, atol=0.02)


@pytest.mark.parametrize("size", [1, 2, 19, 20, 21, 22, 57, 100, 999, 15_000, 20_000, 10**7])
def test_simulated_sizes(size):
    assert simulated_size(size) == oracle.simulated_size(size)
    if size <= 19_000:
        assert simulated_size(size) == pytest.approx(size, rel=0.06)


@given(st.integers(1, 10**6))
@settings(max_examples=80)
def test_simulated_sizes_grow_and_are_few(size):
    assert simulated_size(size) <= simulated_size(size + 1) <= 20_000
    if size < 19_000:
        assert simulated_size(simulated_size(size)) == simulated_size(size)


@pytest.mark.parametrize("size", [15, 23, 500, 100_000])
def test_the_size_factor_is_a_ratio_of_standard_errors(size):
    shares, counts = np.array([0.2, 0.5, 0.3]), np.array([10, 300, 80])
    expected = oracle.standard_error(shares, counts, size) / oracle.standard_error(
        shares, counts, oracle.simulated_size(size)
    )
    assert size_factor(counts, shares, size) == pytest.approx(expected, rel=1e-12)


def test_the_size_factor_corrects_the_noise_of_a_sample():
    # With no end of training items, the error falls with the root of the size.
    factor = size_factor(np.array([10**12, 10**12]), np.array([0.5, 0.5]), 80_000)
    assert factor == pytest.approx(0.5)
    # With few, which the size of a sample cannot mend, it does not.
    factor = size_factor(np.array([5, 5]), np.array([0.5, 0.5]), 80_000)
    assert factor == pytest.approx(1, abs=0.001)


def test_priors():
    rng, shares = np.random.default_rng(0), np.array([0.9, 0.1])
    mixture = Prior().draw(40_000, shares, rng)
    np.testing.assert_allclose(mixture.sum(axis=1), 1)
    # A half uniform, a quarter near the edges, a quarter near the training shares.
    full = mixture[(mixture > 0).all(axis=1)]
    expected = 0.5 * 0.5 + 0.25 * 0.5 + 0.25 * 0.9
    assert full[:, 0].mean() == pytest.approx(expected, abs=0.01)
    # A class is there in half of the draws, and in the others with a probability of U(.2, 1).
    p = np.linspace(0.2, 1, 100_001)
    assert 1 - len(full) / 40_000 == pytest.approx(0.5 * (1 - (p**2).mean()), abs=0.01)
    near_edge = (mixture.min(axis=1) < 0.01).mean()
    assert near_edge > (Prior(np.ones(2)).draw(40_000, shares, rng).min(axis=1) < 0.01).mean()
    # Around the training shares sums of parameters are between 10 and 300, evenly by logarithm.
    variances = 0.9 * 0.1 / (np.geomspace(10, 300, 100_001) + 1)
    near = _near(shares, 40_000, 300.0, rng)
    assert near[:, 0].var() == pytest.approx(variances.mean(), rel=0.1)
    chosen = Prior(draws=np.array([[0.3, 0.7], [0.6, 0.4]])).draw(1000, shares, rng)
    assert set(chosen[:, 0].tolist()) == {0.3, 0.6}
