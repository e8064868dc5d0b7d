"""Metrics of the intervals that quantifiers give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import metrics
from headcount.errors import HeadcountError
from headcount.quantify import Quantifier
from headcount.sampling import Samples

__all__ = ["LEVEL", "interval_errors"]

LEVEL = 0.95
"""Level of the intervals that are measured."""

# Samples whose draws are held at a time.
_BATCH = 500


def interval_errors(
    quantifier: Any,
    items: Any,
    samples: Samples,
    true: NDArray[np.float64],
    names: Sequence[str],
) -> dict[str, NDArray[np.float64]]:
    """Metrics of the intervals of a fitted quantifier, one number per sample.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted.
    items : items, Scored, Verdicts or ScoredPool
        The pool.
    samples : Samples
        Samples of the pool.
    true : ndarray of shape (S, K)
        True shares of the samples.
    names : sequence of str
        Names in ``metrics.OF_INTERVALS``.

    Returns
    -------
    dict of str to ndarray of shape (S,)
    """
    if not names:
        return {}
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"it is of type {type(quantifier).__name__} and gives no intervals, which "
            f"{names[0]} measures: leave out the metric or the method."
        )
    ends = []
    for first in range(0, len(samples), _BATCH):
        estimates = quantifier.estimate_many(items, samples[first : first + _BATCH])
        ends += [estimate.interval(LEVEL) for estimate in estimates]
    low, high = (np.stack([getattr(each, side) for each in ends]) for side in ("low", "high"))
    return {
        name: np.asarray(metrics.OF_INTERVALS[name](true, low, high, level=LEVEL))
        for name in names
    }
