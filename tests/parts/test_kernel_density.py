from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde, multivariate_normal
from tests.oracle import density as oracle

from headcount.parts.kernel_density import ClassDensities, KernelMeans, MixturePoints
from headcount.parts.training import Training
from headcount.samples.samples import Samples

few = settings(max_examples=12)
seeds = st.integers(0, 2**32 - 1)


def training_of(rng, K, n=12, weighted=False):
    codes = np.append(np.arange(K), rng.integers(0, K, n - K))
    weights = rng.random(n) + 0.1 if weighted else None
    return Training(rng.dirichlet(np.ones(K), n), codes, K, weights)


def rounding(bandwidth):
    """Exponents are differences of numbers as large as 1 / h^2."""
    return 1e-12 + 1e-15 / bandwidth**2


@few
@given(
    seed=seeds,
    K=st.integers(2, 5),
    bandwidth=st.sampled_from([1.0, 0.1, 1e-2, 1e-3]),
    weighted=st.booleans(),
)
def test_kernel_means_match_pairs(seed, K, bandwidth, weighted):
    rng = np.random.default_rng(seed)
    training = training_of(rng, K, weighted=weighted)
    points = np.vstack([rng.dirichlet(np.ones(K), 3), training.items[:2] + 0.3 * bandwidth])
    weights = np.ones(12) if training.weights is None else training.weights
    found = KernelMeans(bandwidth).fit(training).embed(points).values
    expected = oracle.mean_kernels(
        points, training.items, training.codes, weights, K, bandwidth
    )
    assert_allclose(found, expected, rtol=rounding(bandwidth), atol=1e-290)


@few
@given(seed=seeds, K=st.integers(2, 4), bandwidth=st.sampled_from([0.3, 0.05, 1e-3]))
def test_ratios_are_densities_up_to_a_factor_of_the_row(seed, K, bandwidth):
    rng = np.random.default_rng(seed)
    training = training_of(rng, K)
    points = np.vstack([rng.dirichlet(np.ones(K), 3), training.items[:2] + 0.3 * bandwidth])
    ratios = ClassDensities.of(training, bandwidth).ratios(points)
    logs = oracle.log_mean_kernels(points, training.items, training.codes, K, bandwidth)
    top = logs.max(axis=1, keepdims=True)
    assert ratios.max(axis=1).min() > 0.05
    assert_array_equal(ratios.argmax(axis=1), logs.argmax(axis=1))
    near = logs > top - 600
    scaled = ratios / ratios.max(axis=1, keepdims=True)
    assert_allclose(scaled[near], np.exp(logs - top)[near], rtol=10 * rounding(bandwidth))
    assert (scaled[~near] < 1e-200).all()


@few
@given(
    seed=seeds,
    K=st.integers(2, 4),
    bandwidth=st.sampled_from([1.0, 0.3, 0.1]),
    weighted=st.booleans(),
)
def test_copies_of_an_item_do_not_see_its_own_kernel(seed, K, bandwidth, weighted):
    rng = np.random.default_rng(seed)
    codes = np.append(np.repeat(np.arange(K), 2), rng.integers(0, K, 12))
    weights = rng.random(len(codes)) + 0.1 if weighted else None
    training = Training(rng.dirichlet(np.ones(K), len(codes)), codes, K, weights)
    copied = rng.integers(0, len(codes), 30)
    points = training.items[copied] + 0.1 * bandwidth * rng.normal(size=(30, K))
    # Copies may be taken for items of another class.
    copies = Training(points, rng.integers(0, K, 30), K, copied=copied)
    found = ClassDensities.of(training, bandwidth).ratios_without(copies)
    known = np.ones(len(codes)) if weights is None else weights
    expected = oracle.mean_kernels_without(
        points, training.items, codes, known, K, bandwidth, copied
    )
    scale = found.max(axis=1, keepdims=True) / expected.max(axis=1, keepdims=True)
    assert_allclose(found, expected * scale, rtol=1e-6, atol=1e-5 * found.max())


