"""The engine of experiments: a spec goes in, a store of results comes out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount_studies.engine.run import StudyRun, run_study
    from headcount_studies.engine.sections import Section
    from headcount_studies.engine.spec import MethodSpec, Spec, built_in_specs, read_spec
    from headcount_studies.engine.status import Status
    from headcount_studies.engine.store import Store
    from headcount_studies.engine.task import Experiment, Task, task_seed

__all__ = [
    "Experiment",
    "MethodSpec",
    "Section",
    "Spec",
    "Status",
    "Store",
    "StudyRun",
    "Task",
    "built_in_specs",
    "read_spec",
    "run_study",
    "task_seed",
]

_HOMES = {
    "headcount_studies.engine.run": {"StudyRun", "run_study"},
    "headcount_studies.engine.sections": {"Section"},
    "headcount_studies.engine.spec": {"MethodSpec", "Spec", "built_in_specs", "read_spec"},
    "headcount_studies.engine.status": {"Status"},
    "headcount_studies.engine.store": {"Store"},
    "headcount_studies.engine.task": {"Experiment", "Task", "task_seed"},
}


def __getattr__(name: str) -> Any:
    # Worker processes import this package before they need any of it.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
