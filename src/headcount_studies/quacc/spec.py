"""Settings of the spec, checked, the predictors of its methods, and the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Classes:
    """Classes of a collection of texts, by the beginnings of their labels.

    A single one divides all texts into those about it and the others. Of several, texts
    that have exactly one of them are used.
    """

    source: str
    labels: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(2, len(self.labels))


def _nodes(source: str, nodes: Mapping[str, tuple[str, ...]]) -> dict[str, Classes]:
    return {f"{source}-{name}": Classes(source, labels) for name, labels in nodes.items()}


_COMPUTERS = ("graphics", "os.ms-windows", "sys.ibm", "sys.mac", "windows.x")
DATASETS: dict[str, Classes] = {
    "imdb": Classes("imdb", ("pos",)),
    **_nodes("reuters", {name: (name,) for name in ("earn", "acq", "money-fx")}),
    **_nodes("reuters", {"topics": ("earn", "acq", "crude", "trade")}),
    **_nodes(
        "newsgroups",
        {
            "root": ("comp", "rec", "sci", "talk"),
            "comp": tuple(f"comp.{name}" for name in _COMPUTERS),
            "rec": ("rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
            "sci": ("sci.crypt", "sci.electronics", "sci.med", "sci.space"),
        },
    ),
    **_nodes("rcv1", {name: (name,) for name in ("CCAT", "GCAT", "MCAT")}),
    **_nodes(
        "rcv1",
        {
            "root": ("CCAT", "ECAT", "GCAT", "MCAT"),
            "C": ("C1", "C2", "C3", "C4"),
            "M1": ("M11", "M12", "M13", "M14"),
            "M14": ("M141", "M142", "M143"),
        },
    ),
}
"""Reviews; news about a topic or not; nodes of hierarchies of topics with their children."""

# Grids of prevalences for two classes, or shares drawn uniformly from the simplex.
_GRID = ("train_prevalences", "test_prevalences", "repeats", "size", "least")
_UNIFORM = ("train_sets", "test_samples", "size", "least")
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
    settings = _UNIFORM if is_uniform(spec) else _GRID
    check_keys("[protocol]", spec.protocol, settings)
    check_keys("[selection]", spec.selection, _SELECTION)
    _check_there("[protocol]", spec.protocol, settings)
    _check_there("[selection]", spec.selection, _SELECTION)
    for name in settings:
        if name != "train_prevalences":
            check_count(f"{name} of [protocol]", spec.protocol[name])
    for prevalence in spec.protocol.get("train_prevalences", ()):
        check_fraction("an entry of train_prevalences of [protocol]", prevalence)
    several = [name for name in spec.datasets if DATASETS[name].n_classes > 2]
    if several and not is_uniform(spec):
        raise HeadcountError(
            f"[protocol] has a grid of prevalences, but {several[0]!r} has "
            f"{DATASETS[several[0]].n_classes} classes: set train_sets and test_samples "
            "instead."
        )
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


def is_uniform(spec: Spec) -> bool:
    """True if shares are drawn uniformly from the simplex, and not from a grid."""
    return "test_samples" in spec.protocol or "train_sets" in spec.protocol


def n_samples(spec: Spec) -> int:
    """Number of test samples."""
    protocol = spec.protocol
    if is_uniform(spec):
        return int(protocol["test_samples"])
    return int(protocol["test_prevalences"] * protocol["repeats"])


def repeats_of(spec: Spec, method: MethodSpec) -> int:
    """Number of samples per test prevalence, or in all, that a method is run on."""
    repeats = spec.protocol["test_samples" if is_uniform(spec) else "repeats"]
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
    """One task per dataset and training set."""
    points = 1 if is_uniform(spec) else spec.protocol["test_prevalences"]
    runs = points * sum(repeats_of(spec, method) for method in spec.methods)
    settings = (
        [(str(number), {"set": number}) for number in range(spec.protocol["train_sets"])]
        if is_uniform(spec)
        else [(f"{p:g}", {"prevalence": p}) for p in spec.protocol["train_prevalences"]]
    )
    return [
        Task(
            key=f"{dataset}.{name}",
            dataset=dataset,
            settings=setting,
            cost=_COSTS.get(dataset, 1.0),
            runs=runs,
        )
        for dataset in spec.datasets
        for name, setting in settings
    ]
