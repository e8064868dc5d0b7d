from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle.statistics import code_shares, mean_row

from headcount.parts.kernel_density import ClassDensities, MixturePoints
from headcount.parts.training import Binned, Dense, Training
from headcount.samples.samples import Samples

few = settings(max_examples=20)
index_lists = st.lists(
    st.lists(st.integers(0, 7), min_size=1, max_size=10), min_size=1, max_size=5
)
some_weights = st.none() | st.lists(
    st.sampled_from([0.5, 1.0, 3.0]), min_size=8, max_size=8
).map(np.array)


@few
@given(arrays=index_lists, weights=some_weights)
def test_dense(arrays, weights):
    values = np.random.default_rng(0).normal(size=(8, 3))
    samples = Samples.from_arrays(arrays, n_pool=8)
    expected = [mean_row(values, array, weights) for array in arrays]
    for given_values in (values, np.asfortranarray(values)):
        embedding = Dense(given_values)
        assert embedding.width == 3
        assert_allclose(embedding.means(samples, weights), expected, rtol=1e-12, atol=1e-14)


@few
@given(arrays=index_lists, weights=some_weights)
def test_binned(arrays, weights):
    codes = np.random.default_rng(0).integers(0, 5, (8, 2)).astype(np.int32)
    samples = Samples.from_arrays(arrays, n_pool=8)
    expected = np.array([code_shares(codes, 5, array, weights) for array in arrays])
    shares = Binned(codes, 5)
    assert shares.width == 5
    assert_allclose(shares.means(samples, weights), expected, rtol=1e-12)
    running = Binned(codes, 5, cumulative=True).means(samples, weights)
    for b in range(5):
        assert_allclose(running[:, b], expected[:, : b + 1].sum(axis=1), rtol=1e-12)


def embeddings():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 200)
    training = Training(scores[:60], np.arange(60) % 3, 3)
    return {
        "dense": Dense(scores),
        "binned": Binned(rng.integers(0, 9, (200, 2)).astype(np.int32), 9),
        "mixture points": MixturePoints(0.2, 60, 0).fit(training).embed(scores),
    }


@pytest.mark.parametrize("name", ["dense", "binned", "mixture points"])
def test_means_do_not_depend_on_batch_or_threads(name, monkeypatch):
    embedding = embeddings()[name]
    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 200, rng.integers(1, 30)) for _ in range(4000)]
    samples = Samples.from_arrays(arrays, n_pool=200)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "1")
    whole = embedding.means(samples)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "4")
    assert_array_equal(embedding.means(samples), whole)
    order = rng.permutation(4000)
    assert_array_equal(embedding.means(samples[order]), whole[order])
    for s in (0, 17, 3999):
        assert_array_equal(embedding.means(samples[s : s + 1])[0], whole[s])


@pytest.mark.parametrize("K", [2, 3, 5])
def test_densities_do_not_depend_on_neighbours_or_threads(K, monkeypatch):
    rng = np.random.default_rng(0)
    training = Training(rng.dirichlet(np.ones(K), 300), np.arange(300) % K, K)
    densities = ClassDensities.of(training, 0.1)
    points = rng.dirichlet(np.ones(K), 4001)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "1")
    whole = densities.ratios(points)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "3")
    assert_array_equal(densities.ratios(points), whole)
    assert_array_equal(densities.ratios(points[1:]), whole[1:])
    for i in range(7):
        assert_array_equal(densities.ratios(points[i : i + 1])[0], whole[i])
