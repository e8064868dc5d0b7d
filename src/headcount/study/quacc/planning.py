"""The study cut into tasks: a dataset and a training prevalence."""

from __future__ import annotations

from headcount.study.quacc.settings import repeats_of
from headcount.study.spec import Spec
from headcount.study.task import Task

__all__ = ["plan"]

_COSTS = {"imdb": 10.0}  # of others, 1


def plan(spec: Spec) -> list[Task]:
    """One task a dataset and training prevalence."""
    points = spec.protocol["test_prevalences"]
    runs = points * sum(repeats_of(spec, method) for method in spec.methods)
    return [
        Task(
            key=f"{dataset}.{prevalence:g}",
            dataset=dataset,
            settings={"prevalence": prevalence},
            cost=_COSTS.get(dataset, 1.0),
            runs=runs,
        )
        for dataset in spec.datasets
        for prevalence in spec.protocol["train_prevalences"]
    ]
