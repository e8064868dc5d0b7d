"""Errors and distances that do not depend on the order of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.parameters import check_log_base
from headcount.errors import HeadcountError
from headcount.metrics.checks import (
    Errors,
    Numbers,
    check_no_zero,
    check_pair,
    check_smooth_pair,
    errors,
)


def ae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Absolute error, the mean over classes of ``|p_hat - p|``.

    The errors are from 0 to ``2 / K``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        One number per pair of `p` and `p_hat`; a plain number for vectors.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.ae([0.75, 0.25], [0.5, 0.5]))
    0.25
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(p_hat - p).mean(axis=-1))


@documented(ae)
def tae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Total absolute error, the sum over classes of ``|p_hat - p|``.

    The errors are from 0 to 2. Some studies call this the absolute error, which here is the
    mean :func:`ae`.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.tae([0.75, 0.25], [0.5, 0.5]))
    0.5
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(p_hat - p).sum(axis=-1))


@documented(ae)
def nae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Normalised absolute error, relative to the worst possible estimate of ``p``.

    The errors are from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nae([0.75, 0.25], [0.0, 1.0]))
    1.0
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(p_hat - p).sum(axis=-1) / (2 * (1 - p.min(axis=-1))))


@documented(ae)
def rae(p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None) -> Errors:
    """Relative absolute error, the mean over classes of ``|p_hat - p| / p``.

    The errors have no upper bound.

    Parameters
    ----------
    size, eps : number or array-like, optional
        Number of items in each sample, or the smoothing constant. By default no smoothing.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.rae([0.75, 0.25], [0.5, 0.5]).round(3))
    0.667
    >>> print(metrics.rae([1.0, 0.0], [0.9, 0.1], size=100).round(3))
    10.05
    """
    p, p_hat = check_smooth_pair(p, p_hat, size, eps)
    check_no_zero(p, "rae")
    return errors((np.abs(p_hat - p) / p).mean(axis=-1))


@documented(ae)
def mae(p: ArrayLike, p_hat: ArrayLike) -> float:
    """Mean of the absolute errors of all samples: see `ae`.

    Returns
    -------
    float
        The mean error, from 0 to ``2 / K``.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.mae([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5])
    0.125
    """
    return float(np.mean(ae(p, p_hat)))


@documented(ae, rae)
def mrae(p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None) -> float:
    """Mean of the relative absolute errors of all samples: see `rae`.

    Returns
    -------
    float
        The mean error, from 0 without an upper bound.

    Examples
    --------
    >>> from headcount import metrics
    >>> round(metrics.mrae([[0.75, 0.25], [0.5, 0.5]], [0.5, 0.5]), 3)
    0.333
    """
    return float(np.mean(rae(p, p_hat, size=size, eps=eps)))


@documented(ae, rae)
def nrae(
    p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None
) -> Errors:
    """Normalised relative absolute error, relative to the worst possible estimate of ``p``.

    The errors are from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nrae([0.75, 0.25], [0.0, 1.0]))
    1.0
    """
    p, p_hat = check_smooth_pair(p, p_hat, size, eps)
    check_no_zero(p, "nrae")
    rarest = p.min(axis=-1, keepdims=True)
    # The error and its maximum are both multiplied by the smallest share to avoid overflow.
    error = (np.abs(p_hat - p) * (rarest / p)).sum(axis=-1)
    return errors(error / (1 + (p.shape[-1] - 2) * rarest[..., 0]))


@documented(ae)
def se(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Squared error, the mean over classes of ``(p_hat - p) ** 2``.

    The errors are from 0 to ``2 / K``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.se([0.75, 0.25], [0.5, 0.5]))
    0.0625
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(((p_hat - p) ** 2).mean(axis=-1))


@documented(ae, rae)
def kld(
    p: ArrayLike,
    p_hat: ArrayLike,
    *,
    size: Numbers = None,
    eps: Numbers = None,
    base: float | None = None,
) -> Errors:
    """Kullback-Leibler divergence, the sum over classes of ``p * log(p / p_hat)``.

    The divergences are in nats by default and have no upper bound.

    Parameters
    ----------
    base : float, default=None
        Base of the logarithm, such as 2 for bits. By default the natural logarithm.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.kld([0.75, 0.25], [0.5, 0.5]).round(3))
    0.131
    >>> print(metrics.kld([0.5, 0.5], [1.0, 0.0], eps=1e-8).round(3))
    8.517
    >>> print(metrics.kld([1.0, 0.0], [0.5, 0.5], base=2))
    1.0
    """
    return _divergence(p, p_hat, size, eps, base, "kld")


@documented(ae, rae)
def nkld(
    p: ArrayLike,
    p_hat: ArrayLike,
    *,
    size: Numbers = None,
    eps: Numbers = None,
    base: float | None = None,
) -> Errors:
    """Kullback-Leibler divergence mapped to [0, 1]: ``2 * exp(kld) / (1 + exp(kld)) - 1``.

    The results are from 0 to 1.

    Parameters
    ----------
    base : float, default=None
        Base of the logarithm in the divergence. By default the natural logarithm. Some
        published figures use base 2 and are larger.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nkld([0.75, 0.25], [0.5, 0.5]).round(3))
    0.065
    """
    return errors(np.tanh(_divergence(p, p_hat, size, eps, base, "nkld") / 2))


@documented(ae)
def bias(p: ArrayLike, p_hat: ArrayLike) -> Floats:
    """Signed error of each class, ``p_hat - p``.

    Returns
    -------
    ndarray of shape (..., K)
        The errors, positive for classes that are overestimated.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.bias([0.75, 0.25], [0.5, 0.5])
    array([-0.25,  0.25])
    """
    p, p_hat = check_pair(p, p_hat)
    return p_hat - p


@documented(ae)
def shift(p: ArrayLike, p_train: ArrayLike) -> Errors:
    """Absolute error between the shares of a sample and those in training.

    The shifts are from 0 to ``2 / K``. :func:`bias` gives the signed difference of each class.

    Parameters
    ----------
    p, p_train : array-like of shape (..., K)
        Shares in the sample and in training.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.shift([[0.5, 0.5], [0.1, 0.9]], [0.5, 0.5])
    array([0. , 0.4])
    """
    p, p_train = check_pair(p, p_train, "p_train")
    return errors(np.abs(p_train - p).mean(axis=-1))


def _divergence(
    p: ArrayLike, p_hat: ArrayLike, size: Numbers, eps: Numbers, base: float | None, name: str
) -> Errors:
    p, p_hat = check_smooth_pair(p, p_hat, size, eps)
    if np.any((p > 0) & (p_hat == 0)):
        raise HeadcountError(
            f"p_hat has a share of 0 where p is above 0, for which {name} is undefined: pass "
            "size= (items in a sample) or eps= to smooth."
        )
    # Rounding can make the divergence of equal shares slightly negative.
    nats = np.maximum(rel_entr(p, p_hat).sum(axis=-1), 0.0)
    return errors(nats if base is None else nats / np.log(check_log_base("base", base)))


@documented(ae)
def hellinger(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Hellinger distance, ``sqrt(sum((sqrt(p_hat) - sqrt(p)) ** 2) / 2)``.

    The distances are from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.hellinger([1.0, 0.0], [0.0, 1.0]))
    1.0
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.sqrt(((np.sqrt(p_hat) - np.sqrt(p)) ** 2).sum(axis=-1) / 2))


@documented(ae)
def topsoe(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Topsøe divergence: of both shares from their mean, added up.

    The sum over classes of ``p * log(p / m) + p_hat * log(p_hat / m)`` with the mean
    ``m = (p + p_hat) / 2``. Zeros need no smoothing. It is in nats, from 0 to ``2 * log(2)``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.topsoe([1.0, 0.0], [0.0, 1.0]).round(3))
    1.386
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(_topsoe(p, p_hat))


@documented(ae)
def jsd(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Jensen-Shannon divergence, half of :func:`topsoe`.

    The divergences are in nats, from 0 to ``log(2)``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.jsd([1.0, 0.0], [0.0, 1.0]).round(3))
    0.693
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(_topsoe(p, p_hat) / 2)


@documented(ae)
def bray_curtis(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Bray-Curtis dissimilarity, ``sum(|p_hat - p|) / sum(p_hat + p)``.

    The dissimilarities are from 0 to 1. For shares it is half of :func:`tae`, the total
    variation distance.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.bray_curtis([0.75, 0.25], [0.5, 0.5]))
    0.25
    """
    p, p_hat = check_pair(p, p_hat)
    return errors(np.abs(p_hat - p).sum(axis=-1) / (p_hat + p).sum(axis=-1))


@documented(ae, rae)
def aitchison(
    p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None
) -> Errors:
    """Aitchison distance: Euclidean distance between the logarithms of ratios.

    The logarithm of each share is taken relative to the mean logarithm of all shares, so
    that only ratios of shares count: an error of 1% to 2% is as large as one of 20% to 40%.
    The distances have no upper bound.

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


@documented(ae)
def sre(p: ArrayLike, p_hat: ArrayLike, p_train: ArrayLike) -> Errors:
    """Squared ratio error, the mean over classes of ``((p_hat - p) / p_train) ** 2``.

    It is the squared error of the ratios ``p_hat / p_train``, the weights that training items
    of each class need to look like the sample. As it needs the training shares, it is not found
    by name. The errors have no upper bound.

    Parameters
    ----------
    p, p_hat, p_train : array-like of shape (..., K)
        True and estimated shares, and those in training, none of which may be 0.

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
