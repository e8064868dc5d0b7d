"""Tables of your own: any protocol, classifier and methods, from a spec alone.

A task is a table and one training set. All methods of a task have the same samples.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__, takes_files=True)
