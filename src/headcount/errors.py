"""What headcount raises and what it warns with.

Every message says what was wrong, what is allowed and what to do about it.
"""

from __future__ import annotations

import sys
import warnings

__all__ = ["HeadcountError", "HeadcountWarning", "warn"]


class HeadcountError(ValueError):
    """The root of all errors that headcount raises on purpose."""


class HeadcountWarning(UserWarning):
    """Something the reader of an estimate ought to know; the work goes on."""


def warn(message: str) -> None:
    """Warn at the line that called the library, however deep inside it this is.

    Parameters
    ----------
    message : str
        What the reader ought to know, and what to do about it.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeadcountWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "headcount" or module.startswith("headcount.")
