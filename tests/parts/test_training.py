from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracle.statistics import mean_row, repeat_items

from headcount.parts.classifier_outputs import AbovePrior, Histograms, Posterior, PredictedClass
from headcount.parts.distances import MeanDistance
from headcount.parts.kernel_density import KernelMeans
from headcount.parts.training import Dense, Training

few = settings(max_examples=20)
whole_weights = st.lists(st.integers(1, 4), min_size=12, max_size=12)
CODES = np.array([0, 2, 1, 0, 1, 2, 2, 2, 0, 1, 1, 2])
MEMBERS = ([0, 3, 8], [2, 4, 9, 10], [1, 5, 6, 7, 11])


def test_unweighted():
    training = Training(None, CODES, 3)
    assert_allclose(training.prior, [3 / 12, 4 / 12, 5 / 12])
    assert_allclose(training.class_weights, 1 / np.array([3, 4, 5])[CODES])


@few
@given(whole_weights)
def test_weights_repeat_items(counts):
    weights = np.array(counts, float)
    items = np.random.default_rng(0).dirichlet(np.ones(3), 12)
    more_items, more_codes = repeat_items(counts, items, CODES)
    weighted, repeated = Training(items, CODES, 3, weights), Training(more_items, more_codes, 3)
    assert_allclose(weighted.prior, repeated.prior)
    for own in MEMBERS:
        assert_allclose(weighted.class_weights[own], weights[own] / weights[own].sum())
    for representation in (Posterior(), AbovePrior(), Histograms((4,)), KernelMeans(0.3)):
        one, other = representation.fit(weighted), representation.fit(repeated)
        assert_allclose(
            weighted.class_means(one.embed(items)),
            repeated.class_means(other.embed(more_items)),
            rtol=1e-11,
            atol=1e-13,
        )
    for by_rank in (False, True):
        one, other = MeanDistance(by_rank).fit(weighted), MeanDistance(by_rank).fit(repeated)
        assert_allclose(one.embed(items).values, other.embed(items).values, atol=1e-13)


@few
@given(st.none() | whole_weights.map(lambda counts: np.array(counts, float)))
def test_class_means(weights):
    values = np.random.default_rng(1).normal(size=(12, 4))
    training = Training(None, CODES, 3, weights)
    expected = [mean_row(values, own, weights) for own in MEMBERS]
    assert_allclose(training.class_means(Dense(values)), expected, rtol=1e-12)


def test_rates_of_predicted_classes():
    predicted = np.array([0, 2, 1, 1, 1, 2, 0, 2, 0, 1, 2, 1])
    training = Training(predicted, CODES, 3)
    rates = training.class_means(PredictedClass().fit(training).embed(predicted))
    expected = np.zeros((3, 3))
    for true, called in zip(CODES, predicted, strict=True):
        expected[true, called] += 1
    assert_allclose(rates, expected / expected.sum(axis=1, keepdims=True))
