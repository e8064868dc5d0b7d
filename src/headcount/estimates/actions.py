"""Shares with the least expected error under draws of a distribution: Bayes actions."""

from __future__ import annotations

import numpy as np

from headcount._kernels.draws import quantiles_with_sum
from headcount._support.arrays import Bools, Floats

ACTIONS = ("mean", "ae", "rae")


def action(
    metric: str, draws: Floats, weights: Floats, n_items: int, absent: Bools | None = None
) -> Floats:
    """Shares on the simplex with the least expected error.

    ``"mean"`` minimises the squared error. The absolute error (``"ae"``) is least at the
    medians of the classes, moved to the same other quantile until they sum to 1. For the
    relative absolute error (``"rae"``), smoothed by 1 / (2 n), the draws of a class are
    weighted by 1 / (share + 1 / (2 n)), and by how likely it is that the class is absent at
    all: see `absence`. `absent` holds the classes that were absent where the draws come from.

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
        least = 0.5 / n_items
        if absent is not None:
            masses = _with_absences(masses, draws < least, absent)
        masses = masses / (draws + least)
    columns = np.ascontiguousarray(draws.T)
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    masses = np.take_along_axis(masses.T, order, axis=1)
    ends = np.cumsum(masses, axis=1)
    shares = np.empty(len(values))
    # A draw stands for the middle of its mass, so that quantiles are continuous.
    quantiles_with_sum(values, ends - masses / 2, ends[:, -1].copy(), 1.0, shares)
    return np.asarray(shares / shares.sum())


# Absent classes. The error of a draw comes from a simulation that may lack classes which the
# sample has, so draws lack a class more often than they should if the other classes are there.
# It hardly matters for absolute errors. Relative ones are least at 0 if a class of 1% is
# absent from one draw in twenty.

# Of the simulations, the part that is near enough to an answer.
NEAR = 0.1
# A probability is at least this far from 0 and 1.
_LEAST_ABSENCE = 1e-15
# A ratio of probabilities is at least this far from 0 and from infinity.
_LEAST_PROBABILITY = 1e-200


def _with_absences(masses: Floats, zero: Bools, absent: Bools) -> Floats:
    """Masses of draws, of which those with a share of zero change by the odds of `absence`."""
    weights = masses[:, 0]
    alone = _sure_of_nothing(weights @ zero, weights)
    together = absence(alone, absent, weights)
    odds = together / (1 - together) * (1 - alone) / alone
    changed = masses * np.where(zero, odds, 1.0)
    return np.asarray(changed / changed.sum(axis=0))


def _sure_of_nothing(probabilities: Floats, weights: Floats) -> Floats:
    """Weighted means of draws, with half a draw of either kind more (Jeffreys' prior)."""
    n = 1 / (weights**2).sum()
    return np.asarray((n * probabilities + 0.5) / (n + 1))


def absence(alone: Floats, absent: Bools, weights: Floats) -> Floats:
    """Probability that each class is absent, given what is known of each class alone.

    Classes are absent together: in similar simulations, with `weights`, their number differs
    more than it would if each were absent by itself. The probability of any set of absent
    classes is its probability by `alone`, times the ratio of the probabilities of their
    number there and by itself. The ratio counts the less, the fewer classes there are: similar
    simulations of few classes are similar in each of them, and draws tell already which are
    absent together. Its exponent is the range of a class in similar simulations, relative to
    that in all.

    >>> import numpy as np
    >>> absent = np.repeat([[True, True, False], [False, False, False]], 50, axis=0)
    >>> absence(np.array([0.999, 0.2, 0.01]), absent, np.full(100, 0.01)).round(2)
    array([1.  , 0.56, 0.02])
    """
    K = len(alone)
    n = 1 / (weights**2).sum()
    numbers = np.bincount(absent.sum(axis=1), weights, K + 1)
    by_itself = _probabilities_of_numbers(_sure_of_nothing(weights @ absent, weights))
    # As if there were one simulation more in which each is absent by itself.
    ratios = (n * numbers / np.maximum(by_itself, _LEAST_PROBABILITY) + 1) / (n + 1)
    ratios **= NEAR ** (1 / max(K - 1, 1))
    # Not all are absent.
    ratios[K] = 0.0
    others = np.tile(alone, (K, 1))
    np.fill_diagonal(others, 0.0)
    of_others = _probabilities_of_numbers(others)
    if_absent = alone * (of_others[:, :-1] @ ratios[1:])
    if_present = (1 - alone) * (of_others @ ratios)
    sums = np.maximum(if_absent + if_present, _LEAST_PROBABILITY)
    return np.asarray(np.clip(if_absent / sums, _LEAST_ABSENCE, 1 - _LEAST_ABSENCE))


def _probabilities_of_numbers(probabilities: Floats) -> Floats:
    """Probabilities of 0 to K of K independent events, along the last axis."""
    *rows, K = probabilities.shape
    numbers = np.zeros((*rows, K + 1))
    numbers[..., 0] = 1.0
    for k in range(K):
        happens = probabilities[..., k, None]
        more = numbers[..., :-1] * happens
        numbers *= 1 - happens
        numbers[..., 1:] += more
    return numbers
