"""Six methods under four kinds of dataset shift: González, Moreo and Sebastiani (2024).

Prior, covariate (global and local) and concept shift, on reviews with stars. A task is a
dataset, a protocol and a training set.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
