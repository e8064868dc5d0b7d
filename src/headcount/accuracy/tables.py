"""Metrics of a classifier, computed from its table of true and predicted classes.

A table has one row per true class and one column per predicted class; its cells are the shares
of the items and sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from headcount.accuracy.model_outputs import Reference
    from headcount.sampling import Samples

__all__ = [
    "METRICS",
    "TableMetric",
    "accuracy",
    "balanced_accuracy",
    "cost",
    "error",
    "f1",
    "kappa",
    "macro_f1",
    "mcc",
    "precision",
    "recall",
    "table_metric",
    "table_of",
]

Floats = NDArray[np.float64]
# Smaller shares are zero up to rounding.
_NOTHING = 1e-12


def accuracy(tables: ArrayLike) -> Floats:
    """Share of the items that are predicted correctly.

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
    """Share of the items that are predicted incorrectly: 1 - `accuracy`."""
    return 1.0 - accuracy(tables)


def f1(tables: ArrayLike) -> Floats:
    """F1 of the second of two classes; with more classes, the mean over the classes.

    F1 is 1 for a class without items that is never predicted.

    Examples
    --------
    >>> from headcount.accuracy.tables import f1
    >>> f1([[0.5, 0.1], [0.2, 0.2]]).round(3)
    np.float64(0.571)
    """
    return _of_the_positive(_f1_by_class(_tables(tables)))


def macro_f1(tables: ArrayLike) -> Floats:
    """Mean F1 over the classes, also for two classes."""
    return _f1_by_class(_tables(tables)).mean(axis=-1)


def precision(tables: ArrayLike) -> Floats:
    """Share of correct ones among items predicted as a class; classes as for `f1`.

    0 for a class that is never predicted, or 1 if it has no items either.
    """
    given = _tables(tables)
    return _of_the_positive(_part(given, given.sum(axis=-2), given.sum(axis=-1)))


def recall(tables: ArrayLike) -> Floats:
    """Share of correct ones among items of a class; classes as for `f1`.

    0 for a class without items, or 1 if it is never predicted either.
    """
    given = _tables(tables)
    return _of_the_positive(_part(given, given.sum(axis=-1), given.sum(axis=-2)))


def balanced_accuracy(tables: ArrayLike) -> Floats:
    """Mean recall over the classes that have items."""
    given = _tables(tables)
    total = given.sum(axis=-1)
    there = total > _NOTHING
    recalls = np.diagonal(given, axis1=-2, axis2=-1) / np.where(there, total, 1.0)
    return np.where(there, recalls, 0.0).sum(axis=-1) / there.sum(axis=-1)


def mcc(tables: ArrayLike) -> Floats:
    """Correlation of true and predicted classes (Matthews); 0 if either is constant."""
    given = _tables(tables)
    true, predicted = given.sum(axis=-1), given.sum(axis=-2)
    together = np.trace(given, axis1=-2, axis2=-1) - (true * predicted).sum(axis=-1)
    spread = (1 - (true**2).sum(axis=-1)) * (1 - (predicted**2).sum(axis=-1))
    varies = spread > _NOTHING
    return np.where(varies, together / np.sqrt(np.where(varies, spread, 1.0)), 0.0)


def kappa(tables: ArrayLike) -> Floats:
    """Agreement of true and predicted classes beyond chance (Cohen); 0 if both are constant."""
    given = _tables(tables)
    by_chance = (given.sum(axis=-1) * given.sum(axis=-2)).sum(axis=-1)
    room = 1 - by_chance
    varies = room > _NOTHING
    beyond = np.trace(given, axis1=-2, axis2=-1) - by_chance
    return np.where(varies, beyond / np.where(varies, room, 1.0), 0.0)


