"""Fixed workloads: seeded arrays for every benchmark.

They are made by numpy's generator alone, so they are the same on every machine. After a change
here, earlier results are not comparable any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["WORKLOADS", "Workload", "make"]


@dataclass(frozen=True)
class Workload:
    """Labelled training data, a labelled pool, and the protocol that draws samples."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_pool: np.ndarray
    y_pool: np.ndarray
    sample_size: int
    n_prevalences: int | None  # points of the grid of APP; None for UPP
    repeats: int

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def n_samples(self) -> int:
        return self.repeats * (self.n_prevalences or 1)

    def describe(self) -> str:
        protocol = (
            f"APP, {self.n_prevalences} prevalences x {self.repeats} repeats"
            if self.n_prevalences
            else f"UPP, {self.repeats} samples"
        )
        return (
            f"{self.name}: {self.n_classes} classes, training {self.X.shape[0]:,} x "
            f"{self.X.shape[1]}, pool {len(self.y_pool):,}, {protocol} of {self.sample_size:,}"
        )


def _clouds(rng, centres, labels, spread):
    """Points of unit variance around a random centre of their class."""
    n_centres, n_features = centres.shape[1:]
    chosen = centres[labels, rng.integers(n_centres, size=len(labels))]
    return chosen + spread * rng.standard_normal((len(labels), n_features))


def _split(name, X, y, n_train, protocol) -> Workload:
    return Workload(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:], *protocol)


def _binary(n_train=5_000, n_pool=20_000, repeats=100) -> Workload:
    """Two classes of two clouds each: logistic regression has an accuracy of 83%."""
    rng = np.random.default_rng(20_240_501)
    centres = rng.standard_normal((2, 2, 20)) * 0.5
    y = (rng.random(n_train + n_pool) < 0.4).astype(np.int64)
    X = _clouds(rng, centres, y, 1.0)
    return _split("binary", X, y, n_train, (500, 21, repeats))


def _multiclass(n_train=20_000, n_pool=50_000, repeats=1_000) -> Workload:
    """28 uneven classes in 256 features: logistic regression has an accuracy of 60%."""
    rng = np.random.default_rng(20_240_502)
    n_classes, n_features = 28, 256
    centres = rng.standard_normal((n_classes, 2, n_features)) * 0.215
    shares = np.linspace(1.0, 4.0, n_classes)
    y = rng.choice(n_classes, size=n_train + n_pool, p=shares / shares.sum())
    X = _clouds(rng, centres, y, 1.0)
    return _split("multiclass", X, y, n_train, (1_000, None, repeats))


WORKLOADS = {"binary": _binary, "multiclass": _multiclass}


def make(name: str, *, quick: bool = False) -> Workload:
    """Workload of a name; ``quick`` makes it small, to try a script."""
    if not quick:
        return WORKLOADS[name]()
    return WORKLOADS[name](n_train=2_000, n_pool=6_000, repeats=5 if name == "binary" else 40)
