"""Standard errors of methods that solve linear equations, by the delta method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import take_rows
from headcount.representation import Binned, Dense, Training
from headcount.solve import AdjustedCount, LeastSquares
from headcount.uncertainty.replicates import Problem, Target
from headcount.uncertainty.rules import Normal

__all__ = ["delta_rule"]

# Width above which the covariances are no longer worth their memory.
_WIDEST = 200


def delta_rule(problem: Problem, number: int, target: Target) -> Normal | None:
    """The rule for one sample of a problem; None if the method is no linear one.

    With q the mean of a sample, M the means of the classes and p the estimate, an error e
    in q - M'p moves p by A e, where A solves the least squares on shares that sum to 1. The
    covariance of e is that of q, given the classes of the items or not, and of M'p.
    """
    model, training = problem.model, problem.training
    if not _is_linear(model) or training is None or training.items is None:
        return None
    learnt = _vectors(model.representation.embed(training.items))
    if learnt is None:
        return None
    K, shares, n = training.n_classes, problem.shares[number], problem.samples.sizes[number]
    within, sizes = _class_covariances(learnt, training)
    if target == "realised":
        of_sample = np.einsum("j,jab->ab", shares, within) / n
    else:
        drawn = take_rows(problem.items, problem.samples[number])
        seen = _vectors(model.representation.embed(drawn))
        assert seen is not None
        of_sample = np.cov(seen.T, bias=True) / n
    of_training = np.einsum("j,jab->ab", shares**2 / np.maximum(sizes - 1, 1), within)
    # Directions in which the shares can move: those that leave their sum alone.
    basis = np.linalg.svd(np.ones((1, K)))[2][1:].T
    moves = basis @ np.linalg.pinv(model.profiles.T @ basis)
    covariance = moves @ (of_sample + of_training) @ moves.T
    return Normal(shares, np.sqrt(np.maximum(np.diag(covariance), 0)))


def _is_linear(model: Any) -> bool:
    solver = getattr(model, "solver", None)
    plain = isinstance(solver, LeastSquares) and not solver.smoothness
    return isinstance(solver, AdjustedCount) or plain


def _vectors(embedding: Any) -> NDArray[np.float64] | None:
    """Items as vectors, one row each; None if they are too wide."""
    if embedding.width > _WIDEST:
        return None
    if isinstance(embedding, Dense):
        return embedding.values
    if not isinstance(embedding, Binned) or embedding.cumulative:
        return None
    vectors = np.zeros((len(embedding.codes), embedding.n_bins))
    np.put_along_axis(vectors, embedding.codes.astype(np.int64), 1.0, axis=1)
    return vectors


def _class_covariances(
    vectors: NDArray[np.float64], training: Training
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Covariance of the items of each class, and how many items its mean is worth."""
    covariances, sizes = [], []
    for j in range(training.n_classes):
        rows = training.codes == j
        weights = training.class_weights[rows]
        away = vectors[rows] - weights @ vectors[rows]
        covariances.append((away * weights[:, None]).T @ away)
        sizes.append(1 / (weights @ weights))
    return np.stack(covariances), np.array(sizes)
