"""Shares of the classes given the answer of a method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution
from headcount.uncertainty.conditioning import Conditional, Conditioning, Posterior
from headcount.uncertainty.prior import Prior
from headcount.uncertainty.simulation import Simulated, size_factor
from headcount.uncertainty.smoothing import smooth

Floats = NDArray[np.float64]

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

    Attributes
    ----------
    model : Answering
        The method.
    training : Training
        Labelled items that samples are simulated from.
    posteriors_given : bool or list
        Whether the items are posteriors, which are simulated with noise: see `smooth`.
    prior : Prior
        Distribution of the shares.
    replicates : int
        Number of simulated samples for each size.
    seed : int
        Random seed.

    Examples
    --------
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
