"""Settings to try: classifiers, their scoring, and quantifiers with parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from headcount.data.lequa import LequaTask
from headcount.deep.base import NetworkQuantifier
from headcount.errors import HeadcountError
from headcount.quantify import Quantifier
from headcount.quantify.base import ScoringPlan
from headcount.studies.classifier_grid import is_installed, made
from headcount.study.spec import MethodSpec, Spec

__all__ = ["CLASSIFIERS", "Candidate", "candidates_of", "methods_of", "named_method"]

_LOGISTIC = "logistic"
# Losses of networks by the metric of a task.
_LOSSES = {"rae": "ae-rae", "nmd": "nmd"}
CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "discriminant": lambda seed: LinearDiscriminantAnalysis(),
    "svm": lambda seed: make_pipeline(StandardScaler(), LinearSVC(C=0.01, random_state=seed)),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(100, min_samples_leaf=3, random_state=seed),
    "mlp-512-tanh": lambda seed: _network(512, "tanh", seed),
    "mlp-320": lambda seed: _network(320, "relu", seed),
}
"""Classifiers by the names of a spec; "logistic" stands for the grid of the spec."""


def _network(units: int, activation: str, seed: int) -> Any:
    network = MLPClassifier(
        (units,), activation=activation, early_stopping=True, random_state=seed
    )
    return make_pipeline(StandardScaler(), network)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A quantifier with a classifier, in one setting.

    Attributes
    ----------
    classifier : scikit-learn classifier or None
        Not fitted; None for a network, which is trained on the development samples.
    held_out : bool
        True if the classifier is trained on a part of the labelled items and the quantifier
        learns from the others; False if it is cross-fitted.
    quantifier : Quantifier
        Not fitted; its own classifier is not used.
    setting : dict
        Parameters that differ between candidates, for tables.
    race : int or None
        Number of development samples that all settings with the same classifier are tried
        on; the best three of them are tried on all samples. None tries all on all.
    """

    classifier: Any
    held_out: bool
    quantifier: Quantifier
    setting: dict[str, Any] = field(default_factory=dict)
    race: int | None = None


def named_method(spec: Spec, name: str) -> MethodSpec:
    """Method of the spec by its name, or any other quantifier of the library.

    Parameters
    ----------
    spec : Spec
        The study.
    name : str
        Name in the spec, or one of ``hc.methods()``.

    Returns
    -------
    MethodSpec
    """
    for each in spec.methods:
        if each.name.lower() == name.lower():
            return each
    wanted = MethodSpec(name)
    quantifier = made(wanted)
    if not ScoringPlan(quantifier).takes_scores and not isinstance(
        quantifier, NetworkQuantifier
    ):
        names = ", ".join(each.name for each in spec.methods)
        raise HeadcountError(
            f"method is {name!r}, which does not work on the scores of one classifier: choose "
            f"one that does, a network, or one of {names}."
        )
    return wanted


def methods_of(spec: Spec, task: LequaTask) -> list[MethodSpec]:
    """Methods of the spec that are meant for a task, and whose packages are installed."""
    return [
        each
        for each in spec.methods
        if task.name in each.options.get("tasks", [task.name]) and is_installed(each)
    ]


def candidates_of(
    spec: Spec, method: MethodSpec, task: LequaTask, seed: int
) -> list[list[Candidate]]:
    """Candidates of a method for a task, in groups: the best of each group is used.

    Parameters
    ----------
    spec : Spec
        The study, with its grid of logistic regression.
    method : MethodSpec
        Method of it.
    task : LequaTask
        Task of the challenge.
    seed : int
        Random seed of the classifiers.

    Returns
    -------
    list of list of Candidate
        One group, or one per classifier for a median over classifiers.
    """
    options = method.options | method.options.get("by_task", {}).get(task.name, {})
    parameters = method.parameters | options.get("parameters", {})
    quantifier = made(MethodSpec(method.name, method.quantifier, parameters, _around(options)))
    if isinstance(quantifier, NetworkQuantifier):
        own = {"loss": _LOSSES.get(task.metric, "ae"), "size": task.size, "random_state": seed}
        network = quantifier.set_params(**own | parameters)
        return [[Candidate(None, False, network)]]
    held_out = options.get("scoring") == "holdout"
    groups = []
    for name in options.get("classifiers", [_LOGISTIC]):
        group = []
        for classifier, setting in _classifiers(spec, name, options, seed):
            for own in ParameterGrid(dict(options.get("grid", {}))):
                changed = clone(quantifier).set_params(**_inner(quantifier, own))
                group.append(
                    Candidate(classifier, held_out, changed, setting | own, options.get("race"))
                )
        groups.append(group)
    return groups


def _around(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in ("inside", "around") if key in options}


def _inner(quantifier: Quantifier, own: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the grid, of the quantifier inside if there is one."""
    known = quantifier.get_params()
    return {name if name in known else f"quantifier__{name}": own[name] for name in own}


def _classifiers(
    spec: Spec, name: str, options: Mapping[str, Any], seed: int
) -> Sequence[tuple[Any, dict[str, Any]]]:
    if name != _LOGISTIC:
        return [(CLASSIFIERS[name](seed), {"classifier": name})]
    found = []
    for weight in options.get("class_weight", spec.selection["class_weight"]):
        for C in options.get("C", spec.selection["C"]):
            classifier = LogisticRegression(
                C=C,
                class_weight=None if weight == "none" else weight,
                max_iter=spec.protocol["max_iter"],
            )
            found.append((classifier, {"C": C, "class_weight": weight}))
    return found
