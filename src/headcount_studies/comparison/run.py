"""Execution of one task: the estimates of a group of methods in all of its trials.

A group is a function of a `Bench`, trials and methods. For each trial it yields the samples
and the estimates of each method. Methods of a group share computations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headcount.items.arrays import Scored
from headcount.learn.trees import QuantificationForestClassifier
from headcount.metrics import METRICS, SMOOTHED
from headcount.quantifiers.adjusted import ACC, CC
from headcount.quantifiers.learners import QF
from headcount.samples.samples import Samples
from headcount_studies.comparison.data import Bench, Trial, load_bench
from headcount_studies.comparison.logistic import LinearModel, cross_fit, stratified_folds
from headcount_studies.comparison.spec import (
    TUNED,
    group_of,
    made,
    n_draws,
    quantifier_of,
)
from headcount_studies.comparison.training_pool import TrainingPool
from headcount_studies.comparison.tuning import FOLDS, ClassifierScores, TunedTrainer
from headcount_studies.engine.spec import MethodSpec, Spec
from headcount_studies.engine.store import share_columns
from headcount_studies.engine.task import Task, task_seed

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Estimate = Callable[[Samples], Floats]

_FEW_TRIALS = 20
_DIVERGENCES = ("kld", "nkld")


@dataclass(frozen=True, eq=False)
class TrialEstimates:
    """Estimates of one method, one row per sample."""

    shares: Floats
    failures: tuple[str | None, ...]
    seconds: float


class _Shared:
    """A computation that methods share, made on first use, and the time that it took.

    An exception in it is then a failure of the method.
    """

    def __init__(self, compute: Callable[..., Any]) -> None:
        self._compute = compute
        self._found: dict[Any, tuple[Any, float]] = {}
        self.saved = 0.0

    def __call__(self, *key: Any) -> Any:
        if key in self._found:
            value, seconds = self._found[key]
            self.saved += seconds
            return value
        start = perf_counter()
        value = self._compute(*key)
        self._found[key] = value, perf_counter() - start
        return value


@dataclass(frozen=True, eq=False)
class TrialAnswers:
    """Estimates for the samples of a trial, by method."""

    trial: Trial
    n_train: int
    samples: Samples
    estimates: Mapping[str, TrialEstimates]


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of the methods of one group."""
    bench = load_bench(spec, task.dataset, data)
    group = task.settings["group"]
    methods = [method for method in spec.methods if group_of(method) == group]
    draws = max(n_draws(spec, method) for method in methods)
    trials = [
        Trial(split, train, number)
        for split in task.settings["splits"]
        for train in task.settings["trains"]
        for number in range(draws)
    ]
    estimate: Callable[..., Iterator[TrialAnswers]]
    estimate = {"scores": by_scores, "forest": by_forest}.get(group, by_features)
    if group.startswith(TUNED):
        estimate = partial(by_scores, trainer=_tuned_trainer(spec, bench, group))
    # The rounding of a matrix product depends on the number of threads.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        answers = list(estimate(bench, trials, methods))
    return _frame(spec, bench, answers)


def _wanted(methods: Sequence[MethodSpec], trial: Trial) -> list[MethodSpec]:
    """Methods that take part in a trial: some make fewer draws."""
    return [m for m in methods if trial.number < m.options.get("draws", trial.number + 1)]


def _attempt(
    estimate: Estimate, samples: Samples, n_classes: int, shared: _Shared | None = None
) -> TrialEstimates:
    """Estimate all samples at once, or one by one if that fails."""
    start, saved = perf_counter(), 0.0 if shared is None else shared.saved
    shares, why = _try(estimate, samples)
    seconds = perf_counter() - start
    if shared is not None:
        seconds += shared.saved - saved
    if shares is not None:
        return TrialEstimates(shares, (None,) * len(samples), seconds)
    shares = np.full((len(samples), n_classes), np.nan)
    failures: list[str | None] = [why] * len(samples)
    start = perf_counter()
    for number in range(len(samples)):
        estimated, failures[number] = _try(estimate, samples[number : number + 1])
        if estimated is not None:
            shares[number] = estimated[0]
    return TrialEstimates(shares, tuple(failures), seconds + perf_counter() - start)


