"""The study cut into tasks, one a training set."""

from __future__ import annotations

from pathlib import Path

from headcount.study.dataset_shift.settings import (
    PROTOCOLS,
    make_protocol,
    read_selection,
    served,
    unselected,
)
from headcount.study.spec import Spec
from headcount.study.task import Task

__all__ = ["plan"]

# Seconds, roughly: of a setting, of an item trained on in one, of a method on a sample.
_A_SETTING, _AN_ITEM, _A_RUN = 0.08, 1e-4, 5e-5


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task a dataset, protocol and training set."""
    tasks = []
    for dataset in spec.datasets:
        for name in PROTOCOLS:
            if dataset not in served(spec, name):
                continue
            protocol = make_protocol(spec, dataset, name)
            n_sets = protocol.n_training_sets
            n_settings = len(read_selection(spec).settings)
            # Local shift has its control; what is not selected is a second answer.
            twice = name == "local" or unselected(spec, name) is not None
            n_samples = protocol.n_samples // n_sets * (1 + twice)
            runs = n_samples * len(spec.methods)
            training = n_settings * (_A_SETTING + _AN_ITEM * protocol.train_size)
            tasks += [
                Task(
                    key=f"{dataset}.{name}.{number:04d}",
                    dataset=dataset,
                    settings={"protocol": name, "number": number},
                    cost=training + _A_RUN * runs,
                    runs=runs,
                )
                for number in range(n_sets)
            ]
    return tasks
