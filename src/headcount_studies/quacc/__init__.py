"""Accuracy of classifiers predicted under prior shift: Volpi, Moreo and Sebastiani (2025).

Models are trained at many prevalences, and their accuracy is predicted at many others: on a
grid for two classes, with shares drawn uniformly from the simplex for more. A task is a dataset
and a training set.

Results have the true and predicted values of each metric. ``true_table``, and
``table_accuracy`` and ``table_f1`` of methods that predict tables, are shares of the items by
true and predicted class, row by row: true and predicted 0, then 0 and 1, 1 and 0, 1 and 1, if
there are two classes. Further metrics can be computed from them. Settings of QuAcc are chosen
by metric, and so are its tables.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
