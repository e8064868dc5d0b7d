"""Errors and warnings.

Every message names what was wrong, what is allowed and what to do.
"""

from __future__ import annotations

import sys
import warnings

__all__ = ["HeadcountError", "HeadcountWarning", "warn"]


class HeadcountError(ValueError):
    """Bad input or a request that cannot be met."""


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


def _is_ours(module: str) -> bool:
    return module == "headcount" or module.startswith("headcount.")
