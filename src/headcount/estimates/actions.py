"""Shares with the least expected error under draws of a distribution: Bayes actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ACTIONS = ("mean", "ae", "rae")
_HALVINGS = 60


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
    order = np.argsort(draws, axis=0, kind="stable")
    values = np.take_along_axis(draws, order, axis=0)
    masses = np.take_along_axis(masses, order, axis=0)
    ends = np.cumsum(masses, axis=0)
    # A draw stands for the middle of its mass, so that quantiles are continuous.
    middles, totals = (ends - masses / 2).T.copy(), ends[-1]
    columns = values.T.copy()

    def quantiles(moved: float) -> Floats:
        wanted = (totals + moved) / 2
        return np.array(
            [
                np.interp(mass, middle, column)
                for mass, middle, column in zip(wanted, middles, columns, strict=True)
            ]
        )

    low, high = -float(totals.max()), float(totals.max())
    for _ in range(_HALVINGS):
        centre = (low + high) / 2
        if quantiles(centre).sum() < 1:
            low = centre
        else:
            high = centre
    shares = quantiles(high)
    return np.asarray(shares / shares.sum())
