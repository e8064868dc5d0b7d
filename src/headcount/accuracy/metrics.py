"""Metrics by name: functions of the table of true and predicted classes, or of ranked items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.rankings import RANKINGS
from headcount.accuracy.tables import METRICS, TableMetric, table_metric, table_of
from headcount.errors import HeadcountError
from headcount.scores import Scored, Verdicts

__all__ = ["METRIC_NAMES", "Metric", "as_metric", "realised"]

Floats = NDArray[np.float64]
Metric = str | TableMetric | Callable[[Floats], float]
"""Name of a metric, a metric, or a function of one K x K table."""

METRIC_NAMES = (*METRICS, *RANKINGS)
"""Names of all metrics."""


def as_metric(metric: Metric, reference: Reference | None = None) -> TableMetric:
    """Metric with a name, or from a function of a single table.

    Parameters
    ----------
    metric : str, TableMetric or callable
        One of ``METRIC_NAMES``, or a function that takes a K x K table, rows true and columns
        predicted, and returns a number.
    reference : Reference, default=None
        Labelled items that metrics of ranked items need.

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
    if isinstance(metric, str) and metric in RANKINGS:
        if reference is None or reference.outputs.scores is None:
            raise HeadcountError(
                f"metric is {metric!r}, which ranks items by their posteriors, and there are "
                "none: pass hc.Scored(posteriors), or choose another metric."
            )
        return RANKINGS[metric].given(reference)
    if not callable(metric) or isinstance(metric, type | str):
        allowed = ", ".join(map(repr, METRIC_NAMES))
        raise HeadcountError(
            f"metric is {metric!r}; it must be one of {allowed}, or a function of a K x K "
            "table, rows true and columns predicted."
        )
    return table_metric(metric)


def realised(
    metric: str, items: Scored | Verdicts, codes: ArrayLike, classes: NDArray[Any]
) -> float:
    """Metric on items whose classes are known.

    Parameters
    ----------
    metric : str
        One of ``METRIC_NAMES``.
    items : Scored or Verdicts
        Outputs of the classifier.
    codes : array-like of shape (n,)
        True classes, as positions in `classes`.
    classes : ndarray of shape (K,)
        The classes.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> realised("auroc", hc.Scored([0.1, 0.6, 0.3, 0.8]), [0, 0, 1, 1], np.arange(2))
    0.75
    """
    outputs = ModelOutputs.of(items, classes)
    if metric in RANKINGS:
        return float(RANKINGS[metric].realised(outputs.posteriors, codes)[0])
    table = table_of(codes, outputs.labels, len(classes))
    return float(as_metric(metric)(table))
