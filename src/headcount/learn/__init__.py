"""Classifiers made for quantification, scikit-learn estimators in their own right."""

from __future__ import annotations

from headcount.learn.multivariate_svc import MultivariateSVC
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.learn.trees import QuantificationForestClassifier, QuantificationTreeClassifier

__all__ = [
    "MultivariateSVC",
    "ProportionWeightedKNN",
    "QuantificationForestClassifier",
    "QuantificationTreeClassifier",
]
