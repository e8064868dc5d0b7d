"""Checks of the names in a spec; messages suggest the closest allowed name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from headcount.errors import HeadcountError

__all__ = ["check_keys", "check_known"]


def check_known(what: str, name: Any, allowed: Iterable[str]) -> str:
    """Return a name if it is known.

    Parameters
    ----------
    what : str
        Kind of thing that is named, such as ``"dataset"``.
    name : str
        Name to check.
    allowed : iterable of str
        Known names.

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
    """Refuse unknown keys.

    Parameters
    ----------
    where : str
        Table that has the keys, such as ``"[protocol]"``.
    given, allowed : iterable of str
        Keys of the table, and keys that are allowed.

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
