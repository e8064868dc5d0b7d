"""Errors that take the order of the classes into account."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount.metrics.checks import Errors, check_pair, check_shares, errors
from headcount.metrics.nominal import ae

_EDGE_TOLERANCE = 1e-9


@documented(ae)
def nmd(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Normalised match distance: mass times distance to be moved along ordered classes.

    The distances are from 0 to 1, where 1 is from one end of the order to the other.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nmd([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    0.5
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(_ahead(p, p_hat)).mean(axis=-1))


@documented(ae)
def md(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Match distance: mass times distance to be moved along ordered classes.

    The distances are from 0 to ``K - 1``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.md([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    2.0
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(_ahead(p, p_hat)).sum(axis=-1))


@documented(ae)
def cvm(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Cramér-von Mises distance: mean squared difference of the cumulative shares.

    The mean is over the ``K - 1`` cuts between classes. The distances are from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.cvm([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    0.5
    """
    p, p_hat = check_pair(p, p_hat)
    return errors((_ahead(p, p_hat) ** 2).mean(axis=-1))


@documented(ae)
def macro_nmd(p: ArrayLike, p_hat: ArrayLike, *, last_bin_closed: bool = False) -> Errors:
    """Mean of :func:`nmd` over equally weighted ranges of the samples' true mean label.

    With labels 1 to K, samples are put into the bins [1, 2), [2, 3), ... [K - 1, K) of
    their mean label. The result is the mean over the bins of the mean error per bin, from 0 to
    1, for each set of samples. A bin without samples counts as 0.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., S, K)
        True and estimated shares of ordered classes in a set of S samples.
    last_bin_closed : bool, default=False
        Include samples whose mean label is exactly K in the last bin. By default they are
        left out, as in the official scores of LeQua 2024.

    Examples
    --------
    >>> from headcount import metrics
    >>> truth = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.2, 0.8]]
    >>> print(metrics.macro_nmd(truth, [0.8, 0.2, 0.0]).round(4))
    0.4125
    """
    return errors(nmd_by_bin(p, p_hat, last_bin_closed=last_bin_closed).mean(axis=-1))


def nmd_by_bin(p: ArrayLike, p_hat: ArrayLike, *, last_bin_closed: bool = False) -> Floats:
    """Mean of :func:`nmd` in each range of the samples' true mean label: see `macro_nmd`.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., S, K)
        True and estimated shares of ordered classes in a set of S samples.
    last_bin_closed : bool, default=False
        Include samples whose mean label is exactly K in the last bin.

    Returns
    -------
    ndarray of shape (..., K - 1)
        Mean error per bin; 0 for a bin without samples.

    Examples
    --------
    >>> from headcount import metrics
    >>> truth = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.2, 0.8]]
    >>> metrics.nmd_by_bin(truth, [0.8, 0.2, 0.0]).round(4)
    array([0.025, 0.8  ])
    """
    p, p_hat = check_pair(p, p_hat)
    p = np.atleast_2d(p)
    distances = np.abs(_ahead(p, p_hat)).mean(axis=-1)
    last = p.shape[-1] - 2
    # Divided by their sum, since rounded shares need not sum to 1.
    mean_label = (p @ np.arange(last + 2.0)) / p.sum(axis=-1)
    # A mean of exactly 2 may be computed as slightly less.
    bins = np.floor(mean_label + _EDGE_TOLERANCE)
    if last_bin_closed:
        bins = np.minimum(bins, last)
    means = []
    for number in range(last + 1):
        inside = np.broadcast_to(bins == number, distances.shape)
        total = np.where(inside, distances, 0.0).sum(axis=-1)
        means.append(total / np.maximum(inside.sum(axis=-1), 1))
    return np.stack(means, axis=-1)


@documented(ae)
def rnod(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Root normalised order-aware divergence: squared errors weighted by their distance.

    For each class with a positive true share, the squared errors of all classes are summed,
    weighted by their distance in steps. The divergence is the square root of the mean of these
    sums, divided by the number of steps from the first class to the last.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.rnod([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    1.0
    """
    p, p_hat = check_pair(p, p_hat)
    position = np.arange(p.shape[-1])
    steps = np.abs(position[:, None] - position).astype(np.float64)
    weighted = ((p_hat - p) ** 2) @ steps
    occurs = p > 0
    order_aware = (weighted * occurs).sum(axis=-1) / occurs.sum(axis=-1)
    return errors(np.sqrt(order_aware / (p.shape[-1] - 1)))


def jaggedness(p: ArrayLike) -> Errors:
    """Half the sum of the squared second differences of the shares of ordered classes.

    0 if the shares lie on a line.

    Parameters
    ----------
    p : array-like of shape (..., K)
        Shares of ordered classes.

    Returns
    -------
    float or ndarray of shape (...)
        The jaggedness, from 0.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.jaggedness([0.0, 1.0, 0.0]))
    2.0
    """
    second_difference = np.diff(check_shares(p, "p"), n=2, axis=-1)
    return errors((second_difference**2).sum(axis=-1) / 2)


def _ahead(p: Floats, p_hat: Floats) -> Floats:
    """Differences of the cumulative shares at the cuts between classes."""
    return np.cumsum(p_hat - p, axis=-1)[..., :-1]
