"""Plan of the protocols of shift, reviews as weights of words, and execution of one task."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from headcount._support.parameters import check_count, check_flag
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount.evaluation.search import labelled, make_splits
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import APP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount.shift.experiments import ShiftExperiment
from headcount.shift.shift_protocols import (
    ConceptShift,
    GlobalCovariateShift,
    LocalCovariateShift,
    PriorShift,
)
from headcount_studies.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    choose,
    made,
    quietly,
)
from headcount_studies.data.texts import REVIEWS, Words, count_words, load_reviews, reviews_file
from headcount_studies.engine.spec import Spec, check_keys, check_known
from headcount_studies.engine.store import sample_rows
from headcount_studies.engine.task import Task, task_seed

PROTOCOLS = ("prior", "global", "local", "concept", "forced")
_CLASSES = {
    "prior": PriorShift,
    "global": GlobalCovariateShift,
    "local": LocalCovariateShift,
    "concept": ConceptShift,
    "forced": ConceptShift,
}
_GROUPED = ("global", "local")
_COMMON = ("least", "folds", "split", "test_repeats")
_OPTIONAL = ("test_repeats", "unselected")
EXCHANGED = "-exchanged"
"""Suffix of a protocol whose methods have Platt calibration if theirs has none, else none."""
_OWN = {
    "prior": ("train_prevalences", "test_prevalences", "exchange_calibration"),
    "global": ("alphas", "prevalences"),
    "local": ("test_prevalences", "skew"),
    "concept": ("cut_points",),
    "forced": ("cut_points", "train_prevalence", "test_prevalence"),
}
_CUT = ("concept", "forced")
_OF_RUN = ("exchange_calibration",)  # settings that the protocol itself does not take
_SELECTION = ("C", "class_weight", "holdout", "n_prevalences", "repeats", "sample_share")
# Approximate seconds: per setting, per training item and setting, per method and sample.
_SETTING_COST, _ITEM_COST, _RUN_COST = 0.08, 1e-4, 5e-5


def protocol_datasets(spec: Spec, protocol: str) -> tuple[str, ...]:
    """Datasets of the study that a protocol is run on."""
    sizes = spec.protocol.get(protocol, {}).get("sizes", {})
    return tuple(name for name in spec.datasets if name in sizes)


def make_protocol(spec: Spec, dataset: str, protocol: str, *, control: bool = False) -> Any:
    """Protocol of shift for one dataset.

    Its seed depends on the study and the dataset alone, so that the training sets of local
    shift and of its control are the same.
    """
    settings = spec.protocol[protocol]
    train_size, test_size = settings["sizes"][dataset]
    options = {
        key: settings[key] for key in _OWN[protocol] if key in settings and key not in _OF_RUN
    }
    if protocol in _CUT:
        options["cut_points"] = settings["cut_points"][dataset]
    if protocol in _GROUPED:
        options["categories"] = REVIEWS[dataset].pair
    if protocol == "local":
        options["control"] = control
    return _CLASSES[protocol](
        **options,
        train_size=train_size,
        test_size=test_size,
        repeats=settings["repeats"],
        test_repeats=settings.get("test_repeats", spec.protocol["test_repeats"]),
        split=spec.protocol["split"],
        random_state=task_seed(spec.seed, dataset, protocol),
    )


def settings_of(spec: Spec) -> tuple[dict[str, Any], ...]:
    """Settings of the classifier that are tried."""
    selection = spec.selection
    return tuple(
        _setting(C, weight) for C in selection["C"] for weight in selection["class_weight"]
    )


def unselected_setting(spec: Spec, protocol: str) -> dict[str, Any] | None:
    """Fixed setting that a protocol is run with a second time, without selection."""
    setting = spec.protocol[protocol].get("unselected")
    if setting is None:
        return None
    check_keys(f"unselected of [protocol.{protocol}]", setting, ("C", "class_weight"))
    return _setting(setting.get("C", 1.0), setting.get("class_weight", "none"))


def exchanges_calibration(spec: Spec, protocol: str) -> bool:
    """True if a protocol is run a second time with the calibration that methods do not have."""
    return check_flag(
        "exchange_calibration", spec.protocol[protocol].get("exchange_calibration", False)
    )


def _runs_twice(spec: Spec, protocol: str) -> bool:
    """True if each sample of a protocol is estimated twice by a method."""
    return (
        protocol == "local"  # has a control
        or unselected_setting(spec, protocol) is not None
        or exchanges_calibration(spec, protocol)
    )


def _setting(C: Any, weight: Any) -> dict[str, Any]:
    class_weight = check_known("class_weight", weight, ("balanced", "none"))
    return {"C": float(C), "class_weight": None if class_weight == "none" else class_weight}


def check(spec: Spec) -> None:
    """Refuse a spec that cannot be run."""
    for dataset in spec.datasets:
        check_known("dataset of reviews", dataset, REVIEWS)
    for metric in spec.metrics:
        check_measure(metric)
    if "ae" not in spec.metrics:
        raise HeadcountError("metrics has no 'ae', which the tables are made of: add it.")
    for method in spec.methods:
        made(method)
    check_keys("[protocol]", spec.protocol, PROTOCOLS, needed=_COMMON)
    check_keys("[selection]", spec.selection, (), needed=_SELECTION)
    check_count("n_prevalences", spec.selection["n_prevalences"], 2)
    check_count("repeats", spec.selection["repeats"])
    settings_of(spec)
    for protocol in PROTOCOLS:
        if protocol in spec.protocol:
            unselected_setting(spec, protocol)
            exchanges_calibration(spec, protocol)
            _check_protocol(spec, protocol, spec.protocol[protocol])
    if not any(protocol_datasets(spec, protocol) for protocol in PROTOCOLS):
        raise HeadcountError(
            "no protocol has sizes for any of the datasets: add for instance "
            "[protocol.prior.sizes] with one line per dataset."
        )


def _check_protocol(spec: Spec, protocol: str, settings: dict[str, Any]) -> None:
    where = f"[protocol.{protocol}]"
    check_keys(where, settings, (*_OPTIONAL, *_OWN[protocol]), needed=("repeats", "sizes"))
    for dataset, pair in settings["sizes"].items():
        source = REVIEWS[check_known("dataset of reviews", dataset, REVIEWS)]
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise HeadcountError(
                f"sizes of {dataset!r} in {where} is {pair!r}; it must be two numbers: items "
                "in a training set, and in a test sample."
            )
        if protocol in _GROUPED and source.pair is None:
            raise HeadcountError(
                f"{where} has sizes for {dataset!r}, but its reviews have no two groups: leave "
                "it out there."
            )
        if protocol in _CUT and dataset not in settings.get("cut_points", {}):
            raise HeadcountError(f"{where} has no cut_points for {dataset!r}: add them.")
        if dataset in spec.datasets:
            _ = make_protocol(spec, dataset, protocol).n_samples  # checks the rest


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per dataset, protocol and training set."""
    tasks = []
    for dataset in spec.datasets:
        for name in PROTOCOLS:
            if dataset not in protocol_datasets(spec, name):
                continue
            protocol = make_protocol(spec, dataset, name)
            n_sets = protocol.n_training_sets
            n_settings = len(settings_of(spec))
            n_samples = protocol.n_samples // n_sets * (1 + _runs_twice(spec, name))
            runs = n_samples * len(spec.methods)
            training = n_settings * (_SETTING_COST + _ITEM_COST * protocol.train_size)
            tasks += [
                Task(
                    key=f"{dataset}.{name}.{number:04d}",
                    dataset=dataset,
                    settings={"protocol": name, "number": number},
                    cost=training + _RUN_COST * runs,
                    runs=runs,
                )
                for number in range(n_sets)
            ]
    return tasks


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a collection of reviews."""
    return [reviews_file(dataset, data)]


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Reviews of a dataset, and of each of its groups, and the shares of their stars."""
    reviews = load_reviews(dataset, data)
    subsets = {"all": np.ones(len(reviews), np.bool_)}
    if reviews.groups is not None and reviews.pair is not None:
        subsets |= {group: reviews.groups == group for group in reviews.pair}
    return [
        {"dataset": dataset, "reviews": name, "number": int(rows.sum())}
        | {
            f"{star} star{'s' * (star > 1)}": round(
                float((reviews.stars[rows] == star).mean()), 4
            )
            for star in range(1, 6)
        }
        for name, rows in subsets.items()
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
            choices = _choices(grid, quantifiers, X, y, spec.selection)
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
    calibrated = {name: quantifiers[name] for name in quantifiers if name not in plain}
    answers = answer(grid, plain, choices, train, tests)
    return answers | answer(grid, calibrated, choices, train, tests, calibration="platt")


def _variants(spec: Spec, protocol: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Settings to select from, by the suffix that the name of the protocol gets."""
    variants = {"": settings_of(spec)}
    if (setting := unselected_setting(spec, protocol)) is not None:
        variants["-unselected"] = (setting,)
    return variants


def _choices(
    grid: ClassifierGrid,
    quantifiers: dict[str, Any],
    X: Any,
    y: NDArray[Any],
    selection: dict[str, Any],
) -> dict[str, Choice]:
    if len(grid.settings) == 1:
        return {name: Choice(0) for name in quantifiers}
    items = labelled(X, y, None)
    holdout = float(selection["holdout"])
    samples = APP(
        selection["n_prevalences"],
        selection["repeats"],
        max(1, round(selection["sample_share"] * holdout * len(y))),
        random_state=grid.seed,
    )
    (split,) = make_splits(items, samples, holdout, None, grid.seed)
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
    true, settings = experiment.test.prevalence, experiment.settings
    assert true is not None
    assert experiment.train.prevalence is not None
    degrees: dict[str, Any] = {name: settings.get(home) for name, home in _COLUMNS.items()}
    if degrees["p_train"] is None:
        degrees["p_train"] = float(experiment.train.prevalence[0, 1])
    if degrees["p_test"] is None:
        degrees["p_test"] = true[:, 1]
    columns = {
        "degree": experiment.degree,
        **degrees,
        "repeat": settings["repeat"],
        "test_repeat": settings["test_repeat"],
        "size": experiment.test.sizes,
        "C": setting and setting["C"],
        "seconds": result.seconds / len(true),
    }
    texts: dict[str, Any] = dict(zip(("dataset", "protocol", "method"), names, strict=True))
    texts |= {"failure": result.failure, "class_weight": setting and setting["class_weight"]}
    return sample_rows(spec, experiment.test, result.prevalence, texts, columns)
