from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from tests.oracle import labels as oracle

from headcount.estimates.labels.difference import (
    Difference,
    class_table,
    corrected,
    correlation_weight,
    share_ends,
    squared_reach,
)
from headcount.estimates.labels.from_labels import share_difference
from headcount.estimates.labels.plan import Strata
from headcount.estimates.labels.pool import PoolPosteriors
from headcount.estimates.labels.sample import LabelSample
from headcount.parts.training import Training


def posteriors_and_classes(seed, n=200, n_classes=3):
    """Calibrated posteriors and classes drawn from them."""
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.full(n_classes, 0.5), n)
    codes = (rng.random((n, 1)) > np.cumsum(posteriors, axis=1)).sum(axis=1)
    return posteriors, np.minimum(codes, n_classes - 1)


@given(st.integers(0, 10**6))
def test_corrected_is_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    posteriors, _ = posteriors_and_classes(seed, 20)
    prior, shares = rng.dirichlet([1, 1, 1]), rng.dirichlet([0.3, 0.3, 0.3])
    found = corrected(posteriors, prior, shares)
    np.testing.assert_allclose(found, oracle.corrected(posteriors, prior, shares), atol=1e-12)
    np.testing.assert_allclose(corrected(posteriors, prior, prior), posteriors, atol=1e-12)


def test_impossible_items_get_the_shares():
    found = corrected(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert found.tolist() == [[0.0, 1.0]]


@given(st.integers(0, 10**6))
def test_factor_is_covariance_over_variance(seed):
    rng = np.random.default_rng(seed)
    means, shares, variances = rng.dirichlet([1] * 3, 3), rng.dirichlet([1] * 3), rng.random(3)
    found = correlation_weight(means, shares, variances)
    assert found == pytest.approx(oracle.factor(means, shares, variances))


def test_factor_of_calibrated_posteriors_is_near_1_and_of_noise_0():
    posteriors, codes = posteriors_and_classes(0, 20_000)
    shares = np.bincount(codes) / len(codes)
    pool = PoolPosteriors.of(posteriors, Training(posteriors, codes, 3), shares)
    assert pool.factor > 0.95
    shuffled = Training(posteriors, np.random.default_rng(0).permutation(codes), 3)
    assert PoolPosteriors.of(posteriors, shuffled, shares).factor < 0.05
    assert correlation_weight(np.eye(2), np.array([0.5, 0.5]), np.zeros(2)) == 0


def test_variances_are_learnt_from_training_items():
    posteriors, codes = posteriors_and_classes(0, 20_000, 2)
    shares = np.bincount(codes) / len(codes)
    pool = PoolPosteriors.of(posteriors, Training(posteriors, codes, 2), shares)
    strata = Strata.of(pool, 3)
    calibrated = Strata.of(PoolPosteriors(pool.values, pool.factor), 3).variances
    np.testing.assert_allclose(strata.variances, calibrated, rtol=0.1)
    # Of overconfident posteriors the residuals vary more than they promise.
    sharp = posteriors**3 / (posteriors**3).sum(axis=1, keepdims=True)
    pool = PoolPosteriors.of(sharp, Training(sharp, codes, 2), shares)
    strata = Strata.of(pool, 3)
    promised = Strata.of(PoolPosteriors(pool.values, pool.factor), 3).variances
    assert (strata.variances[0] > 2 * promised[0]).all()
    residuals = (codes[:, None] == np.arange(2)) - pool.factor * pool.values
    for h in range(3):
        seen = residuals[strata.codes == h].var(axis=0)
        np.testing.assert_allclose(strata.variances[h], seen, rtol=0.15)


def test_class_table_has_no_empty_cell():
    table = class_table(np.array([0, 0, 1]), np.array([0, 0, 1]), 2, None)
    np.testing.assert_allclose(table, [[2.5 / 3, 0.5 / 3], [0.25, 0.75]])


def sampled(seed, n=40, n_classes=3):
    posteriors, codes = posteriors_and_classes(seed, 300, n_classes)
    rng = np.random.default_rng(seed)
    pool = PoolPosteriors(posteriors, float(rng.random()))
    sample = LabelSample.simple(rng.choice(300, n, replace=False), 300)
    return pool, sample, codes


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_shares_sum_to_1_and_intervals_lie_within_0_and_1(seed, n_classes, level):
    pool, sample, codes = sampled(seed, n_classes=n_classes)
    found = share_difference(pool, sample, codes[sample.rows])
    assert found.centre.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.covariance.sum(axis=0), 0, atol=1e-12)
    low, high = share_ends(found.centre, found.ends(level), 300)
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (high > low).all()
    inner = share_ends(found.centre, found.ends(level / 2), 300)
    assert (low <= inner[0]).all()
    assert (high >= inner[1]).all()


