"""The posterior of the shares, given counts of predicted classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.representation import PredictedClass
from headcount.uncertainty.replicates import Problem, Target
from headcount.uncertainty.rules import Bounds, Percentile

__all__ = ["CountPosterior", "posterior_rule"]

_CHAINS = 100
_WARM_UP = 100
_KEPT = 25
_THIN = 5


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """Posterior of the shares in a sample whose items were predicted to be of classes.

    Shares are uniform on the simplex beforehand, and the rates at which items of a class are
    called each class have Jeffreys' prior. A Gibbs sampler draws in turn which predictions
    were right, the rates, and the shares, in many chains at once that start from the
    estimate.

    Attributes
    ----------
    table : ndarray of shape (K, K)
        Training items, by true (rows) and predicted (columns) class.
    counts : ndarray of int64, shape (K,)
        Items of the sample, by predicted class.
    start : ndarray of shape (K,)
        Shares to start from.
    realised : bool
        Whether the shares among these items are wanted, or those they were drawn from.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[90, 10], [20, 80]])
    >>> posterior = CountPosterior(table, np.array([55, 45]), np.array([0.5, 0.5]), True, 0)
    >>> posterior.draws().mean(axis=0).round(1)
    array([0.5, 0.5])
    """

    table: NDArray[np.float64]
    counts: NDArray[np.int64]
    start: NDArray[np.float64]
    realised: bool
    seed: int

    def draws(self) -> NDArray[np.float64]:
        """Draws of the shares, one row each."""
        rng = np.random.default_rng(self.seed)
        K = len(self.counts)
        shares = np.tile((self.start + 0.01) / (1 + 0.01 * K), (_CHAINS, 1))
        known = self.table + 0.5
        rates = np.tile(known / known.sum(axis=1, keepdims=True), (_CHAINS, 1, 1))
        kept = []
        for step in range(_WARM_UP + _KEPT * _THIN):
            joint = shares[:, :, None] * rates
            joint /= joint.sum(axis=1, keepdims=True)
            guessed = rng.multinomial(self.counts, joint.swapaxes(1, 2)).swapaxes(1, 2)
            of_class = guessed.sum(axis=2)
            shares = _dirichlet(of_class + 1.0, rng)
            rates = _dirichlet(known + guessed, rng)
            if step >= _WARM_UP and step % _THIN == 0:
                kept.append(of_class / self.counts.sum() if self.realised else shares)
        return np.concatenate(kept)

    def bounds(self, level: float) -> Bounds:
        """Lower and upper ends, one a class: equal tails of the posterior."""
        return Percentile(self.draws()).bounds(level)


def _dirichlet(
    parameters: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    drawn = np.maximum(rng.standard_gamma(parameters), 1e-300)
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def posterior_rule(
    problem: Problem, number: int, target: Target, seed: int
) -> CountPosterior | None:
    """The rule for one sample; None if the method does not count predicted classes."""
    model, training = problem.model, problem.training
    if not isinstance(getattr(model, "representation", None), PredictedClass):
        return None
    if training is None or training.items is None:
        return None
    K = training.n_classes
    codes = np.asarray(training.items, np.int64)
    table = np.bincount(training.codes * K + codes, training.weights, K * K).reshape(K, K)
    seen = np.asarray(problem.items)[problem.samples[number]]
    counts = np.bincount(seen.astype(np.int64), minlength=K)
    shares = problem.shares[number]
    return CountPosterior(table.astype(np.float64), counts, shares, target == "realised", seed)
