"""Errors of estimated shares: how far an estimate is from the truth.

Every function takes the true shares ``p`` and the estimated ones ``p_hat`` with classes
along the last axis, broadcasts over the axes before it, and returns one number a pair (a
plain number for one-dimensional input). The order of the classes matters only to ``nmd``,
``macro_nmd``, ``rnod`` and ``jaggedness``.

``rae``, ``nrae``, ``kld`` and ``nkld`` are undefined where shares are zero. They smooth
both vectors to ``(p + eps) / (1 + K * eps)`` if told to, by ``size=n``, the number of
items in the sample, which means ``eps = 1 / (2 * n)``, or by ``eps=`` itself.

Examples
--------
>>> from headcount import metrics
>>> truth = [[0.5, 0.5], [0.9, 0.1]]
>>> metrics.ae(truth, [0.5, 0.5])
array([0. , 0.4])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from headcount.errors import HeadcountError

__all__ = [
    "METRICS",
    "SMOOTHED",
    "ae",
    "bias",
    "by_name",
    "jaggedness",
    "kld",
    "macro_nmd",
    "nae",
    "nkld",
    "nmd",
    "nrae",
    "rae",
    "rnod",
    "se",
    "shift",
    "tae",
]

Numbers: TypeAlias = ArrayLike | None
Floats: TypeAlias = NDArray[np.float64]
Errors: TypeAlias = np.float64 | Floats

_SHARE_TOLERANCE = 1e-6
_SUM_TOLERANCE = 1e-3
_EDGE_TOLERANCE = 1e-9


def ae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Absolute error, the mean over classes of ``|p_hat - p|``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 to ``2 / K``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.ae([0.75, 0.25], [0.5, 0.5]))
    0.25
    """
    p, p_hat = _check_pair(p, p_hat)
    return _errors(np.abs(p_hat - p).mean(axis=-1))


def tae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Total absolute error, the sum over classes of ``|p_hat - p|``.

    Some studies call this the absolute error; here that is the mean, :func:`ae`.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 to 2.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.tae([0.75, 0.25], [0.5, 0.5]))
    0.5
    """
    p, p_hat = _check_pair(p, p_hat)
    return _errors(np.abs(p_hat - p).sum(axis=-1))


def nae(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Normalised absolute error, relative to the worst estimate there is of ``p``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nae([0.75, 0.25], [0.0, 1.0]))
    1.0
    """
    p, p_hat = _check_pair(p, p_hat)
    return _errors(np.abs(p_hat - p).sum(axis=-1) / (2 * (1 - p.min(axis=-1))))


def rae(p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None) -> Errors:
    """Relative absolute error, the mean over classes of ``|p_hat - p| / p``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.
    size, eps : number or array-like, optional
        Items in each sample, or the smoothing itself; not both. By default no smoothing.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 without an upper bound.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.rae([0.75, 0.25], [0.5, 0.5]).round(3))
    0.667
    >>> print(metrics.rae([1.0, 0.0], [0.9, 0.1], size=100).round(3))
    10.05
    """
    p, p_hat = _check_smooth_pair(p, p_hat, size, eps)
    _check_no_zero(p, "rae")
    return _errors((np.abs(p_hat - p) / p).mean(axis=-1))


def nrae(
    p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None
) -> Errors:
    """Normalised relative absolute error, relative to the worst estimate of ``p``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.
    size, eps : number or array-like, optional
        Items in each sample, or the smoothing itself; not both. By default no smoothing.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nrae([0.75, 0.25], [0.0, 1.0]))
    1.0
    """
    p, p_hat = _check_smooth_pair(p, p_hat, size, eps)
    _check_no_zero(p, "nrae")
    rarest = p.min(axis=-1, keepdims=True)
    # Both the error and its maximum are multiplied by the rarest share: nothing overflows.
    error = (np.abs(p_hat - p) * (rarest / p)).sum(axis=-1)
    return _errors(error / (1 + (p.shape[-1] - 2) * rarest[..., 0]))


