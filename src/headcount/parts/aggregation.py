"""From the items of samples to shares: the parts of a fitted method.

An aggregation has ``fit(training)``, which returns a fitted aggregation, and
``solve(items, samples)``, which returns a `Solution`: it solves the statistics of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from headcount._kernels.accumulation import count_items
from headcount._support.arrays import Array, Floats, Ints
from headcount.errors import HeadcountError
from headcount.parts.classifier_outputs import Histograms
from headcount.parts.solvers import ExpectationMaximisation, Solution, TowardsMaximum
from headcount.parts.training import (
    CellsOf,
    Embedding,
    MeanOf,
    Reduced,
    Reduction,
    Training,
    WeightedRows,
    reduce_in_batches,
)
from headcount.samples.samples import Samples


class Model(Protocol):
    """Fitted method: shares of the classes in samples.

    Subclasses define ``reduction`` and ``solve_reduced``, or ``solve`` if a sample cannot be
    reduced to statistics. The others are for estimates, which simulate samples of the training
    items.
    """

    @property
    def copies_only(self) -> bool:
        """True if simulated items must be copies of the training items, in their order."""
        return False

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        batches = reduce_in_batches(self.reduction() or (), items, samples)
        return Solution.concatenate([self.solve_reduced(*batch) for batch in batches])

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

    def for_metric(self, metric: str) -> Model:
        """Model whose answers have small errors by "mean", "ae" or "rae".

        The model itself, unless it has draws of the shares, or stops early.
        """
        return self

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Statistics of a sample that determine its shares; None if its items are needed."""
        return None

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        """Shares of the classes in samples given by their statistics.

        `reduced` has the values of each `reduction`, and `sizes` the numbers of items.
        """
        raise HeadcountError(f"{type(self).__name__} cannot be reduced to statistics.")


class Aggregation(Model, Protocol):
    """The part of a method that comes after the items are scored."""

    def fit(self, training: Training) -> Self:
        """Fitted aggregation, learnt from labelled items; this one does not change."""


@runtime_checkable
class Representation(Protocol):
    """Turns items into vectors."""

    def fit(self, training: Training) -> Self:
        """Learn from labelled items; returns a fitted representation."""

    def embed(self, items: Array) -> Embedding:
        """The items as vectors whose mean describes a sample."""


@runtime_checkable
class MomentSolver(Protocol):
    """Finds the shares whose mixture of class profiles is nearest to the sample's profile."""

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        """Shares for each row of `seen`; `profiles` has one row per class."""


