"""Files that are written atomically."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from headcount.errors import HeadcountError

__all__ = ["check_writable", "clear_parts", "is_device", "write_bytes"]


def check_writable(path: Path, name: str, endings: Sequence[str] = ()) -> None:
    """Raise an error if a file cannot be written, before any work is done.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the argument, for messages.
    endings : sequence of str, default=()
        Allowed endings; any by default. Devices need none.
    """
    folder = path.parent
    if endings and path.suffix.lower() not in endings and not is_device(path):
        raise HeadcountError(f"{name} is {str(path)!r}; it must end in {' or '.join(endings)}.")
    if path.is_dir():
        raise HeadcountError(f"{name} is {str(path)!r}, a folder: add the name of a file.")
    if not folder.is_dir():
        raise HeadcountError(
            f"{name} is {str(path)!r}, but there is no folder {str(folder)!r}: make it first."
        )
    if not os.access(path if is_device(path) else folder, os.W_OK):
        raise HeadcountError(
            f"{name} is {str(path)!r}, where you may not write: choose another place."
        )


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete, or as it was before.

    Parameters
    ----------
    path : Path
        Replaced if it exists.
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
