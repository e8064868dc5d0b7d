"""Scored items with groups, for tests of statistics."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import headcount as hc


def scored_problem(
    K: int, n: int, seed: int, spread: float = 1.0, share: Any = None, n_training: int = 600
) -> tuple[hc.Scored, np.ndarray, hc.Scored, np.ndarray]:
    """Scored training items, their classes, scored new items, and their groups."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(K, max(3, K // 2)))

    def draw(n: int, shares: Any) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(K, n, p=shares)
        y[:K] = np.arange(K)
        return centres[y] + rng.normal(size=(n, centres.shape[1])), y

    even = np.full(K, 1 / K)
    X, y = draw(n_training, even)
    model = LogisticRegression(max_iter=500).fit(X, y)
    X, y = draw(n_training, even)
    new, _ = draw(n, rng.dirichlet(np.ones(K)) if share is None else share)
    groups = np.array(["b", "a", "c"])[rng.integers(3, size=n)]
    training = hc.Scored(model.predict_proba(X), range(K))
    return training, y, hc.Scored(model.predict_proba(new), range(K)), groups


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16, y[order]


def rows_of(groups: np.ndarray) -> list[np.ndarray]:
    """Rows of each group, in the order of their names."""
    return [np.flatnonzero(groups == name) for name in np.unique(groups)]
