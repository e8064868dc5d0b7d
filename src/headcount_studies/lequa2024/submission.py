"""Submissions: methods by name, selected on development samples, applied to test samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount_studies.datasets import LequaData
from headcount_studies.engine.spec import MethodSpec, Spec, read_spec
from headcount_studies.lequa2024.candidates import (
    candidates_of,
    combination_of,
    methods_of,
    named_method,
)
from headcount_studies.lequa2024.selection import predict, select
from headcount_studies.lequa2024.spec import protocol_of


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
    part: str = "test",
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
    groups = {method.name: candidates_of(spec, method, data.task, seed) for method in methods}
    combinations = {method.name: combination_of(method, data.task) for method in methods}
    selections = select(
        data,
        groups,
        protocol_of(spec, seed),
        combinations=combinations,
        n_jobs=n_jobs,
        progress=progress,
    )
    usable = {
        name: selection for name, selection in selections.items() if selection.failure is None
    }
    if not usable:
        name, selection = next(iter(selections.items()))
        raise HeadcountError(f"no method could be used; {name}: {selection.failure}")
    if method == "auto":
        usable = dict([min(usable.items(), key=lambda entry: entry[1].error)])
    samples = data.test if part == "test" else data.dev
    shares = predict(data, samples, usable, progress=progress)
    submissions = [
        Submission(
            name, shares.get(name), selection.setting, selection.error, selection.failure
        )
        for name, selection in selections.items()
    ]
    return sorted(submissions, key=_order)


def _order(submission: Submission) -> tuple[bool, float]:
    return submission.failure is not None, np.nan_to_num(submission.dev_error, nan=np.inf)


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
