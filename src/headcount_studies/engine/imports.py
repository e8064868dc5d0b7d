"""Import of objects that a spec names."""

from __future__ import annotations

import importlib
from typing import Any

from headcount.errors import HeadcountError

__all__ = ["import_object", "module_of"]

_MOST_SHOWN = 120


def module_of(path: str) -> str:
    """Module of an import path.

    Parameters
    ----------
    path : str
        ``"module:object"``, or ``"module.object"``.

    Returns
    -------
    str

    Examples
    --------
    >>> module_of("sklearn.svm:SVC"), module_of("sklearn.svm.SVC")
    ('sklearn.svm', 'sklearn.svm')
    """
    return path.partition(":")[0] if ":" in path else path.rpartition(".")[0]


def import_object(what: str, path: str) -> Any:
    """Import an object by its path.

    Parameters
    ----------
    what : str
        Kind of object, for messages.
    path : str
        ``"module:object"``, or ``"module.object"``.

    Returns
    -------
    object
    """
    module = module_of(path)
    try:
        return getattr(importlib.import_module(module), path[len(module) + 1 :])
    except Exception as error:  # a module of the user may raise anything on import
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_SHOWN]
        raise HeadcountError(
            f"The {what} {path!r} cannot be imported ({reason}): check the names of the module "
            "and of the object in it, and that PYTHONPATH leads to it."
        ) from error
