"""One training set: settings chosen, methods fitted, all its test samples answered."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data.datasets.texts import load_reviews
from headcount.data.datasets.word_counts import Words, count_words
from headcount.evaluation.measures import check_measure
from headcount.evaluation.selected import labelled, make_splits
from headcount.sampling import APP, Samples
from headcount.scores import ScoredPool
from headcount.shift import ShiftedSamples, ShiftExperiment
from headcount.study.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    choose,
    made,
    quietly,
)
from headcount.study.dataset_shift.settings import (
    Selection,
    make_protocol,
    read_selection,
    unselected,
)
from headcount.study.spec import Spec
from headcount.study.task import Task, task_seed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["run"]

_COLUMNS = {
    # by name here: by name in an experiment
    "p_train": "train_prevalence",
    "p_test": "test_prevalence",
    "alpha_train": "train_alpha",
    "alpha_test": "test_alpha",
    "cut_train": "train_cut_point",
    "cut_test": "test_cut_point",
}


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of all methods on the test samples of one training set."""
    import polars as pl

    experiments = _experiments(spec, task, data)
    protocol = task.settings["protocol"]
    train, y = experiments[protocol].train[0], experiments[protocol].train_labels
    items = np.unique(np.concatenate([each.test.indices for each in experiments.values()]))
    X, pool = _words(task.dataset, data).tf_idf(train, items, least=spec.protocol["least"])
    scored = ScoredPool(pool)
    tests = [(scored, _within(each.test, items)) for each in experiments.values()]
    seed = task_seed(spec.seed, task.key)
    quantifiers = {each.name: made(each) for each in spec.methods}
    frames = []
    for suffix, settings in _variants(spec, protocol).items():
        grid = ClassifierGrid(settings, spec.protocol["folds"], seed)
        with quietly():
            choices = _choices(grid, quantifiers, X, y, read_selection(spec))
            answers = answer(grid, quantifiers, choices, (X, y), tests)
        for i, (name, experiment) in enumerate(experiments.items()):
            for method, choice in choices.items():
                names = (task.dataset, name + suffix, method)
                setting = None if choice.setting is None else settings[choice.setting]
                frames.append(_rows(spec, names, experiment, answers[method][i], setting))
    return pl.concat(frames)


def _experiments(spec: Spec, task: Task, data: Path) -> dict[str, ShiftExperiment]:
    """The experiment of a task, by name; with local shift its control as well."""
    protocol, number = task.settings["protocol"], task.settings["number"]
    found = {protocol: _shifted(spec, task.dataset, protocol, data, False)[number]}
    if protocol == "local":
        # Prior shift of the same training set and degrees, to compare.
        control = _shifted(spec, task.dataset, protocol, data, True)[number]
        found["local-control"] = control
    return found


def _variants(spec: Spec, protocol: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Settings to choose from, by what is added to the name of the protocol."""
    variants = {"": read_selection(spec).settings}
    if (setting := unselected(spec, protocol)) is not None:
        variants["-unselected"] = (setting,)
    return variants


@lru_cache(maxsize=2)
def _words(dataset: str, data: Path) -> Words:
    return count_words(load_reviews(dataset, data).texts)


def _shifted(
    spec: Spec, dataset: str, protocol: str, data: Path, control: bool
) -> ShiftedSamples:
    reviews = load_reviews(dataset, data)
    made = make_protocol(spec, dataset, protocol, control=control)
    shifted: ShiftedSamples = made.draw(groups=reviews.groups, ratings=reviews.stars)
    return shifted


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


def _within(samples: Samples, items: NDArray[np.integer[Any]]) -> Samples:
    """The same samples as rows of some items of the pool."""
    return Samples(
        np.searchsorted(items, samples.indices),
        samples.offsets,
        n_pool=len(items),
        prevalence=samples.prevalence,
        classes=samples.classes,
    )


def _rows(
    spec: Spec,
    names: tuple[str, str, str],
    experiment: ShiftExperiment,
    result: Answer,
    setting: dict[str, Any] | None,
) -> pl.DataFrame:
    """One method on the test samples of an experiment."""
    import polars as pl

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
    asked = {name: experiment.settings.get(home) for name, home in _COLUMNS.items()}
    if asked["p_train"] is None:
        asked["p_train"] = float(experiment.train.prevalence[0, 1])
    if asked["p_test"] is None:
        asked["p_test"] = true[:, 1]
    columns: dict[str, tuple[Any, Any]] = {
        "dataset": (dataset, pl.String),
        "protocol": (protocol, pl.String),
        "method": (method, pl.String),
        "failure": (result.failure, pl.String),
        **{name: (values, pl.Float64) for name, values in errors.items()},
        "degree": (experiment.degree, pl.Float64),
        **{name: (values, pl.Float64) for name, values in asked.items()},
        "repeat": (experiment.settings["repeat"], pl.Int32),
        "test_repeat": (experiment.settings["test_repeat"], pl.Int32),
        "size": (experiment.test.sizes, pl.Int32),
        "true": (true[:, 1], pl.Float64),
        "estimate": (None if estimated is None else estimated[:, 1], pl.Float64),
        "C": (setting and setting["C"], pl.Float64),
        "class_weight": (setting and setting["class_weight"], pl.String),
    }
    return pl.DataFrame([_column(name, n, *each) for name, each in columns.items()])


def _column(name: str, n: int, values: Any, kind: Any) -> pl.Series:
    import polars as pl

    if isinstance(values, np.ndarray):
        return pl.Series(name, values, dtype=kind)
    return pl.Series(name, [values], dtype=kind).new_from_index(0, n)