def _try(estimate: Estimate, samples: Samples) -> tuple[Floats | None, str | None]:
    try:
        shares = np.asarray(estimate(samples), dtype=np.float64)
    except Exception as error:  # a method may fail in any way; the study continues
        return None, f"{type(error).__name__}: {error}"
    if not np.isfinite(shares).all():
        return None, "the estimate is not a number"
    return shares, None


# Methods on the features


def by_features(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[TrialAnswers]:
    """Estimates of methods that are fitted on features."""
    # Samples of many trials take much memory: those are drawn a second time when needed.
    draws = {t: bench.drawer.draw(t) for t in trials} if len(trials) <= _FEW_TRIALS else {}
    training = {t: draws[t][0] if draws else bench.drawer.training(t) for t in trials}
    models = {method.name: _Models(bench, method, training) for method in methods}
    for trial in trials:
        samples = draws[trial][1] if draws else bench.drawer.testing(trial)
        estimates = {
            method.name: _attempt(
                partial(models[method.name].predict, trial), samples, bench.dataset.n_classes
            )
            for method in _wanted(methods, trial)
        }
        yield TrialAnswers(trial, len(training[trial]), samples, estimates)


class _Models:
    """A method fitted on the training sets of all trials; those with one seed together."""

    def __init__(
        self, bench: Bench, method: MethodSpec, training: Mapping[Trial, Codes]
    ) -> None:
        self.bench, self.method, self.group = bench, method, group_of(method)
        parameters = signature(quantifier_of(method.quantifier)).parameters
        self.is_random = "random_state" in parameters
        self.sets: dict[int | None, dict[Trial, Codes]] = {}
        for trial, rows in training.items():
            if _wanted([method], trial):
                self.sets.setdefault(self._seed(trial), {})[trial] = rows
        # Fitted on first use: an exception is then a failure of the method.
        self._fitted = lru_cache(self._fit)

    def predict(self, trial: Trial, samples: Samples) -> Floats:
        return self._fitted(self._seed(trial))[trial](samples)

    def _fit(self, seed: int | None) -> dict[Trial, Estimate]:
        sets = self.sets[seed]
        if self.group == "finite":  # small, and needed by other tasks
            pool = self.bench.remembered(f"{self.method} {seed}", lambda: self._pool(seed))
        else:
            pool = self._pool(seed)
        return dict(zip(sets, pool.fit_many(list(sets.values())), strict=True))

    def _seed(self, trial: Trial) -> int | None:
        """Seed of the quantifier: random sets of features are drawn once per draw."""
        if not self.is_random:
            return None
        if self.group == "finite":
            names = self.bench.dataset.name, trial.number, self.method.name
            return task_seed(self.bench.drawer.seed, *names)
        return self.bench.seed(trial, self.method.name)

    def _pool(self, seed: int | None) -> TrainingPool:
        dataset = self.bench.dataset
        return TrainingPool(
            made(self.method, **({} if seed is None else {"random_state": seed})),
            self.bench.binned if self.method.options.get("binned") else dataset.X,
            dataset.y,
            categorical=self.group == "finite",
            random_state=task_seed(self.bench.drawer.seed, dataset.name, "ties"),
        )


# Methods that count the predictions of a forest


def by_forest(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[TrialAnswers]:
    """Estimates of methods that count the predictions of a forest, and may share it."""
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        # Only items that are in a sample need to be labelled.
        grow = _Shared(partial(_grown, bench, trial, rows, np.unique(samples.indices)))
        estimates = {
            method.name: _attempt(
                partial(_counted, bench, method, rows, grow),
                samples,
                bench.dataset.n_classes,
                grow,
            )
            for method in _wanted(methods, trial)
        }
        yield TrialAnswers(trial, len(rows), samples, estimates)


def _grown(
    bench: Bench,
    trial: Trial,
    rows: Codes,
    tested: Codes,
    binned: bool,
    parameters: tuple[Any, ...],
) -> tuple[Floats, Floats]:
    """Predictions of a forest for its training items, out of bag, and for the pool."""
    X = bench.binned if binned else bench.dataset.X
    forest = QuantificationForestClassifier(
        **dict(parameters), random_state=bench.seed(trial, "forest")
    ).fit(X[rows], bench.dataset.y[rows])
    indicators = np.eye(bench.dataset.n_classes)
    pool = np.zeros(len(X), np.int64)
    pool[tested] = forest.predict(X[tested])
    return indicators[forest.oob_prediction_], indicators[pool]


def _counted(
    bench: Bench, method: MethodSpec, rows: Codes, grow: Any, samples: Samples
) -> Floats:
    parameters = tuple(sorted(method.parameters.items()))
    training, pool = grow(bool(method.options.get("binned")), parameters)
    counting = CC() if quantifier_of(method.quantifier) is QF else ACC()
    counting.fit(Scored(training), bench.dataset.y[rows])
    return counting.predict_many(Scored(pool), samples)


# Methods on the scores of logistic regression


class _Trainer:
    """Trains on one training set after the other, each from the last solution."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.last: dict[int | None, LinearModel] = {}

    def score(self, rows: Codes, against_rest: int | None) -> ClassifierScores:
        """Scores of all classes, or of one class against the others."""
        X, y = self.bench.dataset.X, self.bench.dataset.y[rows]
        codes = y if against_rest is None else (y == against_rest).astype(np.int64)
        start = self.last.pop(against_rest, None)
        fitted = cross_fit(X[rows], codes, stratified_folds(codes, FOLDS), start=start)
        self.last[against_rest] = fitted.model
        return ClassifierScores(fitted.posteriors, fitted.model.posteriors(X), codes)


def _tuned_trainer(spec: Spec, bench: Bench, group: str) -> TunedTrainer:
    """Trainer of the tuned classifier of a group."""
    kind, dataset = group.removeprefix(TUNED), bench.dataset
    seed = task_seed(bench.drawer.seed, dataset.name, group)
    return TunedTrainer(dataset.X, dataset.y, kind, spec.selection[kind], seed)


def by_scores(
    bench: Bench,
    trials: Sequence[Trial],
    methods: Sequence[MethodSpec],
    *,
    trainer: _Trainer | TunedTrainer | None = None,
) -> Iterator[TrialAnswers]:
    """Estimates of methods that are fitted on scores."""
    trainer, K = trainer or _Trainer(bench), bench.dataset.n_classes
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        score = _Shared(partial(trainer.score, rows))
        estimates = {
            method.name: _attempt(partial(_from_scores, method, score, K), samples, K, score)
            for method in _wanted(methods, trial)
        }
        yield TrialAnswers(trial, len(rows), samples, estimates)


def _from_scores(
    method: MethodSpec,
    score: Callable[[int | None], ClassifierScores],
    K: int,
    samples: Samples,
) -> Floats:
    """Shares of all classes at once, or of each against the rest, normalised to sum 1."""
    if K == 2 or not method.options.get("one_vs_rest"):
        return _from_posteriors(method, score(None), samples)
    positive = np.column_stack(
        [_from_posteriors(method, score(j), samples)[:, 1] for j in range(K)]
    )
    total = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, total, out=np.full_like(positive, 1 / K), where=total > 0)


def _from_posteriors(method: MethodSpec, scores: ClassifierScores, samples: Samples) -> Floats:
    training, pool = scores.training, scores.pool
    if method.options.get("decisions"):
        training, pool = _decisions(training, pool, method.options.get("decimals"))
    quantifier = made(method)
    if method.options.get("predictions"):
        # The predicted class is the only feature.
        predicted, pooled = training.argmax(axis=1)[:, None], pool.argmax(axis=1)[:, None]
        return quantifier.fit(predicted, scores.codes).predict_many(pooled, samples)
    quantifier.fit(Scored(training), scores.codes)
    return quantifier.predict_many(Scored(pool), samples)


def _decisions(training: Floats, pool: Floats, decimals: int | None) -> tuple[Floats, Floats]:
    """Decision values of two classes in place of posteriors.

    They are scaled to [0, 1], from the least to the largest of the training items, so that
    bins have equal width in decision values. Values beyond are clipped. Thresholds are not
    affected.
    """
    values = [_log_odds(scores) for scores in (training, pool)]
    if decimals is not None:
        values = [value.round(decimals) for value in values]
    low, high = values[0].min(), values[0].max()
    scaled = [np.clip((value - low) / ((high - low) or 1.0), 0, 1) for value in values]
    first, second = (np.column_stack([1 - score, score]) for score in scaled)
    return first, second


def _log_odds(scores: Floats) -> Floats:
    tiny = np.finfo(np.float64).tiny
    return np.asarray(np.log(scores[:, 1] + tiny) - np.log(scores[:, 0] + tiny))


# Rows of the results


def _frame(spec: Spec, bench: Bench, answers: Sequence[TrialAnswers]) -> pl.DataFrame:
    """One row per method and sample of each trial."""
    pairs = [(answer, name) for answer in answers for name in answer.estimates]
    n_tests = len(bench.drawer.tests)
    truth = np.concatenate([result.samples.prevalence for result, _ in pairs])
    shares = np.concatenate([result.estimates[name].shares for result, name in pairs])
    failures = [why for result, name in pairs for why in result.estimates[name].failures]
    seconds = [result.estimates[name].seconds / n_tests for result, name in pairs]
    trials = [result.trial for result, _ in pairs]
    shifts = _shifts(bench)
    columns: dict[str, Any] = {
        "dataset": [bench.dataset.name] * len(truth),
        "method": np.repeat([name for _, name in pairs], n_tests),
        "failure": pl.Series(failures, dtype=pl.String),
        **{metric: _errors(spec, metric, truth, shares) for metric in spec.metrics},
        "split": np.repeat([trial.split for trial in trials], n_tests),
        "train": np.repeat([trial.train for trial in trials], n_tests),
        "test": np.tile(np.arange(n_tests), len(pairs)),
        "draw": np.repeat([trial.number for trial in trials], n_tests),
        "shift": np.concatenate([shifts[trial.train] for trial in trials]),
        "n_train": np.repeat([result.n_train for result, _ in pairs], n_tests),
        "size": np.concatenate([result.samples.sizes for result, _ in pairs]),
        **share_columns(truth, shares),
        "seconds": np.repeat(seconds, n_tests),
    }
    return pl.DataFrame(columns)


def _shifts(bench: Bench) -> Floats:
    """Sum of absolute differences between each training and each test distribution."""
    trains, tests = np.asarray(bench.drawer.trains), np.asarray(bench.drawer.tests)
    return np.abs(trains[:, None] - tests[None]).sum(axis=2).round(9)


def _errors(spec: Spec, metric: str, truth: Any, shares: Any) -> pl.Series:
    """Errors; null where there is no estimate."""
    options = {"eps": spec.protocol.get("smoothing", 1e-8)} if metric in SMOOTHED else {}
    if metric in _DIVERGENCES:
        options["base"] = spec.protocol.get("log_base")
    fine = np.isfinite(shares).all(axis=1)
    errors = np.full(len(truth), np.nan)
    if fine.any():
        errors[fine] = METRICS[metric](truth[fine], shares[fine], **options)
    return pl.Series(errors).fill_nan(None)
