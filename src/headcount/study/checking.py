"""Checks of what a spec says, with the closest allowed name in the sentence."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from headcount.errors import HeadcountError

__all__ = ["check_keys", "check_known"]


def check_known(what: str, name: Any, allowed: Iterable[str]) -> str:
    """One of the names that are known.

    Parameters
    ----------
    what : str
        What it is a name of, such as ``"dataset"``.
    name : str
        As it was given.
    allowed : iterable of str
        The names there are.

    Returns
    -------
    str

    Examples
    --------
    >>> check_known("dataset", "wine", ["adult", "wine"])
    'wine'
    """
    names = list(allowed)
    if isinstance(name, str) and name in names:
        return name
    raise HeadcountError(f"There is no {what} {name!r}: {_hint(name, names)}.")


def check_keys(where: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse keys that nobody would read.

    Parameters
    ----------
    where : str
        What has the keys, such as ``"[protocol]"``.
    given, allowed : iterable of str
        The keys it has, and those it may have.

    Examples
    --------
    >>> check_keys("[protocol]", {"splits": 4}, ["splits", "draws"])
    """
    names = list(allowed)
    for key in given:
        if key not in names:
            raise HeadcountError(f"{where} has an unknown key {key!r}: {_hint(key, names)}.")


def _hint(name: Any, names: list[str]) -> str:
    folded = {each.lower(): each for each in names}
    close = get_close_matches(str(name).lower(), list(folded), n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}"
    if not names:
        return "none are known"
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"it must be one of {shown}"
