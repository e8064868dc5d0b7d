"""Checks on extreme scores: they give shares, and no warnings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headcount.scores import Scored
from headcount.testing.cases import Array, Case
from headcount.testing.expectations import NotApplicable, close, expect, on_simplex

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
    own = np.concatenate([np.arange(300), np.flatnonzero(codes == 5).repeat(12)])
    shares = quantifier.predict_many(Scored(scores), [np.arange(300), own])
    on_simplex(shares, 2, 12)
    expect(shares[1].argmax() == 5, "a class with half of the items has not the largest share")
