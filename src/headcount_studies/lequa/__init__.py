"""Files of the LeQua data challenges: tasks, reader, cache, checks, generator."""

from __future__ import annotations

from headcount_studies.lequa.cache import CachedVectors, cached_vectors
from headcount_studies.lequa.files import TaskFiles, find_files
from headcount_studies.lequa.prevalences import Problem, check_prevalences, read_prevalences
from headcount_studies.lequa.tasks import TASKS, LequaTask, find_task

__all__ = [
    "TASKS",
    "CachedVectors",
    "LequaTask",
    "Problem",
    "TaskFiles",
    "cached_vectors",
    "check_prevalences",
    "find_files",
    "find_task",
    "read_prevalences",
]
