"""Measures of intervals around shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.parameters import check_fraction
from headcount.errors import HeadcountError
from headcount.metrics.checks import Errors, check_numbers, check_shares, errors

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
