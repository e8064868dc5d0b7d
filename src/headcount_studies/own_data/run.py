"""Execution of one task: fit all methods on one training set, estimate its samples."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.errors import HeadcountError
from headcount.evaluation.evaluation import parameters_of
from headcount.evaluation.fitting import FitResult, fit_together
from headcount.evaluation.measures import (
    check_measure,
    check_measures,
    errors_by_metric,
    interval_errors,
)
from headcount.evaluation.search import GridSearch
from headcount.metrics import OF_INTERVALS
from headcount.quantifiers.base import Quantifier
from headcount.scores.scorer import ScoredPool
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.store import share_columns
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.own_data.data import TableTrial, load_table
from headcount_studies.own_data.methods import make_method
from headcount_studies.own_data.spec import is_shift, make_protocol


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of all methods on the samples of one training set."""
    seed = task_seed(spec.seed, task.dataset, task.settings["training_set"])
    trial = _trial(spec, task, data, seed)
    n_classes = len(task.settings["classes"])
    quantifiers = {
        method.name: make_method(spec, method, n_classes=n_classes, seed=seed)
        for method in spec.methods
    }
    pool, rows = ScoredPool(trial.pool), {}
    for name, fitted in fit_together(quantifiers, trial.X, trial.y):
        start = perf_counter()
        shares, measured, failure = _estimated(
            spec, fitted, pool, trial, task.settings["classes"]
        )
        seconds = fitted.seconds + perf_counter() - start
        described = _described(quantifiers[name], fitted)
        rows[name] = _rows(spec, name, trial, shares, measured, failure).with_columns(
            pl.lit(task.dataset).alias("dataset"),
            pl.lit(task.settings["training_set"], pl.Int32).alias("training_set"),
            pl.lit(seed, pl.Int64).alias("seed"),
            pl.lit(described).alias("parameters"),
            pl.lit(seconds / len(trial.samples)).alias("seconds"),
        )
    return pl.concat([rows[method.name] for method in spec.methods])


def _trial(spec: Spec, task: Task, data: Path, seed: int) -> TableTrial:
    table, number = load_table(spec, task.dataset, data), task.settings["training_set"]
    if is_shift(spec):
        # The same draw for all tasks of a table, of which each is one training set.
        protocol = make_protocol(spec, task_seed(spec.seed, task.dataset, "protocol"))
        return table.shifted(spec, protocol, number)
    protocol = make_protocol(spec, task_seed(seed, "samples"))
    return table.split(protocol, spec.protocol.get("train", 0.5), task_seed(seed, "split"))


def _estimated(
    spec: Spec, fitted: FitResult, pool: ScoredPool, trial: TableTrial, classes: list[Any]
) -> tuple[NDArray[np.float64] | None, dict[str, NDArray[np.float64]], str | None]:
    """Shares of all samples, metrics of their intervals, and the reason if there are none."""
    try:
        if fitted.error is not None:
            raise fitted.error
        quantifier = fitted.quantifier
        # Quantifiers of other packages take the items themselves.
        items = pool if isinstance(quantifier, Quantifier) else pool.X
        shares = np.asarray(quantifier.predict_many(items, trial.samples), np.float64)
        fitted_classes = np.asarray(quantifier.classes_).tolist()
        if fitted_classes != classes or shares.shape != (len(trial.samples), len(classes)):
            raise HeadcountError(
                f"it gave shares of shape {shares.shape} for the classes {fitted_classes}, "
                f"where {len(trial.samples):,} samples have the classes {classes}."
            )
        assert trial.samples.prevalence is not None
        interval_metrics = [name for name in spec.metrics if name in OF_INTERVALS]
        true = trial.samples.prevalence
        measured = interval_errors(quantifier, items, trial.samples, true, interval_metrics)
        measures = check_measures(spec.metrics, intervals=True)
        measured |= errors_by_metric(quantifier, items, trial.samples, true, measures)
    except Exception as error:  # a method of the user may raise anything
        kind = "" if isinstance(error, HeadcountError) else f"{type(error).__name__}: "
        return None, {}, " ".join(f"{kind}{error}".split())[:500]
    return shares, measured, None


def _described(quantifier: Any, fitted: FitResult) -> str:
    """Parameters of a method without seeds; of a search those that it chose."""
    if isinstance(quantifier, GridSearch) and fitted.quantifier is not None:
        quantifier = fitted.quantifier.best_quantifier_
    copy = clone(quantifier)
    seeds = [name for name in copy.get_params() if name.split("__")[-1] == "random_state"]
    return parameters_of(copy.set_params(**dict.fromkeys(seeds)))


def _rows(
    spec: Spec,
    method: str,
    trial: TableTrial,
    shares: NDArray[np.float64] | None,
    measured: dict[str, NDArray[np.float64]],
    failure: str | None,
) -> pl.DataFrame:
    samples, n = trial.samples, len(trial.samples)
    true = samples.prevalence
    assert true is not None
    assert samples.classes is not None
    prior = (trial.y[:, None] == samples.classes).mean(axis=0)
    errors: dict[str, Any] = {metric: [None] * n for metric in spec.metrics}
    if shares is not None:
        errors |= {
            metric: check_measure(metric)(true, shares, samples.sizes)
            for metric in spec.metrics
            if metric not in OF_INTERVALS
        }
    errors |= measured
    return pl.DataFrame(
        {
            "method": pl.Series([method] * n, dtype=pl.String),
            "failure": pl.Series([failure] * n, dtype=pl.String),
            **{name: pl.Series(values, dtype=pl.Float64) for name, values in errors.items()},
            "sample": pl.Series(np.arange(n), dtype=pl.Int32),
            "size": pl.Series(samples.sizes, dtype=pl.Int32),
            "shift": pl.Series(np.abs(true - prior).mean(axis=1), dtype=pl.Float64),
            "degree": pl.Series([None] * n if trial.degree is None else trial.degree).cast(
                pl.Float64
            ),
            "prior": pl.Series([prior.tolist()] * n, dtype=pl.List(pl.Float64)),
            **share_columns(true, shares),
        }
    )
