"""Execution of one task: select settings, fit methods, estimate all samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount import metrics
from headcount.evaluation.measures import check_measure
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount_studies.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    choose,
    made,
    quietly,
)
from headcount_studies.engine.spec import MethodSpec, Spec
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.tweets.data import (
    CLASSES,
    TweetCollection,
    draw_samples,
    load_collection,
)
from headcount_studies.tweets.spec import has_vectors, metrics_of, settings_of


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of some methods on the test samples of a collection."""
    collection = load_collection(task.dataset, data, has_vectors(spec))
    methods = [method for method in spec.methods if method.name in task.settings["methods"]]
    # The same for all tasks of a collection, so that methods can be compared by sample.
    seed = task_seed(spec.seed, task.dataset)
    grid = ClassifierGrid(settings_of(spec, methods[0]), spec.protocol["folds"], seed)
    quantifiers = {method.name: made(method) for method in methods}
    X, y, pool, y_test = collection.training_and_test(spec.protocol["least"])
    samples = draw_samples(spec, y_test, spec.protocol, task_seed(seed, "test"))
    prior = np.array([(y == label).mean() for label in CLASSES])
    frames = []
    answers: dict[tuple[str, int | None], Answer] = {}
    with quietly():
        choices_by_metric = _choices(
            spec, grid, quantifiers, collection, task_seed(seed, "choice")
        )
        for metric, choices in zip(spec.metrics, choices_by_metric, strict=True):
            measured = [method for method in methods if metric in metrics_of(spec, method)]
            # A setting that two metrics select is trained once.
            new = [
                method_spec.name
                for method_spec in measured
                if (method_spec.name, choices[method_spec.name].setting) not in answers
            ]
            new_answers = answer(
                grid,
                {name: quantifiers[name] for name in new},
                {name: choices[name] for name in new},
                (X, y),
                [(ScoredPool(pool), samples)],
            )
            # The time counts once, if two metrics choose the same setting.
            answers = {
                key: replace(method_spec, seconds=0.0) for key, method_spec in answers.items()
            }
            answers |= {(name, choices[name].setting): new_answers[name][0] for name in new}
            frames += [
                _rows(
                    spec,
                    task,
                    (method_spec, metric, choices[method_spec.name]),
                    answers[method_spec.name, choices[method_spec.name].setting],
                    (samples, prior),
                    grid,
                )
                for method_spec in measured
            ]
    return pl.concat(frames)


def _choices(
    spec: Spec,
    grid: ClassifierGrid,
    quantifiers: dict[str, Any],
    collection: TweetCollection,
    seed: int,
) -> list[dict[str, Choice]]:
    """Setting per metric and method, by samples of the validation part."""
    if len(grid.settings) == 1:
        return [{name: Choice(0) for name in quantifiers} for _ in spec.metrics]
    items, split = collection.selection(spec, seed)
    measures = [check_measure(metric) for metric in spec.metrics]
    return choose(grid, quantifiers, items, split, measures)


def _rows(
    spec: Spec,
    task: Task,
    what: tuple[MethodSpec, str, Choice],
    result: Answer,
    tested: tuple[Samples, NDArray[np.float64]],
    grid: ClassifierGrid,
) -> pl.DataFrame:
    """Results of one method, with the setting that one metric selected, on all samples."""
    (method, metric, choice), (samples, prior) = what, tested
    true, n, estimated = samples.prevalence, len(samples), result.prevalence
    assert true is not None
    none = np.full(n, np.nan)
    errors = {
        name: none if estimated is None else check_measure(name)(true, estimated, samples.sizes)
        for name in spec.metrics
    }
    C = None if choice.setting is None else grid.settings[choice.setting]["C"]
    fixed = pl.DataFrame(
        {"dataset": [task.dataset], "method": [method.name], "failure": [result.failure]},
        schema_overrides={"failure": pl.String},
    )
    numbers = pl.DataFrame(
        {
            **errors,
            "shift": np.asarray(metrics.ae(true, prior)),
            "size": samples.sizes,
            **result.columns(true),
        },
        nan_to_null=True,
    )
    return fixed.join(numbers, how="cross").with_columns(
        pl.lit(metric).alias("chosen_by"),
        pl.lit(C, pl.Float64).alias("C"),
        pl.Series("sample", np.arange(n), pl.Int32),
    )
