"""Shares of the classes given the answer of a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.conditioning import Conditional
from headcount.uncertainty.prior import Prior
from headcount.uncertainty.simulation import simulate, simulated_size, size_factor

__all__ = ["ShareConditioning", "SharePosterior"]

Floats = NDArray[np.float64]

# Draws with equal weights that an estimate has.
_N_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class SharePosterior:
    """Distribution of the shares of a sample.

    Attributes
    ----------
    weighted : ndarray of shape (k, K)
        Draws of the realised shares.
    weights : ndarray of shape (k,)
        Weights of these draws; they sum to 1.
    """

    weighted: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """Mean shares."""
        mean = self.weights @ self.weighted
        # No share above 1 by rounding.
        return np.asarray(mean / mean.sum())

    @property
    def draws(self) -> Floats:
        """Draws with equal weights, (1000, K)."""
        edges = np.cumsum(self.weights)
        places = (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS * edges[-1]
        return self.weighted[np.searchsorted(edges, places)]


@dataclass(frozen=True, eq=False)
class ShareConditioning:
    """Conditions on the answers of a method; simulations are shared by samples of one size.

    Attributes
    ----------
    training : Training
        Labelled items that samples are simulated from.
    counts : ndarray of shape (K,)
        Number of training items that the items of each class stand for.
    answer : callable
        Answers (S, D) of the method to samples of the training items.
    prior : Prior
        Distribution of the shares.
    replicates : int
        Number of simulated samples for each size.
    seed : int
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.repeat([0, 1], 500)
    >>> predicted = np.where(np.arange(1000) % 5 == 0, 1 - codes, codes)  # one in five is wrong
    >>> training = Training(None, codes, 2)
    >>> def count(samples):
    ...     return samples.prevalence_of(predicted, 2)
    >>> conditioning = ShareConditioning(
    ...     training, np.array([500, 500]), count, Prior(), 4000, seed=0
    ... )
    >>> conditioning.posterior(np.array([0.38, 0.62]), 10_000).mean.round(2)  # .2 + .6 p
    array([0.3, 0.7])
    """

    training: Training
    counts: NDArray[np.int64]
    answer: Callable[[Samples], Floats]
    prior: Prior
    replicates: int
    seed: int
    _by_size: dict[int, Conditional] = field(default_factory=dict, repr=False)

    def posterior(self, answer: Floats, size: int) -> SharePosterior:
        """Distribution of the realised shares of a sample of `size` items, given its answer."""
        draws, weights = self._conditional(size).given(answer)
        mean = _on_simplex((weights @ draws)[None])[0]
        draws = mean + size_factor(self.counts, mean, size) * (draws - weights @ draws)
        return SharePosterior(_on_simplex(draws), weights)

    def means(self, answers: Floats, sizes: NDArray[np.int64]) -> Floats:
        """Mean shares of many samples, one row per sample."""
        found = np.empty((len(answers), self.training.n_classes))
        for number, (answer, size) in enumerate(zip(answers, sizes.tolist(), strict=True)):
            found[number] = self.posterior(answer, size).mean
        return found

    def _conditional(self, size: int) -> Conditional:
        size = simulated_size(size)
        if size not in self._by_size:
            made = simulate(
                self.training, size, self.replicates, self.prior, self.seed, self.counts
            )
            self._by_size[size] = Conditional(self.answer(made.samples), made.shares)
        return self._by_size[size]


def _on_simplex(points: Floats) -> Floats:
    """Shares next to points whose coordinates sum to 1, without negative coordinates."""
    positive = np.maximum(points, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
