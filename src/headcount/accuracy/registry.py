"""Discovery of the methods of accuracy prediction."""

from __future__ import annotations

from headcount.accuracy.base import Predictor
from headcount.quantify.registry import MethodTable, find_methods

__all__ = ["methods", "predictors"]

_FACTS = ("title", "input", "gives", "shift", "reference")


def predictors() -> dict[str, type[Predictor]]:
    """Every method of accuracy prediction by name.

    Returns
    -------
    dict of str to type
        Sorted by name, ignoring case.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.predictors()["LEAP"].info.shift
    'prior'
    """
    return find_methods("headcount.accuracy", Predictor)


def methods() -> MethodTable:
    """All methods: input, output, assumed shift and reference.

    Returns
    -------
    MethodTable
        One row per method. Prints as a table; ``.to_frame()`` returns a Polars frame.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.methods().to_frame().columns
    ['method', 'title', 'input', 'gives', 'shift', 'reference']
    """
    return MethodTable.of(predictors(), _FACTS)
