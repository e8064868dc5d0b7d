"""Versions of the packages that results depend on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_PACKAGES = ("headcount", "numpy", "scipy", "scikit-learn", "numba", "polars")


def versions() -> dict[str, str]:
    """Installed versions, by name of the package.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from headcount._versions import versions
    >>> sorted(versions())
    ['headcount', 'numba', 'numpy', 'polars', 'scikit-learn', 'scipy']
    """
    return {name: _version(name) for name in _PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
