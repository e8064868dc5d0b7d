"""Settings of the spec, checked, and the plan: one task per table and training set."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from headcount import samples as sampling
from headcount import shift
from headcount._support.parameters import check_count, check_fraction
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount_studies.engine.spec import Spec, check_keys, check_known
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.own_data.data import OwnTable, load_table
from headcount_studies.own_data.methods import check_classifier, make_method

_SAMPLING = {
    protocol.__name__: protocol
    for protocol in (sampling.APP, sampling.UPP, sampling.NPP, sampling.Dirichlet)
} | {"Prevalences": sampling.Prevalences}
_SHIFT = {
    protocol.__name__: protocol
    for protocol in (
        shift.PriorShift,
        shift.GlobalCovariateShift,
        shift.LocalCovariateShift,
        shift.ConceptShift,
        shift.TweakOne,
        shift.KnockOut,
        shift.DomainMixer,
    )
}
_SPLIT = ("train", "splits")
_DATA = ("file", "target", "text_labels", "drop", "group", "separator")
_SELECTION = ("metric", "holdout", "folds", "halving", "n_samples", "size")
_OPTIONS = ("grid", "classifier")


def is_shift(spec: Spec) -> bool:
    """True if the protocol draws training sets as well as test samples."""
    return spec.protocol["name"] in _SHIFT


def make_protocol(spec: Spec, seed: int) -> Any:
    """Protocol of the spec."""
    protocols: dict[str, Any] = _SAMPLING | _SHIFT
    protocol_class = protocols[check_known("protocol", spec.protocol["name"], protocols)]
    allowed = [
        field_.name for field_ in fields(protocol_class) if field_.name != "random_state"
    ]
    split_keys = () if is_shift(spec) else _SPLIT
    settings = {key: value for key, value in spec.protocol.items() if key != "name"}
    check_keys("[protocol]", settings, [*split_keys, *allowed])
    options = {key: value for key, value in settings.items() if key not in split_keys}
    try:
        return protocol_class(**options, random_state=seed)
    except TypeError as error:  # a parameter that has no default
        raise HeadcountError(
            f"[protocol] lacks a setting of {protocol_class.__name__} ({error})."
        ) from None


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    for dataset in spec.datasets:
        _check_data(spec, dataset)
    for metric in spec.metrics:
        check_measure(metric, intervals=True)
    if "name" not in spec.protocol:
        raise HeadcountError("[protocol] has no 'name': add it, such as name = 'UPP'.")
    make_protocol(spec, 0)
    check_fraction("train of [protocol]", spec.protocol.get("train", 0.5))
    check_count("splits of [protocol]", spec.protocol.get("splits", 1))
    check_keys("[selection]", spec.selection, _SELECTION)
    check_classifier("[classifier]", spec.classifier)
    for method in spec.methods:
        check_keys(f"options of {method.name!r}", method.options, _OPTIONS)
        make_method(spec, method, n_classes=2, seed=0)


def _check_data(spec: Spec, dataset: str) -> None:
    where = f"[data.{dataset}]"
    if dataset not in spec.data:
        raise HeadcountError(f"There is no table {where}: add it, with file and target.")
    settings = spec.data[dataset]
    check_keys(where, settings, _DATA)
    for key in ("file", "target"):
        if not isinstance(settings.get(key), str):
            raise HeadcountError(f"{where} has no {key!r}, which is a text: add it.")
    if not isinstance(settings.get("text_labels", False), bool):
        raise HeadcountError(f"text_labels of {where} must be true or false.")
    drop = settings.get("drop", [])
    if not isinstance(drop, list) or not all(isinstance(name, str) for name in drop):
        raise HeadcountError(f"drop of {where} is {drop!r}; it must be a list of columns.")


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per table and training set."""
    tasks = []
    for dataset in spec.datasets:
        table = load_table(spec, dataset, data)
        n_sets, n_samples, classes = _counts(spec, dataset, table)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", dataset).strip("-") or "table"
        tasks += [
            Task(
                f"{name}-{number}",
                dataset,
                {"training_set": number, "classes": classes},
                cost=float(len(table.y) * len(spec.methods)),
                runs=n_samples * len(spec.methods),
            )
            for number in range(n_sets)
        ]
    return tasks


def _counts(spec: Spec, dataset: str, table: OwnTable) -> tuple[int, int, list[Any]]:
    """Numbers of training sets, and of samples of each; classes."""
    protocol = make_protocol(spec, task_seed(spec.seed, dataset, "protocol"))
    if is_shift(spec):
        samples = table.draw_shift(spec, protocol)
        return len(samples), samples.n_samples // len(samples), samples.classes.tolist()
    # Samples of one item have the same number.
    samples = replace(protocol, size=1).draw(table.y)
    return spec.protocol.get("splits", 1), len(samples), samples.classes.tolist()