@given(st.integers(0, 10**6), st.sampled_from([0.8, 0.95]))
def test_ends_are_those_of_the_slow_formula(seed, level):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    residuals, chances = rng.normal(size=(n, 1)) ** 3, rng.uniform(0.01, 0.99, (n, 1))
    sample = LabelSample.simple(np.arange(n), 10**12)
    found = Difference.of(sample, residuals, np.array([0.3]), chances)
    t = special.stdtrit(n - 1, (1 + level) / 2)
    wanted = oracle.difference_ends(
        residuals[:, 0].tolist(), [1 / n] * n, 0.3, chances[:, 0].tolist(), t, level
    )
    np.testing.assert_allclose(np.ravel(found.ends(level)), wanted, rtol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_room_is_left_on_the_side_of_large_errors(sign):
    sample = LabelSample.simple(np.arange(100), 10**12)
    even = sign * np.repeat([[1.0], [-1.0]], 50, axis=0)
    rare = sign * np.repeat([[1.0], [0.0]], [4, 96], axis=0)
    half = np.full((100, 1), 0.5)
    for residuals, one_sided in ((even, False), (rare, True)):
        found = Difference.of(sample, residuals, np.zeros(1), half)
        low, high = (float(end[0] - found.centre[0]) for end in found.ends(0.95))
        t = special.stdtrit(99, 0.975) * np.sqrt(found.covariance[0, 0])
        near, far = (high, -low) if sign < 0 else (-low, high)
        assert near == pytest.approx(t)
        assert (far > 1.1 * t) if one_sided else (far == pytest.approx(t))


def test_all_of_the_room_is_left_with_clusters():
    clusters = np.arange(10**4) // 2
    sample = LabelSample.simple(np.arange(100), 10**4, None, clusters)
    residuals = np.random.default_rng(0).normal(size=(100, 1))
    found = Difference.of(sample, residuals, np.zeros(1), np.full((100, 1), 0.5))
    low, high = (float(end[0] - found.centre[0]) for end in found.ends(0.95))
    t = special.stdtrit(49, 0.975) * np.sqrt(found.covariance[0, 0])
    assert -low == pytest.approx(high)
    assert high**2 == pytest.approx(t**2 + (np.log(0.05) * found.up[0]) ** 2)


@given(st.integers(0, 10**6))
def test_permuted_classes_permute_the_result(seed):
    pool, sample, codes = sampled(seed)
    order = np.random.default_rng(seed).permutation(3)
    moved = PoolPosteriors(pool.values[:, order], pool.factor)
    places = np.argsort(order)
    ours = share_difference(pool, sample, codes[sample.rows])
    theirs = share_difference(moved, sample, places[codes[sample.rows]])
    np.testing.assert_allclose(theirs.centre, ours.centre[order])
    for a, b in zip(theirs.ends(0.95), ours.ends(0.95), strict=True):
        np.testing.assert_allclose(a, b[order])


@given(st.integers(0, 10**6))
def test_order_of_the_labels_is_irrelevant(seed):
    pool, sample, codes = sampled(seed)
    order = np.random.default_rng(seed).permutation(len(sample))
    moved = LabelSample.simple(sample.rows[order], 300)
    ours = share_difference(pool, sample, codes[sample.rows])
    theirs = share_difference(pool, moved, codes[moved.rows])
    for a, b in zip(theirs.ends(0.95), ours.ends(0.95), strict=True):
        np.testing.assert_allclose(a, b)


def test_two_classes_mirror_each_other():
    pool, sample, codes = sampled(5, n_classes=2)
    difference = share_difference(pool, sample, codes[sample.rows])
    low, high = share_ends(difference.centre, difference.ends(0.95), 300)
    np.testing.assert_allclose(low, 1 - high[::-1])


@pytest.mark.parametrize("n", [20, 50, 300])
@pytest.mark.parametrize("label", [0, 1])
def test_rule_of_three_where_all_labels_are_alike(n, label):
    sample = LabelSample.simple(np.arange(n), 10**9)
    pool = PoolPosteriors(np.full((n, 2), 0.5), 0.0)
    found = share_difference(pool, sample, np.full(n, label))
    low, high = share_ends(found.centre, found.ends(0.95), 10**9)
    assert high[1 - label] == pytest.approx(-np.log(0.05) / n)
    assert low[label] == pytest.approx(1 + np.log(0.05) / n)


def test_unbiased_whatever_the_posteriors():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=200)
    wrong = np.column_stack([codes, 1 - codes]).astype(float)  # certain of the wrong class
    pool = PoolPosteriors(wrong, 1.0)
    rows = [rng.choice(200, 20, replace=False) for _ in range(3000)]
    found = [
        share_difference(pool, LabelSample.simple(each, 200), codes[each]).centre[1]
        for each in rows
    ]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - codes.mean()) < 4 * error


