from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.oracle import sequential_labels as oracle
from tests.quantifiers.test_oracle import real

import headcount as hc


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    return real(request.param)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("threshold", [None, 0.6, 0.9, 1.0])
def test_leip_labels_one_after_the_other(data, threshold, soft):
    fitted = hc.LEIP(threshold=threshold, soft=soft).fit(hc.Scored(data.train), data.codes)
    found = fitted.predict_many(hc.Scored(data.pool), data.samples)
    share = oracle.mean_recall(data.train, data.codes) - 1e-9 if threshold is None else 0.0
    for shares, index in zip(found, data.samples, strict=True):
        expected = oracle.label_in_turn(
            data.pool[index], fitted.prior_, threshold=threshold, share=share, soft=soft
        )
        np.testing.assert_allclose(shares, expected, atol=1e-12)
    assert np.ptp(found, axis=0).max() > 0.05


def test_recall_is_weighted():
    # Of the first class a quarter of the weight is recognised, of the second all: 5 of 8.
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    fitted = hc.LEIP().fit(hc.Scored(scores), [0, 0, 1], sample_weight=[1.0, 3.0, 2.0])
    assert fitted.fitted_.model.share == pytest.approx(0.625, abs=1e-8)


def test_a_threshold_needs_no_folds():
    X, y = np.arange(8.0)[:, None], [0] * 7 + [1]  # one item of a class cannot be folded
    shares = hc.LEIP(threshold=0.8, cv=None).fit(X, y).predict(X)
    assert shares.sum() == pytest.approx(1)


def test_items_equally_sure_may_come_in_any_order():
    scores = np.array([[0.7, 0.3], [0.3, 0.7], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])
    fitted = hc.LEIP(threshold=0.75).fit(hc.Scored(scores), [0, 1, 0, 1, 1])
    rng = np.random.default_rng(0)
    orders = [rng.permutation(5) for _ in range(20)]
    answers = fitted.predict_many(hc.Scored(scores), orders)
    np.testing.assert_array_equal(answers, np.broadcast_to(answers[0], answers.shape))
    alone = [fitted.predict(hc.Scored(scores[order])) for order in orders]
    np.testing.assert_array_equal(answers, alone)


@pytest.mark.parametrize("K", [2, 3])
def test_leip_beats_counting_when_shares_shift(K):
    rng = np.random.default_rng(K)
    centres = 1.5 * np.eye(K, 3)

    def draw(n):
        codes = rng.integers(K, size=n)
        return centres[codes] + rng.normal(size=(n, 3)), codes

    (X, y), (pool, truth) = draw(1000), draw(4000)
    samples = hc.UPP(n_samples=100, size=300, random_state=0).draw(truth)
    scorer = hc.Scorer(LogisticRegression(), random_state=0).fit(X, y)
    error = {}
    for name, method in (("CC", hc.CC()), ("LEIP", hc.LEIP()), ("soft", hc.LEIP(soft=True))):
        shares = method.fit_scorer(scorer).predict_many(pool, samples)
        error[name] = np.abs(shares - samples.prevalence).mean()
    assert error["LEIP"] < 0.8 * error["CC"]
    assert error["soft"] < 0.8 * error["CC"]
