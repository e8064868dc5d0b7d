"""The groups that items are in, as samples of the pool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.sampling import Samples

__all__ = ["Grouping", "group_items"]

# 2024-05, 2024-05-31, 2024-W12, 2024Q1, 2024-05-31T12:00: texts that sort as time goes.
_DATE = re.compile(r"\d{4}([-/.]?(\d{1,2}|[QW]\d{1,2})([-/.]\d{1,2})?([T ]\d{2}:.*)?)?")

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


@dataclass(frozen=True, eq=False)
class Grouping:
    """All items, then those of each group.

    Attributes
    ----------
    names : tuple
        None, for all items, then the groups.
    samples : Samples
        Their rows.
    ordered : bool
        Whether the groups follow one another, as months do.
    """

    names: tuple[Any, ...]
    samples: Samples
    ordered: bool


def group_items(
    groups: ArrayLike | None, order: Sequence[Any] | None, n_items: int
) -> Grouping:
    """The groups of a pool's items.

    Parameters
    ----------
    groups : array-like of shape (n,) or None
        The group of each item.
    order : sequence or None
        The groups in the order wanted; sorted by default, texts of numbers as numbers.
    n_items : int
        Number of items.

    Returns
    -------
    Grouping

    Examples
    --------
    >>> grouping = group_items(["2024-02", "2024-01", "2024-02"], None, 3)
    >>> grouping.names, grouping.ordered, grouping.samples.sizes
    ((None, '2024-01', '2024-02'), True, array([3, 1, 2]))
    """
    if groups is None:
        return Grouping((None,), Samples.whole(n_items), False)
    names, codes = encode_labels(groups, name="groups")
    if len(codes) != n_items:
        raise HeadcountError(
            f"groups has {len(codes):,} values, but there are {n_items:,} items: pass one "
            "group an item."
        )
    ordered = order is not None or _follow(names)
    names, codes = _reordered(names, codes, _sorted(names) if order is None else order)
    each = Samples.by_code(codes, len(names))
    samples = Samples(
        np.concatenate([np.arange(n_items), each.indices]),
        np.concatenate([[0], n_items + each.offsets]),
        n_pool=n_items,
    )
    return Grouping((None, *names.tolist()), samples, ordered)


def _reordered(
    names: NDArray[Any], codes: NDArray[np.int64], order: Sequence[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    wanted = list(order)
    known = names.tolist()
    missing = [name for name in known if name not in wanted]
    if missing or len(set(wanted)) != len(wanted):
        problem = f"misses {missing[0]!r}" if missing else "names a group twice"
        raise HeadcountError(f"order {problem}: name every group in it once.")
    # Groups without items have no shares, and no place.
    places = [known.index(name) for name in wanted if name in known]
    return names[places], np.argsort(places)[codes]


def _sorted(names: NDArray[Any]) -> list[Any]:
    known = names.tolist()
    if not all(isinstance(name, str) for name in known):
        return known
    texts = [name for name in known if not _NUMBER.fullmatch(name)]
    return [*sorted((name for name in known if _NUMBER.fullmatch(name)), key=float), *texts]


def _follow(names: NDArray[Any]) -> bool:
    if names.dtype.kind in "iufM":
        return True
    return all(
        hasattr(name, "isoformat") or (isinstance(name, str) and _DATE.fullmatch(name))
        for name in names.tolist()
    )
