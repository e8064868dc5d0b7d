"""The LeQua 2024 data challenge: Esuli, Moreo, Sebastiani and Sperduti (2024).

Binary, multiclass and ordinal quantification from the organisers' files. Settings are
selected on the development samples, and methods are compared on the test samples. A task of
the study is a task of the challenge with a group of methods.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
