"""Settings to try: classifiers, their scoring, and quantifiers with parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from headcount.errors import HeadcountError
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.deep.quantifiers import NetworkQuantifier
from headcount_studies.classifier_grid import is_installed, made
from headcount_studies.data.lequa import LequaTask
from headcount_studies.engine.spec import MethodSpec, Spec

_LOGISTIC = "logistic"
# Quantifier of a committee, its grid, and its name as a setting.
_NamedMember = tuple[Quantifier, dict[str, Any], dict[str, str]]
# Losses of networks by the metric of a task.
_LOSSES = {"rae": "ae-rae", "nmd": "nmd"}
CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "lightgbm": lambda seed: _lightgbm(seed),
    "rbf-svm": lambda seed: make_pipeline(StandardScaler(), SVC(random_state=seed)),
    "discriminant": lambda seed: LinearDiscriminantAnalysis(),
    "svm": lambda seed: make_pipeline(StandardScaler(), LinearSVC(C=0.01, random_state=seed)),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(100, min_samples_leaf=3, random_state=seed),
    "mlp-512-tanh": lambda seed: _network(512, "tanh", seed),
    "mlp-320": lambda seed: _network(320, "relu", seed),
}
"""Classifiers by the names of a spec; "logistic" stands for the grid of the spec."""


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _network(units: int, activation: str, seed: int) -> Any:
    network = MLPClassifier(
        (units,), activation=activation, early_stopping=True, random_state=seed
    )
    return make_pipeline(StandardScaler(), network)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A quantifier with a classifier, in one setting."""

    classifier: Any
    held_out: bool
    quantifier: Quantifier
    setting: dict[str, Any] = field(default_factory=dict)
    race: int | None = None
    labelled: bool = False  # networks: half of the training bags are drawn from labelled items


@dataclass(frozen=True)
class Combination:
    """How the best of each group become one answer: of all, or of the best ones."""

    combine: str = "median"
    keep: int | None = None


def named_method(spec: Spec, name: str) -> MethodSpec:
    """Method of the spec by its name, or any other quantifier of the library."""
    for listed in spec.methods:
        if listed.name.lower() == name.lower():
            return listed
    unlisted = MethodSpec(name)
    quantifier = made(unlisted)
    if not ScoringPlan(quantifier).takes_scores and not isinstance(
        quantifier, NetworkQuantifier
    ):
        names = ", ".join(method.name for method in spec.methods)
        raise HeadcountError(
            f"method is {name!r}, which does not work on the scores of one classifier: choose "
            f"one that does, a network, or one of {names}."
        )
    return unlisted


def methods_of(spec: Spec, task: LequaTask) -> list[MethodSpec]:
    """Methods of the spec that are meant for a task, and whose packages are installed."""
    return [
        method
        for method in spec.methods
        if task.name in method.options.get("tasks", [task.name]) and is_installed(method)
    ]


def candidates_of(
    spec: Spec, method: MethodSpec, task: LequaTask, seed: int
) -> list[list[Candidate]]:
    """Candidates of a method for a task, in groups: the best of each group is used."""
    options = method.options | method.options.get("by_task", {}).get(task.name, {})
    parameters = method.parameters | options.get("parameters", {})
    quantifier = made(MethodSpec(method.name, method.quantifier, parameters, _around(options)))
    if isinstance(quantifier, NetworkQuantifier):
        settings_of_candidate = {
            "loss": _LOSSES.get(task.metric, "ae"),
            "random_state": seed,
        }
        network = quantifier.set_params(**settings_of_candidate | parameters)
        labelled = bool(network.estimates) or options.get("labelled", False)
        return [[Candidate(None, False, network, labelled=labelled)]]
    held_out = options.get("scoring") == "holdout"
    members: list[_NamedMember] = [(quantifier, dict(options.get("grid", {})), {})]
    if "quantifiers" in options:
        members = [_member(method.name, name) for name in options["quantifiers"]]
    groups = []
    for name in options.get("classifiers", [_LOGISTIC]):
        if name == "lightgbm" and find_spec(name) is None:
            continue
        classifiers = _classifiers(spec, name, options, seed)
        for member, grid, named in members:
            groups.append(
                [
                    Candidate(
                        classifier,
                        held_out,
                        clone(member).set_params(**_inner(member, tried)),
                        named | setting | tried,
                        options.get("race"),
                    )
                    for classifier, setting in classifiers
                    for tried in ParameterGrid(grid)
                ]
            )
    return groups


def _member(method: str, table: Mapping[str, Any]) -> _NamedMember:
    name = table["quantifier"]
    quantifier = made(MethodSpec(method, name, dict(table.get("parameters", {}))))
    return quantifier, dict(table.get("grid", {})), {"quantifier": name.rpartition(":")[2]}


def combination_of(method: MethodSpec, task: LequaTask) -> Combination:
    """Combination of the groups of candidates of a method."""
    options = method.options | method.options.get("by_task", {}).get(task.name, {})
    return Combination(options.get("combine", "median"), options.get("keep"))


def _around(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in ("inside", "around") if key in options}


def _inner(quantifier: Quantifier, own: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the grid, of the quantifier inside if there is one."""
    parameters = quantifier.get_params()
    return {name if name in parameters else f"quantifier__{name}": own[name] for name in own}


def _classifiers(
    spec: Spec, name: str, options: Mapping[str, Any], seed: int
) -> Sequence[tuple[Any, dict[str, Any]]]:
    if name != _LOGISTIC:
        return [(CLASSIFIERS[name](seed), {"classifier": name})]
    classifiers = []
    for weight in options.get("class_weight", spec.selection["class_weight"]):
        for C in options.get("C", spec.selection["C"]):
            classifier = LogisticRegression(
                C=C,
                class_weight=None if weight == "none" else weight,
                max_iter=spec.protocol["max_iter"],
            )
            classifiers.append((classifier, {"C": C, "class_weight": weight}))
    return classifiers
