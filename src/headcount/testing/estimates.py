"""Checks of estimates with intervals."""

from __future__ import annotations

import json
import pickle

import numpy as np

from headcount.quantify import PCC
from headcount.scores import Scored
from headcount.testing.cases import Case, labelled, pool, scored_pool
from headcount.testing.expectations import NotApplicable, close, equal, expect, on_simplex
from headcount.uncertainty import Estimate

_REPLICATES = 200


def _check(estimate: Estimate, n_items: int, K: int) -> None:
    expect(estimate.n_items == n_items, "n_items is not the number of items")
    expect(estimate.raw.shape == (K,), "raw has not one entry per class")
    on_simplex(estimate.shares, K)
    on_simplex(estimate.draws, len(estimate.draws), K)
    shares = estimate.shares
    expect(list(estimate.prevalence.values()) == shares.tolist(), "prevalence is not shares")
    wide, narrow = (estimate.interval(level) for level in (0.95, 0.5))
    for ends in (wide, narrow):
        expect((ends.low >= 0).all() and (ends.high <= 1).all(), "an interval leaves [0, 1]")
        inside = (ends.low <= shares) & (shares <= ends.high) & (ends.low < ends.high)
        expect(inside.all(), "an interval does not hold the share")
    nested = (wide.low <= narrow.low) & (narrow.high <= wide.high)
    expect(nested.all(), "the interval of level 0.5 is not within that of 0.95")
    close(estimate.counts().count.sum(), n_items, 1e-6)
    expect(estimate.region().contains(shares), "the region does not hold the shares")


def check_intervals(case: Case) -> None:
    """`estimate` has intervals, is repeatable, and can be stored as JSON and by pickle."""
    X, quantifier = pool(case.n_classes)[:60], case.fitted
    for estimand in ("realised", "expected"):
        estimate, again = (
            quantifier.estimate(X, estimand=estimand, replicates=_REPLICATES, random_state=0)
            for _ in range(2)
        )
        _check(estimate, 60, case.n_classes)
        equal(estimate.raw, quantifier.predict(X))
        equal(again.draws, estimate.draws)
        json.dumps(estimate.to_dict(), allow_nan=False)
        restored = pickle.loads(pickle.dumps(estimate))
        expect(str(restored) == str(estimate), "a pickled estimate prints differently")


def check_estimates_of_samples(case: Case) -> None:
    """The estimate of a sample depends on that sample alone."""
    X, quantifier = pool(case.n_classes), case.fitted
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    many = quantifier.estimate_many(X, rows, replicates=_REPLICATES, random_state=0)
    for estimate, each in zip(many, rows, strict=True):
        _check(estimate, len(each), case.n_classes)
        alone = quantifier.estimate(X[each], replicates=_REPLICATES, random_state=0)
        close(estimate.raw, alone.raw, 1e-9)
        close(estimate.shares, alone.shares, 1e-6)
        close(estimate.draws, alone.draws, 1e-6)
    reverse = quantifier.estimate_many(X, rows[::-1], replicates=_REPLICATES, random_state=0)[
        ::-1
    ]
    for estimate, same in zip(many, reverse, strict=True):
        equal(estimate.draws, same.draws)


def check_estimates_from_scores(case: Case) -> None:
    """The same from scores, to the last bit."""
    case.require_scores()
    scores, quantifier = scored_pool(case.n_classes), case.fitted_on_scores
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    found = quantifier.estimate_many(
        Scored(scores), rows, replicates=_REPLICATES, random_state=0
    )
    for estimate, each in zip(found, rows, strict=True):
        _check(estimate, len(each), case.n_classes)
        own = Scored(scores[each])
        equal(estimate.raw, quantifier.predict(own))
        alone = quantifier.estimate(own, replicates=_REPLICATES, random_state=0)
        equal(estimate.draws, alone.draws)


def check_estimates_follow_the_sample(case: Case) -> None:
    """If predictions differ between samples of one class, so do the estimates."""
    if case.brings_learner:
        raise NotApplicable("estimates are by the learners of the folds")
    X, quantifier = pool(case.n_classes), case.fitted
    alone = [[row] for row in range(len(X))]
    # Some methods have the same answer to many single items: another one decides then.
    other = PCC(case.classifier).fit(*labelled(case.n_classes)).predict_many(X, alone)[:, 0]
    order = np.lexsort((other, quantifier.predict_many(X, alone)[:, 0]))
    low, high = quantifier.estimate_many(
        X, [order[:40], order[-40:]], replicates=_REPLICATES, random_state=0
    )
    if abs(high.raw[0] - low.raw[0]) < 0.2:
        expect(case.info.family == "baseline", "predictions do not depend on the sample")
        close(low.shares[0], high.shares[0], 1e-9)
        return
    expect(high.shares[0] > low.shares[0], "estimates do not follow the sample")
