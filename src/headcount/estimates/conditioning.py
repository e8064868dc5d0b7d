"""The distribution of what is unknown, given an answer: regression among simulations.

A method maps a sample to an answer. Simulated samples, of which the truth is known, show
which truths lead to answers like the one that was observed (approximate Bayesian computation
with local linear regression adjustment: Beaumont, Zhang & Balding, Genetics 162, 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.estimates.simulation import (
    Prior,
    Simulated,
    simulate,
    simulated_size,
    size_factor,
    smooth,
)
from headcount.parts.quadratic import Solution
from headcount.parts.training import Training
from headcount.samples.samples import Samples

Floats = NDArray[np.float64]

# Of the simulations, the part that is near enough to an answer.
_NEAR = 0.1
# Added to the variance of the answers: relative to its mean over the dimensions of the
# answer, for all simulations and for near ones; and absolute, as differences of 1e-6 between
# answers mean nothing.
_RIDGE, _LOCAL_RIDGE, _LEAST_VARIANCE = 1e-6, 1e-3, 1e-12

# Draws with equal weights that an estimate has.
_N_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Posterior:
    """Distribution of what is unknown about a sample."""

    weighted: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """Mean of the draws."""
        return np.asarray(self.weights @ self.weighted)

    @property
    def draws(self) -> Floats:
        """Draws with equal weights, (1000, T)."""
        edges = np.cumsum(self.weights)
        places = (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS * edges[-1]
        return self.weighted.take(np.searchsorted(edges, places), axis=0)


@dataclass(frozen=True, eq=False)
class Conditional:
    """Pairs of answers and truths of simulated samples.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truths = rng.random((4000, 1))
    >>> answers = 0.3 + 0.5 * truths + rng.normal(scale=0.01, size=(4000, 1))
    >>> draws, weights = Conditional(answers, truths).given(np.array([0.6]))
    >>> float((weights @ draws)[0].round(2))
    0.6
    """

    answers: Floats
    truths: Floats

    @cached_property
    def _fitted(self) -> tuple[Floats, Floats, Floats]:
        """Centre of the answers, slopes of truth on answer, and the fitted truths, (T, B)."""
        centre = self.answers.mean(axis=0)
        away = self.answers - centre
        slopes = _slopes(away, self.truths - self.truths.mean(axis=0), None, _RIDGE)
        # One row per unknown: numpy is slow along short rows.
        return centre, slopes, np.ascontiguousarray((away @ slopes).T)

    def given(self, answer: Floats) -> tuple[Floats, Floats]:
        """Draws of the truth given an answer, and their weights."""
        centre, slopes, fitted = self._fitted
        gaps = ((fitted - ((answer - centre) @ slopes)[:, None]) ** 2).sum(axis=0)
        near = min(int(_NEAR * len(gaps)), len(gaps) - 1)
        reach = np.partition(gaps, near)[near]
        # All simulations with the same gap, so that the order of the simulations is irrelevant.
        nearest = np.flatnonzero(gaps <= reach)
        weights = np.ones(len(nearest))
        if reach > 0:
            weights = np.maximum(1 - gaps[nearest] / reach, 1e-9)
        weights /= weights.sum()
        answers, truths = self.answers.take(nearest, axis=0), self.truths.take(nearest, axis=0)
        mean_answer, mean_truth = weights @ answers, weights @ truths
        away = answers - mean_answer
        local = _slopes(away, truths - mean_truth, weights, _LOCAL_RIDGE)
        residuals = truths - mean_truth - away @ local
        residuals *= _without_fit(weights, answers.shape[1])
        return np.asarray(mean_truth + (answer - mean_answer) @ local + residuals), weights


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Truths of samples given the answers of a method: samples are simulated once per size.

    >>> import numpy as np
    >>> codes = np.repeat([0, 1], 500)
    >>> def outcomes(made):
    ...     return Conditional(0.2 + 0.6 * made.shares, made.shares)
    >>> conditioning = Conditioning(Training(None, codes, 2), outcomes, Prior(), 4000, seed=0)
    >>> draws, weights = conditioning.given(np.array([0.38, 0.62]), size=1000)
    >>> (weights @ draws).round(2)
    array([0.3, 0.7])
    """

    training: Training
    outcomes: Callable[[Simulated], Conditional]
    prior: Prior
    replicates: int
    seed: int
    class_sizes: NDArray[np.int64] | None = None
    foreign: float = 0.0
    _by_size: dict[int, Conditional] = field(default_factory=dict, init=False, repr=False)

    def given(self, answer: Floats, size: int) -> tuple[Floats, Floats]:
        """Draws of the truth of a sample given its answer, and their weights."""
        simulated = simulated_size(size)
        if simulated not in self._by_size:
            samples = simulate(
                self.training,
                simulated,
                self.replicates,
                self.prior,
                self.seed,
                self.class_sizes,
                self.foreign,
            )
            self._by_size[simulated] = self.outcomes(samples)
        return self._by_size[simulated].given(answer)


def _slopes(away: Floats, moved: Floats, weights: Floats | None, ridge: float) -> Floats:
    """Slopes of a ridge regression of centred columns `moved` on centred columns `away`."""
    weighted = away / len(away) if weights is None else away * weights[:, None]
    variance = weighted.T @ away
    width = len(variance)
    variance[np.diag_indices(width)] += ridge * np.trace(variance) / width + _LEAST_VARIANCE
    return np.asarray(np.linalg.solve(variance, weighted.T @ moved), dtype=np.float64)


