"""Versions of the packages that the digits of a result depend on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_PACKAGES = ("headcount", "numpy", "scipy", "scikit-learn", "polars")


def versions() -> dict[str, str]:
    """Installed versions by package.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from headcount.study.versions import versions
    >>> sorted(versions())
    ['headcount', 'numpy', 'polars', 'scikit-learn', 'scipy']
    """
    return {name: _version(name) for name in _PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
