"""Checks of the parameters and columns of shift protocols."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.data import encode_labels
from headcount.errors import HeadcountError

__all__ = [
    "check_lengths",
    "check_numbers",
    "check_shares",
    "cut",
    "read_classes",
    "read_labels",
    "read_ratings",
    "read_two_groups",
]


def check_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """A non-empty sequence of distinct finite numbers."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise HeadcountError(
            f"{name} is {values!r}; it must be a sequence of numbers, such as (0.25, 0.5)."
        )
    if len(np.unique(numbers)) < len(numbers):
        raise HeadcountError(f"{name} has a number twice: pass each once.")
    return numbers


def check_shares(
    name: str, values: Any, *, least: float = 0.0, most: float = 1.0
) -> NDArray[np.float64]:
    """A non-empty sequence of distinct shares from ``least`` to ``most``."""
    shares = check_numbers(name, values)
    outside = (shares < least) | (shares > most)
    if outside.any():
        raise HeadcountError(
            f"{name} has the entry {shares[outside.argmax()]:g}, but entries must be from "
            f"{least:g} to {most:g}."
        )
    return shares


def check_lengths(**columns: Any) -> None:
    """Reject columns of different lengths."""
    (first, n), *others = ((name, len(column)) for name, column in columns.items())
    for name, length in others:
        if length != n:
            raise HeadcountError(
                f"{name} has {length:,} values, but {first} has {n:,}: pass one value per item "
                "of the pool in each of them."
            )


def read_ratings(
    ratings: ArrayLike | None, protocol: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct ratings, sorted, and the position of each item's rating."""
    if ratings is None:
        raise HeadcountError(
            f"{protocol} needs ratings, such as 1 to 5 stars, to split at its cut points: "
            "pass ratings=."
        )
    values, codes = encode_labels(ratings, name="ratings")
    if values.dtype.kind not in "iuf":
        raise HeadcountError(
            f"ratings has values such as {values.tolist()[0]!r}, which are not numbers and "
            "have no order: pass numbers, such as 1 to 5 stars."
        )
    return values, codes


def cut(values: NDArray[Any], cut_point: float, name: str) -> NDArray[np.int64]:
    """Return 1 for ratings above a cut point, 0 for those below, -1 for those equal to it."""
    codes = np.where(values == cut_point, -1, (values > cut_point).astype(np.int64))
    if not ((codes == 0).any() and (codes == 1).any()):
        raise HeadcountError(
            f"{name} is {cut_point:g}, but ratings are from {values.min():g} to "
            f"{values.max():g}: choose a cut point with ratings on both sides."
        )
    return codes


def read_labels(y: ArrayLike | None, protocol: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, at least two, and the codes of the items."""
    if y is None:
        raise HeadcountError(f"{protocol} needs labels: pass y.")
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise HeadcountError(
            f"y has only one class, but {protocol} needs at least two: pass labels of two or "
            "more classes."
        )
    return classes, codes


def read_classes(
    y: ArrayLike | None, ratings: ArrayLike | None, cut_point: Any, protocol: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return classes and codes of labels, or of ratings split in two (-1 at the cut)."""
    if y is not None:
        return read_labels(y, protocol)
    if ratings is None:
        raise HeadcountError(
            f"{protocol} needs labels: pass y, or ratings to be split at cut_point."
        )
    values, codes = read_ratings(ratings, protocol)
    if isinstance(cut_point, bool) or not isinstance(cut_point, Real):
        raise HeadcountError(f"cut_point is {cut_point!r}; it must be a number.")
    return np.array([0, 1]), cut(values, float(cut_point), "cut_point")[codes]


def read_two_groups(
    groups: ArrayLike | None, categories: Any, protocol: str
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the two groups, and 0 or 1 for each item, or -1 for other groups."""
    if groups is None:
        raise HeadcountError(
            f"{protocol} needs the group of each item, one of two: pass groups=."
        )
    names, codes = encode_labels(groups, name="groups")
    if categories is None:
        if len(names) != 2:
            raise HeadcountError(
                f"groups has {len(names):,} different values, but {protocol} needs two: pass "
                "the two to use as categories=."
            )
        return names.tolist(), codes
    wanted = categories.tolist() if isinstance(categories, np.ndarray) else categories
    if not isinstance(wanted, list | tuple) or len(wanted) != 2 or wanted[0] == wanted[1]:
        raise HeadcountError(
            f"categories is {categories!r}; it must be two different groups, such as "
            f"{tuple(names.tolist()[:2])!r}."
        )
    known = names.tolist()
    for group in wanted:
        if group not in known:
            raise HeadcountError(
                f"categories has {group!r}, but groups has no such item: it has "
                f"{', '.join(map(repr, known[:3]))}{' and others' if len(known) > 3 else ''}."
            )
    position = np.full(len(names), -1)
    position[[known.index(group) for group in wanted]] = [0, 1]
    return list(wanted), position[codes]
