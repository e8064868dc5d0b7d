"""What headcount raises and what it warns with.

Every message says what was wrong, what is allowed and what to do about it.
"""

from __future__ import annotations

__all__ = ["HeadcountError", "HeadcountWarning"]


class HeadcountError(ValueError):
    """The root of all errors that headcount raises on purpose."""


class HeadcountWarning(UserWarning):
    """Something the reader of an estimate ought to know; the work goes on."""
