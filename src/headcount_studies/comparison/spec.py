"""Settings of the spec, checked, and the plan: datasets, groups of methods, training sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from headcount._support.parameters import check_log_base
from headcount.errors import HeadcountError
from headcount.metrics import METRICS
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.features import ED, HDx, ReadMe
from headcount.quantifiers.learners import PWK, QF, QFAC
from headcount.quantifiers.registry import method as find_method
from headcount_studies.comparison.tuning import CLASSIFIERS, check_tuning
from headcount_studies.data.tables import SIZES, dataset_file, dataset_names, rule_of
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Task

# Methods of a group share computations.
TUNED = "tuned-"
"""Start of the names of groups with a tuned classifier."""

_GROUPS = (
    "scores", "finite", "learners", "forest", "energy", "neighbours",
    *(TUNED + kind for kind in CLASSIFIERS),
)  # fmt: skip
# These measure all distances in a dataset: one task computes them for all training sets.
_WHOLE = ("energy", "neighbours")
_OF_BINNED: dict[type[Quantifier], str] = {
    HDx: "finite",
    ReadMe: "finite",
    PWK: "neighbours",
    QF: "forest",
    QFAC: "forest",
}
_OF_NUMBERS: dict[type[Quantifier], str] = {ED: "energy", QF: "forest", QFAC: "forest"}
_TASKS = ("binary", "multiclass")
_PROTOCOL = ("task", "splits", "draws", "train", "test", "smoothing", "log_base")
_OPTIONS = (
    "draws", "binned", "decimals", "one_vs_rest", "predictions", "decisions", "classifier",
)  # fmt: skip


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    check_keys("[protocol]", spec.protocol, _PROTOCOL)
    for key in ("task", "splits", "draws", "train", "test"):
        if key not in spec.protocol:
            raise HeadcountError(f"[protocol] has no {key!r}: add it.")
    names = dataset_names(check_known("task", spec.protocol["task"], _TASKS))  # type: ignore[arg-type]
    for dataset in spec.datasets:
        check_known("dataset", dataset, names)
    for metric in spec.metrics:
        check_known("metric", metric, METRICS)
    if "log_base" in spec.protocol:
        check_log_base("log_base of [protocol]", spec.protocol["log_base"])
    check_keys("[selection]", spec.selection, CLASSIFIERS)
    for kind, table in spec.selection.items():
        check_tuning(f"[selection.{kind}]", kind, table)
    for method in spec.methods:
        check_keys(f"options of method {method.name!r}", method.options, _OPTIONS)
        if "classifier" in method.options:
            check_known("table of [selection]", method.options["classifier"], spec.selection)
        parameters = quantifier_of(method.quantifier)().get_params(deep=False)
        check_keys(f"parameters of method {method.name!r}", method.parameters, parameters)


def made(method: MethodSpec, **more: Any) -> Quantifier:
    """Quantifier of a method, with its parameters."""
    return quantifier_of(method.quantifier)(**more | method.arguments)


@lru_cache
def quantifier_of(name: str) -> type[Quantifier]:
    """Class of a quantifier; cached, as the search takes milliseconds."""
    return find_method(name)


def group_of(method: MethodSpec) -> str:
    """Group of a method."""
    if "classifier" in method.options:
        return f"{TUNED}{method.options['classifier']}"
    kind = quantifier_of(method.quantifier)
    if method.options.get("predictions") or kind.info.input != "features":
        return "scores"
    return (_OF_BINNED if method.options.get("binned") else _OF_NUMBERS).get(kind, "learners")


def n_draws(spec: Spec, method: MethodSpec) -> int:
    """Number of draws that a method is run on."""
    return min(method.options.get("draws", spec.protocol["draws"]), spec.protocol["draws"])


def distributions(spec: Spec, part: str, n_classes: int) -> list[list[float]]:
    """Training or test distributions of the protocol, for a number of classes."""
    named = spec.protocol[part].get(str(n_classes))
    if named is None:
        raise HeadcountError(
            f"[protocol] names no {part} distributions of {n_classes} classes: add them to "
            f"[protocol.{part}]."
        )
    return [(np.asarray(weights) / np.sum(weights)).tolist() for weights in named]


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per dataset, group of methods and, for most groups, training distribution."""
    check(spec)
    available = [dataset for dataset in spec.datasets if dataset_file(dataset, data).is_file()]
    return [task for dataset in available for task in _tasks(spec, dataset)]


def _tasks(spec: Spec, dataset: str) -> list[Task]:
    """Tasks of a dataset, without reading it."""
    n_classes = rule_of(dataset, spec.protocol["task"]).n_classes
    trains, tests = (distributions(spec, which, n_classes) for which in ("train", "test"))
    splits = spec.protocol["splits"]
    cells = [([split], [train]) for split in splits for train in range(len(trains))]
    tasks = []
    for group in _GROUPS:
        methods = [method for method in spec.methods if group_of(method) == group]
        if not methods:
            continue
        undivided = group in _WHOLE
        for split, train in [(list(splits), list(range(len(trains))))] if undivided else cells:
            name = "all" if undivided else f"{split[0]:g}-{train[0]}"
            draws = [n_draws(spec, method) for method in methods]
            tasks.append(
                Task(
                    f"{dataset}.{group}.{name}",
                    dataset,
                    {"group": group, "splits": split, "trains": train},
                    cost=_seconds(group, SIZES[dataset], split, max(draws)),
                    runs=sum(draws) * len(split) * len(train) * len(tests),
                )
            )
    return tasks


def _seconds(group: str, size: tuple[int, int], splits: Sequence[float], draws: int) -> float:
    """Approximate duration of a task; undersampling leaves half of the items for training."""
    n, d = size
    n_train = n * float(np.mean(splits)) / 2
    if group in _WHOLE:
        return 1 + n**2 * (16e-9 + 0.02e-9 * d)
    per_draw = {
        "scores": 0.15e-6 * n_train * d + 1.5e-6 * n,
        "finite": 15e-9 * n * (d + 50),
        "learners": 0.15e-6 * n_train * d,
        "forest": 30e-6 * n_train + 30e-6 * n,
        "tuned-LR": 1.5e-6 * n_train * d + 1.5e-6 * n,
        "tuned-SV": 1 + 20e-6 * n_train**2,
        "tuned-RF": 2 + 8e-3 * n_train,
        "tuned-AB": 5 + 0.1e-3 * n_train * d,
    }[group]
    return draws * (0.01 + per_draw)