def se(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Squared error, the mean over classes of ``(p_hat - p) ** 2``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    float or ndarray of shape (...)
        The errors, from 0 to ``2 / K``.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.se([0.75, 0.25], [0.5, 0.5]))
    0.0625
    """
    p, p_hat = _check_pair(p, p_hat)
    return _errors(((p_hat - p) ** 2).mean(axis=-1))


def kld(p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None) -> Errors:
    """Kullback-Leibler divergence, the sum over classes of ``p * log(p / p_hat)``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.
    size, eps : number or array-like, optional
        Items in each sample, or the smoothing itself; not both. By default no smoothing.

    Returns
    -------
    float or ndarray of shape (...)
        The divergences, in nats, from 0 without an upper bound.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.kld([0.75, 0.25], [0.5, 0.5]).round(3))
    0.131
    >>> print(metrics.kld([0.5, 0.5], [1.0, 0.0], eps=1e-8).round(3))
    8.517
    """
    return _divergence(p, p_hat, size, eps, "kld")


def nkld(
    p: ArrayLike, p_hat: ArrayLike, *, size: Numbers = None, eps: Numbers = None
) -> Errors:
    """Kullback-Leibler divergence brought to [0, 1]: ``2 * exp(kld) / (1 + exp(kld)) - 1``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.
    size, eps : number or array-like, optional
        Items in each sample, or the smoothing itself; not both. By default no smoothing.

    Returns
    -------
    float or ndarray of shape (...)
        The divergences, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nkld([0.75, 0.25], [0.5, 0.5]).round(3))
    0.065
    """
    return _errors(np.tanh(_divergence(p, p_hat, size, eps, "nkld") / 2))


def bias(p: ArrayLike, p_hat: ArrayLike) -> Floats:
    """Signed error of each class, ``p_hat - p``.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares.

    Returns
    -------
    ndarray of shape (..., K)
        Positive for the classes that are estimated too large.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.bias([0.75, 0.25], [0.5, 0.5])
    array([-0.25,  0.25])
    """
    p, p_hat = _check_pair(p, p_hat)
    return p_hat - p


def nmd(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Normalised match distance: how far shares must be moved along ordered classes.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares of ordered classes.

    Returns
    -------
    float or ndarray of shape (...)
        The distances, from 0 to 1, which is from one end to the other.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.nmd([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    0.5
    """
    p, p_hat = _check_pair(p, p_hat)
    ahead = np.cumsum(p_hat - p, axis=-1)[..., :-1]
    return _errors(np.abs(ahead).mean(axis=-1))


def macro_nmd(p: ArrayLike, p_hat: ArrayLike, *, last_bin_closed: bool = False) -> Errors:
    """Mean of :func:`nmd` over equally weighted ranges of the samples' true mean label.

    With labels 1 to K, samples are put into the bins [1, 2), [2, 3), ... [K - 1, K) of
    their mean label; the error is the mean over the bins of the mean of each. A bin without
    samples counts 0.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., S, K)
        True and estimated shares of ordered classes in a set of S samples.
    last_bin_closed : bool, default=False
        Whether a sample whose mean label is exactly K belongs to the last bin. By default
        it is left out, as in the official scores of LeQua 2024.

    Returns
    -------
    float or ndarray of shape (...)
        One error a set of samples, from 0 to 1.

    Examples
    --------
    >>> from headcount import metrics
    >>> truth = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.2, 0.8]]
    >>> print(metrics.macro_nmd(truth, [0.8, 0.2, 0.0]).round(4))
    0.4125
    """
    p, p_hat = _check_pair(p, p_hat)
    p = np.atleast_2d(p)
    distances = np.abs(np.cumsum(p_hat - p, axis=-1)[..., :-1]).mean(axis=-1)
    last = p.shape[-1] - 2
    # Divided by their sum, since shares written to few digits need not sum to 1.
    mean_label = (p @ np.arange(last + 2.0)) / p.sum(axis=-1)
    # A mean of exactly 2 may come out a rounding error below it.
    bins = np.floor(mean_label + _EDGE_TOLERANCE)
    if last_bin_closed:
        bins = np.minimum(bins, last)
    means = []
    for each in range(last + 1):
        inside = np.broadcast_to(bins == each, distances.shape)
        total = np.where(inside, distances, 0.0).sum(axis=-1)
        means.append(total / np.maximum(inside.sum(axis=-1), 1))
    return _errors(np.mean(means, axis=0))


