"""A lock file: one writer at a time. It ends with the process that holds it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headcount.errors import HeadcountError

__all__ = ["locked"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file; refuse if another process does.

    The system releases the lock when its holder ends, even by SIGKILL. What a dead process
    has left in the file locks nobody out.

    Parameters
    ----------
    path : Path
        Lock file; created if it is missing. It holds the process id of its holder.
    """
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
        if not _taken(file.fileno()):
            holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
            raise HeadcountError(
                f"The store {str(path.parent)!r} is being written by another run (process "
                f"{holder}): wait for it, or stop it first."
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode())
        file.flush()
        yield
        file.truncate(0)


if sys.platform == "win32":

    def _taken(file: int) -> bool:
        import msvcrt

        os.lseek(file, 1 << 30, os.SEEK_SET)  # far behind the process id
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:

    def _taken(file: int) -> bool:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
