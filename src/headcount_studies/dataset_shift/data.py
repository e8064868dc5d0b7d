"""Reviews as weights of words, and the training sets and samples drawn from them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from headcount.shift.experiments import ShiftExperiment
from headcount_studies.data.texts import Words, count_words, load_reviews, reviews_file
from headcount_studies.dataset_shift.spec import make_protocol
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a collection of reviews."""
    return [reviews_file(dataset, data)]


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Reviews of a dataset, and of each of its groups, and the shares of their stars."""
    reviews = load_reviews(dataset, data)
    parts = {"all": np.ones(len(reviews), np.bool_)}
    if reviews.groups is not None and reviews.pair is not None:
        parts |= {group: reviews.groups == group for group in reviews.pair}
    return [
        {"dataset": dataset, "reviews": name, "number": int(rows.sum())}
        | {
            f"{star} star{'s' * (star > 1)}": round(
                float((reviews.stars[rows] == star).mean()), 4
            )
            for star in range(1, 6)
        }
        for name, rows in parts.items()
    ]


@lru_cache(maxsize=2)
def load_words(dataset: str, data: Path) -> Words:
    """Counts of the words of all reviews of a dataset."""
    return count_words(load_reviews(dataset, data).texts)


def draw_experiments(spec: Spec, task: Task, data: Path) -> dict[str, ShiftExperiment]:
    """Experiment of a task, by protocol; local shift also has its control.

    The control is prior shift from the same training set, by the same degrees.
    """
    protocol, number = task.settings["protocol"], task.settings["number"]
    reviews = load_reviews(task.dataset, data)
    controls = {protocol: False}
    if protocol == "local":
        controls["local-control"] = True
    return {
        name: make_protocol(spec, task.dataset, protocol, control=control).draw(
            groups=reviews.groups, ratings=reviews.stars
        )[number]
        for name, control in controls.items()
    }
