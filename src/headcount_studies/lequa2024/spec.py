"""Settings of the spec, checked, and the plan: tasks of the challenge and groups of methods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from headcount._support.parameters import check_count, check_fraction
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount_studies.data.lequa import TASKS, find_files, find_task
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Task
from headcount_studies.lequa2024.candidates import CLASSIFIERS, candidates_of, methods_of
from headcount_studies.lequa2024.data import present
from headcount_studies.lequa2024.selection import Protocol

_SHARED = "shared"
_PROTOCOL = ("folds", "holdout", "max_iter")
_SELECTION = ("C", "class_weight", "n_dev")
_CHANGED = (
    "classifiers", "C", "class_weight", "parameters", "grid", "scoring", "race", "quantifiers",
    "combine", "keep", "labelled",
)  # fmt: skip
_OPTIONS = ("inside", "around", "tasks", "by_task", "needs", *_CHANGED)


def protocol_of(spec: Spec, seed: int) -> Protocol:
    """Settings of the selection, as the spec has them."""
    return Protocol(
        folds=spec.protocol["folds"],
        holdout=spec.protocol["holdout"],
        seed=seed,
        n_dev=spec.selection["n_dev"] or None,
    )


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    for name in spec.datasets:
        check_known("task of LeQua", name, TASKS)
    for metric in spec.metrics:
        check_measure(metric)
    for where, settings, keys in (
        ("[protocol]", spec.protocol, _PROTOCOL),
        ("[selection]", spec.selection, _SELECTION),
    ):
        check_keys(where, settings, keys)
        for key in keys:
            if key not in settings:
                raise HeadcountError(f"{where} has no {key!r}: add it.")
    check_count("folds", spec.protocol["folds"], 2)
    check_count("max_iter", spec.protocol["max_iter"])
    check_count("n_dev", spec.selection["n_dev"], 0)
    check_fraction("holdout", spec.protocol["holdout"])
    for method in spec.methods:
        _check_options(method.name, method.options, _OPTIONS)
        for task, changed in method.options.get("by_task", {}).items():
            find_task(task)
            _check_options(method.name, changed, _CHANGED)
        for name in spec.datasets:
            candidates_of(spec, method, TASKS[name], 0)


def _check_options(method: str, options: dict[str, Any], allowed: tuple[str, ...]) -> None:
    check_keys(f"options of {method!r}", options, allowed)
    for name in options.get("classifiers", ()):
        check_known("classifier", name, ["logistic", *CLASSIFIERS])
    check_known("scoring", options.get("scoring", "folds"), ("folds", "holdout"))
    check_known("combine", options.get("combine", "median"), ("median", "mean"))
    check_count("keep", options.get("keep", 1))
    for table in options.get("quantifiers", ()):
        where = f"quantifiers of {method!r}"
        check_keys(where, table, ("quantifier", "parameters", "grid"))
        if "quantifier" not in table:
            raise HeadcountError(f"an entry of {where} has no 'quantifier': name one.")
    for name in options.get("tasks", ()):
        check_known("task of LeQua", name, TASKS)


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per task of the challenge and group of methods."""
    tasks = []
    for dataset in present(spec, data):
        task = TASKS[dataset]
        n_samples = len(find_files(data, task).sample_names("test"))
        for name, methods in _groups(spec, dataset).items():
            tasks.append(
                Task(
                    key=f"{dataset}.{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}",
                    dataset=dataset,
                    settings={"methods": [method.name for method in methods]},
                    cost=float(task.n_classes * task.size * (2 if name == _SHARED else 1)),
                    runs=n_samples * len(methods),
                )
            )
    return tasks


def _groups(spec: Spec, dataset: str) -> dict[str, list[MethodSpec]]:
    """Methods by task of the study: those on the grid of the spec are one group."""
    groups: dict[str, list[MethodSpec]] = {}
    for method in methods_of(spec, TASKS[dataset]):
        own_settings = {
            "classifiers",
            "by_task",
            "C",
            "needs",
            "quantifiers",
        } & method.options.keys()
        groups.setdefault(method.name if own_settings else _SHARED, []).append(method)
    return groups