def _without_fit(weights: Floats, n_slopes: int) -> float:
    """Factor that undoes the shrinking of residuals by the fit of their regression line."""
    effective = 1 / (weights**2).sum()
    return float(np.sqrt(effective / max(effective - n_slopes, effective / 4)))


# Items like those of any class that a simulated class has on average: a kind of item that was
# not seen among the training items of a class may still be there (half an item, as in
# Jeffreys' prior). It matters where a classifier errs on no training item.
_FOREIGN = 0.5
# Draws, times classes, that the posteriors of several samples keep: 256 MB.
_MOST_KEPT = 2**25


class SharePosterior(Posterior):
    """Distribution of the shares of a sample."""

    @property
    def mean(self) -> Floats:
        """Mean shares."""
        mean = super().mean
        # No share above 1 by rounding.
        return np.asarray(mean / mean.sum())


class RepeatedPosterior:
    """Distribution of the shares of a sample that is computed again whenever it is used.

    For so many samples that the draws of all would not fit into memory. Only the mean is kept
    after `release`. It is read as a `SharePosterior` is.
    """

    def __init__(self, make: Callable[[], SharePosterior]) -> None:
        self._make = make
        self._posterior: SharePosterior | None = make()
        self.mean = self._posterior.mean

    def release(self) -> None:
        """Forget the draws, until they are used again."""
        self._posterior = None

    @property
    def draws(self) -> Floats:
        """Draws with equal weights, (1000, K)."""
        return self._current().draws

    @property
    def weighted(self) -> Floats:
        """Draws, one row per draw."""
        return self._current().weighted

    @property
    def weights(self) -> Floats:
        """Weights of the draws; they sum to 1."""
        return self._current().weights

    def _current(self) -> SharePosterior:
        return self._make() if self._posterior is None else self._posterior


class Answering(Protocol):
    """A fitted method."""

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Answers to samples of the training items."""


@dataclass(frozen=True, eq=False)
class ShareConditioning:
    """Distribution of the shares of samples given the answers of a method.

    >>> import numpy as np
    >>> class Counts:
    ...     def solve_training(self, training, samples):
    ...         return Solution.closed_form(samples.prevalence_of(training.items, 2))
    >>> codes = np.repeat([0, 1], 500)
    >>> predicted = np.where(np.arange(1000) % 5 == 0, 1 - codes, codes)  # one in five is wrong
    >>> training = Training(predicted, codes, 2)
    >>> conditioning = ShareConditioning(Counts(), training, False, Prior(), 4000, seed=0)
    >>> answers, sizes = np.array([[0.38, 0.62]]), np.array([10_000])
    >>> conditioning.means(answers, sizes).round(2)  # answers are .2 + .6 x shares
    array([[0.3, 0.7]])
    """

    model: Answering
    training: Training
    posteriors_given: Any
    prior: Prior
    replicates: int
    seed: int

    def posteriors(
        self, answers: Floats, sizes: NDArray[np.int64]
    ) -> Sequence[SharePosterior | RepeatedPosterior]:
        """Distribution of the realised shares of each sample, given answers of shape (S, D)."""
        draws_of_each = self.replicates * self.training.n_classes / 10
        if len(answers) * draws_of_each <= _MOST_KEPT:
            return [make() for make in self._makers(answers, sizes)]
        released = []
        for posterior in self.repeated(answers, sizes):
            posterior.release()
            released.append(posterior)
        return released

    def repeated(
        self, answers: Floats, sizes: NDArray[np.int64]
    ) -> Iterator[RepeatedPosterior]:
        """Distributions that can be released, as `posteriors` returns for many samples."""
        return (RepeatedPosterior(make) for make in self._makers(answers, sizes))

    def _makers(
        self, answers: Floats, sizes: NDArray[np.int64]
    ) -> Iterator[Callable[[], SharePosterior]]:
        pairs = zip(answers, sizes.tolist(), strict=True)
        return (partial(self._posterior, answer, size) for answer, size in pairs)

    def _posterior(self, answer: Floats, size: int) -> SharePosterior:
        draws, weights = self._conditioning.given(answer, size)
        centre = weights @ draws
        mean = _on_simplex(centre[None])[0]
        factor = size_factor(self.training.class_sizes, mean, size)
        return SharePosterior(_on_simplex(mean + factor * (draws - centre)), weights)

    def means(self, answers: Floats, sizes: NDArray[np.int64]) -> Floats:
        """Mean shares of each sample, one row per sample."""
        pairs = zip(answers, sizes.tolist(), strict=True)
        return np.stack([self._posterior(answer, size).mean for answer, size in pairs])

    def same_as(self, other: ShareConditioning) -> bool:
        """True if the simulations of both are the same; their priors are not compared."""
        return (
            self.model is other.model
            and self.training is other.training
            and (self.replicates, self.seed) == (other.replicates, other.seed)
        )

    def __getstate__(self) -> dict[str, Any]:
        # Files of models do not hold the simulations.
        return {name: value for name, value in vars(self).items() if name != "_conditioning"}

    @cached_property
    def _conditioning(self) -> Conditioning:
        items = self.training
        if self.posteriors_given:
            items = smooth(items, self.seed, self.posteriors_given)

        def outcomes(made: Simulated) -> Conditional:
            answers = self.model.solve_training(items, made.samples).prevalence
            return Conditional(answers, made.shares)

        return Conditioning(
            items,
            outcomes,
            self.prior,
            self.replicates,
            self.seed,
            self.training.class_sizes,
            _FOREIGN,
        )


def _on_simplex(points: Floats) -> Floats:
    """Shares next to points whose coordinates sum to 1, without negative coordinates."""
    positive = np.maximum(points, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
