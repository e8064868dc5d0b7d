"""Accuracy of a trained classifier on items without labels."""

from __future__ import annotations

from headcount.accuracy.atc import ATC
from headcount.accuracy.base import Predictor
from headcount.accuracy.cbpe import CBPE
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.labelled import LabelledAccuracy
from headcount.accuracy.leap import LEAP, OLEAP, SLEAP
from headcount.accuracy.mandoline import Mandoline
from headcount.accuracy.naive import Naive
from headcount.accuracy.plots import plot_errors, plot_estimates
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.registry import methods, predictors
from headcount.accuracy.regression import RCA, DoC, RCAStar
from headcount.accuracy.search import QuAccSearch
from headcount.accuracy.tables import METRICS, TableMetric, as_metric, table_of

__all__ = [
    "ATC",
    "CBPE",
    "LEAP",
    "METRICS",
    "OLEAP",
    "RCA",
    "SLEAP",
    "AccuracyEstimate",
    "AccuracyInfo",
    "DoC",
    "LabelledAccuracy",
    "Mandoline",
    "Naive",
    "Predictor",
    "QuAcc",
    "QuAccSearch",
    "RCAStar",
    "TableMetric",
    "as_metric",
    "methods",
    "plot_errors",
    "plot_estimates",
    "predictors",
    "table_of",
]
