"""The methods, found by looking."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

from headcount.accuracy.base import Predictor

if TYPE_CHECKING:
    import polars as pl

__all__ = ["methods", "predictors"]

_PACKAGE = "headcount.accuracy"


def predictors() -> dict[str, type[Predictor]]:
    """Every method of accuracy prediction by name.

    Returns
    -------
    dict of str to type
        Sorted by name, capitals and small letters alike.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.predictors()["LEAP"].info.shift
    'prior'
    """
    found: dict[str, type[Predictor]] = {}
    package = importlib.import_module(_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        contents = vars(importlib.import_module(f"{_PACKAGE}.{module.name}"))
        for name, value in contents.items():
            if (
                inspect.isclass(value)
                and issubclass(value, Predictor)
                and "info" in vars(value)
            ):
                found[name] = value
    return dict(sorted(found.items(), key=lambda entry: entry[0].lower()))


def methods() -> pl.DataFrame:
    """All methods: what they assume, give and need, and where they are from.

    Returns
    -------
    polars.DataFrame
        A row a method.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.methods().columns
    ['method', 'title', 'shift', 'gives', 'needs', 'reference']
    """
    import polars as pl

    columns = ("title", "shift", "gives", "needs", "reference")
    rows = [
        [name, *(getattr(method.info, column) for column in columns)]
        for name, method in predictors().items()
    ]
    return pl.DataFrame(rows, schema=["method", *columns], orient="row")
