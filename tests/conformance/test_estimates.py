"""Every quantifier gives estimates with intervals."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from headcount.scores import Scored
from tests.conformance.cases import (
    each_case,
    each_scored_case,
    fitted,
    fitted_on_scores,
    pool,
    scored_pool,
)

QUICK = {"replicates": 200, "random_state": 0}


def check(estimate, n_items, n_classes):
    """Check an estimate against the rules for all of them."""
    assert estimate.n_items == n_items
    assert estimate.raw.shape == estimate.shares.shape == (n_classes,)
    for shares in (estimate.shares, estimate.draws):
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)
    assert list(estimate.prevalence.values()) == estimate.shares.tolist()
    wide, narrow = (estimate.interval(level) for level in (0.95, 0.5))
    for ends in (wide, narrow):
        assert (ends.low >= 0).all()
        assert (ends.high <= 1).all()
        assert (ends.low <= estimate.shares).all()
        assert (estimate.shares <= ends.high).all()
        assert (ends.low < ends.high).all()
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()
    assert estimate.counts().count.sum() == pytest.approx(n_items)
    assert estimate.region().contains(estimate.shares)


@each_case
@pytest.mark.parametrize("target", ["realised", "expected"])
def test_estimates_have_intervals(case, target):
    X, quantifier = pool(case.n_classes)[:60], fitted(case)
    estimate = quantifier.estimate(X, target=target, **QUICK)
    check(estimate, 60, case.n_classes)
    np.testing.assert_array_equal(estimate.raw, quantifier.predict(X))
    again = quantifier.estimate(X, target=target, **QUICK)
    np.testing.assert_array_equal(again.draws, estimate.draws)
    json.dumps(estimate.to_dict(), allow_nan=False)
    assert str(pickle.loads(pickle.dumps(estimate))) == str(estimate)


@each_case
def test_estimates_depend_on_their_sample_alone(case):
    X, quantifier = pool(case.n_classes), fitted(case)
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    many = quantifier.estimate_many(X, rows, **QUICK)
    for estimate, each in zip(many, rows, strict=True):
        check(estimate, len(each), case.n_classes)
        alone = quantifier.estimate(X[each], **QUICK)
        np.testing.assert_allclose(estimate.raw, alone.raw, rtol=0, atol=1e-9)
        np.testing.assert_allclose(estimate.shares, alone.shares, rtol=0, atol=1e-6)
        np.testing.assert_allclose(estimate.draws, alone.draws, rtol=0, atol=1e-6)
    backwards = quantifier.estimate_many(X, rows[::-1], **QUICK)[::-1]
    for estimate, same in zip(many, backwards, strict=True):
        np.testing.assert_array_equal(estimate.draws, same.draws)


@each_scored_case
def test_estimates_from_scores(case):
    scores, quantifier = scored_pool(case.n_classes), fitted_on_scores(case)
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    estimates = quantifier.estimate_many(Scored(scores), rows, **QUICK)
    for estimate, each in zip(estimates, rows, strict=True):
        check(estimate, len(each), case.n_classes)
        np.testing.assert_array_equal(estimate.raw, quantifier.predict(Scored(scores[each])))
        alone = quantifier.estimate(Scored(scores[each]), **QUICK)
        np.testing.assert_array_equal(estimate.draws, alone.draws)


@each_case
def test_estimates_follow_the_sample(case):
    # Samples of one class: if the method tells them apart, so do its estimates.
    if case.brings_learner:
        return  # estimates are by the learners of the folds, which tell other items apart
    X, quantifier = pool(case.n_classes), fitted(case)
    likely = quantifier.predict_many(X, [[row] for row in range(len(X))])[:, 0]
    order = np.argsort(likely, kind="stable")
    low, high = quantifier.estimate_many(X, [order[:40], order[-40:]], **QUICK)
    if abs(high.raw[0] - low.raw[0]) < 0.2:
        assert case.method.info.family == "baseline"
        assert low.shares[0] == pytest.approx(high.shares[0], abs=1e-9)
        return
    assert high.shares[0] > low.shares[0]
