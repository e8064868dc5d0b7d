"""Settings of the spec, checked, and the plan: collections and groups of methods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount_studies.classifier_grid import is_installed, made, shares_classifier
from headcount_studies.data.texts import TWEETS
from headcount_studies.data.vectors import VECTOR_TWEETS
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Task

_SHARED = "shared"
_PROTOCOL = ("least", "folds", "step", "repeats", "size")
_SELECTION = ("C", "repeats", "size")
_OPTIONS = ("inside", "around", "C", "chosen_by", "needs")
_COSTS = {_SHARED: 60.0, "Ensemble": 40.0, "QuaNet": 90.0}  # approximate seconds
_COST = 20.0


def settings_of(spec: Spec, method: MethodSpec) -> tuple[dict[str, Any], ...]:
    """Settings of the classifier that are tried for a method: the study's, or its own."""
    return tuple({"C": float(C)} for C in method.options.get("C", spec.selection["C"]))


def has_vectors(spec: Spec) -> bool:
    """True if the study reads the paper's vectors, instead of texts."""
    return bool(spec.protocol.get("source") == "vectors")


def metrics_of(spec: Spec, method: MethodSpec) -> tuple[str, ...]:
    """Metrics that the setting of a method is selected by, each separately."""
    return tuple(method.options.get("chosen_by", spec.metrics))


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    check_known("source", spec.protocol.get("source", "texts"), ("texts", "vectors"))
    for dataset in spec.datasets:
        collections = VECTOR_TWEETS if has_vectors(spec) else TWEETS
        check_known("collection of tweets", dataset, collections)
    for metric in spec.metrics:
        check_measure(metric)
    for where, settings, keys in (
        ("[protocol]", spec.protocol, _PROTOCOL),
        ("[selection]", spec.selection, _SELECTION),
    ):
        optional = ("source",) if where == "[protocol]" else ()
        check_keys(where, settings, (*keys, *optional))
        for key in keys:
            if key not in settings:
                raise HeadcountError(f"{where} has no {key!r}: add it.")
    for name in ("least", "folds", "repeats", "size"):
        check_count(name, spec.protocol[name])
    for method in spec.methods:
        _check_method(spec, method)


def _check_method(spec: Spec, method: MethodSpec) -> None:
    where = f"options of {method.name!r}"
    check_keys(where, method.options, _OPTIONS)
    for metric in metrics_of(spec, method):
        check_known("metric of the study", metric, spec.metrics)
    if not settings_of(spec, method):
        raise HeadcountError(f"{where} has no C to try: give at least one.")
    made(method)


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per collection and group of methods."""
    n_samples = _n_mixes(spec.protocol["step"]) * spec.protocol["repeats"]
    return [
        Task(
            key=f"{dataset}.{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}",
            dataset=dataset,
            settings={"methods": [method.name for method in methods]},
            cost=_cost(name, methods),
            runs=n_samples * sum(len(metrics_of(spec, method)) for method in methods),
        )
        for dataset in spec.datasets
        for name, methods in _groups(spec).items()
    ]


def _groups(spec: Spec) -> dict[str, list[MethodSpec]]:
    """Methods by task: methods that share classifiers are one group.

    Methods that need a package which is not installed are left out.
    """
    groups: dict[str, list[MethodSpec]] = {}
    for method in spec.methods:
        if not is_installed(method):
            continue
        shared = "C" not in method.options and shares_classifier(made(method))
        groups.setdefault(_SHARED if shared else method.name, []).append(method)
    return groups


def _cost(name: str, methods: list[MethodSpec]) -> float:
    return _COSTS.get(name, _COSTS.get(methods[0].options.get("inside", ""), _COST))


def _n_mixes(step: float) -> int:
    """Number of points of the grid on the simplex."""
    n = round(1 / step)
    return (n + 1) * (n + 2) // 2
