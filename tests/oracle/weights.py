"""Weights of classes from the table of true and predicted classes, by looking for the best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.oracle.quantifiers import least_on_simplex, one_hot_predictions, priors

Array = NDArray[np.float64]


def penalty(train: Array, codes: NDArray[np.int64], n_sample: int, *, soft: bool) -> float:
    """Variance of the noise in the mean prediction of a sample, averaged over columns."""
    predicted = train if soft else one_hot_predictions(train)
    K = train.shape[1]
    within = sum(
        np.mean(codes == j) * predicted[codes == j].var(axis=0) for j in range(K)
    ).mean()
    return float(within * (1 / len(codes) + 1 / n_sample))


def rlls(
    train: Array,
    codes: NDArray[np.int64],
    sample: Array,
    *,
    soft: bool = True,
    alpha: float = 0.3,
) -> Array:
    predicted = train if soft else one_hot_predictions(train)
    K = train.shape[1]
    # Entry (i, j): share of training items called i that are j.
    joint = np.array(
        [[np.mean(predicted[:, i] * (codes == j)) for j in range(K)] for i in range(K)]
    )
    seen = (sample if soft else one_hot_predictions(sample)).mean(axis=0)
    d = alpha * penalty(train, codes, len(sample), soft=soft)
    prior = priors(codes, K)

    def cost(p: Array) -> float:
        w = p / prior
        away = K * (prior * (w - 1) ** 2).sum()
        return float(((joint @ w - seen) ** 2).sum() + d * away)

    return least_on_simplex(cost, K)
