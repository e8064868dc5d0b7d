"""Measures of a classifier, taken from its table of true and predicted classes.

A table has a row for each true class and a column for each predicted one; its cells are the
shares of the items and sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.errors import HeadcountError

__all__ = [
    "METRICS",
    "Metric",
    "TableMetric",
    "accuracy",
    "as_metric",
    "balanced_accuracy",
    "error",
    "f1",
    "macro_f1",
    "mcc",
    "precision",
    "recall",
    "table_of",
]

Floats = NDArray[np.float64]
Metric = str | Callable[[Floats], float]
"""The name of a measure, or a function of one K x K table."""

# A share of items below this is none at all, but for rounding.
_NOTHING = 1e-12


def accuracy(tables: ArrayLike) -> Floats:
    """Share of the items that are predicted right.

    Parameters
    ----------
    tables : array-like of shape (..., K, K)
        Tables, rows true and columns predicted.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> from headcount.accuracy.tables import accuracy
    >>> accuracy([[0.5, 0.1], [0.2, 0.2]]).round(6)
    np.float64(0.7)
    """
    return np.trace(_tables(tables), axis1=-2, axis2=-1)


def error(tables: ArrayLike) -> Floats:
    """Share of the items that are predicted wrong: 1 - `accuracy`."""
    return 1.0 - accuracy(tables)


def f1(tables: ArrayLike) -> Floats:
    """F1 of the second of two classes; with more classes the mean over all of them.

    A class that is neither there nor predicted has an F1 of 1.

    Examples
    --------
    >>> from headcount.accuracy.tables import f1
    >>> f1([[0.5, 0.1], [0.2, 0.2]]).round(3)
    np.float64(0.571)
    """
    return _of_the_positive(_f1_by_class(_tables(tables)))


def macro_f1(tables: ArrayLike) -> Floats:
    """F1 of each class, averaged over the classes, two of them or more."""
    return _f1_by_class(_tables(tables)).mean(axis=-1)


def precision(tables: ArrayLike) -> Floats:
    """Part of the items predicted to be of a class that are; classes as for `f1`.

    Of a class that is never predicted it is 0, or 1 if the class is not there either.
    """
    given = _tables(tables)
    return _of_the_positive(_part(given, given.sum(axis=-2), given.sum(axis=-1)))


def recall(tables: ArrayLike) -> Floats:
    """Part of the items of a class that are predicted to be; classes as for `f1`.

    Of a class that is not there it is 0, or 1 if the class is never predicted either.
    """
    given = _tables(tables)
    return _of_the_positive(_part(given, given.sum(axis=-1), given.sum(axis=-2)))


def balanced_accuracy(tables: ArrayLike) -> Floats:
    """Recall of the classes that are there, averaged over them."""
    given = _tables(tables)
    total = given.sum(axis=-1)
    there = total > _NOTHING
    recalls = np.diagonal(given, axis1=-2, axis2=-1) / np.where(there, total, 1.0)
    return np.where(there, recalls, 0.0).sum(axis=-1) / there.sum(axis=-1)


def mcc(tables: ArrayLike) -> Floats:
    """Correlation of true and predicted classes (Matthews); 0 if either never varies."""
    given = _tables(tables)
    true, predicted = given.sum(axis=-1), given.sum(axis=-2)
    together = np.trace(given, axis1=-2, axis2=-1) - (true * predicted).sum(axis=-1)
    spread = (1 - (true**2).sum(axis=-1)) * (1 - (predicted**2).sum(axis=-1))
    varies = spread > _NOTHING
    return np.where(varies, together / np.sqrt(np.where(varies, spread, 1.0)), 0.0)


@dataclass(frozen=True)
class TableMetric:
    """A measure, and what is known of it.

    Attributes
    ----------
    name : str
        What it is called.
    function : callable
        Gives a number for each table, whatever axes come before the last two.
    low, high : float
        The least and the greatest value there can be.
    """

    name: str
    function: Callable[[Floats], Floats]
    low: float = 0.0
    high: float = 1.0

    def __call__(self, tables: Floats) -> Floats:
        """The measure of each table."""
        return np.asarray(self.function(tables), dtype=np.float64)


METRICS: dict[str, TableMetric] = {
    function.__name__: TableMetric(function.__name__, function, low)
    for function, low in (
        (accuracy, 0.0),
        (error, 0.0),
        (f1, 0.0),
        (macro_f1, 0.0),
        (precision, 0.0),
        (recall, 0.0),
        (balanced_accuracy, 0.0),
        (mcc, -1.0),
    )
}


def as_metric(metric: Metric | TableMetric) -> TableMetric:
    """The measure of a name, or one made of a function of a single table.

    Parameters
    ----------
    metric : str or callable
        One of ``METRICS``, or a function that takes a K x K table, rows true and columns
        predicted, and returns a number.

    Returns
    -------
    TableMetric

    Examples
    --------
    >>> import numpy as np
    >>> missed = as_metric(lambda table: table[1, 0])
    >>> missed(np.array([[[0.5, 0.1], [0.2, 0.2]], [[0.4, 0.2], [0.3, 0.1]]]))
    array([0.2, 0.3])
    """
    if isinstance(metric, TableMetric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if not callable(metric) or isinstance(metric, type):
        allowed = ", ".join(map(repr, METRICS))
        raise HeadcountError(
            f"metric is {metric!r}; it must be one of {allowed}, or a function of a K x K "
            "table, rows true and columns predicted."
        )
    name = getattr(metric, "__name__", type(metric).__name__)
    return TableMetric(name, _one_by_one(metric), -np.inf, np.inf)


def table_of(codes: ArrayLike, labels: ArrayLike, n_classes: int) -> Floats:
    """The table of items whose true and predicted classes are known, as shares.

    Examples
    --------
    >>> from headcount.accuracy.tables import table_of
    >>> table_of([0, 0, 1, 1], [0, 1, 1, 1], 2)
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    """
    cells = np.asarray(codes) * n_classes + np.asarray(labels)
    counts = np.bincount(cells, minlength=n_classes**2) / len(cells)
    return counts.reshape(n_classes, n_classes)


def _one_by_one(function: Callable[[Floats], float]) -> Callable[[Floats], Floats]:
    """A function of one table as one of many: it may well not know of leading axes."""

    def each(tables: Floats) -> Floats:
        flat = tables.reshape(-1, *tables.shape[-2:])
        return np.array([_number(function(table)) for table in flat]).reshape(tables.shape[:-2])

    return each


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise HeadcountError(
            f"metric returned {value!r} for a table; it must return one number."
        ) from None


def _tables(tables: ArrayLike) -> Floats:
    given = np.asarray(tables, dtype=np.float64)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise HeadcountError(
            f"tables has the shape {given.shape}, but must end in K x K: a row for each true "
            "class and a column for each predicted one."
        )
    return given


def _f1_by_class(tables: Floats) -> Floats:
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    total = tables.sum(axis=-1) + tables.sum(axis=-2)
    there = total > _NOTHING
    return np.where(there, 2 * right / np.where(there, total, 1.0), 1.0)


def _part(tables: Floats, total: Floats, other: Floats) -> Floats:
    """What is right of a total; of nothing, 1 if the other total is nothing as well."""
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    there = total > _NOTHING
    return np.where(there, right / np.where(there, total, 1.0), other <= _NOTHING)


def _of_the_positive(by_class: Floats) -> Floats:
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)