def test_a_class_of_one_item_keeps_a_density():
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    codes = np.array([0, 1, 1])
    copies = Training(scores, codes, 2, copied=np.arange(3))
    ratios = ClassDensities.of(Training(scores, codes, 2), 0.1).ratios_without(copies)
    assert (ratios > 0).all()
    assert np.isfinite(ratios).all()


def test_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 25)
    codes = np.repeat([0, 1, 2], [10, 8, 7])
    weights = rng.random(25)
    bandwidth = 0.17
    points = rng.dirichlet(np.ones(3), 5)
    values = ClassDensities.of(Training(scores, codes, 3, weights), bandwidth).values(points)
    constant = (2 * np.pi * bandwidth**2) ** -1.5
    for j in range(3):
        own = codes == j
        share = weights[own] / weights[own].sum()
        expected = sum(
            w * multivariate_normal(centre, bandwidth**2).pdf(points)
            for w, centre in zip(share, scores[own], strict=True)
        )
        assert_allclose(constant * values[:, j], expected, rtol=1e-10)


def one_dimension(positive):
    positive = np.asarray(positive, float)
    return np.column_stack([1 - positive, positive])


@pytest.mark.parametrize("bandwidth", [0.5, 0.1, 0.02, 1e-3])
def test_two_classes_integrate_to_one(bandwidth):
    rng = np.random.default_rng(0)
    scores = one_dimension(np.append(rng.random(20), [0.0, 1.0]))
    training = Training(scores, np.arange(22) % 2, 2, rng.random(22))
    fitted = MixturePoints(bandwidth, 10, 0).fit(training)
    assert_allclose(training.class_means(fitted.embed(scores)).sum(axis=1), 1, atol=1e-9)
    samples = Samples.from_arrays([[0], [3, 5, 5], range(22)], n_pool=22)
    assert_allclose(fitted.embed(scores).means(samples).sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("bandwidth", [0.3, 0.1])
def test_two_classes_have_the_densities_of_scipy(bandwidth):
    rng = np.random.default_rng(0)
    positive = rng.beta(2, 4, 15)
    training = Training(one_dimension(positive), np.arange(15) % 2, 2)
    fitted = MixturePoints(bandwidth, 10, 0).fit(training)
    found = fitted.embed(training.items).means(Samples.whole(15))[0]
    along = fitted.points[:, 1]
    deviation = bandwidth / np.sqrt(2)
    kde = gaussian_kde(positive, bw_method=deviation / positive.std(ddof=1))
    assert_allclose(found / (along[1] - along[0]), kde(along), rtol=1e-9, atol=1e-9)
    assert_allclose(fitted.points.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("bandwidth", [0.3, 0.1])
def test_sum_over_the_grid_is_the_integral(bandwidth, share):
    rng = np.random.default_rng(0)
    low, high, sample = rng.beta(2, 5, 8), rng.beta(5, 2, 8), rng.random(6)
    training = Training(one_dimension(np.append(low, high)), np.repeat([0, 1], 8), 2)
    fitted = MixturePoints(bandwidth, 10, 0).fit(training)
    profiles = training.class_means(fitted.embed(training.items))
    seen = fitted.embed(one_dimension(sample)).means(Samples.whole(6))[0]
    mixed = np.array([1 - share, share]) @ profiles
    f, g = oracle.line_density(low, bandwidth), oracle.line_density(high, bandwidth)
    expected = oracle.affinity(
        lambda x: (1 - share) * f(x) + share * g(x),
        oracle.line_density(sample, bandwidth),
        bandwidth,
    )
    assert_allclose(np.sqrt(seen * mixed).sum(), expected, atol=1e-6)


def test_importance_weights_of_more_classes():
    # A point counts by the inverse of the density it was drawn from, a mean over classes.
    rng = np.random.default_rng(0)
    training = training_of(rng, 3, n=15, weighted=True)
    bandwidth = 0.2
    fitted = MixturePoints(bandwidth, 90, 7).fit(training)
    assert fitted.points.shape == (90, 3)
    kernels = oracle.mean_kernels(
        fitted.points, training.items, training.codes, training.weights, 3, bandwidth
    )
    constant = (2 * np.pi * bandwidth**2) ** -1.5
    weights = 1 / (90 * kernels.mean(axis=1) * constant)
    found = training.class_means(fitted.embed(training.items))
    assert_allclose(found, (kernels * constant).T * weights, rtol=1e-9)
    assert_allclose(found.mean(axis=0), 1 / 90, rtol=1e-9)
    assert_allclose(found.sum(axis=1).mean(), 1, rtol=1e-12)


def test_integrals_over_drawn_points_are_right_on_average():
    # The affinity of two classes in closed form: single Gaussians a known distance apart.
    bandwidth = 0.2
    centres = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    training = Training(np.repeat(centres, 2, axis=0), np.repeat([0, 1, 2], 2), 3)
    apart = ((centres[0] - centres[1]) ** 2).sum()
    expected = np.exp(-apart / (8 * bandwidth**2))
    found, masses = [], []
    for seed in range(30):
        fitted = MixturePoints(bandwidth, 600, seed).fit(training)
        first, second, _ = training.class_means(fitted.embed(training.items))
        found.append(np.sqrt(first * second).sum())
        masses.append(first.sum())
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / np.sqrt(30) + 1e-3
    assert abs(np.mean(masses) - 1) < 4 * np.std(masses) / np.sqrt(30) + 1e-3


def test_points_are_drawn_in_equal_parts_and_by_weight():
    centres = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.3, 0.3, 0.4]])
    training = Training(centres, np.array([0, 1, 2, 2]), 3, np.array([1.0, 1.0, 3.0, 1.0]))
    points = MixturePoints(1e-3, 1001, 0).fit(training).points
    nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    counts = np.bincount(nearest, minlength=4)
    assert counts[0] == counts[1] == counts[2] + counts[3] == 334
    assert 0.65 < counts[2] / 334 < 0.85


