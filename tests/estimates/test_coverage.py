"""Intervals contain the truth as often as they state, over training sets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import headcount as hc

METHODS = {"SLD": hc.SLD, "PACC": hc.PACC, "CC": hc.CC}
N_SETS, N_TRAINING, N_ITEMS = 150, 300, 200


def draw(codes, rng):
    """Two overlapping clouds, for which the classifier errs one time in five."""
    return rng.normal(size=(len(codes), 2)) + 1.2 * codes[:, None]


@pytest.fixture(scope="module")
def trials():
    """By method: whether the intervals hit, their widths, and the errors of estimates."""
    found = {name: [] for name in METHODS}
    for seed in range(N_SETS):
        rng = np.random.default_rng(seed)
        y = rng.permutation(N_TRAINING) % 2
        scorer = hc.Scorer(GaussianNB(), cv=3, random_state=seed).fit(draw(y, rng), y)
        codes = (rng.random(N_ITEMS) < rng.uniform()).astype(int)
        new, truth = draw(codes, rng), codes.mean()
        for name, method in METHODS.items():
            quantifier = method().fit_scorer(scorer)
            estimate = quantifier.estimate(new, random_state=seed)
            low, high = estimate.interval(0.95)[1]
            errors = estimate.shares[1] - truth, estimate.raw[1] - truth
            found[name].append((low <= truth <= high, high - low, *errors))
    return {name: np.array(rows, dtype=float) for name, rows in found.items()}


@pytest.mark.parametrize("name", METHODS)
def test_intervals_contain_the_truth_as_often_as_they_state(trials, name):
    hits, widths, errors, _ = trials[name].T
    assert 0.91 <= hits.mean() <= 0.99
    # And they are no wider than that takes: four standard errors.
    assert widths.mean() < 4.8 * np.sqrt(np.mean(errors**2))


@pytest.mark.parametrize("name", METHODS)
def test_conditioning_does_not_cost_accuracy_and_removes_bias(trials, name):
    _, _, errors, raw_errors = trials[name].T
    gain = np.abs(raw_errors).mean() / np.abs(errors).mean()
    # Half of the prior lacks classes; these samples have both.
    assert gain > (1.8 if name == "CC" else 0.85)
