"""Versions of the packages that results depend on."""

from __future__ import annotations

import hashlib
import importlib.util
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from platform import python_version

_PACKAGES = ("headcount", "numpy", "scipy", "scikit-learn", "numba", "polars")


def versions(*modules: str) -> dict[str, str]:
    """Versions of Python and of the packages, by name.

    >>> from headcount._support.versions import versions
    >>> sorted(versions())
    ['headcount', 'numba', 'numpy', 'polars', 'python', 'scikit-learn', 'scipy']
    """
    by_name = {name: _version(name) for name in _PACKAGES} | {"python": python_version()}
    packages = packages_distributions() if modules else {}
    for module in modules:
        names = packages.get(module.partition(".")[0], [])
        by_name |= (
            {name: _version(name) for name in names} if names else {module: _file(module)}
        )
    return by_name


def _file(module: str) -> str:
    """Checksum of the file of a module."""
    try:
        module_spec = importlib.util.find_spec(module)
        origin = "" if module_spec is None or module_spec.origin is None else module_spec.origin
        with open(origin, "rb") as file:
            return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except (ImportError, OSError, ValueError):  # it is not a file
        return "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