def test_the_seed_decides_the_points():
    training = training_of(np.random.default_rng(0), 3)
    draw = lambda seed: MixturePoints(0.1, 30, seed).fit(training).points  # noqa: E731
    assert_array_equal(draw(1), draw(1))
    assert np.abs(draw(1) - draw(2)).max() > 0.01


def test_points_follow_the_last_digits_of_the_scores():
    rng = np.random.default_rng(0)
    scores, codes = rng.dirichlet(np.ones(4), 60), np.arange(60) % 4
    fitted = MixturePoints(0.1, 200, 0).fit(Training(scores, codes, 4))
    nudged = scores * (1 + rng.choice([-1e-15, 0, 1e-15], scores.shape))
    moved = MixturePoints(0.1, 200, 0).fit(Training(nudged, codes, 4))
    assert_allclose(moved.points, fitted.points, rtol=0, atol=1e-14)
    assert_allclose(moved.weights, fitted.weights, rtol=1e-10)


def test_points_follow_the_classes_wherever_they_are_listed():
    rng = np.random.default_rng(0)
    scores, codes = rng.dirichlet(np.ones(4), 60), rng.integers(0, 4, 60)
    order = np.array([2, 0, 3, 1])
    fitted = MixturePoints(0.1, 200, 0).fit(Training(scores, codes, 4))
    turned = MixturePoints(0.1, 200, 0).fit(
        Training(scores[:, order], np.argsort(order)[codes], 4)
    )
    own = fitted.points.reshape(4, 50, 4)[order][:, :, order]
    assert_allclose(turned.points.reshape(4, 50, 4), own, rtol=0, atol=1e-15)
