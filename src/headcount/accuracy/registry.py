"""The methods, found by looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.accuracy.base import Predictor
from headcount.quantify.registry import find_methods

if TYPE_CHECKING:
    import polars as pl

__all__ = ["methods", "predictors"]


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
    return find_methods("headcount.accuracy", Predictor)


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
