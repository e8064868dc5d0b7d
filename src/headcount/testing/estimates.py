"""Checks of estimates with intervals, and of shares from extreme scores."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import numpy as np

from headcount._support.arrays import Array
from headcount.estimates.estimate import Estimate
from headcount.items.arrays import Scored
from headcount.quantifiers.adjusted import PCC
from headcount.testing.cases import (
    Case,
    NotApplicable,
    close,
    equal,
    expect,
    labelled,
    on_simplex,
    scored_pool,
)

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
    X, quantifier = case.new[:60], case.fitted
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
    X, quantifier = case.new, case.fitted
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    estimates = quantifier.estimate_many(X, rows, replicates=_REPLICATES, random_state=0)
    for estimate, sample in zip(estimates, rows, strict=True):
        _check(estimate, len(sample), case.n_classes)
        alone = quantifier.estimate(X[sample], replicates=_REPLICATES, random_state=0)
        close(estimate.raw, alone.raw, 1e-9)
        close(estimate.shares, alone.shares, 1e-6)
        close(estimate.draws, alone.draws, 1e-6)
    reverse = quantifier.estimate_many(X, rows[::-1], replicates=_REPLICATES, random_state=0)[
        ::-1
    ]
    for estimate, same in zip(estimates, reverse, strict=True):
        equal(estimate.draws, same.draws)


def check_estimates_from_scores(case: Case) -> None:
    """The same from scores, to the last bit."""
    case.require_scores()
    scores, quantifier = scored_pool(case.n_classes), case.fitted_on_scores
    rows = [np.arange(40), np.array([7]), np.arange(20, 120)]
    estimates = quantifier.estimate_many(
        Scored(scores), rows, replicates=_REPLICATES, random_state=0
    )
    for estimate, sample in zip(estimates, rows, strict=True):
        _check(estimate, len(sample), case.n_classes)
        items = Scored(scores[sample])
        equal(estimate.raw, quantifier.predict(items))
        alone = quantifier.estimate(items, replicates=_REPLICATES, random_state=0)
        equal(estimate.draws, alone.draws)


def check_estimates_follow_the_sample(case: Case) -> None:
    """If predictions differ between samples of one class, so do the estimates."""
    if case.brings_learner:
        raise NotApplicable("estimates are by the learners of the folds")
    X, quantifier = case.new, case.fitted
    alone = [[row] for row in range(len(X))]
    # Some methods have the same answer to many single items: another one decides then.
    first_shares = (
        PCC(case.classifier).fit(*labelled(case.n_classes)).predict_many(X, alone)[:, 0]
    )
    order = np.lexsort((first_shares, quantifier.predict_many(X, alone)[:, 0]))
    low, high = quantifier.estimate_many(
        X, [order[:40], order[-40:]], replicates=_REPLICATES, random_state=0
    )
    if abs(high.raw[0] - low.raw[0]) < 0.2:
        expect(case.info.family == "baseline", "predictions do not depend on the sample")
        close(low.shares[0], high.shares[0], 1e-9)
        return
    expect(high.shares[0] > low.shares[0], "estimates do not follow the sample")


# Training scores, labels, scores of new items.
Situation = Callable[[int, np.random.Generator], tuple[Array, Array, Array]]


def _sharp(codes: Array, K: int) -> Array:
    return np.eye(K)[codes]


def _perfect(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    codes = np.arange(60) % K
    return _sharp(codes, K), codes, _sharp(rng.integers(K, size=30), K)


def _all_alike(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return np.full((60, K), 1 / K), np.arange(60) % K, np.full((30, K), 1 / K)


def _all_wrong(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    codes = np.arange(60) % K
    return _sharp((codes + 1) % K, K), codes, _sharp(rng.integers(K, size=30), K)


def _far_from_training(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    new = np.full((30, K), 1e-9)
    new[:, 0] = 1 - (K - 1) * 1e-9
    return rng.dirichlet(np.full(K, 50.0), 60), np.arange(60) % K, new


def _never_seen(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return _perfect(K, rng)[0], np.arange(60) % K, rng.dirichlet(np.ones(K), 30)


def _nearly_sure(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    scores = [rng.dirichlet(np.full(K, 0.02), n) for n in (60, 30)]
    return scores[0], np.arange(60) % K, scores[1]


def _one_item_per_class(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return rng.dirichlet(np.ones(K), K), np.arange(K), rng.dirichlet(np.ones(K), 30)


def _one_item_of_the_others(K: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    codes = np.r_[np.arange(K - 1), np.full(61 - K, K - 1)]
    return rng.dirichlet(np.ones(K), 60), codes, rng.dirichlet(np.ones(K), 30)


_SITUATIONS: tuple[Situation, ...] = (
    _perfect,
    _all_alike,
    _all_wrong,
    _far_from_training,
    _never_seen,
    _nearly_sure,
    _one_item_per_class,
    _one_item_of_the_others,
)


def check_extreme_scores(case: Case) -> None:
    """Perfect, constant, wrong, unseen and sparse training scores give shares."""
    case.require_scores()
    for situation in _SITUATIONS:
        scores, y, new = situation(case.n_classes, np.random.default_rng(0))
        quantifier = case.make().fit(Scored(scores), y)
        shares = quantifier.predict_many(Scored(new), [np.arange(30), [0], [29, 0, 0]])
        on_simplex(shares, 3, case.n_classes)


def check_perfect_scores(case: Case) -> None:
    """Perfect scores are counted without error."""
    case.require_scores()
    if case.info.needs_overlap:
        raise NotApplicable("needs classes whose scores overlap")
    scores, y, new = _perfect(case.n_classes, np.random.default_rng(0))
    if case.smooth:  # exact for smooth shares alone, such as even ones
        new = scores
    quantifier = case.make()
    if case.simulates:
        quantifier.set_params(replicates=4000)
    shares = quantifier.fit(Scored(scores), y).predict(Scored(new))
    close(shares, new.mean(axis=0), 0.02 if case.simulates else 1e-6)


def check_many_classes(case: Case) -> None:
    """Twelve classes work as well."""
    case.require_scores()
    if case.n_classes == 2:
        raise NotApplicable("checked with the case of three classes")
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 12
    scores = np.exp(3 * np.eye(12)[codes] + rng.normal(size=(300, 12)))
    scores /= scores.sum(axis=1, keepdims=True)
    quantifier = case.make().fit(Scored(scores), codes)
    more_of_one = np.concatenate([np.arange(300), np.flatnonzero(codes == 5).repeat(12)])
    shares = quantifier.predict_many(Scored(scores), [np.arange(300), more_of_one])
    on_simplex(shares, 2, 12)
    expect(shares[1].argmax() == 5, "a class with half of the items has not the largest share")
