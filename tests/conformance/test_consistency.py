"""A sample that is an exact mixture of the training classes has the shares it was mixed with.

Scores take a few values, on each of which the training set has whole numbers of items of
each class; the score is the vector of their shares, so posteriors are exactly calibrated.
Each item of class j is taken m_j times into the sample: nothing is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from headcount.quantify import OneVsRest
from headcount.scores import Scored
from tests.conformance.cases import CASES

# Items of each class (columns) on each score (rows).
COUNTS = {
    2: [[19, 1], [12, 3], [8, 7], [4, 9], [1, 14], [0, 5]],
    3: [[15, 2, 1], [7, 3, 2], [2, 14, 3], [3, 9, 1], [1, 2, 16], [2, 4, 9], [5, 5, 4]],
}
TIMES = {
    2: [(1, 1), (1, 6), (7, 1), (3, 2), (1, 0), (0, 1)],
    3: [(1, 1, 1), (5, 1, 2), (1, 9, 1), (2, 3, 7), (0, 1, 1), (3, 0, 1), (1, 4, 0), (0, 0, 1)],
}
# Shares on a straight line along the three classes, of which there are 35, 39 and 36 items.
STRAIGHT = [(6, 5, 5), (6, 11, 18), (0, 6, 13), (78, 35, 0)]


@dataclass(frozen=True)
class Exact:
    scores: np.ndarray
    codes: np.ndarray
    samples: list[np.ndarray]
    shares: np.ndarray


def exact(K, all_times=None):
    all_times = TIMES[K] if all_times is None else all_times
    counts = np.array(COUNTS[K])
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    value, codes = (
        np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape)
    )
    items = np.arange(len(codes))
    samples = [np.repeat(items, np.array(times)[codes]) for times in all_times]
    mass = np.array(all_times) * counts.sum(axis=0)
    return Exact(posteriors[value], codes, samples, mass / mass.sum(axis=1, keepdims=True))


def estimate(case, data):
    if not case.takes_scores:
        quantifier = case.make().fit(data.scores, data.codes)
        return quantifier.predict_many(data.scores, data.samples)
    quantifier = case.make().fit(Scored(data.scores), data.codes)
    return quantifier.predict_many(Scored(data.scores), data.samples)


def why_not(case):
    """Why the method cannot be expected to be exact; None if it can."""
    if case.n_classes > 2 and (case.wrapped or case.method is OneVsRest):
        return "the rest is a mixture too, which shifts with the others"
    if case.ordered:
        return "expects smooth shares, and bends what it sees towards a straight line"
    if case.brings_learner:
        return "sees its training items again, on which it errs less often than on others"
    return case.method.info.inconsistency or None


@pytest.mark.parametrize("case", [c for c in CASES if why_not(c) is None], ids=str)
def test_exact_mixtures_are_seen_through(case):
    data = exact(case.n_classes)
    np.testing.assert_allclose(estimate(case, data), data.shares, rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", [c for c in CASES if why_not(c) is not None], ids=str)
def test_methods_that_are_not_consistent_miss_them(case):
    # A method that is exact must not declare a reason why it is not.
    data = exact(case.n_classes)
    shifted = np.abs(data.shares - data.shares[0]).max(axis=1) > 0.1
    error = np.abs(estimate(case, data) - data.shares)[shifted].max(axis=1)
    assert error.max() > 1e-4


@pytest.mark.parametrize("case", [c for c in CASES if c.ordered], ids=str)
def test_straight_shares_are_seen_through_by_methods_that_expect_them(case):
    data = exact(3, STRAIGHT)
    np.testing.assert_allclose(np.diff(data.shares, 2), 0, atol=1e-15)
    np.testing.assert_allclose(estimate(case, data), data.shares, rtol=0, atol=1e-5)
