"""Exit codes of the command."""

from __future__ import annotations

__all__ = ["DONE", "FAILED", "INCOMPLETE", "INTERRUPTED", "UNRELIABLE", "WRONG"]

DONE, FAILED, WRONG, UNRELIABLE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 4, 130
