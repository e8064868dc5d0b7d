"""Logistic regression and its cross-fitting, for less than the price of separate fits."""

from __future__ import annotations

from headcount.scores.logistic.models import (
    LinearModel,
    cross_fit,
    fit_linear_models,
    is_supported,
)

__all__ = ["LinearModel", "cross_fit", "fit_linear_models", "is_supported"]
