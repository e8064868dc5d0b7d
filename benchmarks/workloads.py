"""The frozen workloads: seeded arrays that every benchmark here runs on.

Only numpy's generator decides what they hold, so they are the same on every machine.
Change a number here and every earlier result stops being comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["WORKLOADS", "Workload", "make"]


@dataclass(frozen=True)
class Workload:
    """Labelled training data, a labelled pool, and how to draw samples from it."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_pool: np.ndarray
    y_pool: np.ndarray
    sample_size: int
    n_prevalences: (
        int | None
    )  # grid points of the artificial-prevalence protocol; None: uniform
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
    """Unit-variance points round one of their class's centres, picked at random."""
    n_centres, n_features = centres.shape[1:]
    chosen = centres[labels, rng.integers(n_centres, size=len(labels))]
    return chosen + spread * rng.standard_normal((len(labels), n_features))


def _binary(n_train=5_000, n_pool=20_000, repeats=100) -> Workload:
    """Two classes of two clouds each: logistic regression is right about 83 times in 100."""
    rng = np.random.default_rng(20_240_501)
    centres = rng.standard_normal((2, 2, 20)) * 0.5
    y = (rng.random(n_train + n_pool) < 0.4).astype(np.int64)
    X = _clouds(rng, centres, y, 1.0)
    return Workload(
        name="binary",
        X=X[:n_train],
        y=y[:n_train],
        X_pool=X[n_train:],
        y_pool=y[n_train:],
        sample_size=500,
        n_prevalences=21,
        repeats=repeats,
    )


def _multiclass(n_train=20_000, n_pool=50_000, repeats=1_000) -> Workload:
    """28 uneven classes in 256 features: logistic regression is right about 6 times in 10."""
    rng = np.random.default_rng(20_240_502)
    n_classes, n_features = 28, 256
    centres = rng.standard_normal((n_classes, 2, n_features)) * 0.215
    shares = np.linspace(1.0, 4.0, n_classes)
    y = rng.choice(n_classes, size=n_train + n_pool, p=shares / shares.sum())
    X = _clouds(rng, centres, y, 1.0)
    return Workload(
        name="multiclass",
        X=X[:n_train],
        y=y[:n_train],
        X_pool=X[n_train:],
        y_pool=y[n_train:],
        sample_size=1_000,
        n_prevalences=None,
        repeats=repeats,
    )


WORKLOADS = {"binary": _binary, "multiclass": _multiclass}


def make(name: str, *, quick: bool = False) -> Workload:
    """The named workload; ``quick`` shrinks it to a smoke test of the harness itself."""
    if not quick:
        return WORKLOADS[name]()
    return WORKLOADS[name](n_train=2_000, n_pool=6_000, repeats=5 if name == "binary" else 40)
