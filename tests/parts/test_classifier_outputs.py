from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from headcount.parts.classifier_outputs import AbovePrior, Histograms, Posterior, PredictedClass
from headcount.parts.training import Training
from headcount.samples.samples import Samples

few = settings(max_examples=60)


def pair(positive):
    positive = np.atleast_1d(np.asarray(positive, float))
    return np.column_stack([1 - positive, positive])


def bins_of(positive, count):
    embedded = Histograms((count,), every_class=False).embed(pair(positive))
    return embedded.codes[:, 0]


def test_ends_of_the_scale_are_in_the_first_and_the_last_bin():
    for count in (2, 10, 100, 110):
        assert_array_equal(bins_of([0.0, 1.0], count), [0, count - 1])
        assert_array_equal(bins_of([5e-324, np.nextafter(1, 0)], count), [0, count - 1])


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 10, 16, 20])
def test_a_score_on_an_edge_is_in_the_bin_above(count):
    edges = np.arange(count) / count
    assert_array_equal(bins_of(edges, count), np.arange(count))
    below = np.nextafter(edges[1:], 0) - 1e-15
    assert_array_equal(bins_of(below, count), np.arange(count - 1))


@few
@given(score=st.floats(0, 1), count=st.integers(2, 110))
def test_bins_have_equal_width(score, count):
    exact = min(int(Fraction(score) * count), count - 1)
    nearest = min(int(Fraction(score) * count + Fraction(1, 10**12)), count - 1)
    assert bins_of(score, count)[0] in (exact, nearest)


def test_every_class_and_every_bin_count_has_a_histogram():
    scores = np.array([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]])
    found = Histograms((2, 4)).embed(scores).means(Samples.whole(3))[0]
    expected = []
    for count in (2, 4):
        for column in scores.T:
            expected.append(np.histogram(column, bins=count, range=(0, 1))[0] / 3)
    assert_allclose(found, np.concatenate(expected))


def test_the_last_class_alone():
    scores = np.array([[0.9, 0.1], [0.0, 1.0], [0.45, 0.55]])
    embedded = Histograms((4,), every_class=False).embed(scores)
    assert embedded.width == 4
    assert_allclose(embedded.means(Samples.whole(3))[0], [1 / 3, 0, 1 / 3, 1 / 3])


@few
@given(st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=1, max_size=30))
def test_cumulative_histograms_are_distribution_functions(positive):
    # Below the upper edge of a bin, an edge belonging to the bin above it.
    found = Histograms((10,), every_class=False, cumulative=True).embed(pair(positive))
    running = found.means(Samples.whole(len(positive)))[0]
    levels = [(k + 1) / 10 for k in range(9)]
    expected = [sum(p < level for p in positive) / len(positive) for level in levels]
    assert_allclose(running, [*expected, 1.0], atol=1e-12)


def test_above_the_prior_means_strictly():
    above = AbovePrior().fit(Training(None, np.array([0, 1, 1, 1]), 2))
    higher, lower = np.nextafter(0.25, 1), np.nextafter(0.25, 0)
    scores = np.array([[0.25, 0.75], [higher, 0.7], [lower, np.nextafter(0.75, 1)]])
    assert_array_equal(above.embed(scores).values, [[0, 0], [1, 0], [0, 1]])


def test_above_the_weighted_prior():
    training = Training(None, np.array([0, 1]), 2, np.array([3.0, 1.0]))
    found = AbovePrior().fit(training).embed(np.array([[0.76, 0.24], [0.74, 0.26]]))
    assert_array_equal(found.values, [[1, 0], [0, 1]])


def test_posteriors_and_predicted_classes():
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    training = Training(scores, np.array([0, 1, 2, 0, 1]), 3)
    assert_array_equal(Posterior().fit(training).embed(scores).values, scores)
    called = PredictedClass().fit(training).embed(np.array([0, 2, 2, 2]))
    assert_array_equal(called.means(Samples.whole(4)), [[0.25, 0.0, 0.75]])
