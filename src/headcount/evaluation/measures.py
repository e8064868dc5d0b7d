"""Errors by name or by function, one per sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import metrics
from headcount.errors import HeadcountError

__all__ = ["Measure", "check_measure"]

Metric = str | Callable[[NDArray[np.float64], NDArray[np.float64]], Any]


@dataclass(frozen=True)
class Measure:
    """An error: its name and what computes it."""

    name: str
    function: Callable[..., Any]

    def __call__(
        self,
        true: NDArray[np.float64],
        estimated: NDArray[np.float64],
        sizes: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """One error a sample, smoothed by the sample's own size where it is."""
        # By function, as a user's own may have any name.
        smoothed = any(self.function is metrics.METRICS[name] for name in metrics.SMOOTHED)
        more = {"size": sizes} if smoothed else {}
        values = np.asarray(self.function(true, estimated, **more), dtype=np.float64)
        if values.shape != (len(true),):
            raise HeadcountError(
                f"metric {self.name!r} gives an array of shape {values.shape} for "
                f"{len(true):,} samples: it must return one number per sample."
            )
        return values


def check_measure(metric: Metric) -> Measure:
    """A measure from a metric's name or a function of true and estimated shares."""
    if callable(metric):
        return Measure(getattr(metric, "__name__", type(metric).__name__), metric)
    if not isinstance(metric, str):
        raise HeadcountError(
            f"metric is {metric!r}; it must be one of {', '.join(metrics.METRICS)}, or a "
            "function of true and estimated shares."
        )
    return Measure(metric, metrics.by_name(metric))
