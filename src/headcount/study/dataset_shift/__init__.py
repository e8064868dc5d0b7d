"""Six methods under four kinds of dataset shift: González, Moreo and Sebastiani (2024)."""

from __future__ import annotations

from headcount.study.dataset_shift.experiment import DatasetShift, experiment

__all__ = ["DatasetShift", "experiment"]
