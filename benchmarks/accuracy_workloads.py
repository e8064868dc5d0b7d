"""Models in production whose labels are known afterwards: workloads of the accuracy benchmarks.

Each is a model trained on one part of the data, a labelled reference from another, and a pool
that chunks are drawn from. Chunks of a prior shift are drawn by label; chunks of a covariate
shift by a feature the model has, so that what is probable given the features stays as it was.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from environment import PROJECT
from headcount.samples.protocols import Prevalences
from headcount.samples.samples import Samples

__all__ = ["Workload", "adult", "clouds", "covariate_chunks", "prior_chunks"]

REFERENCE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Workload:
    """A trained model, a labelled reference and a labelled pool for chunks.

    ``direction`` is a number an item, made of its features, that a covariate shift follows.
    """

    name: str
    model: Any
    X: Any
    y: np.ndarray
    X_pool: Any
    y_pool: np.ndarray
    direction: np.ndarray

    def correct(self):
        """Whether the model is right, for each item of the pool."""
        return self.model.predict(self.X_pool) == self.y_pool


def _with_share(y, share, rng):
    """Rows in which the positive class has this share; as many as there can be."""
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n = int(min(len(positive) / share, len(negative) / (1 - share)))
    n_positive = round(share * n)
    rows = [rng.permutation(positive)[:n_positive], rng.permutation(negative)[: n - n_positive]]
    return rng.permutation(np.concatenate(rows))


def _divided(name, model, X, y, direction, rng, *, n_train, n_reference):
    """The positive class has the same share in every part, or a covariate shift were none."""
    rows = _with_share(y, REFERENCE_SHARE, rng)
    train, reference, pool = np.split(rows, [n_train, n_train + n_reference])
    model.fit(X[train], y[train])
    return Workload(name, model, X[reference], y[reference], X[pool], y[pool], direction[pool])


def adult(seed, *, boosted=False):
    """Who earns more than 50,000 a year; the direction is age."""
    import polars as pl

    folder = os.environ.get("HEADCOUNT_DATA") or PROJECT.parent / "shared" / "data"
    table = pl.read_csv(os.path.join(folder, "adult.csv.gz"))
    y = (table["Income"].str.strip_chars() == ">50K").to_numpy().astype(int)
    features = table.drop("Income", "split", "Census_Weight", "Education").to_dummies(
        ["Workclass", "Marital_Status", "Occupation", "Relationship", "Race", "Sex", "Country"]
    )
    X = features.to_numpy().astype(float)
    X = X / np.maximum(np.abs(X).max(axis=0), 1)
    age = table["Age"].to_numpy().astype(float)
    model = (
        HistGradientBoostingClassifier(max_iter=60, random_state=0)
        if boosted
        else LogisticRegression(max_iter=2000)
    )
    name = f"adult, {'boosted trees' if boosted else 'logistic regression'}"
    rng = np.random.default_rng(seed)
    return _divided(name, model, X, y, age, rng, n_train=12000, n_reference=5000)


def clouds(seed, n=80000, classes=2, separation=1.0):
    """Gaussian clouds, the last class in two parts; the direction is the second feature.

    Logistic regression does not quite suit them: its scores need a calibration.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    centres = np.random.default_rng(classes).normal(size=(classes, 5))
    centres *= separation / np.linalg.norm(centres, axis=1, keepdims=True)
    X = rng.normal(size=(n, 5)) + centres[y]
    apart = (y == classes - 1) & (rng.random(n) < 0.4)
    X[apart, 1] += 2.0
    name = f"clouds, {classes} classes"
    if classes == 2:
        model = LogisticRegression()
        return _divided(name, model, X, y, X[:, 1], rng, n_train=15000, n_reference=5000)
    model = LogisticRegression(max_iter=1000).fit(X[: n // 3], y[: n // 3])
    reference, pool = slice(n // 3, n // 2), slice(n // 2, None)
    return Workload(name, model, X[reference], y[reference], X[pool], y[pool], X[pool, 1])


def prior_chunks(workload, *, size, repeats, seed, shares=None):
    """Chunks whose positive share runs from 0.05 to 0.95."""
    shares = np.linspace(0.05, 0.95, 19) if shares is None else np.asarray(shares)
    grid = np.column_stack([1 - shares, shares])
    protocol = Prevalences(grid, repeats=repeats, size=size, random_state=seed)
    return protocol.draw(workload.y_pool)


def covariate_chunks(workload, *, size, repeats, seed, strengths=None):
    """Chunks drawn by the direction alone: large values ever likelier, or ever less."""
    strengths = np.linspace(-2, 2, 9) if strengths is None else strengths
    rng = np.random.default_rng(seed)
    along = workload.direction
    z = (along - along.mean()) / along.std()
    drawn = []
    for strength in strengths:
        weights = np.exp(np.clip(strength * z, -6, 6))
        for _ in range(repeats):
            drawn.append(rng.choice(len(z), size, replace=False, p=weights / weights.sum()))
    return Samples.from_arrays(drawn, n_pool=len(z))
