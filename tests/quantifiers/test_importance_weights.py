from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracle import weights as oracle
from tests.quantifiers.test_oracle import drawn, real

import headcount as hc
from headcount.quantifiers.base import ScoringPlan


@pytest.fixture(scope="module", params=[(real, 2), (drawn, 2), (real, 3), (drawn, 3)])
def data(request):
    make, K = request.param
    return make(K)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 20.0])
def test_weights_are_those_with_the_least_cost(data, soft, alpha):
    # The samples are of different sizes, and so are their penalties.
    fast = data.fast(hc.RLLS(soft=soft, shrinkage=alpha))
    slow = data.slow(oracle.rlls, soft=soft, alpha=alpha)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-5)
    assert np.ptp(fast, axis=0).max() > 0.05


@pytest.mark.parametrize("soft", [False, True])
def test_without_a_penalty_it_is_bbse(data, soft):
    plain = data.fast(hc.BBSE(soft=soft))
    np.testing.assert_allclose(data.fast(hc.RLLS(soft=soft, shrinkage=0)), plain, atol=1e-9)
    np.testing.assert_array_equal(plain, data.fast(hc.GPAC() if soft else hc.GAC()))
    np.testing.assert_allclose(
        plain, data.slow(oracle.rlls, soft=soft, alpha=0), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("soft", [False, True])
def test_without_a_penalty_exact_mixtures_are_seen_through(soft):
    data = drawn(3)
    quantifier = hc.RLLS(soft=soft, shrinkage=0).fit(hc.Scored(data.train), data.codes)
    times = np.array([[1, 1, 1], [4, 1, 2], [0, 3, 1], [0, 0, 1]])
    samples = [np.repeat(np.arange(len(data.codes)), row[data.codes]) for row in times]
    mass = times * np.bincount(data.codes)
    np.testing.assert_allclose(
        quantifier.predict_many(hc.Scored(data.train), samples),
        mass / mass.sum(axis=1, keepdims=True),
        atol=1e-8,
    )


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), K=st.sampled_from([2, 3, 6]), soft=st.booleans())
def test_a_larger_penalty_draws_weights_nearer_to_one(seed, K, soft):
    rng = np.random.default_rng(seed)
    codes = np.arange(60) % K
    train, sample = rng.dirichlet(np.ones(K), 60), rng.dirichlet(np.ones(K), 15)
    train[np.arange(K, 60), codes[K:]] += 0.5
    train /= train.sum(axis=1, keepdims=True)
    distances = []
    for alpha in (0.0, 0.1, 1.0, 30.0, 1e9):
        fitted = hc.RLLS(soft=soft, shrinkage=alpha).fit(hc.Scored(train), codes)
        assume(
            fitted.fitted_.model.variance > 0.001
        )  # a classifier that never errs is believed
        distances.append(np.linalg.norm(fitted.predict(hc.Scored(sample)) / fitted.prior_ - 1))
    assert (np.diff(distances) <= 1e-9).all()
    assert distances[-1] < 1e-3


def test_the_more_items_the_less_shrinking():
    data = drawn(3)
    plain = hc.BBSE(soft=True).fit(hc.Scored(data.train), data.codes)
    index = data.samples[0]
    samples = [np.tile(index, times) for times in (1, 10, 100)]
    expected = plain.predict(hc.Scored(data.pool[index]))
    far = []
    for times in (1, 20):
        rows = np.tile(np.arange(len(data.codes)), times)
        fitted = hc.RLLS().fit(hc.Scored(data.train[rows]), data.codes[rows])
        found = fitted.predict_many(hc.Scored(data.pool), samples)
        far.append(np.abs(found - expected).max(axis=1))
    assert (np.diff(far, axis=0) < 0).all()
    assert (np.diff(far, axis=1) < 0).all()
    assert far[1][2] < 0.05 * far[0][0]


def test_uneven_weights_are_fewer_items():
    data = drawn(2)
    weights = np.where(np.arange(len(data.codes)) % 4 == 0, 1.0, 1e-9)
    weighted = hc.RLLS().fit(hc.Scored(data.train), data.codes, sample_weight=weights)
    fewer = hc.RLLS().fit(hc.Scored(data.train[::4]), data.codes[::4])
    np.testing.assert_allclose(
        weighted.predict_many(hc.Scored(data.pool), data.samples),
        fewer.predict_many(hc.Scored(data.pool), data.samples),
        atol=1e-6,
    )


def test_a_classifier_that_never_errs_is_believed():
    y = np.arange(30) % 3
    fitted = hc.RLLS(shrinkage=100).fit(hc.Scored(np.eye(3)[y]), y)
    np.testing.assert_allclose(
        fitted.predict(hc.Scored(np.eye(3)[[0, 0, 2]])), [2 / 3, 0, 1 / 3], atol=1e-9
    )


def test_predicted_classes_do_without_posteriors_and_means_do_not():
    for quantifier in (hc.RLLS(soft=False), hc.BBSE()):
        assert ScoringPlan(quantifier).takes == "labels"
    for quantifier in (hc.RLLS(), hc.BBSE(soft=True)):
        assert ScoringPlan(quantifier).takes == "posteriors"


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("n_train", "size", "at_most"), [(60, 20, 0.95), (2000, 20, 0.95), (60, 500, 1.0)]
)
def test_rlls_beats_bbse_when_there_is_little_to_learn_from(n_train, size, at_most, soft):
    rng = np.random.default_rng(0)
    K = 5

    def draw(n):
        codes = np.arange(n) % K
        scores = np.exp(np.eye(K)[codes] + rng.normal(size=(n, K)))
        return scores / scores.sum(axis=1, keepdims=True), codes

    pool, truth = draw(4000)
    samples = hc.UPP(n_samples=200, size=size, random_state=0).draw(truth)
    errors = []
    for _ in range(5):
        scores, codes = draw(n_train)
        for method in (hc.BBSE(soft=soft), hc.RLLS(soft=soft)):
            shares = method.fit(hc.Scored(scores), codes).predict_many(hc.Scored(pool), samples)
            errors.append(np.abs(shares - samples.prevalence).mean())
    plain, shrunk = np.reshape(errors, (5, 2)).mean(axis=0)
    assert shrunk < at_most * plain
