"""Classifiers trained for quantification, as scikit-learn estimators."""

from __future__ import annotations

from headcount.learn.multicalibrated import MulticalibratedClassifier
from headcount.learn.multivariate_svc import MultivariateSVC
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.learn.trees import QuantificationForestClassifier, QuantificationTreeClassifier

__all__ = [
    "MulticalibratedClassifier",
    "MultivariateSVC",
    "ProportionWeightedKNN",
    "QuantificationForestClassifier",
    "QuantificationTreeClassifier",
]
