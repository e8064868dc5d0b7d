"""Plan, logits of networks and samples of them, and execution of one task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import softmax

from headcount._support.parameters import check_count, check_fraction, check_positive
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored
from headcount.quantifiers.registry import method as find_method
from headcount.samples.protocols import Prevalences
from headcount.scores.calibration import CALIBRATIONS, fit_calibrator
from headcount_studies.classifier_grid import quietly
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known, reason
from headcount_studies.engine.store import share_columns
from headcount_studies.engine.task import Shared, Task, task_seed

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


@dataclass(frozen=True, eq=False)
class Network:
    """Posteriors of a network for images, and the classes of these."""

    posteriors: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.posteriors.shape[1]


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows of the source, and of one sample per kind of shift."""

    source: NDArray[np.int64]
    samples: list[NDArray[np.int64]]


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a network."""
    return [data / "logits" / f"{dataset}.npz"]


@lru_cache(maxsize=2)
def load_network(dataset: str, data: Path) -> Network:
    """Read the logits of a network."""
    path = data_file(data, f"logits/{dataset}.npz")
    with np.load(path, allow_pickle=False) as archive:
        if not {"logits", "labels"} <= set(archive.files):
            raise HeadcountError(f"The file {str(path)!r} must have logits and labels.")
        logits, labels = archive["logits"].astype(np.float64), archive["labels"]
    if logits.ndim != 2 or labels.shape != logits.shape[:1] or not np.isfinite(logits).all():
        raise HeadcountError(
            f"The file {str(path)!r} has logits of shape {logits.shape} and labels of shape "
            f"{labels.shape}: it must have one finite row of logits per label."
        )
    return Network(softmax(logits, axis=1), labels.astype(np.int64))


def draw_trial(spec: Spec, network: Network, dataset: str, size: int, number: int) -> Trial:
    """Source from one half of the images, samples from the other.

    Items of a class that runs out are drawn repeatedly.
    """
    seed = task_seed(spec.seed, dataset, size, number)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(network.y))
    first, second = np.split(order, [len(order) // 2])
    if size > len(first):
        raise HeadcountError(
            f"sizes of [protocol] has {size:,}, but half of the images of {dataset!r} are "
            f"{len(first):,}."
        )
    samples = []
    for kind, alpha in conditions(spec):
        shares = shares_of(spec, kind, alpha, network.n_classes, rng)
        protocol = Prevalences([shares], size=size, random_state=task_seed(seed, kind, alpha))
        classes = np.arange(network.n_classes)
        samples.append(second[protocol.draw(network.y[second], classes=classes)[0]])
    return Trial(first[:size], samples)


Floats = NDArray[np.float64]


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of all methods in all trials."""
    network, size = load_network(task.dataset, data), task.settings["size"]
    frames = []
    with quietly():
        for number in range(spec.protocol["trials"][data_of(task.dataset)]):
            trial = draw_trial(spec, network, task.dataset, size, number)
            calibrated = Shared(partial(_calibrated, network, trial))
            for method in spec.methods:
                frames.append(
                    _rows(spec, method, network, trial, calibrated).with_columns(
                        pl.lit(task.dataset).alias("dataset"),
                        pl.lit(method.name).alias("method"),
                        pl.lit(size, pl.Int32).alias("n"),
                        pl.lit(number, pl.Int32).alias("trial"),
                    )
                )
    return pl.concat(frames)


def _calibrated(network: Network, trial: Trial, calibration: str) -> Floats:
    """Posteriors of all images, by a calibration that is learnt on the source of a trial."""
    if calibration == _NONE:
        return network.posteriors
    source = trial.source
    calibrator = fit_calibrator(calibration, network.posteriors[source], network.y[source])
    return calibrator.transform(network.posteriors)


def _rows(
    spec: Spec, method: MethodSpec, network: Network, trial: Trial, calibrated: Any
) -> pl.DataFrame:
    """Results of a method, one row per sample."""
    K, n = network.n_classes, len(trial.samples)
    prior, *true = (
        np.bincount(network.y[rows], minlength=K) / len(rows)
        for rows in (trial.source, *trial.samples)
    )
    columns: dict[str, Any] = {"mse_weights": [None] * n, "gain_accuracy": [None] * n}
    shares, failure, start, saved = None, None, perf_counter(), calibrated.saved
    try:
        posteriors = calibrated(calibration_of(method))
        quantifier = find_method(method.quantifier)(**method.arguments)
        quantifier.fit(Scored(posteriors[trial.source]), network.y[trial.source])
        shares = np.array([quantifier.predict(Scored(posteriors[r])) for r in trial.samples])
    except Exception as error:  # the study goes on without the result
        failure = reason(error)
    seconds = perf_counter() - start + calibrated.saved - saved
    if shares is not None:
        weights = _weights(shares, prior)
        errors = (weights - _weights(np.array(true), prior)) ** 2
        columns["mse_weights"] = errors[:, prior > 0].mean(axis=1)
        columns["gain_accuracy"] = [
            gain(network, posteriors, rows, w)
            for rows, w in zip(trial.samples, weights, strict=True)
        ]
    kinds, alphas = zip(*conditions(spec), strict=True)
    return pl.DataFrame(
        {
            "failure": pl.Series([failure] * n, dtype=pl.String),
            **{name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()},
            "shift": kinds,
            "alpha": alphas,
            **share_columns(np.array(true), shares),
            "prior": [prior.tolist()] * n,
            "seconds": [seconds / n] * n,
        }
    )


def _weights(shares: Floats, prior: Floats) -> Floats:
    """Shares divided by those of the source; 0 for classes that the source lacks."""
    return np.divide(shares, prior, out=np.zeros_like(shares), where=prior > 0)


def gain(
    network: Network, posteriors: Floats, rows: NDArray[np.int64], weights: Floats
) -> float:
    """Accuracy of predictions adapted by weights, less that of the network itself."""
    adapted = (posteriors[rows] * weights).argmax(axis=1)
    plain = network.posteriors[rows].argmax(axis=1)
    y = network.y[rows]
    return float((adapted == y).mean() - (plain == y).mean())
