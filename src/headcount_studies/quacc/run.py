"""Execution of one task: train a model, select settings, predict its accuracy on samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from headcount.accuracy.base import Predictor
from headcount.accuracy.metrics import METRICS, FittedClassifier, Reference
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.search import held_out_rows, try_settings
from headcount.errors import HeadcountError
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount_studies.classifier_grid import quietly
from headcount_studies.engine.spec import MethodSpec, Spec
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.quacc.data import (
    TrainingSets,
    draw_test_samples,
    draw_training_and_reference,
    load_collection,
    sample_rows,
)
from headcount_studies.quacc.spec import candidates, is_quacc, plain_predictor

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Predicted:
    """A metric on each sample, and the tables it comes from; None if there are none."""

    values: Floats | None = None
    tables: Floats | None = None


@dataclass(frozen=True, eq=False)
class _Choices:
    """Settings of the methods of QuAcc by metric, and the time that their choice took."""

    settings: dict[tuple[str, str], tuple[str, QuAcc]]
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class _Answer:
    """Predictions of a method per metric, with the selected settings; or a failure."""

    values: dict[str, _Predicted]
    chosen: dict[str, str]
    failure: str | None = None


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Predictions of all methods for one model on all test samples."""
    collection = load_collection(task.dataset, data, spec.protocol["least"])
    seed, K = task_seed(spec.seed, task.dataset), collection.n_classes
    (name,) = task.settings.values()
    task_random_seed = task_seed(seed, name)
    sets = draw_training_and_reference(spec, collection, task.settings, seed)
    model = LogisticRegression(max_iter=1000).fit(
        collection.X[sets.train], collection.y[sets.train]
    )
    reference = (collection.X[sets.reference], collection.y[sets.reference])
    pool, samples = ScoredPool(collection.X_test), draw_test_samples(spec, collection, seed)
    predicted = model.predict(collection.X_test)
    tables = samples.prevalence_of(K * collection.y_test + predicted, K * K).reshape(-1, K, K)
    true = {metric: METRICS[metric](tables) for metric in spec.metrics}
    frames = []
    with quietly():
        choices = _chosen(spec, model, reference, task_random_seed)
        for method in spec.methods:
            rows, start = sample_rows(spec, method), perf_counter()
            answer = _answer(
                spec,
                method,
                (model, choices.settings, task_random_seed),
                reference,
                (pool, samples[rows]),
            )
            seconds = perf_counter() - start + choices.seconds.get(method.name, 0.0)
            frames.append(
                _frame(spec, task, method, answer, rows, true).with_columns(
                    *_shares(sets, samples, rows),
                    pl.Series("true_table", tables[rows].reshape(-1, K * K).tolist()),
                    pl.lit(seconds / len(rows)).alias("seconds"),
                )
            )
    sizes = {"pool": len(collection.y) // 2, "test_pool": len(collection.y_test)}
    sizes["training"] = len(sets.train)
    return pl.concat(frames).with_columns(
        *(pl.lit(size, pl.Int64).alias(f"{name}_size") for name, size in sizes.items()),
        pl.lit(pl.Series("pool_shares", [collection.shares().tolist()])).first(),
    )


def _shares(sets: TrainingSets, samples: Samples, rows: NDArray[np.int64]) -> list[pl.Series]:
    """Shares of training and test, and the distance between them."""
    assert samples.prevalence is not None
    shares, n = samples.prevalence[rows], len(rows)
    binary = len(sets.shares) == 2
    return [
        pl.Series("train_prevalence", [sets.shares[1] if binary else None] * n, pl.Float64),
        pl.Series("test_prevalence", shares[:, 1] if binary else [None] * n, pl.Float64),
        pl.Series("shift", np.abs(shares - sets.shares).sum(axis=1) / 2),
        pl.Series("train_shares", [sets.shares.tolist()] * n),
    ]


def _chosen(
    spec: Spec, model: Any, known: tuple[Any, NDArray[np.int64]], seed: int
) -> _Choices:
    """For each method of QuAcc and measure the setting that errs least on held-out items."""
    start = perf_counter()
    classifier = FittedClassifier(model)
    reference = Reference(classifier.outputs(known[0]), known[1], len(classifier.classes))
    held = held_out_rows(
        reference.cells, spec.selection["holdout"], task_seed(seed, "held out")
    )
    test = reference.take(np.flatnonzero(held))
    protocol = UPP(
        n_samples=spec.selection["samples"],
        size=spec.selection["size"],
        random_state=task_seed(seed, "selection"),
    )
    tried = [
        (method.name, name, candidate)
        for method in spec.methods
        if is_quacc(method)
        for name, candidate in candidates(spec, method, model, seed)
    ]
    metrics = [METRICS[metric] for metric in spec.metrics]
    trials = try_settings(
        [candidate for _, _, candidate in tried],
        reference.take(np.flatnonzero(~held)),
        test,
        protocol.draw(test.codes),
        metrics,
    )
    best_settings = {}
    for method in dict.fromkeys(name for name, _, _ in tried):
        members = [i for i, (name, _, _) in enumerate(tried) if name == method]
        for number, metric in enumerate(spec.metrics):
            errors = np.array([trials[i].errors(number) for i in members])
            if np.isfinite(errors).any():
                best = members[int(np.nanargmin(errors))]
                best_settings[method, metric] = tried[best][1:]
    # In proportion to the settings, which share computations.
    seconds = (perf_counter() - start) / max(len(tried), 1)
    names = [name for name, _, _ in tried]
    return _Choices(best_settings, {name: seconds * names.count(name) for name in names})


def _answer(
    spec: Spec,
    method: MethodSpec,
    made: tuple[Any, dict[tuple[str, str], tuple[str, QuAcc]], int],
    reference: tuple[Any, NDArray[np.int64]],
    target: tuple[ScoredPool, Samples],
) -> _Answer:
    model, chosen_settings, seed = made
    values = dict.fromkeys(spec.metrics, _Predicted())
    settings = dict.fromkeys(spec.metrics, "")
    try:
        if not is_quacc(method):
            predictor = plain_predictor(method, model, seed).fit(*reference)
            return _Answer(_values(predictor, target, spec.metrics), settings)
        fitted: dict[str, dict[str, _Predicted]] = {}
        for metric in spec.metrics:
            if (method.name, metric) not in chosen_settings:
                raise HeadcountError("no setting could be used.")
            name, candidate = chosen_settings[method.name, metric]
            settings[metric] = name
            if name not in fitted:
                fitted[name] = _values(candidate.fit(*reference), target, spec.metrics)
            values[metric] = fitted[name][metric]
        return _Answer(values, settings)
    except Exception as error:
        none = dict.fromkeys(spec.metrics, _Predicted())
        return _Answer(none, settings, f"{type(error).__name__}: {error}")


def _values(
    predictor: Predictor, target: tuple[ScoredPool, Samples], metrics: Sequence[str]
) -> dict[str, _Predicted]:
    """All metrics that a fitted method gives."""
    if predictor.has_table:
        tables = predictor.predict_tables(*target)
        return {metric: _Predicted(METRICS[metric](tables), tables) for metric in metrics}
    supported = [metric for metric in metrics if predictor.supports(metric)]
    values = dict(zip(supported, predictor.predict_metrics(*target, supported), strict=True))
    return {metric: _Predicted(values.get(metric)) for metric in metrics}


def _frame(
    spec: Spec,
    task: Task,
    method: MethodSpec,
    answer: _Answer,
    rows: NDArray[np.int64],
    true: dict[str, Floats],
) -> pl.DataFrame:
    """Results of one method, one row per sample."""
    numbers: dict[str, Any] = {}
    for metric in spec.metrics:
        values, tables = answer.values[metric].values, answer.values[metric].tables
        estimated = np.full(len(rows), np.nan) if values is None else values
        cells: list[Any] = [None] * len(rows)
        if tables is not None:
            cells = tables.reshape(len(rows), -1).tolist()
        numbers[f"table_{metric}"] = pl.Series(cells, dtype=pl.List(pl.Float64))
        numbers[metric] = np.abs(estimated - true[metric][rows])
        numbers[f"true_{metric}"] = true[metric][rows]
        numbers[f"estimated_{metric}"] = estimated
    numbers["sample"] = rows
    texts = {"dataset": task.dataset, "method": method.name, "failure": answer.failure}
    (texts["training_set"],) = map(str, task.settings.values())
    texts |= {f"chosen_{metric}": answer.chosen[metric] for metric in spec.metrics}
    fixed = [pl.lit(text, pl.String).alias(name) for name, text in texts.items()]
    frame = pl.DataFrame(numbers, nan_to_null=True).with_columns(fixed)
    first = ["dataset", "method", "failure", *spec.metrics]
    return frame.select(first + [name for name in frame.columns if name not in first])
