"""Errors between true and estimated shares, measures of intervals, and their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.parameters import check_fraction, check_log_base
from headcount.errors import HeadcountError
from headcount.metrics.checks import (
    Errors,
    Numbers,
    check_no_zero,
    check_numbers,
    check_pair,
    check_shares,
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


@documented(macro_nmd)
def nmd_by_bin(p: ArrayLike, p_hat: ArrayLike, *, last_bin_closed: bool = False) -> Floats:
    """Mean of :func:`nmd` in each range of the samples' true mean label: see `macro_nmd`.

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


# A share this close to an end of the interval is within it.
_TOLERANCE = 1e-9


def winkler(p: ArrayLike, low: ArrayLike, high: ArrayLike, *, level: float = 0.95) -> Errors:
    """Winkler score: mean width of the intervals, plus a penalty for shares outside.

    The penalty of a class is 2 / (1 - level) times the distance of its share from the
    interval. The expected score is least for the true quantiles, so that neither wide nor
    overconfident intervals are rewarded. Smaller scores are better.

    Parameters
    ----------
    p : array-like of shape (..., K)
        True shares.
    low, high : array-like of shape (..., K)
        Ends of the interval of each class.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    float or ndarray of shape (...)
        One number per sample; a plain number for vectors.

    References
    ----------
    Winkler, Journal of the American Statistical Association 67 (1972).

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.winkler([0.5, 0.5], [0.4, 0.4], [0.6, 0.6]).round(6))
    0.2
    >>> print(metrics.winkler([0.7, 0.3], [0.4, 0.4], [0.6, 0.6]).round(6))
    4.2
    """
    p, low, high = _check_ends(p, low, high)
    penalty = 2 / (1 - check_fraction("level", level))
    return errors((high - low + penalty * _outside(p, low, high)).mean(axis=-1))


@documented(winkler)
def coverage(p: ArrayLike, low: ArrayLike, high: ArrayLike) -> Errors:
    """Share of the classes whose interval contains the true share.

    The mean over samples should be near the level of the intervals.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.coverage([0.7, 0.2, 0.1], [0.6, 0.3, 0.0], [0.8, 0.4, 0.2]).round(3))
    0.667
    """
    p, low, high = _check_ends(p, low, high)
    return errors((_outside(p, low, high) <= _TOLERANCE).mean(axis=-1))


@documented(winkler)
def width(p: ArrayLike, low: ArrayLike, high: ArrayLike) -> Errors:
    """Mean width of the intervals over classes.

    The true shares `p` are not used: all measures of intervals take the same arguments.

    Examples
    --------
    >>> from headcount import metrics
    >>> print(metrics.width([0.5, 0.5], [0.4, 0.4], [0.6, 0.6]).round(6))
    0.2
    """
    p, low, high = _check_ends(p, low, high)
    return errors(np.broadcast_to(high - low, np.broadcast_shapes(p.shape, low.shape)).mean(-1))


def _check_ends(p: ArrayLike, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats, Floats]:
    true = check_shares(p, "p")
    ends = [check_numbers(low, "low"), check_numbers(high, "high")]
    for name, end in zip(("low", "high"), ends, strict=True):
        if end.ndim == 0 or end.shape[-1] != true.shape[-1]:
            raise HeadcountError(
                f"{name} has shape {end.shape}, but p has {true.shape[-1]} classes along its "
                "last axis: pass one end per class."
            )
    try:
        wrong = ~(ends[0] <= ends[1])
        np.broadcast_shapes(true.shape, wrong.shape)
    except ValueError:
        raise HeadcountError(
            f"p, low and high have the shapes {true.shape}, {ends[0].shape} and "
            f"{ends[1].shape}, which do not agree: pass arrays that broadcast."
        ) from None
    if wrong.any():
        raise HeadcountError(
            "low is above high, or one of them is missing, in some intervals: swap the ends, "
            "or leave these intervals out."
        )
    return true, ends[0], ends[1]


def _outside(p: Floats, low: Floats, high: Floats) -> Floats:
    """Distance of each share from its interval."""
    return np.maximum(low - p, 0) + np.maximum(p - high, 0)


_BY_NAME = (
    ae, tae, nae, rae, nrae, se, kld,
    nkld, bias, hellinger, topsoe, jsd,
    bray_curtis, aitchison, nmd, md, cvm,
    macro_nmd, rnod,
)  # fmt: skip
METRICS: Mapping[str, Callable[..., Errors]] = MappingProxyType(
    {metric.__name__: metric for metric in _BY_NAME}
)
"""The metrics by name. All take ``(p, p_hat)``; those in ``SMOOTHED`` also ``size=``."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {f"m{name}": name for name in ("ae", "nae", "rae", "nrae", "se", "kld", "nkld", "nmd")}
    | {"hd": "hellinger", "js": "jsd", "kl": "kld", "bc": "bray_curtis"}
)
"""Other names of metrics. The mean over samples, such as "mae", is what tables print."""

SMOOTHED = frozenset({"rae", "nrae", "kld", "nkld", "aitchison"})
"""Names of the metrics that can smooth the shares."""

OF_INTERVALS: Mapping[str, Callable[..., Errors]] = MappingProxyType({"winkler": winkler})
"""Errors of intervals by name. They take ``(p, low, high, level=)``."""


def by_name(name: str) -> Callable[..., Errors]:
    """Find a metric by its name.

    Parameters
    ----------
    name : str
        One of the names in ``METRICS`` or ``ALIASES``, in lower or upper case.

    Returns
    -------
    callable
        The function of that name.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.by_name("ae") is metrics.by_name("MAE") is metrics.ae
    True
    """
    lower = name.lower()
    metric = ALIASES.get(lower, lower)
    if metric not in METRICS:
        raise HeadcountError(
            f"There is no metric named {name!r}: choose one of {', '.join(METRICS)}."
        )
    return METRICS[metric]
