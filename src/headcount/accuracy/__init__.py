"""Accuracy of a trained classifier on items without labels."""

from __future__ import annotations

from headcount.accuracy.base import Predictor, methods, predictors
from headcount.accuracy.cbpe import CBPE, PAPE
from headcount.accuracy.confidence import ATC, Mandoline, Naive
from headcount.accuracy.estimates import AccuracyEstimate, LabelledAccuracy
from headcount.accuracy.leap import LEAP, OLEAP, SLEAP
from headcount.accuracy.metrics import (
    METRIC_NAMES,
    METRICS,
    TableMetric,
    as_metric,
    cost,
    realised,
    table_of,
)
from headcount.accuracy.plots import plot_errors, plot_estimates
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.regression import RCA, DispersionScore, DoC, NuclearNorm, RCAStar
from headcount.accuracy.search import QuAccSearch
from headcount.accuracy.transport import COT, COTT

__all__ = [
    "ATC",
    "CBPE",
    "COT",
    "COTT",
    "LEAP",
    "METRICS",
    "METRIC_NAMES",
    "OLEAP",
    "PAPE",
    "RCA",
    "SLEAP",
    "AccuracyEstimate",
    "DispersionScore",
    "DoC",
    "LabelledAccuracy",
    "Mandoline",
    "Naive",
    "NuclearNorm",
    "Predictor",
    "QuAcc",
    "QuAccSearch",
    "RCAStar",
    "TableMetric",
    "as_metric",
    "cost",
    "methods",
    "plot_errors",
    "plot_estimates",
    "predictors",
    "realised",
    "table_of",
]
