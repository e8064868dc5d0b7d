from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle import thresholds as oracle

from headcount.parts.classifier_outputs import AtThreshold, rates_by_threshold
from headcount.parts.training import Training
from headcount.samples.samples import Samples

few = settings(max_examples=40)
POLICIES = ("max", "x", "t50")


@st.composite
def trainings(draw):
    """Coarse scores of two classes, with ties, and perhaps weights."""
    n = draw(st.integers(2, 20))
    positive = np.array(draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))) / 40
    codes = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    weights = None
    if draw(st.booleans()):
        amounts = st.sampled_from([0.5, 1.0, 2.5])
        weights = np.array(draw(st.lists(amounts, min_size=n, max_size=n)))
    return Training(np.column_stack([1 - positive, positive]), codes, 2, weights)


@few
@given(training=trainings(), decimals=st.sampled_from([None, 1, 2]))
def test_rates_are_counts(training, decimals):
    found = rates_by_threshold(training, decimals)
    scores = training.items[:, 1]
    weights = np.ones(len(scores)) if training.weights is None else training.weights
    places = scores if decimals is None else scores.round(decimals)
    ends = [
        [oracle.rate(scores, training.codes, weights, t, j) for t in places] for j in (0, 1)
    ]
    if np.allclose(*ends, rtol=0, atol=1e-12):
        places = scores  # rounded, none of them tells the classes apart
    assert_array_equal(found.thresholds, sorted(set(places)))
    for j, rates in ((1, found.true_rates), (0, found.false_rates)):
        expected = [
            oracle.rate(scores, training.codes, weights, t, j) for t in found.thresholds
        ]
        assert_allclose(rates, expected, atol=1e-12)
        assert rates.max() <= 1


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(training=trainings(), decimals=st.sampled_from([None, 1]))
def test_threshold_is_the_lowest_of_the_best(policy, training, decimals):
    rates = rates_by_threshold(training, decimals)
    expected = oracle.choose(policy, rates.thresholds, rates.true_rates, rates.false_rates)
    assert AtThreshold(policy, decimals).fit(training).threshold == expected


def test_scores_that_rounding_makes_alike_are_not_rounded():
    positive = np.array([0.001, 0.002, 0.003, 0.004])
    training = Training(np.column_stack([1 - positive, positive]), np.repeat([0, 1], 2), 2)
    assert_array_equal(rates_by_threshold(training, 2).thresholds, positive)
    assert AtThreshold("max", 2).fit(training).threshold == 0.003


def test_an_item_without_weight_is_not_there():
    positive = np.array([0.1, 0.4, 0.55, 0.6, 0.9])
    scores = np.column_stack([1 - positive, positive])
    codes, weights = np.array([0, 0, 1, 0, 1]), np.array([1.0, 2.0, 0.0, 1.0, 1.0])
    kept = weights > 0
    one = rates_by_threshold(Training(scores, codes, 2, weights), None)
    other = rates_by_threshold(Training(scores[kept], codes[kept], 2, weights[kept]), None)
    assert_array_equal(one.thresholds, other.thresholds)
    assert_allclose(one.true_rates, other.true_rates)
    assert_allclose(one.false_rates, other.false_rates)


def test_a_score_at_the_threshold_is_positive():
    scores = np.array([[0.5, 0.5], [0.51, 0.49], [0.0, 1.0]])
    found = AtThreshold("max", threshold=0.5).embed(scores).means(Samples.whole(3))
    assert_allclose(found, [[1 / 3, 2 / 3]])


def test_policies_differ():
    positive = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.4, 0.65, 0.8, 0.9, 0.95])
    training = Training(np.column_stack([1 - positive, positive]), np.repeat([0, 1], 5), 2)
    found = {policy: AtThreshold(policy).fit(training).threshold for policy in POLICIES}
    # True rates 1 1 1 1 .8 .8 .6 .6 .4 .2, false rates 1 .8 .6 .4 .4 .2 .2 0 0 0.
    assert found == {"max": 0.4, "x": 0.65, "t50": 0.7}


def test_thresholds_between_scores():
    positive = np.array([0.1, 0.3, 0.4, 0.8])
    training = Training(np.column_stack([1 - positive, positive]), np.repeat([0, 1], 2), 2)
    found = rates_by_threshold(training, None, "between")
    assert_allclose(found.thresholds, [0.1, 0.2, 0.35, 0.6])
    at_scores = rates_by_threshold(training, None)
    assert_array_equal(found.true_rates, at_scores.true_rates)
    assert_array_equal(found.false_rates, at_scores.false_rates)
    assert AtThreshold("max", between=True).fit(training).threshold == pytest.approx(0.35)


def test_evenly_spaced_thresholds_unless_none_separates():
    positive = np.array([0.12, 0.14, 0.41, 0.42])
    training = Training(np.column_stack([1 - positive, positive]), np.repeat([0, 1], 2), 2)
    found = rates_by_threshold(training, 1, "even")
    assert_allclose(found.thresholds, np.arange(11) / 10)
    assert_array_equal(found.true_rates, [1] * 5 + [0] * 6)
    assert_array_equal(found.false_rates, [1] * 2 + [0] * 9)
    alike = training.items / 10
    rare = Training(np.column_stack([1 - alike[:, 1], alike[:, 1]]), training.codes, 2)
    assert_array_equal(rates_by_threshold(rare, 1, "even").thresholds, alike[:, 1])
