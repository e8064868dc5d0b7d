"""The distribution of what is unknown, given an answer: regression among simulations.

A method maps a sample to an answer. Simulated samples, of which the truth is known, show
which truths lead to answers like the one that was observed (approximate Bayesian computation
with local linear regression adjustment: Beaumont, Zhang & Balding, Genetics 162, 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training
from headcount.uncertainty.prior import Prior
from headcount.uncertainty.simulation import Simulated, simulate, simulated_size

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
    """Distribution of what is unknown about a sample.

    Attributes
    ----------
    weighted : ndarray of shape (k, T)
        Draws, one row per draw.
    weights : ndarray of shape (k,)
        Weights of the draws; they sum to 1.
    """

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

    Attributes
    ----------
    answers : ndarray of shape (B, D)
        Answers of a method, or of several methods in a row.
    truths : ndarray of shape (B, T)
        Unknowns of the samples: shares, or an accuracy.

    Examples
    --------
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
        """Draws of the truth given an answer, and their weights.

        Parameters
        ----------
        answer : ndarray of shape (D,)
            The observed answer.

        Returns
        -------
        draws : ndarray of shape (k, T)
            Truths of the simulations with the nearest answers, moved along the local
            regression line to the observed one.
        weights : ndarray of shape (k,)
            Weights of the draws; they sum to 1.
        """
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

    Attributes
    ----------
    training : Training
        Labelled items that samples are simulated from; only their classes and weights are
        used.
    outcomes : callable
        Returns the answers and truths of simulated samples as a `Conditional`.
    prior : Prior
        Distribution of the shares.
    replicates : int
        Number of simulated samples for each size.
    seed : int
        Random seed.
    class_sizes : ndarray of shape (K,) or None
        Number of items that each class stands for; ``training.class_sizes`` by default.
    foreign : float
        Number of items of any class that each simulated class has on average.

    Examples
    --------
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
        """Draws of the truth of a sample given its answer, and their weights.

        Parameters
        ----------
        answer : ndarray of shape (D,)
            Answer of the method.
        size : int
            Number of items in the sample. Samples of similar size share their simulations.

        Returns
        -------
        draws : ndarray of shape (k, T)
        weights : ndarray of shape (k,)
            As for `Conditional.given`.
        """
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
