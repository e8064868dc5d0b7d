"""Settings of the spec, checked, and the plan: networks and sizes of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._support.parameters import check_count, check_fraction, check_positive
from headcount.errors import HeadcountError
from headcount.quantifiers.registry import method as find_method
from headcount.scores.calibration import CALIBRATIONS
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Task

METRICS = ("mse_weights",)
_PROTOCOL = ("trials", "sizes", "dirichlet", "tweakone", "tweaked")
_OPTIONS = ("calibration",)
_NONE = "none"


def data_of(network: str) -> str:
    """Images that a network was trained on: the beginning of its name.

    >>> data_of("cifar10_resnet20")
    'cifar10'
    """
    return network.partition("_")[0]


def calibration_of(method: MethodSpec) -> str:
    """Calibration of the posteriors that a method works on."""
    return str(method.options.get("calibration", _NONE))


def conditions(spec: Spec) -> list[tuple[str, float]]:
    """Kinds of shift, with their parameters."""
    return [
        (kind, float(alpha))
        for kind in ("dirichlet", "tweakone")
        for alpha in spec.protocol.get(kind, ())
    ]


def shares_of(
    spec: Spec, kind: str, alpha: float, n_classes: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shares of the classes after a shift: random, or one class with a share of its own."""
    if kind == "dirichlet":
        return rng.dirichlet(np.full(n_classes, alpha))
    shares = np.full(n_classes, (1 - alpha) / (n_classes - 1))
    shares[spec.protocol["tweaked"]] = alpha
    return shares


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    _check_protocol(spec)
    for metric in spec.metrics:
        check_known("metric", metric, METRICS)
    for network in spec.datasets:
        for name in ("trials", "sizes"):
            check_known(f"entry of {name} of [protocol]", data_of(network), spec.protocol[name])
    for method in spec.methods:
        check_keys(f"options of method {method.name!r}", method.options, _OPTIONS)
        check_known("calibration", calibration_of(method), (_NONE, *CALIBRATIONS))
        parameters: Any = find_method(method.quantifier)().get_params(deep=False)
        check_keys(f"parameters of method {method.name!r}", method.parameters, parameters)


def _check_protocol(spec: Spec) -> None:
    check_keys("[protocol]", spec.protocol, _PROTOCOL)
    for name in ("trials", "sizes"):
        if not isinstance(spec.protocol.get(name), dict):
            raise HeadcountError(
                f"[protocol] has no table {name!r} with an entry per set of images: add it."
            )
    if not conditions(spec):
        raise HeadcountError("[protocol] has no shift: add dirichlet or tweakone.")
    for alpha in spec.protocol.get("dirichlet", ()):
        check_positive("an entry of dirichlet of [protocol]", alpha)
    for share in spec.protocol.get("tweakone", ()):
        check_fraction("an entry of tweakone of [protocol]", share)
    if "tweakone" in spec.protocol:
        check_count("tweaked of [protocol]", spec.protocol.get("tweaked"), least=0)


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per network and size."""
    tasks = []
    for network in spec.datasets:
        trials = spec.protocol["trials"][data_of(network)]
        for size in spec.protocol["sizes"][data_of(network)]:
            runs = trials * len(conditions(spec)) * len(spec.methods)
            key = f"{network}.{size}"
            tasks.append(Task(key, network, {"size": size}, cost=float(size), runs=runs))
    return tasks
