"""Accuracy of classifiers predicted under prior shift: Volpi, Moreo and Sebastiani (2025).

Models are trained at many prevalences, and their accuracy is predicted at many others. A task
is a dataset and a training prevalence.
"""

from __future__ import annotations

from headcount.studies import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
