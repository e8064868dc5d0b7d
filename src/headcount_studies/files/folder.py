"""Folder of the datasets, chosen by the user."""

from __future__ import annotations

import os
from pathlib import Path

from headcount.errors import HeadcountError

__all__ = ["data_file", "data_folder"]

_ENVIRONMENT = "HEADCOUNT_DATA"


def data_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the datasets.

    Parameters
    ----------
    path : path, default=None
        The folder. By default that of the environment variable ``HEADCOUNT_DATA``.

    Returns
    -------
    Path
        A folder that exists.

    Examples
    --------
    >>> from headcount_studies.files import data_folder
    >>> data_folder("/").is_dir()
    True
    """
    named = os.environ.get(_ENVIRONMENT) if path is None else path
    if not named:
        raise HeadcountError(
            f"there is no folder of datasets: set {_ENVIRONMENT} to its path, or pass --data "
            "on the command line."
        )
    folder = Path(named)
    if not folder.is_dir():
        raise HeadcountError(
            f"the folder of datasets {str(folder)!r} does not exist: create it, or correct its "
            f"path ({_ENVIRONMENT}, or --data on the command line)."
        )
    return folder


def data_file(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder, or raise an error if it is missing."""
    path = folder / name
    if not path.is_file():
        raise HeadcountError(
            f"the folder of datasets {str(folder)!r} has no file {name!r}: put it there, or "
            "remove the dataset."
        )
    return path