@dataclass(frozen=True)
class TableMetric:
    """Metric of tables, with its range.

    Attributes
    ----------
    name : str
        Name of the metric.
    function : callable
        Returns a number for each table; any axes may precede the last two.
    low, high : float
        Lowest and highest possible value.
    """

    name: str
    function: Callable[[Floats], Floats]
    low: float = 0.0
    high: float = 1.0

    def __call__(self, tables: Floats) -> Floats:
        """Metric of each table."""
        return np.asarray(self.function(tables), dtype=np.float64)

    def on_samples(self, reference: Reference, samples: Samples) -> Floats:
        """Metric on each sample of labelled items."""
        return self(reference.tables(samples))

    def on_populations(
        self,
        reference: Reference,
        rows: NDArray[np.int64],
        samples: Samples,
        rng: np.random.Generator,
    ) -> Floats:
        """Metric on random populations that samples of these rows may be from.

        Shares of the classes, and rates of the predictions within each class, have Dirichlet
        distributions given the counts of the sample. The rates also use the counts of the
        rows, whose classes are those of the population.
        """
        K = reference.n_classes
        known = np.bincount(reference.cells[rows], minlength=K * K).reshape(K, K)
        counts = samples.sizes[:, None, None] * reference.tables(samples)
        shares = counts.sum(axis=2) + 1 / K
        shares = rng.standard_gamma(np.where(known.sum(axis=1) > 0, shares, 0.0))
        rates = rng.standard_gamma(counts + known)
        total = rates.sum(axis=2, keepdims=True)
        rates = np.divide(rates, total, out=np.zeros_like(rates), where=total > 0)
        tables = shares[:, :, None] * rates
        return self(np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True)))


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
        (kappa, -1.0),
    )
}


def cost(matrix: ArrayLike) -> TableMetric:
    """Mean cost, or value, of a prediction.

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        Cost of an item by its true class (row) and its predicted class (column).

    Returns
    -------
    TableMetric
        Metric for `predict` and `estimate`.

    Examples
    --------
    >>> import headcount as hc
    >>> missed_costs_ten = hc.accuracy.cost([[0, 1], [10, 0]])
    >>> missed_costs_ten([[0.5, 0.1], [0.2, 0.2]]).round(6)
    np.float64(2.1)
    """
    given = np.asarray(matrix, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.isfinite(given).all():
        raise HeadcountError(
            f"matrix has the shape {given.shape}; it must be K x K numbers: one row per true "
            "class and one column per predicted class."
        )

    def mean(tables: Floats) -> Floats:
        found = _tables(tables)
        if found.shape[-1] != len(given):
            raise HeadcountError(
                f"The cost matrix has {len(given)} classes, but there are {found.shape[-1]}."
            )
        return np.asarray((found * given).sum(axis=(-2, -1)))

    return TableMetric("cost", mean, float(given.min()), float(given.max()))


def table_metric(function: Callable[[Floats], float]) -> TableMetric:
    """Metric from a function of a single table."""
    name = getattr(function, "__name__", type(function).__name__)
    return TableMetric(name, _one_by_one(function), -np.inf, np.inf)


def table_of(codes: ArrayLike, labels: ArrayLike, n_classes: int) -> Floats:
    """Table of items with known true and predicted classes, as shares.

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
    """Apply a function of one table to tables with leading axes."""

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
            f"tables has the shape {given.shape}; it must end in K x K: one row per true "
            "class and one column per predicted class."
        )
    return given


def _f1_by_class(tables: Floats) -> Floats:
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    total = tables.sum(axis=-1) + tables.sum(axis=-2)
    there = total > _NOTHING
    return np.where(there, 2 * right / np.where(there, total, 1.0), 1.0)


def _part(tables: Floats, total: Floats, other: Floats) -> Floats:
    """Share of the diagonal in a total; of zero, 1 if the other total is zero as well."""
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    there = total > _NOTHING
    return np.where(there, right / np.where(there, total, 1.0), other <= _NOTHING)


def _of_the_positive(by_class: Floats) -> Floats:
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)
