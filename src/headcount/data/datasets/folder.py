"""Where datasets are: a folder that the user names."""

from __future__ import annotations

import os
from pathlib import Path

from headcount.errors import HeadcountError

__all__ = ["data_file", "data_folder"]

_ENVIRONMENT = "HEADCOUNT_DATA"


def data_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the datasets.

    Parameters
    ----------
    path : path, default=None
        The folder; by default the one that the environment variable ``HEADCOUNT_DATA`` names.

    Returns
    -------
    Path
        A folder that exists.

    Examples
    --------
    >>> from headcount.data.datasets import data_folder
    >>> data_folder("/").is_dir()
    True
    """
    named = os.environ.get(_ENVIRONMENT) if path is None else path
    if not named:
        raise HeadcountError(
            f"There is no folder of datasets: set {_ENVIRONMENT} to its path, or name it with "
            "--data on the command line."
        )
    folder = Path(named)
    if not folder.is_dir():
        raise HeadcountError(
            f"The folder of datasets {str(folder)!r} does not exist: correct {_ENVIRONMENT} or "
            "--data."
        )
    return folder


def data_file(folder: Path, name: str) -> Path:
    """A file of the folder; one that is not there is refused by name."""
    path = folder / name
    if not path.is_file():
        raise HeadcountError(
            f"The folder of datasets {str(folder)!r} has no file {name!r}: put it there, or "
            "leave the dataset out."
        )
    return path
