"""From the items of samples to shares: the parts of a fitted method.

An aggregation has ``fit(training)``, which returns a fitted aggregation, and
``solve(items, samples)``, which returns a `Solution`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Embedding, Histograms, Training
from headcount.sampling import Samples
from headcount.solve import Solution

__all__ = [
    "Aggregation",
    "Counting",
    "MedianOfHistograms",
    "Mixture",
    "MixtureSolver",
    "Model",
    "MomentSolver",
    "Moments",
    "Representation",
]

# Number of values in a batch of sample statistics: 64 MB.
_BATCH_NUMBERS = 8_000_000


class Model(Protocol):
    """Fitted method: shares of the classes in samples.

    Subclasses define ``solve``. The other two methods are for estimates, which simulate
    samples of the training items.
    """

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares of the classes in samples of the training items.

        Overridden if these items are kept in another form than ``solve`` takes.
        """
        return self.solve(training.items, samples)

    def cross_fitted(self, training: Training) -> Model:
        """Model that has not been trained on the items that it solves.

        The model itself, unless it trains its own classifier on the training items.
        """
        return self


class Aggregation(Model, Protocol):
    """The part of a method that comes after the items are scored."""

    def fit(self, training: Training) -> Self:
        """Fitted aggregation, learnt from labelled items; this one does not change."""


class Representation(Protocol):
    """Turns items into vectors."""

    def fit(self, training: Training) -> Self:
        """Learn from labelled items; returns a fitted representation."""

    def embed(self, items: NDArray[Any]) -> Embedding:
        """The items as vectors whose mean describes a sample."""


class MomentSolver(Protocol):
    """Finds the shares whose mixture of class profiles is nearest to the sample's profile."""

    def solve(self, profiles: NDArray[np.float64], seen: NDArray[np.float64]) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""


@dataclass(frozen=True, eq=False)
class Counting(Aggregation):
    """The mean of the representation is the estimate."""

    representation: Representation

    def fit(self, training: Training) -> Counting:
        """Fit the representation."""
        return Counting(self.representation.fit(training))

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return Solution.closed_form(self.representation.embed(items).means(samples))


@dataclass(frozen=True, eq=False)
class Moments(Aggregation):
    """Find the mixture of class means that is nearest to the sample's mean.

    Attributes
    ----------
    representation : Representation
        Turns items into vectors.
    solver : MomentSolver
        Finds the nearest mixture.
    profiles : ndarray of shape (K, d)
        Mean vector of each class, once fitted.
    """

    representation: Representation
    solver: MomentSolver
    profiles: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> Moments:
        """Learn the representation and the mean of each class."""
        assert training.items is not None
        representation = self.representation.fit(training)
        profiles = training.class_means(representation.embed(training.items))
        return Moments(representation, self.solver, profiles)

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return _in_batches(
            self.representation.embed(items),
            samples,
            lambda seen: self.solver.solve(self.profiles, seen),
        )


@dataclass(frozen=True, eq=False)
class MedianOfHistograms(Aggregation):
    """Median of the estimates by several histograms of the positive score."""

    bins: Sequence[int]
    solver: MomentSolver
    profiles: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> MedianOfHistograms:
        """Learn the histograms of each class."""
        assert training.items is not None
        return replace(self, profiles=training.class_means(self._embed(training.items)))

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return _in_batches(self._embed(items), samples, self._median)

    def _embed(self, items: NDArray[Any]) -> Embedding:
        return Histograms(self.bins, every_class=False).embed(items)

    def _median(self, seen: NDArray[np.float64]) -> Solution:
        edges = np.concatenate([[0], np.cumsum(self.bins)])
        each = []
        for left, right in pairwise(edges):
            profiles = np.ascontiguousarray(self.profiles[:, left:right])
            each.append(self.solver.solve(profiles, np.ascontiguousarray(seen[:, left:right])))
        positive = np.median([part.prevalence[:, 1] for part in each], axis=0)
        return Solution(
            np.column_stack([1 - positive, positive]),
            np.all([part.converged for part in each], axis=0),
            np.max([part.iterations for part in each], axis=0),
            np.mean([part.objective for part in each], axis=0),
        )


class Likelihood(Protocol):
    """Turns items into likelihoods of the classes."""

    def fit(self, training: Training) -> Self:
        """Learn from labelled items; returns a fitted likelihood."""

    def ratios(self, items: NDArray[Any]) -> NDArray[np.float64]:
        """Likelihood of each item under each class, each row up to its own factor."""


class MixtureSolver(Protocol):
    """Finds the shares under which the items of a sample are likeliest."""

    def solve(
        self, ratios: NDArray[np.float64], samples: Samples, prior: NDArray[np.float64]
    ) -> Solution:
        """Shares for each sample.

        `ratios` has one row per item of the pool; `prior` holds the training shares.
        """


@dataclass(frozen=True, eq=False)
class Mixture(Aggregation):
    """Find the shares under which the sample is likeliest.

    Attributes
    ----------
    likelihood : Likelihood
        Turns items into likelihoods of the classes.
    solver : MixtureSolver
        Finds the shares, given the likelihoods.
    prior : ndarray of shape (K,)
        The training shares, once fitted.
    """

    likelihood: Likelihood
    solver: MixtureSolver
    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods."""
        return replace(self, likelihood=self.likelihood.fit(training), prior=training.prior)

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        ratios = np.ascontiguousarray(self.likelihood.ratios(items))
        return self.solver.solve(ratios, samples, self.prior)


def _in_batches(
    embedding: Embedding,
    samples: Samples,
    solve: Callable[[NDArray[np.float64]], Solution],
) -> Solution:
    """Solve in batches, so that memory does not grow with the number of samples."""
    step = max(1, _BATCH_NUMBERS // embedding.width)
    return Solution.concatenate(
        [
            solve(embedding.means(samples[first : first + step]))
            for first in range(0, len(samples), step)
        ]
    )
