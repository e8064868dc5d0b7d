"""Execution of one task: all trials of a network with samples of one size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.items.arrays import Scored
from headcount.quantifiers.registry import method as find_method
from headcount.scores.calibration import fit_calibrator
from headcount_studies.classifier_grid import quietly, reason
from headcount_studies.engine.spec import MethodSpec, Spec
from headcount_studies.engine.store import share_columns
from headcount_studies.engine.task import Task
from headcount_studies.label_shift.data import Network, Trial, draw_trial, load_network
from headcount_studies.label_shift.spec import calibration_of, conditions, data_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Answers:
    """Shares of each sample, or the reason why there are none; calibrated posteriors."""

    shares: Floats | None
    posteriors: Floats
    failure: str | None
    seconds: float


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of all methods in all trials."""
    network, size = load_network(task.dataset, data), task.settings["size"]
    frames = []
    with quietly():
        for number in range(spec.protocol["trials"][data_of(task.dataset)]):
            trial = draw_trial(spec, network, task.dataset, size, number)
            calibrated = _Calibrated(network, trial)
            for method in spec.methods:
                answers = _answers(method, network, trial, calibrated)
                frame = _frame(spec, network, trial, answers)
                frames.append(
                    frame.with_columns(
                        pl.lit(task.dataset).alias("dataset"),
                        pl.lit(method.name).alias("method"),
                        pl.lit(size, pl.Int32).alias("n"),
                        pl.lit(number, pl.Int32).alias("trial"),
                    )
                )
    return pl.concat(frames)


class _Calibrated:
    """Posteriors of all images, by calibration learnt on the source of a trial."""

    def __init__(self, network: Network, trial: Trial) -> None:
        self._network, self._trial = network, trial
        self._made: dict[str, tuple[Floats, float]] = {}

    def __call__(self, calibration: str) -> tuple[Floats, float]:
        """Posteriors, and the time that they took."""
        if calibration not in self._made:
            start, posteriors = perf_counter(), self._network.posteriors
            if calibration != "none":
                source = self._trial.source
                fitted = fit_calibrator(
                    calibration, posteriors[source], self._network.y[source]
                )
                posteriors = fitted.transform(posteriors)
            self._made[calibration] = posteriors, perf_counter() - start
        return self._made[calibration]


def _answers(
    method: MethodSpec, network: Network, trial: Trial, calibrated: _Calibrated
) -> _Answers:
    posteriors, seconds = network.posteriors, 0.0
    start = perf_counter()
    try:
        posteriors, seconds = calibrated(calibration_of(method))
        start = perf_counter()
        quantifier = find_method(method.quantifier)(**method.arguments)
        quantifier.fit(Scored(posteriors[trial.source]), network.y[trial.source])
        shares = np.array([quantifier.predict(Scored(posteriors[r])) for r in trial.samples])
    except Exception as error:  # the study goes on without the result
        return _Answers(None, posteriors, reason(error), perf_counter() - start)
    return _Answers(shares, posteriors, None, seconds + perf_counter() - start)


def _frame(spec: Spec, network: Network, trial: Trial, answers: _Answers) -> pl.DataFrame:
    """One row per sample."""
    K, n = network.n_classes, len(trial.samples)
    prior = np.bincount(network.y[trial.source], minlength=K) / len(trial.source)
    true = np.array(
        [np.bincount(network.y[rows], minlength=K) / len(rows) for rows in trial.samples]
    )
    columns: dict[str, Any] = {"mse_weights": [None] * n, "gain_accuracy": [None] * n}
    if answers.shares is not None:
        weights = _weights(answers.shares, prior)
        errors = (weights - _weights(true, prior)) ** 2
        columns["mse_weights"] = errors[:, prior > 0].mean(axis=1)
        columns["gain_accuracy"] = [
            gain(network, answers.posteriors, rows, w)
            for rows, w in zip(trial.samples, weights, strict=True)
        ]
    kinds, alphas = zip(*conditions(spec), strict=True)
    return pl.DataFrame(
        {
            "failure": pl.Series([answers.failure] * n, dtype=pl.String),
            **{name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()},
            "shift": kinds,
            "alpha": alphas,
            **share_columns(true, answers.shares),
            "prior": [prior.tolist()] * n,
            "seconds": [answers.seconds / n] * n,
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
