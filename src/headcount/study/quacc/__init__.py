"""Accuracy of classifiers predicted under prior shift: Volpi, Moreo and Sebastiani (2025)."""

from __future__ import annotations

from headcount.study.quacc.experiment import AccuracyPrediction, experiment

__all__ = ["AccuracyPrediction", "experiment"]