@dataclass(frozen=True, eq=False)
class Counting(Aggregation):
    """The mean of the representation is the estimate."""

    representation: Representation

    def fit(self, training: Training) -> Counting:
        """Fit the representation."""
        return Counting(self.representation.fit(training))

    def reduction(self) -> tuple[Reduction, ...]:
        """The mean of the representation."""
        return (MeanOf(self.representation),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        """The means themselves."""
        (means,) = reduced
        return Solution.closed_form(np.asarray(means))


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
    profiles: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> Moments:
        """Learn the representation and the mean of each class."""
        assert training.items is not None
        representation = self.representation.fit(training)
        profiles = training.class_means(representation.embed(training.items))
        return Moments(representation, self.solver, profiles)

    def reduction(self) -> tuple[Reduction, ...] | None:
        """The mean of the representation."""
        return (MeanOf(self.representation),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        """Shares of the classes in samples given by their means."""
        (means,) = reduced
        return self.solver.solve(self.profiles, np.asarray(means))


@dataclass(frozen=True, eq=False)
class MedianOfHistograms(Aggregation):
    """Median of the estimates by several histograms of the positive score."""

    histograms: Histograms
    solver: MomentSolver
    profiles: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> MedianOfHistograms:
        """Learn the histograms of each class."""
        assert training.items is not None
        histograms, items = self.histograms.fit(training), np.asarray(training.items)
        profiles = training.class_means(histograms.embed(items))
        return MedianOfHistograms(histograms, self.solver, profiles)

    def reduction(self) -> tuple[Reduction, ...]:
        """The histograms."""
        return (MeanOf(self.histograms),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        """Shares of the classes in samples given by their histograms."""
        histograms = np.asarray(reduced[0])
        edges = np.concatenate([[0], np.cumsum(self.histograms.bins)])
        solutions = []
        for left, right in pairwise(edges):
            profiles = np.ascontiguousarray(self.profiles[:, left:right])
            histogram = np.ascontiguousarray(histograms[:, left:right])
            solutions.append(self.solver.solve(profiles, histogram))
        positive = np.median([solution.prevalence[:, 1] for solution in solutions], axis=0)
        return Solution.combined(np.column_stack([1 - positive, positive]), solutions)


@runtime_checkable
class Likelihood(Protocol):
    """Turns items into likelihoods of the classes."""

    def fit(self, training: Training) -> Self:
        """Learn from labelled items; returns a fitted likelihood."""

    def ratios(self, items: Array) -> Floats:
        """Likelihood of each item under each class, each row up to its own factor."""

    @property
    def smooth(self) -> bool:
        """True if it is a smooth function of posteriors, so that cells can be narrow enough."""


@runtime_checkable
class LearntFromEach(Likelihood, Protocol):
    """Likelihood of a class that is large at each item that it was learnt from."""

    def ratios_without(self, training: Training) -> Floats:
        """Likelihoods of copies of items, each as if its original had not been there."""


def training_ratios(likelihood: Likelihood, training: Training) -> Floats:
    """Likelihoods of labelled items, as those of new items would be."""
    if training.copied is not None and isinstance(likelihood, LearntFromEach):
        return likelihood.ratios_without(training)
    assert training.items is not None
    return likelihood.ratios(training.items)


@runtime_checkable
class MixtureSolver(Protocol):
    """Finds the shares under which the items of a sample are likeliest."""

    def solve(
        self, ratios: Floats, samples: Samples, prior: Floats, weights: Floats | None = None
    ) -> Solution:
        """Shares for each sample."""


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
    prior: Floats = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods."""
        return replace(self, likelihood=self.likelihood.fit(training), prior=training.prior)

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares of the classes in samples of the training items.

        Where these have most items many times, each is used once, with its number.
        """
        ratios = np.ascontiguousarray(training_ratios(self.likelihood, training))
        if not _repeats_pay(samples, ratios.shape[1]):
            return self.solver.solve(ratios, samples, self.prior)
        distinct, counts = _distinct(samples)
        return self.solver.solve(ratios, distinct, self.prior, counts)

    def reduction(self) -> tuple[Reduction, ...]:
        """Cells of the posteriors, or of the likelihoods if these are not smooth."""
        before = None if self.likelihood.smooth else self.likelihood
        return (CellsOf(len(self.prior), before),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        """Shares of the classes in samples given by cells."""
        (cells,) = reduced
        assert isinstance(cells, WeightedRows)
        rows = self.likelihood.ratios(cells.rows) if self.likelihood.smooth else cells.rows
        ratios = np.ascontiguousarray(rows)
        if cells.weights is None:
            return self.solver.solve(ratios, cells.samples, self.prior)
        return self.solver.solve(ratios, cells.samples, self.prior, cells.weights)


# Samples by which repeated items are judged, and the cost of looking an item of the pool up,
# relative to that of an item and class of a sample in all steps of a solver.
_FEW_SAMPLES, _COST_OF_COUNTING = 16, 2


@dataclass(frozen=True, eq=False)
class NoiseStoppedMixture(Mixture):
    """Mixture whose solver stops the sooner, the smaller the training set is.

    It lowers absolute errors, and shares do not reach zero. Relative errors are large where
    absent classes have a share, so the answer for them is nearer to the maximum.
    """

    solver: ExpectationMaximisation

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods and the size of the training set."""
        solver = replace(self.solver, n_training=training.effective_size)
        return replace(super().fit(training), solver=solver)

    def for_metric(self, metric: str) -> Model:
        """For "rae" the mixture with the solver that goes on towards the maximum."""
        if metric != "rae":
            return self
        return Mixture(self.likelihood, TowardsMaximum(self.solver), self.prior)


def _repeats_pay(samples: Samples, n_classes: int) -> bool:
    """True if it takes less time to count the items of samples than to use all of them."""
    few = samples[:_FEW_SAMPLES]
    saved = few.indices.size - _distinct(few)[0].indices.size
    return bool(saved * n_classes > _COST_OF_COUNTING * len(few) * few.n_pool)


def _distinct(samples: Samples) -> tuple[Samples, Floats]:
    """Samples with each of their items once, and the number of times that it was there."""
    most = int(np.minimum(samples.sizes, samples.n_pool).sum()) + 1
    items, counts = np.empty(most, samples.indices.dtype), np.empty(most)
    ends, counted = np.zeros(len(samples) + 1, np.int64), np.zeros(samples.n_pool, np.int32)
    count_items(samples.indices, samples.offsets, counted, items, counts, ends)
    n = ends[-1]
    distinct = Samples.unchecked(items[:n], ends, samples.n_pool, copies=samples.copies)
    return distinct, counts[:n]
