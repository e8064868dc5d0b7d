"""Problems for every solver, alike in form: what was seen, and perhaps the true shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.parts.solvers import (
    AdjustedCount,
    CauchySchwarz,
    Divergence,
    EnergyDistance,
    ExpectationMaximisation,
    KernelDistance,
    LeastSquares,
    MaximumLikelihood,
    Solution,
)
from headcount.samples.samples import Samples

DIVERGENCES = ("hellinger", "topsoe", "probsymm", "l1", "l2")
ON_HISTOGRAMS = {
    "least squares": LeastSquares(),
    **{name: Divergence(name) for name in DIVERGENCES},
}
ON_PAIRS = {
    "kernel distance": KernelDistance(),
    "energy distance": EnergyDistance(),
    "cauchy-schwarz": CauchySchwarz(),
}
ON_ITEMS = ("maximum likelihood", "expectation maximisation")
ALL = ("adjusted count", *ON_HISTOGRAMS, *ON_PAIRS, *ON_ITEMS)
EXACT = tuple(name for name in ALL if name != "expectation maximisation")
# Those that take ordered classes, when they do.
SMOOTH = tuple(
    f"smooth {name}"
    for name in (
        "least squares",
        "hellinger",
        "topsoe",
        "probsymm",
        "l2",
        "kernel distance",
        "energy distance",
        "maximum likelihood",
    )
)


@dataclass(frozen=True)
class Problem:
    """Classes and what was seen: rows, or samples of items whose likelihoods are given."""

    name: str
    solver: Any
    classes: NDArray[np.float64]
    seen: Any
    truth: NDArray[np.float64] | None = None
    prior: NDArray[np.float64] | None = None

    def solve(self) -> Solution:
        if self.name in ON_ITEMS:
            return self.solver.solve(self.classes, self.seen, self.prior)
        return self.solver.solve(self.classes, self.seen)

    def take(self, rows: Any) -> Problem:
        return replace(self, seen=self.seen[rows])

    def reorder(self, order: NDArray[np.int64]) -> Problem:
        """The same with the classes in another order."""
        if self.name in ON_PAIRS:
            return replace(
                self, classes=self.classes[np.ix_(order, order)], seen=self.seen[:, order]
            )
        if self.name in ON_ITEMS:
            prior = None if self.prior is None else self.prior[order]
            return replace(
                self, prior=prior, classes=np.ascontiguousarray(self.classes[:, order])
            )
        if self.name == "adjusted count":
            return replace(
                self, classes=self.classes[np.ix_(order, order)], seen=self.seen[:, order]
            )
        return replace(self, classes=self.classes[order])


def smoothed(problem: Problem, smoothness: float) -> Problem:
    """The same with a penalty on bends, so that the true shares are not the answer."""
    solver = replace(problem.solver, smoothness=smoothness)
    return replace(problem, solver=solver, truth=None)


def profiles_of(
    rng: np.random.Generator, K: int, bins: int, clarity: float = 0.6
) -> NDArray[np.float64]:
    """Histograms of classes that differ: each has a part that is mostly its own."""
    own = np.eye(K, bins) if bins >= K else rng.dirichlet(np.full(bins, 0.2), K)
    return clarity * own + (1 - clarity) * rng.dirichlet(np.ones(bins), K)


def make(
    name: str, rng: np.random.Generator, *, K: int, S: int = 4, noisy: bool = False
) -> Problem:
    """A problem with one answer; without noise the answer is `truth`."""
    if name in SMOOTH:
        return smoothed(make(name.removeprefix("smooth "), rng, K=K, S=S, noisy=noisy), 0.03)
    if name in ON_ITEMS:
        return _likelihoods(name, rng, K, S, noisy)
    truth = rng.dirichlet(np.ones(K), S)
    truth[0] = np.eye(K)[0]  # a sample of one class alone
    if name in ON_PAIRS:
        return _pairs(name, rng, K, truth, noisy)
    bins = K if name == "adjusted count" else K + 3
    profiles = profiles_of(rng, K, bins)
    seen = truth @ profiles
    if noisy:
        seen = np.array([rng.multinomial(60, row / row.sum()) for row in seen]) / 60
    solver = AdjustedCount() if name == "adjusted count" else ON_HISTOGRAMS[name]
    return Problem(name, solver, profiles, seen, None if noisy else truth)


def _pairs(
    name: str,
    rng: np.random.Generator,
    K: int,
    truth: NDArray[np.float64],
    noisy: bool,
) -> Problem:
    """Mean kernels or distances between clouds of points, one cloud a class."""
    clouds = [0.5 * rng.dirichlet(np.ones(K), 6) + 0.5 * np.eye(K)[j] for j in range(K)]

    def mean_between(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
        apart = np.abs(one[:, None] - other[None]).sum(axis=2)
        return float((apart if name == "energy distance" else np.exp(-(apart**2))).mean())

    between = np.array([[mean_between(one, other) for other in clouds] for one in clouds])
    seen = truth @ between
    if noisy:
        samples = [
            np.concatenate([clouds[j][rng.integers(0, 6, 2)] for j in rng.integers(0, K, 3)])
            for _ in truth
        ]
        seen = np.array(
            [[mean_between(sample, cloud) for cloud in clouds] for sample in samples]
        )
    return Problem(name, ON_PAIRS[name], between, seen, None if noisy else truth)


def _likelihoods(name: str, rng: np.random.Generator, K: int, S: int, noisy: bool) -> Problem:
    """Items with a few outcomes; without noise each is there as often as the mixture says."""
    n_outcomes = K + 2
    counts = rng.integers(0, 3, (K, n_outcomes)) + 8 * np.eye(K, n_outcomes, dtype=int)
    counts[0] += 1  # every outcome can be had
    profiles = counts / counts.sum(axis=1, keepdims=True)
    pieces = rng.integers(0, 5, (S, K)) + np.eye(K, dtype=int)[rng.integers(0, K, S)]
    # Whole numbers of items: class j has pieces[j] times the other classes' totals.
    totals = counts.sum(axis=1)
    shares = pieces * totals / (pieces * totals).sum(axis=1, keepdims=True)
    arrays = [np.repeat(np.arange(n_outcomes), row @ counts) for row in pieces]
    if noisy:
        arrays = [rng.integers(0, n_outcomes, rng.integers(1, 30)) for _ in range(S)]
    solver: Any = MaximumLikelihood()
    prior = None
    if name == "expectation maximisation":
        solver = ExpectationMaximisation(1e-4, False, 12)
        prior = rng.dirichlet(np.full(K, 5.0))
    ratios = np.ascontiguousarray(profiles.T / rng.dirichlet(np.full(K, 5.0)))
    samples = Samples.from_arrays(arrays, n_pool=n_outcomes)
    if noisy:
        return Problem(name, solver, ratios, samples, prior=prior)
    return Problem(name, solver, np.ascontiguousarray(profiles.T), samples, shares, prior)
