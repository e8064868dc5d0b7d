"""Methods and tables that a spec names, the plan, and execution of one task."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import GridSearchCV, GroupShuffleSplit, StratifiedShuffleSplit

from headcount import samples as sampling
from headcount import shift
from headcount._support.parameters import check_count, check_fraction, check_grid
from headcount.errors import HeadcountError, warn
from headcount.evaluation.evaluation import parameters_of
from headcount.evaluation.fitting import FitResult, fit_together
from headcount.evaluation.measures import (
    check_measure,
    check_measures,
    errors_by_metric,
    interval_errors,
)
from headcount.evaluation.search import GridSearch
from headcount.interop import from_quapy, is_quapy
from headcount.items.arrays import dense_if_narrow
from headcount.metrics import OF_INTERVALS
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.quantifiers.registry import method as find_method
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount.shift.experiments import ShiftedSamples
from headcount.shift.shift_protocols import ConceptShift
from headcount.tables.preparation import Preparation, prepare
from headcount.tables.readers import open_table
from headcount.tables.roles import header_rows, read_labels, stripped
from headcount_studies.engine.spec import (
    MethodSpec,
    Spec,
    check_keys,
    check_known,
    import_object,
    reason,
)
from headcount_studies.engine.store import sample_rows
from headcount_studies.engine.task import Task, task_seed

_INSIDE = "quantifier__"
_SEARCH = ("grid", "folds", "scoring")


def check_classifier(where: str, table: Mapping[str, Any], seed: int = 0) -> Any:
    """Classifier of a table of the spec; logistic regression if the table is empty.

    With a grid, its parameters are chosen on each training set that it is fitted on.
    """
    check_keys(where, table, ("class", "parameters", *_SEARCH))
    if not table:
        return LogisticRegression(max_iter=1000)
    path = table.get("class")
    if not isinstance(path, str) or not {":", "."} & set(path):
        raise HeadcountError(
            f"class of {where} is {path!r}; it must be an import path, such as "
            "'sklearn.ensemble:RandomForestClassifier'."
        )
    parameters = table.get("parameters", {})
    classifier = _made(import_object("classifier", path), parameters, seed, where)
    options = {name: table[name] for name in _SEARCH if name in table}
    if not options:
        return classifier
    if "grid" not in options:
        raise HeadcountError(f"{where} has {next(iter(options))!r} but no grid: add one.")
    grid = options["grid"]
    _check_names(f"grid of {where}", grid, classifier, "C")
    folds = check_count(f"folds of {where}", options.get("folds", 5), least=2)
    scoring = options.get("scoring", "accuracy")
    if scoring not in get_scorer_names():
        raise HeadcountError(
            f"scoring of {where} is {scoring!r}; it must be a score of scikit-learn, such as "
            "'accuracy' or 'neg_log_loss'."
        )
    return GridSearchCV(classifier, grid, cv=folds, scoring=scoring)


def _check_names(where: str, grid: Any, estimator: Any, example: str, prefix: str = "") -> None:
    """Refuse a grid of something that an estimator does not have."""
    check_grid(grid)
    parameters = estimator.get_params()
    for name in grid:
        if f"{prefix}{name}" not in parameters:
            raise HeadcountError(
                f"{where} has {name!r}, which is not a parameter of "
                f"{type(estimator).__name__}: check its name, such as {example!r}."
            )


def make_method(spec: Spec, method: MethodSpec, *, n_classes: int, seed: int) -> Any:
    """Unfitted quantifier of a method.

    Methods for two classes are wrapped in `OneVsRest` for more. A method with a grid becomes
    a `GridSearch`.
    """
    where = f"method {method.name!r}"
    path = method.quantifier
    method_class = import_object("method", path) if ":" in path else find_method(path)
    parameters = method.arguments
    classifier = method.options.get("classifier", spec.classifier)
    if "classifier" in _signature(method_class):
        parameters.setdefault(
            "classifier", check_classifier(f"classifier of {where}", classifier, seed)
        )
    quantifier = _made(method_class, parameters, seed, where)
    if is_quapy(quantifier):
        quantifier = from_quapy(quantifier, random_state=seed)
    for attribute in ("fit", "predict_many", "get_params"):
        if not callable(getattr(quantifier, attribute, None)):
            raise HeadcountError(
                f"{path!r} of {where} is not a quantifier: it has no {attribute}()."
            )
    wrapped = (
        n_classes > 2
        and isinstance(quantifier, Quantifier)
        and quantifier.info.multiclass == "one-vs-rest"
    )
    if wrapped:
        quantifier = OneVsRest(quantifier)
    grid = method.options.get("grid")
    if grid is None:
        return quantifier
    return _search(spec, quantifier, grid, _INSIDE if wrapped else "", seed)


def _search(spec: Spec, quantifier: Any, grid: Any, prefix: str, seed: int) -> GridSearch:
    _check_names("grid", grid, quantifier, "classifier__C", prefix)
    named = {f"{prefix}{name}": values for name, values in grid.items()}
    options = {"metric": spec.metrics[0]} | spec.selection
    sampling = {name: options.pop(name) for name in ("n_samples", "size") if name in options}
    protocol = UPP(**sampling, random_state=seed) if sampling else None
    return GridSearch(
        quantifier, named, protocol=protocol, random_state=seed, progress=False, **options
    )


def _made(made_class: Any, parameters: Any, seed: int, where: str) -> Any:
    if not isinstance(parameters, Mapping):
        raise HeadcountError(f"parameters of {where} is {parameters!r}; it must be a table.")
    options = dict(parameters)
    if "random_state" in _signature(made_class):
        options.setdefault("random_state", seed)
    try:
        return made_class(**options)
    except TypeError as error:
        raise HeadcountError(
            f"{where} cannot be made ({error}): check its parameters."
        ) from None


def _signature(function: Any) -> Mapping[str, Any]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a table."""
    return [data / spec.data[dataset]["file"]]


