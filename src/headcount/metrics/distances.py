"""Distances between shares as distributions or as compositions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from headcount.errors import HeadcountError
from headcount.metrics.checks import (
    Errors,
    Floats,
    Numbers,
    check_no_zero,
    check_pair,
    check_smooth_pair,
    errors,
)

__all__ = ["aitchison", "bray_curtis", "hellinger", "jsd", "sre", "topsoe"]


def hellinger(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Hellinger distance, ``sqrt(sum((sqrt(p_hat) - sqrt(p)) ** 2) / 2)``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The distances, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.hellinger([1.0, 0.0], [0.0, 1.0]))
    1.0
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.sqrt(((np.sqrt(p_hat) - np.sqrt(p)) ** 2).sum(axis=-1) / 2))


def topsoe(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Topsøe divergence: of both shares from their mean, added up.

    The sum over classes of ``p * log(p / m) + p_hat * log(p_hat / m)`` with the mean
    ``m = (p + p_hat) / 2``. Zeros need no smoothing.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The divergences in nats, from 0 to ``2 * log(2)``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.topsoe([1.0, 0.0], [0.0, 1.0]).round(3))
    1.386
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(_topsoe(p, p_hat))


def jsd(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Jensen-Shannon divergence, half of :func:`topsoe`.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The divergences in nats, from 0 to ``log(2)``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.jsd([1.0, 0.0], [0.0, 1.0]).round(3))
    0.693
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(_topsoe(p, p_hat) / 2)


def bray_curtis(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Bray-Curtis dissimilarity, ``sum(|p_hat - p|) / sum(p_hat + p)``.

    For shares it is half of :func:`tae`, the total variation distance.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The dissimilarities, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.bray_curtis([0.75, 0.25], [0.5, 0.5]))
    0.25
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(p_hat - p).sum(axis=-1) / (p_hat + p).sum(axis=-1))


def aitchison(
    p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None
) -> Errors:
    """Aitchison distance: Euclidean distance between the logarithms of ratios.

    The logarithm of each share is taken relative to the mean logarithm of all shares, so
    that only ratios of shares count: an error of 1% to 2% is as large as one of 20% to 40%.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.
    size, eps : number or array-like, optional
        Number of items in each sample, or the smoothing constant. By default no smoothing.

    Returns
    -------
    float or ndarray of shape (...)
        The distances, from 0 without an upper bound.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.aitchison([0.5, 0.5], [0.8, 0.2]).round(3))
    0.98
    """
    p, p_hat = check_smooth_pair(p, p_hat, size, eps)
    check_no_zero(p_hat, "aitchison", "p_hat")
    check_no_zero(p, "aitchison")
    ratio = np.log(p_hat) - np.log(p)
    return errors(np.linalg.norm(ratio - ratio.mean(axis=-1, keepdims=True), axis=-1))


def sre(p: ArrayLike, p_hat: ArrayLike, p_train: ArrayLike) -> Errors:
    """Squared ratio error, the mean over classes of ``((p_hat - p) / p_train) ** 2``.

    It is the squared error of the ratios ``p_hat / p_train``, the weights that training items
    of each class need to look like the sample. As it needs the training shares, it is not found
    by name.

    Parameters
    ----------
    p, p_hat, p_train : array-like of shape (..., K)
        True and estimated shares, and those in training, none of which may be 0.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 without an upper bound.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.sre([0.75, 0.25], [0.5, 0.5], [0.5, 0.5]))
    0.25
    """
    p, p_hat = check_pair(p, p_hat)
    train = check_pair(p, p_train, "p_train")[1]
    if np.any(train == 0):
        raise HeadcountError(
            "p_train has a share of 0, for which sre is undefined: leave out classes without "
            "training items."
        )
    return errors((((p_hat - p) / train) ** 2).mean(axis=-1))


def _topsoe(p: Floats, p_hat: Floats) -> Floats:
    mean = (p + p_hat) / 2
    divergence = (rel_entr(p, mean) + rel_entr(p_hat, mean)).sum(axis=-1)
    # Rounding can make the divergence of equal shares slightly negative.
    return np.maximum(divergence, 0.0)
