"""Checks of shares, and their smoothing."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats
from headcount.errors import HeadcountError

Numbers: TypeAlias = ArrayLike | None
Errors: TypeAlias = np.float64 | Floats

_SHARE_TOLERANCE = 1e-6
_SUM_TOLERANCE = 1e-3


def errors(values: Any) -> Errors:
    """Return plain numbers for single values and arrays for others."""
    return np.asarray(values, dtype=np.float64)[()]


def check_pair(p: ArrayLike, second: ArrayLike, name: str = "p_hat") -> tuple[Floats, Floats]:
    """Check two arrays of shares over the same classes."""
    true, estimated = check_shares(p, "p"), check_shares(second, name)
    if true.shape[-1] != estimated.shape[-1]:
        raise HeadcountError(
            f"{name} has {estimated.shape[-1]} classes, but p has {true.shape[-1]}: pass "
            "shares of the same classes."
        )
    check_broadcast({"p": true.shape[:-1], name: estimated.shape[:-1]})
    return true, estimated


def check_smooth_pair(
    p: ArrayLike, p_hat: ArrayLike, size: Numbers, eps: Numbers
) -> tuple[Floats, Floats]:
    """Check two arrays of shares, and smooth them if size or eps is given."""
    true, estimated = check_pair(p, p_hat)
    if size is None and eps is None:
        return true, estimated
    if size is not None and eps is not None:
        raise HeadcountError("size and eps are both given: pass one of them.")
    name, value = ("eps", eps) if size is None else ("size", size)
    numbers = check_numbers(value, name)
    lowest = 0 if size is None else 1
    if not (np.isfinite(numbers) & (numbers >= lowest)).all():
        raise HeadcountError(f"{name} must be finite and at least {lowest}, but is {value!r}.")
    check_broadcast({"p": true.shape[:-1], "p_hat": estimated.shape[:-1], name: numbers.shape})
    smoothing = (numbers if size is None else 1 / (2 * numbers))[..., None]
    total = 1 + true.shape[-1] * smoothing
    return (true + smoothing) / total, (estimated + smoothing) / total


def check_shares(p: ArrayLike, name: str) -> Floats:
    """Check an array of shares."""
    shares = check_numbers(p, name)
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
            f"{name} has the value {wrong:.6g}, but shares must lie in [0, 1]: divide "
            "counts by their sum."
        )
    sums = shares.sum(axis=-1)
    off = np.abs(sums - 1)
    if off.max() > _SUM_TOLERANCE:
        raise HeadcountError(
            f"{name} has shares that sum to {sums.flat[off.argmax()]:.6g}, but must sum to 1 "
            "along the last axis: divide them by their sum."
        )
    return np.clip(shares, 0.0, 1.0)


def check_no_zero(shares: Floats, metric: str, name: str = "p") -> None:
    """Reject zero shares for a metric that is undefined for them."""
    if np.any(shares == 0):
        raise HeadcountError(
            f"{name} has a share of 0, for which {metric} is undefined: pass size= (items in a "
            "sample) or eps= to smooth."
        )


def check_numbers(values: Numbers, name: str) -> Floats:
    """Convert numbers to an array."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise HeadcountError(
            f"{name} is not an array of numbers: pass numbers only, in rows of equal length."
        ) from None


def check_broadcast(shapes: dict[str, tuple[int, ...]]) -> None:
    """Check that arrays agree in the axes before that of the classes."""
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise HeadcountError(
            f"the shapes without the axis of classes do not agree ({listed}): pass arrays that "
            "broadcast, for example of equal shape."
        ) from None
