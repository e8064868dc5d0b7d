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
from headcount.accuracy.metrics import METRIC_NAMES, as_metric, realised
from headcount.accuracy.naive import Naive
from headcount.accuracy.pape import PAPE
from headcount.accuracy.plots import plot_errors, plot_estimates
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.registry import methods, predictors
from headcount.accuracy.regression import RCA, DoC, RCAStar
from headcount.accuracy.search import QuAccSearch
from headcount.accuracy.separability import DispersionScore, NuclearNorm
from headcount.accuracy.tables import METRICS, TableMetric, cost, table_of
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
    "AccuracyInfo",
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
