from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers import features as module
from headcount.samples import Samples
from headcount_studies.comparison.training_pool import TrainingPool

METHODS = {
    "ED": hc.ED(),
    "HDx": hc.HDx(),
    "HDx by the mean": hc.HDx(combine="mean"),
    "ReadMe": hc.ReadMe(n_subsets=9, random_state=3),
    "PWK": hc.PWK(5),
}


def drawn(seed, n=240, K=3, *, values=4):
    """A pool, training sets that differ in size, and samples of the pool."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[np.arange(n) % K]
    X = (rng.integers(0, values, (n, 5)) + (np.arange(n) % K)[:, None] // 2) % values
    sets = [rng.permutation(n)[:size] for size in (30, 90, 200)]
    samples = hc.UPP(12, 50, random_state=seed).draw(y)
    return X, y, sets, samples


def alone(quantifier, X, y, rows, samples):
    return quantifier.fit(X[rows], y[rows]).predict_many(X, samples)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_shares_are_those_of_a_quantifier_fitted_alone(name, seed):
    X, y, sets, samples = drawn(seed)
    X = X + np.random.default_rng(seed).normal(size=X.shape)
    quantifier = METHODS[name]
    pool = TrainingPool(quantifier, X, y, random_state=0)
    tolerance = 1e-4 if name == "ED" else 0
    for rows, predict in zip(sets, pool.fit_many(sets), strict=True):
        expected = alone(quantifier, X, y, rows, samples)
        assert_allclose(predict(samples), expected, atol=tolerance)


@pytest.mark.parametrize("name", ["HDx", "HDx by the mean", "ReadMe"])
@pytest.mark.parametrize("values", [3, 60])
@pytest.mark.parametrize("block", [1, 8_000_000])
def test_categories_not_seen_in_a_training_set(monkeypatch, name, values, block):
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", block)
    X, y, sets, samples = drawn(2, values=values)
    quantifier = METHODS[name]
    pool = TrainingPool(quantifier, X, y, categorical=True)
    for rows, predict in zip(sets, pool.fit_many(sets), strict=True):
        expected = alone(quantifier, X.astype(str), y, rows, samples)
        assert_allclose(predict(samples), expected, atol=1e-6)


def test_training_shares_where_no_pattern_was_seen():
    X, y = np.array([[0, 0], [1, 1], [1, 1], [2, 2]]), np.array([0, 1, 1, 1])
    (predict,) = TrainingPool(hc.ReadMe(), X, y, categorical=True).fit_many([[0, 1, 2]])
    samples = Samples.from_arrays([[3], [0]], n_pool=4)
    assert_allclose(predict(samples), [[1 / 3, 2 / 3], [1, 0]], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_neighbours_without_ties_are_those_of_the_quantifier(seed):
    _, y, sets, samples = drawn(seed)
    # Whole numbers that are all different, so that hardly any two items are equally near.
    apart = np.random.default_rng(seed).permuted(np.tile(np.arange(240) * 7, (3, 1)), axis=1).T
    shared = TrainingPool(hc.PWK(5), apart, y, random_state=0).fit_many(sets)
    separate = TrainingPool(hc.PWK(5), apart, y).fit_many(sets)
    for one, other in zip(shared, separate, strict=True):
        assert_allclose(one(samples), other(samples), atol=0.02)


@pytest.mark.parametrize(
    "quantifier", [hc.PACC(random_state=0), hc.OneVsRest(hc.HDx()), hc.HDx()]
)
def test_quantifiers_that_share_nothing(quantifier):
    X, y, sets, samples = drawn(0)
    pool = TrainingPool(quantifier, X.astype(float), y)
    for rows, predict in zip(sets, pool.fit_many(sets), strict=True):
        expected = alone(quantifier, X.astype(float), y, rows, samples)
        assert_allclose(predict(samples), expected, atol=1e-12)


def test_sparse_items_are_measured_one_training_set_at_a_time():
    X, y, sets, samples = drawn(0)
    X = sparse.csr_array(X.astype(float))
    for rows, predict in zip(sets, TrainingPool(hc.ED(), X, y).fit_many(sets), strict=True):
        assert_allclose(predict(samples), alone(hc.ED(), X, y, rows, samples), atol=1e-12)


def test_the_quantifier_is_left_alone_and_bad_parameters_are_refused():
    X, y, sets, samples = drawn(0)
    quantifier = hc.PACC()
    TrainingPool(quantifier, X, y).fit_many(sets)[0](samples)
    assert not hasattr(quantifier, "model_")
    with pytest.raises(HeadcountError, match="n_neighbors is -1"):
        TrainingPool(hc.PWK(-1), X, y, random_state=0).fit_many(sets)
    with pytest.raises(HeadcountError, match="bins is 1"):
        TrainingPool(hc.HDx(bins=1), X, y, categorical=True).fit_many(sets)
    with pytest.raises(HeadcountError, match="subset_size is 6"):
        TrainingPool(hc.ReadMe(subset_size=6), X, y, categorical=True).fit_many(sets)
