"""Execution of one task: select settings, fit methods, estimate the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.evaluation.measures import check_measure
from headcount.evaluation.search import labelled, make_splits
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import APP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount.shift.experiments import ShiftExperiment
from headcount_studies.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    answer_calibrated,
    choose,
    made,
    quietly,
)
from headcount_studies.dataset_shift.data import draw_experiments, load_words
from headcount_studies.dataset_shift.spec import (
    EXCHANGED,
    Selection,
    exchanges_calibration,
    read_selection,
    unselected_setting,
)
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task, task_seed

_COLUMNS = {
    # column of the results: setting of an experiment
    "p_train": "train_prevalence",
    "p_test": "test_prevalence",
    "alpha_train": "train_alpha",
    "alpha_test": "test_alpha",
    "cut_train": "train_cut_point",
    "cut_test": "test_cut_point",
}


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of all methods on the test samples of one training set."""
    experiments = draw_experiments(spec, task, data)
    protocol = task.settings["protocol"]
    train, y = experiments[protocol].train[0], experiments[protocol].train_labels
    items = np.unique(
        np.concatenate([experiment.test.indices for experiment in experiments.values()])
    )
    words = load_words(task.dataset, data)
    X, pool = words.tf_idf(train, items, least=spec.protocol["least"])
    scored = ScoredPool(pool)
    tests = [(scored, experiment.test.within(items)) for experiment in experiments.values()]
    seed = task_seed(spec.seed, task.key)
    quantifiers = {method.name: made(method) for method in spec.methods}
    frames = []
    for suffix, settings in _variants(spec, protocol).items():
        grid = ClassifierGrid(settings, spec.protocol["folds"], seed)
        with quietly():
            choices = _choices(grid, quantifiers, X, y, read_selection(spec))
            answers = {suffix: answer(grid, quantifiers, choices, (X, y), tests)}
            if not suffix and exchanges_calibration(spec, protocol):
                answers[EXCHANGED] = _exchanged(grid, quantifiers, choices, (X, y), tests)
        for i, (name, experiment) in enumerate(experiments.items()):
            for ending, answers_of_variant in answers.items():
                for method, choice in choices.items():
                    names = (task.dataset, name + ending, method)
                    setting = None if choice.setting is None else settings[choice.setting]
                    result = answers_of_variant[method][i]
                    frames.append(_rows(spec, names, experiment, result, setting))
    return pl.concat(frames)


def _exchanged(
    grid: ClassifierGrid,
    quantifiers: dict[str, Quantifier],
    choices: dict[str, Choice],
    train: tuple[Any, NDArray[Any]],
    tests: list[tuple[ScoredPool, Samples]],
) -> dict[str, list[Answer]]:
    """Answers with Platt calibration of methods that have none, and without it of the others.

    The settings are those selected with the calibration that the methods have.
    """
    plain = {
        name: clone(quantifier).set_params(calibration=None)
        for name, quantifier in quantifiers.items()
        if quantifier.get_params().get("calibration") is not None
    }
    others = {name: quantifiers[name] for name in quantifiers if name not in plain}
    answers = answer(grid, plain, choices, train, tests)
    return answers | answer_calibrated(grid, others, choices, train, tests)


def _variants(spec: Spec, protocol: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Settings to select from, by the suffix that the name of the protocol gets."""
    variants = {"": read_selection(spec).settings}
    if (setting := unselected_setting(spec, protocol)) is not None:
        variants["-unselected"] = (setting,)
    return variants


def _choices(
    grid: ClassifierGrid,
    quantifiers: dict[str, Any],
    X: Any,
    y: NDArray[Any],
    selection: Selection,
) -> dict[str, Choice]:
    if len(grid.settings) == 1:
        return {name: Choice(0) for name in quantifiers}
    items = labelled(X, y, None)
    held = selection.holdout * len(y)
    samples = APP(
        selection.n_prevalences,
        selection.repeats,
        max(1, round(selection.sample_share * held)),
        random_state=grid.seed,
    )
    (split,) = make_splits(items, samples, selection.holdout, None, grid.seed)
    (choices,) = choose(grid, quantifiers, items, split, [check_measure("ae")])
    return choices


def _rows(
    spec: Spec,
    names: tuple[str, str, str],
    experiment: ShiftExperiment,
    result: Answer,
    setting: dict[str, Any] | None,
) -> pl.DataFrame:
    """Results of one method on the test samples of an experiment."""
    dataset, protocol, method = names
    true, n = experiment.test.prevalence, len(experiment.test)
    assert true is not None
    assert experiment.train.prevalence is not None
    estimated = result.prevalence
    errors = {
        name: None
        if estimated is None
        else check_measure(name)(true, estimated, experiment.test.sizes)
        for name in spec.metrics
    }
    degrees = {name: experiment.settings.get(home) for name, home in _COLUMNS.items()}
    if degrees["p_train"] is None:
        degrees["p_train"] = float(experiment.train.prevalence[0, 1])
    if degrees["p_test"] is None:
        degrees["p_test"] = true[:, 1]
    columns: dict[str, tuple[Any, Any]] = {
        "dataset": (dataset, pl.String),
        "protocol": (protocol, pl.String),
        "method": (method, pl.String),
        "failure": (result.failure, pl.String),
        **{name: (values, pl.Float64) for name, values in errors.items()},
        "degree": (experiment.degree, pl.Float64),
        **{name: (values, pl.Float64) for name, values in degrees.items()},
        "repeat": (experiment.settings["repeat"], pl.Int32),
        "test_repeat": (experiment.settings["test_repeat"], pl.Int32),
        "size": (experiment.test.sizes, pl.Int32),
        "C": (setting and setting["C"], pl.Float64),
        "class_weight": (setting and setting["class_weight"], pl.String),
    }
    series = [_column(name, n, *column) for name, column in columns.items()]
    return pl.DataFrame(series).with_columns(**result.columns(true))


def _column(name: str, n: int, values: Any, kind: Any) -> pl.Series:
    if isinstance(values, np.ndarray):
        return pl.Series(name, values, dtype=kind)
    return pl.Series(name, [values], dtype=kind).new_from_index(0, n)
