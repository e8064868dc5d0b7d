"""The engine of experiments: a spec goes in, a store of results comes out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.study.run import StudyRun, run_study
    from headcount.study.sections import Section
    from headcount.study.spec import MethodSpec, Spec, built_in_specs, read_spec
    from headcount.study.status import Status
    from headcount.study.store import Store
    from headcount.study.task import Experiment, Task, task_seed

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
    "headcount.study.run": {"StudyRun", "run_study"},
    "headcount.study.sections": {"Section"},
    "headcount.study.spec": {"MethodSpec", "Spec", "built_in_specs", "read_spec"},
    "headcount.study.status": {"Status"},
    "headcount.study.store": {"Store"},
    "headcount.study.task": {"Experiment", "Task", "task_seed"},
}


def __getattr__(name: str) -> Any:
    # Worker processes import this package before they need any of it.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
