"""Plan, execution of one task, and submissions of methods by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.parameters import check_count, check_fraction
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount_studies.data.lequa import TASKS, find_files, find_task
from headcount_studies.datasets import LequaData, lequa
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known, read_spec
from headcount_studies.engine.store import sample_rows
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.lequa2024.selection import (
    CLASSIFIERS,
    Protocol,
    Selected,
    candidates_of,
    combination_of,
    methods_of,
    named_method,
    predict,
    select,
)

_SHARED = "shared"
_PROTOCOL = ("folds", "holdout", "max_iter")
_SELECTION = ("C", "class_weight", "n_dev")
_CHANGED = (
    "classifiers", "C", "class_weight", "parameters", "grid", "scoring", "race", "quantifiers",
    "combine", "keep", "labelled",
)  # fmt: skip
_ALONE = {"classifiers", "by_task", "C", "needs", "quantifiers"}
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
    check_keys("[protocol]", spec.protocol, (), needed=_PROTOCOL)
    check_keys("[selection]", spec.selection, (), needed=_SELECTION)
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
    for dataset in spec.datasets:
        if not files(spec, dataset, data)[0].is_file():
            continue
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
        alone = _ALONE & method.options.keys()
        groups.setdefault(method.name if alone else _SHARED, []).append(method)
    return groups


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File that shows that a task is there: a small one, or the zip it is in."""
    try:
        task_files = find_files(data, dataset)
    except HeadcountError:
        return [data / dataset / "public" / "label_map.txt"]
    return [
        task_files.zips[0] if task_files.folder is None else task_files.folder / "label_map.txt"
    ]


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Numbers of labelled items and samples of a task, and the size of a sample."""
    loaded = load_task(dataset, data)
    bags, dev = loaded.train_samples, loaded.dev.samples
    return [
        {
            "dataset": dataset,
            "classes": loaded.task.n_classes,
            "labelled items": len(loaded.y),
            "training samples": None if bags is None else len(bags),
            "development samples": len(dev),
            "of these used": len(dev[: spec.selection["n_dev"] or None]),
            "test samples": len(loaded.test.samples),
            "items of a sample": int(dev.sizes[0]),
        }
    ]


@lru_cache(maxsize=2)
def load_task(name: str, data: Path) -> LequaData:
    """Read the data of a task; samples are parsed when they are used."""
    return lequa(data, name, progress=False)


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of some methods on the test samples of a task of the challenge."""
    loaded = load_task(task.dataset, data)
    # The same for all tasks of a dataset, so that methods share folds.
    seed = task_seed(spec.seed, task.dataset)
    methods = [method for method in spec.methods if method.name in task.settings["methods"]]
    samples = loaded.test.samples
    if samples.prevalence is None:
        raise HeadcountError(
            f"task {task.dataset} has no test_prevalences.txt: a study needs the true shares."
        )
    selected = _select(spec, loaded, methods, seed, progress=False)
    shares = predict(loaded, loaded.test, _usable(selected), progress=False)
    facts = _facts(loaded)
    return pl.concat(
        sample_rows(
            spec,
            samples,
            shares.get(name),
            {
                "dataset": task.dataset,
                "method": name,
                "failure": selection.failure,
                "setting": selection.setting,
            },
            {
                "sample": np.arange(len(samples), dtype=np.int32),
                "dev_error": selection.error if np.isfinite(selection.error) else None,
                **facts,
            },
        )
        for name, selection in selected.items()
    )


def _select(
    spec: Spec, data: LequaData, methods: Sequence[MethodSpec], seed: int, **options: Any
) -> dict[str, Selected]:
    """Settings of methods for a task, chosen on its development samples."""
    groups = {method.name: candidates_of(spec, method, data.task, seed) for method in methods}
    combinations = {method.name: combination_of(method, data.task) for method in methods}
    return select(data, groups, protocol_of(spec, seed), combinations=combinations, **options)


def _usable(selections: dict[str, Selected]) -> dict[str, Selected]:
    return dict(pair for pair in selections.items() if pair[1].failure is None)


def _facts(data: LequaData) -> dict[str, Any]:
    """Of each test sample: shift, share of the first domain if known; and p(1) of training.

    The shift of two classes has a sign: the share of training less that of the sample.
    """
    true, K = data.test.samples.prevalence, data.task.n_classes
    assert true is not None
    prior = np.bincount(data.y, minlength=K) / len(data.y)
    shift = prior[1] - true[:, 1] if K == 2 else np.abs(prior - true).mean(axis=1)
    return {"shift": shift, "domain": data.first_domain, "p_train": float(prior[1])}


@dataclass(frozen=True, eq=False)
class Submission:
    """Estimates of a method for all samples of a part."""

    method: str
    shares: NDArray[np.float64] | None
    setting: str
    dev_error: float
    failure: str | None = None


def make_submissions(
    data: LequaData,
    method: str,
    *,
    split: str = "test",
    selected: bool = True,
    n_dev: int | None = None,
    n_jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> list[Submission]:
    """Estimate the samples of a part by one or more methods."""
    spec = read_spec("lequa2024")
    if n_dev is not None:
        spec = replace(spec, selection=spec.selection | {"n_dev": n_dev})
    methods = _methods(spec, data, method)
    if not selected:
        if method == "auto":
            raise HeadcountError(
                "method is 'auto', which is selected on development samples: set `select` to "
                "dev, or name a method."
            )
        spec, methods = _without_grids(spec, methods)
    selections = _select(spec, data, methods, seed, n_jobs=n_jobs, progress=progress)
    usable = _usable(selections)
    if not usable:
        name, selection = next(iter(selections.items()))
        raise HeadcountError(f"no method could be used; {name}: {selection.failure}")
    if method == "auto":
        usable = dict([min(usable.items(), key=lambda entry: entry[1].error)])
    samples = data.test if split == "test" else data.dev
    shares = predict(data, samples, usable, progress=progress)
    submissions = [
        Submission(
            name, shares.get(name), selection.setting, selection.error, selection.failure
        )
        for name, selection in selections.items()
    ]
    return sorted(
        submissions,
        key=lambda one: (one.failure is not None, np.nan_to_num(one.dev_error, nan=np.inf)),
    )


def _methods(spec: Spec, data: LequaData, method: str) -> list[MethodSpec]:
    if method in ("auto", "all"):
        return methods_of(spec, data.task)
    names = [name.strip() for name in method.split(",") if name.strip()]
    if not names:
        raise HeadcountError(
            f"method is {method!r}; it must be 'auto', 'all', or a name such as 'SLD'."
        )
    named = [named_method(spec, name) for name in names]
    for chosen_method in named:
        tasks = chosen_method.options.get("tasks", [data.task.name])
        if data.task.name not in tasks:
            raise HeadcountError(
                f"method is {chosen_method.name!r}, which is for {', '.join(tasks)}, not for "
                f"{data.task.name}: choose another."
            )
    return named


def _without_grids(spec: Spec, methods: Sequence[MethodSpec]) -> tuple[Spec, list[MethodSpec]]:
    """The same methods with one setting each: C = 1 and default parameters."""
    fixed = spec.selection | {"C": [1.0], "class_weight": ["none"]}
    plain = [
        replace(method, options={k: v for k, v in method.options.items() if k != "grid"})
        for method in methods
    ]
    return replace(spec, selection=fixed), plain
