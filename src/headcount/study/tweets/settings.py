"""What a spec of this kind says, checked and in one form."""

from __future__ import annotations

from typing import Any

from headcount._parameters import check_count
from headcount.data.datasets.texts import TWEETS
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount.study.checking import check_keys, check_known
from headcount.study.classifier_grid import made, shares_classifier
from headcount.study.spec import MethodSpec, Spec

__all__ = ["SHARED", "check", "groups", "measures_of", "settings_of"]

SHARED = "shared"
_PROTOCOL = ("least", "folds", "step", "repeats", "size")
_SELECTION = ("C", "repeats", "size")
_OPTIONS = ("inside", "around", "C", "chosen_by")


def groups(spec: Spec) -> dict[str, list[MethodSpec]]:
    """Methods by task: those that share classifiers are one, each of the others its own."""
    found: dict[str, list[MethodSpec]] = {}
    for each in spec.methods:
        shared = "C" not in each.options and shares_classifier(made(each))
        found.setdefault(SHARED if shared else each.name, []).append(each)
    return found


def settings_of(spec: Spec, method: MethodSpec) -> tuple[dict[str, Any], ...]:
    """The settings that are tried for a method: the study's, or its own."""
    return tuple({"C": float(C)} for C in method.options.get("C", spec.selection["C"]))


def measures_of(spec: Spec, method: MethodSpec) -> tuple[str, ...]:
    """The errors that settings of a method are chosen by, each for itself."""
    return tuple(method.options.get("chosen_by", spec.metrics))


def check(spec: Spec) -> None:
    """Refuse a spec that cannot be run."""
    for dataset in spec.datasets:
        check_known("collection of tweets", dataset, TWEETS)
    for metric in spec.metrics:
        check_measure(metric)
    for where, given, keys in (
        ("[protocol]", spec.protocol, _PROTOCOL),
        ("[selection]", spec.selection, _SELECTION),
    ):
        check_keys(where, given, keys)
        for key in keys:
            if key not in given:
                raise HeadcountError(f"{where} has no {key!r}: add it.")
    for name in ("least", "folds", "repeats", "size"):
        check_count(name, spec.protocol[name])
    for each in spec.methods:
        _check_method(spec, each)


def _check_method(spec: Spec, method: MethodSpec) -> None:
    where = f"options of {method.name!r}"
    check_keys(where, method.options, _OPTIONS)
    for metric in measures_of(spec, method):
        check_known("metric of the study", metric, spec.metrics)
    if not settings_of(spec, method):
        raise HeadcountError(f"{where} has no C to try: give at least one.")
    made(method)