def test_an_estimate_outside_of_0_and_1_is_moved_inside():
    found = Difference(np.array([-0.1, 1.1]), np.diag([1e-6] * 2), 50, *np.zeros((4, 2)))
    low, high = share_ends(found.centre, found.ends(0.95), 1000)
    assert low[0] == 0
    assert high[0] > 0
    assert low[1] < 1
    assert high[1] == 1


def test_exact_coverage_with_labels_alone():
    """Over all shares, for a factor of 0: at least 93%, where Wilson's falls to 84%."""
    for n in (20, 50, 100):
        counts = np.arange(n + 1)
        pool = PoolPosteriors(np.full((n, 2), 0.5), 0.0)
        ends = []
        for count in counts.tolist():
            codes = (np.arange(n) < count).astype(int)
            found = share_difference(pool, LabelSample.simple(np.arange(n), 10**9), codes)
            ends.append([end[1] for end in share_ends(found.centre, found.ends(0.95), 10**9)])
        low, high = np.array(ends).T
        shares = np.concatenate([np.geomspace(0.001, 0.05, 100), np.linspace(0.05, 0.5, 200)])
        p = shares[:, None]
        chances = special.binom(n, counts) * p**counts * (1 - p) ** (n - counts)
        covered = (chances * ((low <= p) & (p <= high))).sum(axis=1)
        assert covered.min() > 0.93


@pytest.mark.parametrize("n", [10, 20, 50, 100, 300])
def test_labels_alone_cover_every_share(n):
    found = np.arange(n + 1) / n
    seen = stats.t.ppf(0.975, n - 1) ** 2 * found * (1 - found) / (n - 1)
    asymmetry, unit = 1 - 2 * found, np.full(n + 1, 1 / n)
    low = found - np.sqrt(squared_reach(seen, -asymmetry, unit, 0.95))
    high = found + np.sqrt(squared_reach(seen, asymmetry, unit, 0.95))
    shares = np.linspace(0.0005, 0.9995, 2000)[:, None]
    chances = stats.binom.pmf(np.arange(n + 1), n, shares)
    coverage = (chances * ((low <= shares) & (shares <= high))).sum(axis=1)
    assert coverage.min() >= 0.935
