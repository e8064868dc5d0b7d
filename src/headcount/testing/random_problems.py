"""Checks on random problems: finite shares on the simplex, or one clear error.

The problems have degenerate scores, tiny classes and odd weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from headcount._support.arrays import Array
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.items.arrays import Scored
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.testing.cases import Case, close, expect

_PROBLEMS = 72
_KINDS = ("ordinary", "constant", "nearly constant", "duplicated", "separable", "denormal")
_WEIGHTINGS = ("none", "ordinary", "huge", "denormal", "uneven", "some zero")


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """Scored items with labels and weights, and a sample of new items."""

    name: str
    scores: Array
    y: Array
    weights: Array | None
    new: Array

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.scores.shape[1]


def random_problems(number: int, seed: int = 0) -> Iterator[RandomProblem]:
    """Yield problems; every combination of scores and weights comes in turn."""
    for i in range(number):
        rng = np.random.default_rng([seed, i])
        kind = _KINDS[i % len(_KINDS)]
        weighting = _WEIGHTINGS[(i // len(_KINDS)) % len(_WEIGHTINGS)]
        K = int(rng.choice([2, 2, 3, 5]))
        n, n_new = (int(10 ** rng.uniform(low, 2.6)) for low in (0.6, 0.0))
        n = max(n, 2 * K)
        y = rng.integers(K, size=n)
        y[:K] = np.arange(K)
        if rng.random() < 0.3:  # a single item of a class
            y[K:][y[K:] == K - 1] = 0
        codes_new = rng.integers(K, size=n_new)
        yield RandomProblem(
            f"{i}: {kind} scores, {weighting} weights, {K} classes, {n} and {n_new} items",
            _scores(kind, y, K, rng),
            y,
            _weights(weighting, n, rng),
            _scores(kind, codes_new, K, rng),
        )


def check_random_problems(case: Case) -> None:
    """Degenerate problems give finite shares, or one clear error."""
    case.require_scores()
    case.require_two_classes()
    for problem in random_problems(_PROBLEMS):
        verify_shares(case.prototype, problem)


def fit_problem(prototype: Quantifier, problem: RandomProblem) -> Quantifier | None:
    """Fitted quantifier; None if the problem is refused in one sentence."""
    quantifier: Quantifier = clone(prototype)
    if problem.n_classes > 2 and prototype.info.multiclass == "one-vs-rest":
        quantifier = OneVsRest(quantifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        try:
            return quantifier.fit(Scored(problem.scores), problem.y, problem.weights)
        except HeadcountError:
            return None


def verify_shares(prototype: Quantifier, problem: RandomProblem) -> None:
    """Fail unless shares are finite and on the simplex, or the problem is refused."""
    quantifier = fit_problem(prototype, problem)
    if quantifier is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        shares = quantifier.predict(Scored(problem.new))
    expect(np.isfinite(shares).all(), f"problem {problem.name}: shares are {shares}")
    expect((shares >= 0).all(), f"problem {problem.name}: shares are {shares}")
    close(shares.sum(), 1, 1e-6)


def verify_interval(prototype: Quantifier, problem: RandomProblem) -> None:
    """Fail unless the interval is finite and holds the shares, or the problem is refused."""
    quantifier = fit_problem(prototype, problem)
    if quantifier is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        estimate = quantifier.estimate(Scored(problem.new), replicates=200, random_state=0)
    ends = estimate.interval()
    finite = np.isfinite(ends.low).all() and np.isfinite(ends.high).all()
    expect(finite, f"problem {problem.name}: an interval is not finite")
    held = (ends.low <= estimate.shares + 1e-12) & (estimate.shares <= ends.high + 1e-12)
    expect(held.all(), f"problem {problem.name}: an interval does not hold the share")


def _scores(kind: str, codes: Array, K: int, rng: np.random.Generator) -> Array:
    n = len(codes)
    logits = rng.normal(size=(n, K))
    logits[np.arange(n), codes] += rng.uniform(0, 3)
    if kind == "constant":
        logits[:] = np.arange(K)
    elif kind == "nearly constant":
        logits = np.arange(K) + 1e-12 * logits
    elif kind == "duplicated":
        logits = np.round(logits)
    elif kind == "separable":
        logits = 50.0 * np.eye(K)[codes]
    elif kind == "denormal":
        logits = 720.0 * np.eye(K)[codes] * (rng.random((n, 1)) < 0.5) + logits
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def _weights(kind: str, n: int, rng: np.random.Generator) -> Array | None:
    ordinary = rng.uniform(0.5, 2.0, n)
    return {
        "none": None,
        "ordinary": ordinary,
        "huge": ordinary * 1e306,
        "denormal": ordinary * 1e-320,
        "uneven": 10.0 ** rng.uniform(-200, 200, n),
        "some zero": ordinary * (rng.random(n) < 0.6),
    }[kind]
