"""Scores at their limits still give shares, and no warnings."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.scores import Scored
from tests.conformance.cases import each_scored_case


def sharp(codes, K):
    return np.eye(K)[codes]


def perfect(K, rng):
    codes = np.arange(60) % K
    return sharp(codes, K), codes, sharp(rng.integers(K, size=30), K)


def all_alike(K, rng):
    return np.full((60, K), 1 / K), np.arange(60) % K, np.full((30, K), 1 / K)


def all_wrong(K, rng):
    codes = np.arange(60) % K
    return sharp((codes + 1) % K, K), codes, sharp(rng.integers(K, size=30), K)


def far_from_training(K, rng):
    new = np.full((30, K), 1e-9)
    new[:, 0] = 1 - (K - 1) * 1e-9
    return rng.dirichlet(np.full(K, 50.0), 60), np.arange(60) % K, new


def never_seen(K, rng):
    return perfect(K, rng)[0], np.arange(60) % K, rng.dirichlet(np.ones(K), 30)


def nearly_sure(K, rng):
    scores = [rng.dirichlet(np.full(K, 0.02), n) for n in (60, 30)]
    return scores[0], np.arange(60) % K, scores[1]


def one_item_a_class(K, rng):
    return rng.dirichlet(np.ones(K), K), np.arange(K), rng.dirichlet(np.ones(K), 30)


def one_item_of_the_others(K, rng):
    codes = np.r_[np.arange(K - 1), np.full(61 - K, K - 1)]
    return rng.dirichlet(np.ones(K), 60), codes, rng.dirichlet(np.ones(K), 30)


@pytest.mark.parametrize(
    "situation",
    [
        perfect,
        all_alike,
        all_wrong,
        far_from_training,
        never_seen,
        nearly_sure,
        one_item_a_class,
        one_item_of_the_others,
    ],
)
@each_scored_case
def test_shares_come_out_all_the_same(case, situation):
    scores, y, new = situation(case.n_classes, np.random.default_rng(0))
    quantifier = case.make().fit(Scored(scores), y)
    shares = quantifier.predict_many(Scored(new), [np.arange(30), [0], [29, 0, 0]])
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)


@each_scored_case
def test_perfect_scores_are_counted(case):
    if case.method.info.needs_overlap:
        pytest.skip("needs classes whose scores overlap")
    scores, y, new = perfect(case.n_classes, np.random.default_rng(0))
    if case.ordered:  # exact for smooth shares alone, such as even ones
        new = scores
    quantifier = case.make()
    if case.simulates:
        quantifier.set_params(replicates=4000)
    shares = quantifier.fit(Scored(scores), y).predict(Scored(new))
    tolerance = 0.02 if case.simulates else 1e-6
    np.testing.assert_allclose(shares, new.mean(axis=0), rtol=0, atol=tolerance)


@each_scored_case
def test_many_classes(case):
    if case.n_classes == 2:
        pytest.skip("one number of classes is enough")
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 12
    scores = np.exp(3 * np.eye(12)[codes] + rng.normal(size=(300, 12)))
    scores /= scores.sum(axis=1, keepdims=True)
    quantifier = case.make().fit(Scored(scores), codes)
    own = np.concatenate([np.arange(300), np.flatnonzero(codes == 5).repeat(12)])
    shares = quantifier.predict_many(Scored(scores), [np.arange(300), own])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    assert shares[1].argmax() == 5
