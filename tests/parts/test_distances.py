from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracle import distances as oracle

from headcount.parts.distances import MeanDistance
from headcount.parts.training import Training
from headcount.samples.samples import Samples

few = settings(max_examples=20)
seeds = st.integers(0, 2**32 - 1)


def scores_of(rng, n, K):
    """Posteriors, coarse half of the time: then many are tied."""
    scores = rng.dirichlet(np.ones(K), n)
    return scores if rng.random() < 0.5 else scores.round(1)


@few
@given(seed=seeds, K=st.integers(2, 4), weighted=st.booleans())
def test_matches_pairs(seed, K, weighted):
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(K), rng.integers(0, K, 10))
    scores, points = scores_of(rng, len(codes), K), scores_of(rng, 6, K)
    weights = rng.random(len(codes)) + 0.1 if weighted else None
    near = MeanDistance().fit(Training(scores, codes, K, weights))
    plain = np.ones(len(codes)) if weights is None else weights
    expected = oracle.mean_distances(points, scores, codes, plain, K)
    assert_allclose(near.embed(points).values, expected, atol=1e-13)


@few
@given(seed=seeds, K=st.integers(2, 4), weighted=st.booleans())
def test_matches_pairs_of_ranks(seed, K, weighted):
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(K), rng.integers(0, K, 10))
    scores, points = scores_of(rng, len(codes), K), scores_of(rng, 6, K)
    weights = rng.random(len(codes)) + 0.1 if weighted else None
    near = MeanDistance(by_rank=True).fit(Training(scores, codes, K, weights))
    plain = np.ones(len(codes)) if weights is None else weights
    expected = oracle.mean_distances(
        oracle.ranked(points, scores, plain),
        oracle.ranked(scores, scores, plain),
        codes,
        plain,
        K,
    )
    assert_allclose(near.embed(points).values, expected, atol=1e-13)


def test_ranks_only_see_the_order():
    rng = np.random.default_rng(0)
    scores, points = rng.random((30, 2)), rng.random((10, 2))
    codes = np.arange(30) % 2
    one = MeanDistance(by_rank=True).fit(Training(scores, codes, 2)).embed(points)
    stretched = Training(np.exp(5 * scores), codes, 2)
    other = MeanDistance(by_rank=True).fit(stretched).embed(np.exp(5 * points))
    assert_allclose(one.values, other.values, atol=1e-14)


@pytest.mark.parametrize("by_rank", [False, True])
def test_class_means_are_symmetric(by_rank):
    rng = np.random.default_rng(0)
    scores, codes = rng.dirichlet(np.ones(3), 40), np.arange(40) % 3
    training = Training(scores, codes, 3, rng.random(40))
    between = training.class_means(MeanDistance(by_rank).fit(training).embed(scores))
    assert_allclose(between, between.T, atol=1e-13)


def test_mean_over_a_sample_is_the_mean_over_its_pairs():
    rng = np.random.default_rng(0)
    scores, codes = rng.dirichlet(np.ones(2), 20), np.arange(20) % 2
    near = MeanDistance().fit(Training(scores, codes, 2))
    sample = rng.dirichlet(np.ones(2), 7)
    expected = oracle.mean_distances(sample, scores, codes, np.ones(20), 2).mean(axis=0)
    assert_allclose(near.embed(sample).means(Samples.whole(7))[0], expected, atol=1e-13)
