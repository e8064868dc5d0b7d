"""The study cut into tasks: a collection and methods that share a training."""

from __future__ import annotations

import re
from pathlib import Path

from headcount.study.spec import MethodSpec, Spec
from headcount.study.task import Task
from headcount.study.tweets.settings import SHARED, groups, measures_of

__all__ = ["plan"]

_COSTS = {SHARED: 60.0, "Ensemble": 40.0}  # seconds, roughly
_COST = 20.0


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task a collection and group of methods."""
    n_samples = _points(spec.protocol["step"]) * spec.protocol["repeats"]
    return [
        Task(
            key=f"{dataset}.{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}",
            dataset=dataset,
            settings={"methods": [each.name for each in methods]},
            cost=_cost(name, methods),
            runs=n_samples * sum(len(measures_of(spec, each)) for each in methods),
        )
        for dataset in spec.datasets
        for name, methods in groups(spec).items()
    ]


def _cost(name: str, methods: list[MethodSpec]) -> float:
    return _COSTS.get(name, _COSTS.get(methods[0].options.get("inside", ""), _COST))


def _points(step: float) -> int:
    """Points of the grid on the simplex."""
    n = round(1 / step)
    return (n + 1) * (n + 2) // 2
