"""Errors by name or by function, one per sample, and metrics of intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from headcount import metrics
from headcount._support.arrays import Array, Floats, Ints
from headcount.errors import HeadcountError
from headcount.quantifiers.base import Quantifier
from headcount.samples.samples import Samples

Metric: TypeAlias = str | Callable[[Floats, Floats], Any]
Metrics: TypeAlias = Metric | Sequence[Metric] | Mapping[str, Metric]


# Metrics for which other shares are best than for the absolute error.
_ACTIONS = {"rae": (metrics.rae, metrics.nrae), "mean": (metrics.se,)}


@dataclass(frozen=True)
class Measure:
    """An error by name, with the function that computes it."""

    name: str
    function: Callable[..., Any]

    @property
    def of_intervals(self) -> bool:
        """True if it measures intervals, not shares."""
        return self.name in metrics.OF_INTERVALS and (
            self.function is metrics.OF_INTERVALS[self.name]
        )

    @property
    def action(self) -> str:
        """Metric that methods with several answers return the best shares for."""
        return next((name for name, alike in _ACTIONS.items() if self.function in alike), "ae")

    def __call__(self, true: Floats, estimated: Floats, sizes: Ints) -> Floats:
        """One error per sample, smoothed by the size of the sample if the metric smooths."""
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


def check_measure(metric: Metric, *, intervals: bool = False) -> Measure:
    """A measure from a metric's name or a function of true and estimated shares."""
    if isinstance(metric, str) and metric in metrics.OF_INTERVALS:
        if not intervals:
            raise HeadcountError(
                f"metric is {metric!r}, which measures intervals and cannot be computed from "
                "shares: name it in the metrics of hc.evaluate, or of a study of your own data."
            )
        return Measure(metric, metrics.OF_INTERVALS[metric])
    if callable(metric):
        return Measure(getattr(metric, "__name__", type(metric).__name__), metric)
    if not isinstance(metric, str):
        raise HeadcountError(
            f"metric is {metric!r}; it must be one of {', '.join(metrics.METRICS)}, or a "
            "function of true and estimated shares."
        )
    return Measure(metric, metrics.by_name(metric))


def check_measures(metrics: Metrics, *, intervals: bool = False) -> list[Measure]:
    """Measures from metrics by name or function, each with a name of its own."""
    if isinstance(metrics, Mapping):
        named = [
            Measure(name, check_measure(metric).function) for name, metric in metrics.items()
        ]
    else:
        alone = isinstance(metrics, str) or callable(metrics)
        several: Any = (metrics,) if alone else metrics
        named = [check_measure(metric, intervals=intervals) for metric in several]
    names = [measure.name for measure in named]
    if not names or len(set(names)) < len(names):
        raise HeadcountError(
            f"metrics has the names {names}; there must be at least one, and no two alike: "
            "pass a dict to name functions yourself."
        )
    return named


def errors_of_methods(
    methods: Iterable[str], measure: Measure, true: Floats, estimated: Floats, sizes: Ints
) -> Floats:
    """Errors, one row per method and one column per sample."""
    rows = []
    for name, shares in zip(methods, estimated, strict=True):
        with naming_method(name):
            rows.append(measure(true, shares, sizes))
    return np.stack(rows)


@contextmanager
def naming_method(method: str) -> Iterator[None]:
    """Name the method in errors."""
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise HeadcountError(f"method {method!r} failed: {kind}{error}") from error


def shares_for(quantifier: Any, items: Any, samples: Samples, measure: Measure) -> Floats:
    """Shares of samples by a fitted quantifier: the best for a metric, if it can tell."""
    if isinstance(quantifier, Quantifier):
        fitted = quantifier.fitted_
        best = fitted.for_metric(measure.action)
        if best is not fitted:
            return best.solve_many(items, samples).prevalence
    return np.asarray(quantifier.predict_many(items, samples), dtype=np.float64)


def errors_by_metric(
    quantifier: Any, items: Any, samples: Samples, true: Floats, measures: Iterable[Measure]
) -> dict[str, Floats]:
    """Errors by the metrics for which other shares are best than `predict_many` returns."""
    if not isinstance(quantifier, Quantifier):
        return {}
    fitted = quantifier.fitted_
    return {
        measure.name: measure(
            true, shares_for(quantifier, items, samples, measure), samples.sizes
        )
        for measure in measures
        if not measure.of_intervals and fitted.for_metric(measure.action) is not fitted
    }


LEVEL = 0.95
"""Level of the intervals that are measured."""

# Samples whose draws are held at a time.
_BATCH = 500


def interval_errors(
    quantifier: Any, items: Any, samples: Samples, true: Floats, names: Sequence[str]
) -> dict[str, Floats]:
    """Metrics of the intervals of a fitted quantifier, one number per sample."""
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
    low, high = (
        np.stack([getattr(interval, side) for interval in ends]) for side in ("low", "high")
    )
    return {
        name: np.asarray(metrics.OF_INTERVALS[name](true, low, high, level=LEVEL))
        for name in names
    }


def given_shares(samples: Samples, classes: Array) -> Floats:
    """Shares that samples were given with, if they are of these classes."""
    if samples.prevalence is None:
        raise HeadcountError(
            "the samples have no prevalence, and there are no labels to compute it from: pass "
            "the labels of the pool, or Samples(..., prevalence=...)."
        )
    if samples.classes is not None and samples.classes.tolist() != classes.tolist():
        raise HeadcountError(
            f"samples have the classes {samples.classes.tolist()}, but the quantifiers "
            f"{classes.tolist()}: give the prevalence in the order of the latter."
        )
    if samples.prevalence.shape[1] != len(classes):
        raise HeadcountError(
            f"samples.prevalence has {samples.prevalence.shape[1]} columns, but the "
            f"quantifiers have {len(classes)} classes: pass one column per class."
        )
    return samples.prevalence
