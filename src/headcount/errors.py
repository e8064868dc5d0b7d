"""Errors and warnings.

Every message names what was wrong, what is allowed and what to do.
"""

from __future__ import annotations

import sys
import warnings

__all__ = ["HeadcountError", "HeadcountWarning", "MissingPackageError", "warn"]

# Of a longer message, which quotes a long value, the middle is left out.
_MOST = 300
_KEPT_AT_END = 130


class HeadcountError(ValueError):
    """Bad input or a request that cannot be met.

    Parameters
    ----------
    message : str
        One sentence. At most 300 characters are kept, the beginning and the end.

    Examples
    --------
    >>> from headcount.errors import HeadcountError
    >>> len(str(HeadcountError(f"cv is {list(range(999))}; it must be a number.")))
    300
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_shortened(str(message)))


class MissingPackageError(HeadcountError):
    """An optional package is not installed."""


class HeadcountWarning(UserWarning):
    """A result that may mislead. The computation continues."""


def warn(message: str) -> None:
    """Issue a `HeadcountWarning` at the line that called the library.

    Parameters
    ----------
    message : str
        Text of the warning, with what to do.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeadcountWarning, stacklevel=level)


def _shortened(message: str) -> str:
    if len(message) <= _MOST:
        return message
    mark = " ... "
    return message[: _MOST - _KEPT_AT_END - len(mark)] + mark + message[-_KEPT_AT_END:]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("headcount", "headcount_studies")
