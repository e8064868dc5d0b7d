"""Plan of the comparison, draws from its datasets, and execution of one task.

The paper draws, for a share r of training items, a training distribution p and a test
distribution q, as many items as there are: with N items, n_i of them of class i, a total of

    n(p, q) = floor(min(N, min over i of n_i / (r p_i + (1 - r) q_i)))

of which n r p_i are drawn for training and n (1 - r) q_i for the test, truncated, without
replacement. That makes the training set depend on the test distribution. Here one training
set serves all test distributions: its size is the mean over them of r n(p, q), and each class
has at least one item. A test sample has the size of the formula, (1 - r) n(p, q), or as many
items as are left over if these are fewer.

Methods of a group share computations. A group is a function of a `Bench`, trials and methods
that yields, for each trial, the samples and the estimates of each method.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headcount._support.parameters import check_log_base
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored
from headcount.learn.trees import QuantificationForestClassifier
from headcount.metrics import METRICS, SMOOTHED
from headcount.quantifiers.adjusted import ACC, CC
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.features import ED, HDx, ReadMe
from headcount.quantifiers.learners import PWK, QF, QFAC
from headcount.quantifiers.registry import method as find_method
from headcount.samples.samples import Samples
from headcount_studies.comparison.classifiers import (
    CLASSIFIERS,
    ClassifierScores,
    ScoreTrainer,
    check_tuning,
)
from headcount_studies.comparison.training_pool import TrainingPool
from headcount_studies.data.tables import (
    SIZES,
    Dataset,
    dataset_file,
    dataset_names,
    load_dataset,
    rule_of,
)
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known, reason
from headcount_studies.engine.store import share_columns
from headcount_studies.engine.task import Shared, Task, task_seed

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
_PROTOCOL = ("task", "splits", "draws", "train", "test")
_OPTIONS = ("binned", "decimals", "one_vs_rest", "predictions", "decisions", "classifier")


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    check_keys("[protocol]", spec.protocol, ("smoothing", "log_base"), needed=_PROTOCOL)
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


def distributions(protocol: dict[str, Any], kind: str, n_classes: int) -> list[list[float]]:
    """Training or test distributions of the protocol, for a number of classes."""
    named = protocol[kind].get(str(n_classes))
    if named is None:
        raise HeadcountError(
            f"[protocol] names no {kind} distributions of {n_classes} classes: add them to "
            f"[protocol.{kind}]."
        )
    return [(np.asarray(weights) / np.sum(weights)).tolist() for weights in named]


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per dataset, group of methods and, for most groups, training distribution."""
    check(spec)
    available = [dataset for dataset in spec.datasets if dataset_file(dataset, data).is_file()]
    return [task for dataset in available for task in _tasks(spec, dataset)]


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a dataset."""
    return [dataset_file(dataset, data)]


def _tasks(spec: Spec, dataset: str) -> list[Task]:
    """Tasks of a dataset, without reading it."""
    n_classes = rule_of(dataset, spec.protocol["task"]).n_classes
    protocol = spec.protocol
    splits, draws = protocol["splits"], protocol["draws"]
    trains, tests = (distributions(protocol, kind, n_classes) for kind in ("train", "test"))
    cells = [([split], [train]) for split in splits for train in range(len(trains))]
    tasks = []
    for group in _GROUPS:
        methods = [method for method in spec.methods if group_of(method) == group]
        if not methods:
            continue
        undivided = group in _WHOLE
        for split, train in [(list(splits), list(range(len(trains))))] if undivided else cells:
            name = "all" if undivided else f"{split[0]:g}-{train[0]}"
            tasks.append(
                Task(
                    f"{dataset}.{group}.{name}",
                    dataset,
                    {"group": group, "splits": split, "trains": train},
                    cost=_seconds(group, SIZES[dataset], split, draws),
                    runs=len(methods) * draws * len(split) * len(train) * len(tests),
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


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# Products such as 0.3 * 10 are slightly too small in floating point.
_ROUNDING = 1e-9


def _total(counts: Codes, r: float, p: Sequence[float], q: Sequence[float]) -> int:
    shares = r * np.asarray(p) + (1 - r) * np.asarray(q)
    asked = shares > 0
    most = (counts[asked] / shares[asked]).min()
    return int(min(counts.sum(), np.floor(most + _ROUNDING)))


def training_counts(
    counts: Codes, r: float, p: Sequence[float], tests: Sequence[Sequence[float]]
) -> Codes:
    """Number of items of each class in a training set.

    >>> training_counts(np.array([300, 700]), 0.8, [0.4, 0.6], [[0.4, 0.6]])
    array([240, 360])
    """
    total = np.mean([_total(counts, r, p, q) for q in tests])
    return np.maximum(1, np.floor(total * r * np.asarray(p) + _ROUNDING).astype(np.int64))


def test_counts(
    counts: Codes, used: Codes, r: float, p: Sequence[float], q: Sequence[float]
) -> Codes:
    """Number of items of each class in a test sample.

    >>> test_counts(np.array([300, 700]), np.array([240, 360]), 0.8, [0.4, 0.6], [0.4, 0.6])
    array([60, 90])
    """
    shares = np.asarray(q, dtype=np.float64)
    asked = shares > 0
    available = ((counts - used)[asked] / shares[asked]).min()
    size = min((1 - r) * _total(counts, r, p, q), available)
    sizes = np.floor(size * shares + _ROUNDING).astype(np.int64)
    if not sizes.any():
        sizes[shares.argmax()] = 1
    return sizes


test_counts.__test__ = False  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Trial:
    """One draw: share of training items, training distribution, number of the draw."""

    split: float
    train: int
    number: int


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws from one dataset, which depend on the seed and the trial only."""

    y: Codes
    trains: Sequence[Sequence[float]]
    tests: Sequence[Sequence[float]]
    seed: int
    name: str

    @cached_property
    def by_class(self) -> list[Codes]:
        """Rows of each class."""
        return [np.flatnonzero(self.y == k) for k in range(int(self.y.max()) + 1)]

    def training_counts(self, trial: Trial) -> Codes:
        """Number of training items of each class."""
        counts = np.array([len(rows) for rows in self.by_class])
        return training_counts(counts, trial.split, self.trains[trial.train], self.tests)

    def training(self, trial: Trial) -> Codes:
        """Rows of the training items, in random order, which decides their folds."""
        return self._training(trial)[0]

    def draw(self, trial: Trial) -> tuple[Codes, Samples]:
        """Training items, and one sample per test distribution, with the true shares."""
        training, unused = self._training(trial)
        counts = np.array([len(rows) for rows in self.by_class])
        n_training = counts - np.array([len(rows) for rows in unused])
        samples, shares = [], []
        for number, q in enumerate(self.tests):
            sizes = test_counts(counts, n_training, trial.split, self.trains[trial.train], q)
            rng = self._rng(trial, "test", number)
            per_class = zip(unused, sizes, strict=True)
            samples.append(
                np.concatenate([rng.choice(rows, n, replace=False) for rows, n in per_class])
            )
            shares.append(sizes / sizes.sum())
        offsets = np.cumsum([0, *map(len, samples)])
        pool = len(self.y)
        test_samples = Samples(np.concatenate(samples), offsets, n_pool=pool, prevalence=shares)
        return training, test_samples

    def _training(self, trial: Trial) -> tuple[Codes, list[Codes]]:
        """Training items, and the remaining items of each class."""
        counts = self.training_counts(trial)
        rng = self._rng(trial, "train")
        mixed = [rng.permutation(rows) for rows in self.by_class]
        training = [rows[:n] for rows, n in zip(mixed, counts, strict=True)]
        unused = [rows[n:] for rows, n in zip(mixed, counts, strict=True)]
        return rng.permutation(np.concatenate(training)), unused

    def _rng(self, trial: Trial, *purpose: object) -> np.random.Generator:
        names = (self.name, trial.split, trial.train, trial.number, *purpose)
        return np.random.default_rng(task_seed(self.seed, *names))


