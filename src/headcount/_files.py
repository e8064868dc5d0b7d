"""Files that are written wholly or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

from headcount.errors import HeadcountError

__all__ = ["clear_parts", "is_device", "write_bytes"]


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file wholly or not at all.

    Parameters
    ----------
    path : Path
        Replaced if it is there already.
    content : bytes
        What to write.
    """
    try:
        if is_device(path):
            path.write_bytes(content)
            return
        target = path.resolve()
        # In the same folder, as only there renaming is one step.
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
            f"{str(path)!r} cannot be written ({error.strerror or error}): choose a place "
            "where you may write and that has room."
        ) from None


def is_device(path: Path) -> bool:
    """Whether it is a pipe, a terminal or the like, which cannot be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def clear_parts(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder."""
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)
