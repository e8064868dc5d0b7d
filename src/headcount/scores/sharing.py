"""Scorers that several quantifiers have in common, so that each is trained once."""

from __future__ import annotations

from collections.abc import Sequence
from pickle import PicklingError
from typing import Any

import joblib

__all__ = ["equal_scorers"]


def equal_scorers(
    scorers: Sequence[Any], kinds: Sequence[Any] | None = None
) -> list[list[int]]:
    """Group scorers with the same classifier, folds and seed.

    Parameters
    ----------
    scorers : sequence of Scorer or None
        Unfitted scorers; None where there is no single one.
    kinds : sequence, default=None
        Further values that must be equal within a group.

    Returns
    -------
    list of list of int
        Positions of equal scorers. None, and scorers that cannot be compared, form groups of
        their own.

    Examples
    --------
    >>> from headcount.scores import Scorer, equal_scorers
    >>> equal_scorers([Scorer(cv=3), None, Scorer(cv=3), Scorer(cv=4)])
    [[0, 2], [1], [3]]
    """
    groups: dict[Any, list[int]] = {}
    for i, scorer in enumerate(scorers):
        try:
            key = None if scorer is None else joblib.hash(scorer)
        except (PicklingError, TypeError, AttributeError, ValueError):
            key = None
        own = i if key is None else (key, None if kinds is None else kinds[i])
        groups.setdefault(own, []).append(i)
    return list(groups.values())