def rnod(p: ArrayLike, p_hat: ArrayLike) -> Errors:
    """Root normalised order-aware divergence: squared errors weighted by their distance.

    For each class that truly occurs, the squared errors of all classes are summed, weighted
    by how many steps away they are; the divergence is the root of the mean of these sums
    over the classes that occur, divided by the number of steps from end to end.

    Parameters
    ----------
    p, p_hat : array-like of shape (..., K)
        True and estimated shares of ordered classes.

    Returns
    -------
    float or ndarray of shape (...)
        The divergences, 0 for a perfect estimate.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.rnod([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    1.0
    """
    p, p_hat = _check_pair(p, p_hat)
    position = np.arange(p.shape[-1])
    steps = np.abs(position[:, None] - position).astype(np.float64)
    weighted = ((p_hat - p) ** 2) @ steps
    occurs = p > 0
    order_aware = (weighted * occurs).sum(axis=-1) / occurs.sum(axis=-1)
    return _errors(np.sqrt(order_aware / (p.shape[-1] - 1)))


def jaggedness(p: ArrayLike) -> Errors:
    """How far the shares of ordered classes are from changing evenly.

    Half the sum of the squared second differences: 0 if the shares lie on a line.

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
    second_difference = np.diff(_check_shares(p, "p"), n=2, axis=-1)
    return _errors((second_difference**2).sum(axis=-1) / 2)


def shift(p: ArrayLike, p_train: ArrayLike) -> Errors:
    """How far the shares of a sample are from those in training, as absolute error.

    :func:`bias` tells the direction, class by class.

    Parameters
    ----------
    p, p_train : array-like of shape (..., K)
        Shares in the sample and in training.

    Returns
    -------
    float or ndarray of shape (...)
        The shifts, from 0 to ``2 / K``.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.shift([[0.5, 0.5], [0.1, 0.9]], [0.5, 0.5])
    array([0. , 0.4])
    """
    p, p_train = _check_pair(p, p_train, "p_train")
    return _errors(np.abs(p_train - p).mean(axis=-1))


_BY_NAME = (ae, tae, nae, rae, nrae, se, kld, nkld, bias, nmd, macro_nmd, rnod)
METRICS: Mapping[str, Callable[..., Errors]] = MappingProxyType(
    {metric.__name__: metric for metric in _BY_NAME}
)
"""The metrics by name. All take ``(p, p_hat)``; those in ``SMOOTHED`` also ``size=``."""

SMOOTHED = frozenset({"rae", "nrae", "kld", "nkld"})
"""Names of the metrics that can smooth the shares."""


def by_name(name: str) -> Callable[..., Errors]:
    """Find a metric by its name.

    Parameters
    ----------
    name : str
        One of the names in ``METRICS``.

    Returns
    -------
    callable
        The function of that name.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.by_name("ae") is metrics.ae
    True
    """
    if name not in METRICS:
        raise HeadcountError(
            f"There is no metric named {name!r}: choose one of {', '.join(METRICS)}."
        )
    return METRICS[name]


def _errors(values: Any) -> Errors:
    errors: Errors = np.asarray(values, dtype=np.float64)[()]
    return errors


def _divergence(
    p: ArrayLike, p_hat: ArrayLike, size: Numbers, eps: Numbers, name: str
) -> Errors:
    p, p_hat = _check_smooth_pair(p, p_hat, size, eps)
    if np.any((p > 0) & (p_hat == 0)):
        raise HeadcountError(
            f"p_hat has a share of 0 where p has not, for which {name} is undefined: pass "
            "size= (items in a sample) or eps= to smooth."
        )
    # Rounding can leave equal shares a divergence just below zero.
    return _errors(np.maximum(rel_entr(p, p_hat).sum(axis=-1), 0.0))


def _check_numbers(values: Numbers, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise HeadcountError(
            f"{name} is not an array of numbers: pass numbers only, rows of equal length."
        ) from None


def _check_shares(p: ArrayLike, name: str) -> Floats:
    shares = _check_numbers(p, name)
    if shares.ndim == 0 or shares.shape[-1] < 2 or not shares.size:
        raise HeadcountError(
            f"{name} has shape {shares.shape}, but must have at least 2 classes along its "
            "last axis: pass the share of every class."
        )
    if not np.isfinite(shares).all():
        raise HeadcountError(f"{name} has missing or infinite values: pass shares in [0, 1].")
    low, high = shares.min(), shares.max()
    if low < -_SHARE_TOLERANCE or high > 1 + _SHARE_TOLERANCE:
        wrong = low if low < -_SHARE_TOLERANCE else high
        raise HeadcountError(
            f"{name} has the value {wrong:.6g}, but shares must lie in [0, 1]: of counts, "
            "pass each divided by their sum."
        )
    sums = shares.sum(axis=-1)
    off = np.abs(sums - 1)
    if off.max() > _SUM_TOLERANCE:
        raise HeadcountError(
            f"{name} has shares that sum to {sums.flat[off.argmax()]:.6g}, but must sum to 1 "
            "along the last axis: divide them by their sum."
        )
    return np.clip(shares, 0.0, 1.0)


def _check_pair(p: ArrayLike, other: ArrayLike, name: str = "p_hat") -> tuple[Floats, Floats]:
    true, estimated = _check_shares(p, "p"), _check_shares(other, name)
    if true.shape[-1] != estimated.shape[-1]:
        raise HeadcountError(
            f"{name} has {estimated.shape[-1]} classes, but p has {true.shape[-1]}: pass "
            "shares of the same classes."
        )
    _check_broadcast({"p": true.shape[:-1], name: estimated.shape[:-1]})
    return true, estimated


def _check_smooth_pair(
    p: ArrayLike, p_hat: ArrayLike, size: Numbers, eps: Numbers
) -> tuple[Floats, Floats]:
    true, estimated = _check_pair(p, p_hat)
    if size is None and eps is None:
        return true, estimated
    if size is not None and eps is not None:
        raise HeadcountError("size and eps are both given: pass one of them.")
    name, given = ("eps", eps) if size is None else ("size", size)
    numbers = _check_numbers(given, name)
    lowest = 0 if size is None else 1
    if not (np.isfinite(numbers) & (numbers >= lowest)).all():
        raise HeadcountError(f"{name} must be finite and at least {lowest}, but is {given!r}.")
    _check_broadcast({"p": true.shape[:-1], "p_hat": estimated.shape[:-1], name: numbers.shape})
    smoothing = (numbers if size is None else 1 / (2 * numbers))[..., None]
    total = 1 + true.shape[-1] * smoothing
    return (true + smoothing) / total, (estimated + smoothing) / total


def _check_broadcast(shapes: dict[str, tuple[int, ...]]) -> None:
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        each = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise HeadcountError(
            f"The shapes before the classes do not agree ({each}): pass as many of each, "
            "or one of one of them."
        ) from None


def _check_no_zero(p: Floats, name: str) -> None:
    if np.any(p == 0):
        raise HeadcountError(
            f"p has a share of 0, for which {name} is undefined: pass size= (items in a "
            "sample) or eps= to smooth."
        )
