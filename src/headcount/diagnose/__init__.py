"""Tests of the shift assumption behind an estimate, and warnings."""

from __future__ import annotations

from headcount.diagnose.components import components, fit_test_items
from headcount.diagnose.diagnostics import (
    Diagnosis,
    Diagnostics,
    Separation,
    assumption_warnings,
)
from headcount.diagnose.fit_test import FitTest, FitTests, MixtureTest, fit_test

__all__ = [
    "Diagnosis",
    "Diagnostics",
    "FitTest",
    "FitTests",
    "MixtureTest",
    "Separation",
    "assumption_warnings",
    "components",
    "fit_test",
    "fit_test_items",
]
