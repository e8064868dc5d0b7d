"""Compiled loops: arrays in, arrays out, no validation, no imports of other packages.

Every loop works on a range ``start:stop`` of independent items and writes each result to
its own place. Ranges can therefore be distributed over threads without changing a bit.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path


def _can_write(folder: Path) -> bool:
    """Return True if a folder, or the first of those above it that exists, is writable."""
    while not os.path.exists(folder):  # false also where it may not be looked at
        if folder == folder.parent:
            return False
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _private_folder() -> str:
    """Folder for temporary files that no other user can read or write."""
    folder = Path(tempfile.gettempdir()) / f"headcount-numba-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
    except OSError:
        return tempfile.mkdtemp(prefix="headcount-numba-")
    owned = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
    if owned and not facts.st_mode & 0o077:
        return str(folder)
    return tempfile.mkdtemp(prefix="headcount-numba-")


def _set_cache() -> None:
    """Give compiled loops a temporary cache if the package and the home are read-only."""
    if os.name != "posix" or "NUMBA_CACHE_DIR" in os.environ:
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    if _can_write(Path(__file__).parent / "__pycache__") or _can_write(home / "numba"):
        return
    os.environ["NUMBA_CACHE_DIR"] = _private_folder()
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]


_set_cache()
