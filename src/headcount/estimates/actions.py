"""Shares with the least expected error under draws of a distribution: Bayes actions."""

from __future__ import annotations

import numpy as np

from headcount._kernels.quantiles import quantiles_with_sum
from headcount._support.arrays import Floats

ACTIONS = ("mean", "ae", "rae")


def action(metric: str, draws: Floats, weights: Floats, n_items: int) -> Floats:
    """Shares on the simplex with the least expected error.

    ``"mean"`` minimises the squared error. The absolute error (``"ae"``) is least at the
    medians of the classes, moved to the same other quantile until they sum to 1. For the
    relative absolute error (``"rae"``), smoothed by 1 / (2 n), the draws of a class are
    weighted by 1 / (share + 1 / (2 n)).

    >>> import numpy as np
    >>> draws = np.array([[0.0, 1.0], [0.0, 1.0], [0.6, 0.4]])
    >>> equal = np.full(3, 1 / 3)
    >>> action("ae", draws, equal, 100).round(2), action("mean", draws, equal, 100).round(2)
    (array([0., 1.]), array([0.2, 0.8]))
    """
    if metric == "mean":
        mean = weights @ draws
        return np.asarray(mean / mean.sum())
    masses = np.broadcast_to(weights[:, None], draws.shape)
    if metric == "rae":
        masses = masses / (draws + 0.5 / n_items)
    columns = np.ascontiguousarray(draws.T)
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    masses = np.take_along_axis(masses.T, order, axis=1)
    ends = np.cumsum(masses, axis=1)
    shares = np.empty(len(values))
    # A draw stands for the middle of its mass, so that quantiles are continuous.
    quantiles_with_sum(values, ends - masses / 2, ends[:, -1].copy(), 1.0, shares)
    return np.asarray(shares / shares.sum())
