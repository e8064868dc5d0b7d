"""Random problems of unusual shape: degenerate scores, tiny classes, odd weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SCORES = ("ordinary", "constant", "nearly constant", "duplicated", "separable", "denormal")
WEIGHTS = ("none", "ordinary", "huge", "denormal", "uneven", "some zero")


@dataclass(frozen=True, eq=False)
class Problem:
    """Scored items with labels and weights, and a sample of new items."""

    name: str
    scores: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    new: np.ndarray

    @property
    def n_classes(self) -> int:
        return self.scores.shape[1]


def random_problems(number: int, seed: int = 0) -> Iterator[Problem]:
    """Yield problems; every combination of scores and weights comes in turn."""
    for i in range(number):
        rng = np.random.default_rng([seed, i])
        kind = SCORES[i % len(SCORES)]
        weighting = WEIGHTS[(i // len(SCORES)) % len(WEIGHTS)]
        K = int(rng.choice([2, 2, 3, 5]))
        n, n_new = (int(10 ** rng.uniform(low, 2.6)) for low in (0.6, 0.0))
        n = max(n, 2 * K)
        y = rng.integers(K, size=n)
        y[:K] = np.arange(K)
        if rng.random() < 0.3:  # a single item of a class
            y[K:][y[K:] == K - 1] = 0
        codes_new = rng.integers(K, size=n_new)
        yield Problem(
            f"{i}: {kind} scores, {weighting} weights, {K} classes, {n} and {n_new} items",
            _scores(kind, y, K, rng),
            y,
            _weights(weighting, n, rng),
            _scores(kind, codes_new, K, rng),
        )


def _scores(kind: str, codes: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
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


def _weights(kind: str, n: int, rng: np.random.Generator) -> np.ndarray | None:
    ordinary = rng.uniform(0.5, 2.0, n)
    return {
        "none": None,
        "ordinary": ordinary,
        "huge": ordinary * 1e306,
        "denormal": ordinary * 1e-320,
        "uneven": 10.0 ** rng.uniform(-200, 200, n),
        "some zero": ordinary * (rng.random(n) < 0.6),
    }[kind]
