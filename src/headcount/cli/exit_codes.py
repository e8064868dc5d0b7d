"""Exit codes of the command."""

from __future__ import annotations

DONE, FAILED, WRONG, UNRELIABLE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 4, 130
ALERT = UNRELIABLE
