"""Atomic writing of files."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

from headcount.errors import HeadcountError

__all__ = ["clear_parts", "is_device", "write_bytes"]


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Parameters
    ----------
    path : Path
        The file. Replaced if it exists.
    content : bytes
        Content of the file.
    """
    try:
        if is_device(path):
            path.write_bytes(content)
            return
        target = path.resolve()
        # In the same folder, as renaming is atomic only within a file system.
        part = target.with_name(f".{token_hex(8)}.part")
        try:
            with open(part, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"{str(path)!r} cannot be written ({error.strerror or error}): choose a "
            "folder that is writable and has room."
        ) from None


def is_device(path: Path) -> bool:
    """Return True for pipes, terminals and other files that cannot be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def clear_parts(folder: Path) -> None:
    """Remove the partial files that killed processes have left in a folder."""
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)
