"""What a biased method must have been shown to say what it said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headcount.uncertainty.drawing import onto_simplex
from headcount.uncertainty.replicates import Problem, Target, beside_own_sets, replicate

__all__ = ["inverted"]

Floats = NDArray[np.float64]

# Rounds in which the composition is corrected by what the method still is off, and the
# replicates of each.
_ROUNDS, _OF_EACH = 4, 100
# Compositions are tried so many standard deviations of the replicates around the one found,
# and at least so far.
_REACH, _LEAST_REACH = 2.0, 0.02
# Where the answer moves by less than this part of what the composition moves by, it does not
# tell compositions apart: errors are not blown up further.
_LEAST_SLOPE = 0.3


def inverted(
    problem: Problem,
    target: Target,
    n: int,
    n_training: int,
    drawn: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Draws of the shares that would explain each estimate, as an array of shape (S, n, K).

    Samples are made to order from training items. First the composition is sought at which
    the method gives, on average, the estimate: with a biased method that is another one than
    the estimate. Compositions around it, as far as the replicates `drawn` (S, n, K) reach, then
    tell how its answers move with the truth, and by how much they scatter at a given truth; the
    scatter, carried back to compositions, is the error. Draws sum to 1, but may leave the
    simplex: they are errors about a centre.
    """
    found = _composition(problem, int(rng.integers(2**32)))
    reach = np.maximum(_REACH * drawn.std(axis=1), _LEAST_REACH)[:, None, :]
    S, K = found.shape
    tried = onto_simplex(found[:, None, :] + reach * rng.normal(size=(S, n, K)))
    answers = beside_own_sets(problem, tried, found, n_training, rng)
    draws = np.stack([found[i] + _errors(tried[i], answers[i]) for i in range(S)])
    if target == "expected":
        sizes = problem.samples.sizes
        for i, size in enumerate(sizes):
            labels = rng.multinomial(size, found[i] / found[i].sum(), size=n) / size
            draws[i] += labels - found[i]
    return draws


def _composition(problem: Problem, seed: int) -> Floats:
    """Where the mean of the replicates is the estimate, as near as may be."""
    at = problem.shares
    for _ in range(_ROUNDS):
        # The same draws in every round, so that these do not chase their own noise.
        same = np.random.default_rng(seed)
        answers = replicate(replace(problem, shares=at), "realised", _OF_EACH, 0, same)
        at = onto_simplex(at + problem.shares - answers.mean(axis=1))
    return at


def _errors(tried: Floats, answers: Floats) -> Floats:
    """The scatter of answers about their regression on compositions, in compositions."""
    K = tried.shape[1]
    basis = np.linalg.svd(np.ones((1, K)))[2][1:].T
    moved, said = ((part - part.mean(axis=0)) @ basis for part in (tried, answers))
    slopes = np.linalg.lstsq(moved, said, rcond=None)[0]
    left, sizes, right = np.linalg.svd(slopes)
    back = right.T @ np.diag(1 / np.maximum(sizes, _LEAST_SLOPE)) @ left.T
    return np.asarray((said - moved @ slopes) @ back @ basis.T)
