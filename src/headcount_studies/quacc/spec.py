"""Settings of the spec, checked, the predictors of its methods, and the plan."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression

from headcount._support.parameters import check_count, check_fraction
from headcount.accuracy.base import predictors
from headcount.accuracy.metrics import METRICS
from headcount.accuracy.quacc import QuAcc
from headcount.errors import HeadcountError
from headcount.quantifiers.registry import method as find_quantifier
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Task

DATASETS = ("imdb", "reuters-earn", "reuters-acq", "reuters-money-fx")
"""Reviews, positive or negative; and news, about a topic or not."""

_PROTOCOL = ("train_prevalences", "test_prevalences", "repeats", "size", "least")
_SELECTION = (
    "holdout", "samples", "size", "variants", "covariates", "C", "class_weight", "calibration",
    "bandwidth",
)  # fmt: skip
_OPTIONS = ("quantifier", "repeats", "stop")
_NONE = "none"
_MAX_ITER = 1000
_COSTS = {"imdb": 10.0}  # the others: 1


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    for dataset in spec.datasets:
        check_known("dataset", dataset, DATASETS)
    for metric in spec.metrics:
        check_known("metric", metric, METRICS)
    check_keys("[protocol]", spec.protocol, _PROTOCOL)
    check_keys("[selection]", spec.selection, _SELECTION)
    _check_there("[protocol]", spec.protocol, _PROTOCOL)
    _check_there("[selection]", spec.selection, _SELECTION)
    for name in ("test_prevalences", "repeats", "size", "least"):
        check_count(f"{name} of [protocol]", spec.protocol[name])
    for prevalence in spec.protocol["train_prevalences"]:
        check_fraction("an entry of train_prevalences of [protocol]", prevalence)
    for method in spec.methods:
        names = predictors()
        check_known("method of accuracy prediction", method.quantifier, names)
        check_keys(f"options of method {method.name!r}", method.options, _OPTIONS)
        if "quantifier" in method.options:
            find_quantifier(method.options["quantifier"])


def _check_there(where: str, table: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in table:
            raise HeadcountError(f"{where} has no {name!r}: add it.")


def repeats_of(spec: Spec, method: MethodSpec) -> int:
    """Number of samples per test prevalence that a method is run on."""
    repeats = spec.protocol["repeats"]
    return int(min(repeats, method.options.get("repeats", repeats)))


def is_quacc(method: MethodSpec) -> bool:
    """True if the settings of a method are selected."""
    return method.quantifier == "QuAcc"


def plain_predictor(method: MethodSpec, model: Any, seed: int) -> Any:
    """Unfitted predictor of a method without settings to select."""
    parameters = method.arguments
    if "quantifier" in method.options:
        parameters["quantifier"] = find_quantifier(method.options["quantifier"])(
            **_stop(method)
        )
    predictor = predictors()[method.quantifier](model, **parameters)
    if "random_state" in predictor.get_params():
        predictor.set_params(random_state=seed)
    return predictor


def candidates(
    spec: Spec, method: MethodSpec, model: Any, seed: int
) -> list[tuple[str, QuAcc]]:
    """All settings of QuAcc with the quantifier of a method, each with its name."""
    quantifier = find_quantifier(method.options.get("quantifier", "KDEyML"))
    parameters = quantifier().get_params()
    own_settings = [name for name in ("calibration", "bandwidth") if name in parameters]
    named = ("variants", "covariates", "C", "class_weight", *own_settings)
    named_candidates = []
    for values in product(*(spec.selection[name] for name in named)):
        setting = dict(zip(named, values, strict=True))
        weight = _or_none(setting["class_weight"])
        logistic = LogisticRegression(C=setting["C"], class_weight=weight, max_iter=_MAX_ITER)
        inside = {name: _or_none(setting[name]) for name in own_settings} | _stop(method)
        counted = quantifier(logistic, random_state=seed, **inside)
        predictor = QuAcc(
            model,
            quantifier=counted,
            variant=setting["variants"],
            covariates=setting["covariates"],
        )
        named_candidates.append(
            (" ".join(f"{name}={value}" for name, value in setting.items()), predictor)
        )
    return named_candidates


def _stop(method: MethodSpec) -> dict[str, str]:
    """Rule for stopping of the quantifier inside, if the method names one."""
    return {"stop": method.options["stop"]} if "stop" in method.options else {}


def _or_none(value: Any) -> Any:
    return None if value == _NONE else value


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per dataset and training prevalence."""
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
