from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from tests.conformance.cases import (
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers.base import ScoringPlan

BASES = [
    hc.DyS(GaussianNB(), random_state=0),
    hc.ACC(GaussianNB(), random_state=0),
    hc.CC(GaussianNB()),
    hc.SLD(GaussianNB(), random_state=0),
]
each_base = pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)


@each_base
def test_separate_scoring_is_a_quantifier_a_class(base):
    X, y = labelled(3)
    quantifier = hc.OneVsRest(base, scoring="separate").fit(X, y)
    positive = np.column_stack(
        [clone(base).fit(X, y == j).predict_many(pool(3), samples())[:, 1] for j in range(3)]
    )
    total = positive.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / 3)
    given = quantifier.predict_many(pool(3), samples())
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12)
    shared = hc.OneVsRest(base).fit(X, y).predict_many(pool(3), samples())
    assert np.abs(given - shared).max() > 1e-3
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(quantifier)).predict_many(pool(3), samples()), given
    )


@each_base
def test_separate_scoring_of_ordered_classes_is_a_quantifier_a_gap(base):
    X, y = labelled(3)
    quantifier = hc.FrankHall(base, scoring="separate").fit(X, y)
    upto = np.column_stack(
        [clone(base).fit(X, y > j).predict_many(pool(3), samples())[:, 0] for j in range(2)]
    )
    falling = upto[:, 0] > upto[:, 1]
    upto[falling] = upto[falling].mean(axis=1, keepdims=True)
    given = quantifier.predict_many(pool(3), samples())
    expected = np.column_stack([upto[:, 0], np.diff(upto), 1 - upto[:, 1]])
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12)


def test_separate_scoring_cannot_use_one_frozen_classifier():
    X, y = labelled(3)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    with pytest.raises(HeadcountError, match="frozen"):
        hc.OneVsRest(hc.DyS(frozen), scoring="separate").fit(X, y)


def test_the_base_is_left_alone():
    X, y = labelled(3)
    base = hc.DyS(GaussianNB(), random_state=0)
    before = vars(base).copy()
    hc.OneVsRest(base).fit(X, y).predict(pool(3))
    assert vars(base) == before


def test_classes_that_all_come_out_as_zero_get_equal_shares():
    scores, y = scored(3)
    # Each class's posterior is below every threshold seen in training.
    low = np.full((5, 3), 1 / 3)
    quantifier = hc.OneVsRest(hc.T50()).fit(hc.Scored(scores), y)
    zeros = [
        hc.T50().fit(hc.Scored(scores[:, j]), y == j).predict(hc.Scored(low[:, j]))[1]
        for j in range(3)
    ]
    assert zeros == [0, 0, 0]
    np.testing.assert_array_equal(quantifier.predict(hc.Scored(low)), np.full(3, 1 / 3))


def test_a_base_on_features_takes_no_scores():
    X, y = labelled(3)
    quantifier = hc.OneVsRest(hc.MLPE())
    assert not ScoringPlan(quantifier).takes_scores
    np.testing.assert_allclose(quantifier.fit(X, y).predict(pool(3)), np.bincount(y) / len(y))


def test_parameters_of_the_base_are_in_reach():
    quantifier = hc.OneVsRest(hc.DyS()).set_params(quantifier__bins=4, quantifier__cv=3)
    assert quantifier.quantifier.bins == 4
    few, many = (
        hc.OneVsRest(hc.DyS(bins=bins))
        .fit(*labelled_scores(3))
        .predict(hc.Scored(scored_pool(3)))
        for bins in (4, 10)
    )
    given = quantifier.fit(*labelled_scores(3)).predict(hc.Scored(scored_pool(3)))
    np.testing.assert_array_equal(given, few)
    assert np.abs(few - many).max() > 1e-4


def test_bad_parameters_of_the_base_are_named():
    with pytest.raises(HeadcountError, match=r"^bins is 0"):
        hc.OneVsRest(hc.DyS(bins=0)).fit(*labelled_scores(3))


@pytest.mark.parametrize("base", [hc.ACC(GaussianNB()), hc.DyS(GaussianNB())], ids=str)
def test_pairs_know_the_ratio_of_their_classes_when_there_are_no_others(base):
    X, y = labelled(3)
    quantifier = hc.OneVsOne(base).fit(X, y)
    rows = np.flatnonzero(y != 2)
    truth = np.bincount(y[rows], minlength=3) / len(rows)
    np.testing.assert_allclose(quantifier.predict(X[rows]), truth, atol=0.08)


@pytest.mark.parametrize("wrapper", [hc.OneVsOne, hc.QuaDapt])
def test_pairs_and_synthetic_scores_refuse_features(wrapper):
    with pytest.raises(HeadcountError, match=r"^quantifier is HDx\(\), which learns from feat"):
        wrapper(hc.HDx()).fit(*labelled(2))
    with pytest.raises(HeadcountError, match="must be a quantifier of two classes"):
        wrapper(hc.OneVsRest()).fit(*labelled(2))


def test_synthetic_scores_follow_a_classifier_that_has_got_worse():
    rng = np.random.default_rng(0)
    codes = (rng.random(4000) < 0.5).astype(int)
    score = rng.random(4000) ** 0.1
    scores = hc.Scored(np.where(codes, score, 1 - score))
    fitted = [q.fit(scores, codes) for q in (hc.DyS(), hc.QuaDapt(), hc.QuaDapt(hc.ACC()))]
    truth = (rng.random(4000) < 0.2).astype(int)
    score = rng.random(4000) ** 0.4
    drifted = hc.Scored(np.where(truth, score, 1 - score))
    errors = [abs(quantifier.predict(drifted)[1] - 0.2) for quantifier in fitted]
    assert errors[0] > 0.05
    assert max(errors[1:]) < 0.03


@pytest.mark.parametrize("overlaps", [(), 0.5, (0.0,), (0.5, 1.2), ((0.5,),)])
def test_bad_overlaps(overlaps):
    with pytest.raises(HeadcountError, match=r"overlaps is .*; it must be a (sequence|number)"):
        hc.QuaDapt(overlaps=overlaps).fit(*labelled(2))
