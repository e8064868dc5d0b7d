"""Exit codes of the command."""

from __future__ import annotations

__all__ = ["DONE", "FAILED", "INTERRUPTED", "UNRELIABLE", "WRONG"]

DONE, FAILED, WRONG, UNRELIABLE, INTERRUPTED = 0, 1, 2, 3, 130