@dataclass(frozen=True, eq=False)
class TableTrial:
    """A training set and test samples."""

    X: Any
    y: NDArray[Any]
    pool: Any
    samples: Samples
    degree: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A labelled table, and the treatment of its columns."""

    name: str
    frame: pl.DataFrame
    preparation: Preparation
    y: NDArray[Any]
    groups: NDArray[Any] | None

    def split(self, protocol: Any, share: float, seed: int) -> TableTrial:
        """Divide the table into a training set and a pool, and draw samples of the pool.

        Groups, if there are any, are not divided.
        """
        options = {"n_splits": 1, "train_size": share, "random_state": seed}
        splitter: Any = StratifiedShuffleSplit(**options)
        if self.groups is not None:
            splitter = GroupShuffleSplit(**options)
        train, pool = next(splitter.split(self.y, self.y, self.groups))
        classes = np.unique(self.y)
        for rows in (train, pool):
            lacking = np.setdiff1d(classes, self.y[rows])
            if len(lacking):
                raise HeadcountError(
                    f"a split of {self.name!r} has no item of class {lacking.tolist()[0]!r} on "
                    "one side: use a larger table, another share, or smaller groups."
                )
        rows = np.sort(pool)
        samples = protocol.draw(self.y[rows], classes=classes)
        return self._trial(np.sort(train), self.y[np.sort(train)], rows, samples, None)

    def draw_shift(self, spec: Spec, protocol: Any) -> ShiftedSamples:
        """Training sets and samples of a protocol of dataset shift.

        The target has ratings if the protocol cuts them.
        """
        is_cut = isinstance(protocol, ConceptShift) or "cut_point" in spec.protocol
        target = {"ratings" if is_cut else "y": self.y}
        samples: ShiftedSamples = protocol.draw(groups=self.groups, **target)
        return samples

    def shifted(self, spec: Spec, protocol: Any, number: int) -> TableTrial:
        """Training set of a protocol of dataset shift, and its samples."""
        experiments = self.draw_shift(spec, protocol)
        experiment = experiments[number]
        rows = experiments.test_items
        return self._trial(
            experiment.train[0],
            experiment.train_labels,
            rows,
            experiment.test.within(rows),
            experiment.degree,
        )

    def _trial(
        self,
        train: NDArray[Any],
        labels: NDArray[Any],
        rows: NDArray[Any],
        samples: Samples,
        degree: NDArray[np.float64] | None,
    ) -> TableTrial:
        """Features learn from the training set alone, such as words and medians."""
        learned = self.preparation.pipeline().fit(self.frame[train])
        X, pool = (
            dense_if_narrow(learned.transform(self.frame[subset])) for subset in (train, rows)
        )
        return TableTrial(X, labels, pool, samples, degree)


def load_table(spec: Spec, dataset: str, data: Path) -> OwnTable:
    """Read and prepare a table of the spec."""
    settings, path = spec.data[dataset], files(spec, dataset, data)[0]
    open_table(path, separator=settings.get("separator"))  # refuses what is not a table
    changed = path.stat().st_mtime_ns
    drop = tuple(settings.get("drop", ()))
    names = (settings["target"], settings.get("group"), drop, settings.get("separator"))
    return _load(dataset, path, changed, *names, settings.get("text_labels", False))


@lru_cache(maxsize=2)
def _load(
    dataset: str,
    path: Path,
    changed: int,
    target: str,
    group: str | None,
    drop: tuple[str, ...],
    separator: str | None,
    text_labels: bool,
) -> OwnTable:
    table = open_table(path, separator=separator)
    group_columns = [] if group is None else [group]
    table.require([target, *group_columns, *drop], f"which [data.{dataset}] names")
    frame = table.read()
    if text_labels:
        frame = frame.with_columns(stripped(frame[target].cast(str))).drop_nulls(target)
        y = frame[target].to_numpy()
    else:
        headers = header_rows(table, frame[target])
        y, rows, notes = read_labels(frame[target], table.name, headers)
        frame = frame[rows]
        for note in notes:
            warn(note)
    groups = None if group is None else np.asarray(frame[group].cast(str).fill_null(""), str)
    out = dict.fromkeys(drop, "dropped by the spec") | dict.fromkeys(group_columns, "the group")
    preparation = prepare(frame.drop(target), leave_out=out, name=repr(table.name))
    features = preparation.conform(frame)
    return OwnTable(dataset, features, preparation, y, groups)


_SAMPLING: dict[str, Any] = {
    name: getattr(sampling, name) for name in ("APP", "UPP", "NPP", "Dirichlet", "Prevalences")
}
_SHIFT: dict[str, Any] = {
    name: getattr(shift, name)
    for name in (
        "PriorShift", "GlobalCovariateShift", "LocalCovariateShift", "ConceptShift", "TweakOne",
        "KnockOut", "DomainMixer",
    )
}  # fmt: skip
_SPLIT = ("train", "splits")
_DATA = ("file", "target", "text_labels", "drop", "group", "separator")
_SELECTION = ("metric", "holdout", "folds", "halving", "n_samples", "size")
_OPTIONS = ("grid", "classifier")


def is_shift(spec: Spec) -> bool:
    """True if the protocol draws training sets as well as test samples."""
    return spec.protocol["name"] in _SHIFT


def make_protocol(spec: Spec, seed: int) -> Any:
    """Protocol of the spec."""
    protocols = _SAMPLING | _SHIFT
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
        rows[name] = _rows(spec, task, name, trial, shares, measured, failure).with_columns(
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
        return None, {}, reason(error)
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
    task: Task,
    method: str,
    trial: TableTrial,
    shares: NDArray[np.float64] | None,
    measured: dict[str, NDArray[np.float64]],
    failure: str | None,
) -> pl.DataFrame:
    samples, n = trial.samples, len(trial.samples)
    assert samples.prevalence is not None
    assert samples.classes is not None
    prior = (trial.y[:, None] == samples.classes).mean(axis=0)
    intervals = dict.fromkeys(name for name in spec.metrics if name in OF_INTERVALS)
    columns = {
        **intervals,
        **measured,
        "sample": np.arange(n, dtype=np.int32),
        "size": samples.sizes,
        "shift": np.abs(samples.prevalence - prior).mean(axis=1),
        "degree": trial.degree,
        "prior": [prior.tolist()] * n,
    }
    texts = {"dataset": task.dataset, "method": method, "failure": failure}
    return sample_rows(spec, samples, shares, texts, columns)
