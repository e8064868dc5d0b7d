"""Sentiment of tweets, three classes: Moreo and Sebastiani (2022).

Positive, neutral and negative tweets in every mix, all methods on the same samples. A task is
a collection and a group of methods that share classifiers.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
