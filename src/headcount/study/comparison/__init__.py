"""The comparison of quantification methods on many datasets."""

from __future__ import annotations

from headcount.study.comparison.experiment import Comparison

__all__ = ["experiment"]

experiment = Comparison()