@dataclass(frozen=True, eq=False)
class Bench:
    """A dataset and the draws from it."""

    dataset: Dataset
    drawer: Drawer
    _made: dict[str, Any] = field(default_factory=dict)

    def remembered(self, what: str, make: Callable[[], Any]) -> Any:
        """Result of a computation that depends on the dataset only, made on first use."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]

    @cached_property
    def binned(self) -> NDArray[np.generic]:
        """Features with a finite number of values, in the smallest integer type."""
        codes = self.dataset.binned()
        return codes.astype(np.min_scalar_type(codes.max()))

    def seed(self, trial: Trial, purpose: str) -> int:
        """Seed for one purpose in one trial."""
        names = (self.dataset.name, trial.split, trial.train, trial.number, purpose)
        return task_seed(self.drawer.seed, *names)


def load_bench(spec: Spec, dataset: str, data: Path) -> Bench:
    """Read a dataset; the last ones are kept in memory."""
    return _bench(dataset, data, json.dumps([spec.seed, spec.protocol]))


# Tasks come in the order of their cost, not of datasets: all of these stay in memory, some
# 1.5 GB if a process reads them all.
@lru_cache(maxsize=64)
def _bench(dataset: str, data: Path, key: str) -> Bench:
    seed, protocol = json.loads(key)
    loaded = load_dataset(dataset, protocol["task"], data)
    trains, tests = (
        distributions(protocol, kind, loaded.n_classes) for kind in ("train", "test")
    )
    return Bench(loaded, Drawer(loaded.y, trains, tests, seed, dataset))


Estimate = Callable[[Samples], Floats]

_DIVERGENCES = ("kld", "nkld")


@dataclass(frozen=True, eq=False)
class TrialEstimates:
    """Estimates of one method, one row per sample."""

    shares: Floats
    failures: tuple[str | None, ...]
    seconds: float


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
    trials = [
        Trial(split, train, number)
        for split in task.settings["splits"]
        for train in task.settings["trains"]
        for number in range(spec.protocol["draws"])
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


def _attempt(
    estimate: Estimate,
    samples: Samples,
    n_classes: int,
    shared: Shared | None = None,
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
        return None, reason(error)
    if not np.isfinite(shares).all():
        return None, "the estimate is not a number"
    return shares, None


def by_features(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[TrialAnswers]:
    """Estimates of methods that are fitted on features."""
    # Samples of many trials take much memory: they are drawn when needed.
    training = {trial: bench.drawer.training(trial) for trial in trials}
    models = {method.name: _Models(bench, method, training) for method in methods}
    for trial in trials:
        samples = bench.drawer.draw(trial)[1]
        estimates = {
            method.name: _attempt(
                partial(models[method.name].predict, trial), samples, bench.dataset.n_classes
            )
            for method in methods
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


def by_forest(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[TrialAnswers]:
    """Estimates of methods that count the predictions of a forest, and may share it."""
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        # Only items that are in a sample need to be labelled.
        grow = Shared(partial(_grown, bench, trial, rows, np.unique(samples.indices)))
        estimates = {
            method.name: _attempt(
                partial(_counted, bench, method, rows, grow),
                samples,
                bench.dataset.n_classes,
                grow,
            )
            for method in methods
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


def _tuned_trainer(spec: Spec, bench: Bench, group: str) -> ScoreTrainer:
    """Trainer of the tuned classifier of a group."""
    kind, dataset = group.removeprefix(TUNED), bench.dataset
    seed = task_seed(bench.drawer.seed, dataset.name, group)
    return ScoreTrainer(dataset.X, dataset.y, kind, spec.selection[kind], seed)


def by_scores(
    bench: Bench,
    trials: Sequence[Trial],
    methods: Sequence[MethodSpec],
    *,
    trainer: ScoreTrainer | None = None,
) -> Iterator[TrialAnswers]:
    """Estimates of methods that are fitted on scores, by default of logistic regression."""
    trainer = trainer or ScoreTrainer(bench.dataset.X, bench.dataset.y)
    K = bench.dataset.n_classes
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        score = Shared(partial(trainer.score, rows))
        estimates = {
            method.name: _attempt(partial(_from_scores, method, score, K), samples, K, score)
            for method in methods
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
    """Decision values of two classes in place of posteriors, scaled by those of training."""
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


def _frame(spec: Spec, bench: Bench, answers: Sequence[TrialAnswers]) -> pl.DataFrame:
    """One row per method and sample of each trial."""
    pairs = [(answer, name) for answer in answers for name in answer.estimates]
    n_tests = len(bench.drawer.tests)
    truth = np.concatenate([result.samples.prevalence for result, _ in pairs])
    shares = np.concatenate([result.estimates[name].shares for result, name in pairs])
    failures = [why for result, name in pairs for why in result.estimates[name].failures]
    seconds = [result.estimates[name].seconds / n_tests for result, name in pairs]
    trials = [result.trial for result, _ in pairs]
    trains, tests = np.asarray(bench.drawer.trains), np.asarray(bench.drawer.tests)
    shifts = np.abs(trains[:, None] - tests).sum(axis=2).round(9)
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
