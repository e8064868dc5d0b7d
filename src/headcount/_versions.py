"""Versions of the packages that results depend on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from platform import python_version

__all__ = ["versions"]

_PACKAGES = ("headcount", "numpy", "scipy", "scikit-learn", "numba", "polars")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages, by name.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from headcount._versions import versions
    >>> sorted(versions())
    ['headcount', 'numba', 'numpy', 'polars', 'python', 'scikit-learn', 'scipy']
    """
    return {name: _version(name) for name in _PACKAGES} | {"python": python_version()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
