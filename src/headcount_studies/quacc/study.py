"""Plan, collections of texts and their samples, and execution of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from headcount._support.parameters import check_count, check_fraction
from headcount.accuracy.base import Predictor, predictors
from headcount.accuracy.metrics import METRICS, FittedClassifier, Reference
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.search import held_out_rows, try_settings
from headcount.errors import HeadcountError
from headcount.quantifiers.registry import method as find_quantifier
from headcount.samples.protocols import APP, UPP, Prevalences
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount_studies.classifier_grid import quietly
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known, reason
from headcount_studies.engine.task import Task, task_seed


@dataclass(frozen=True)
class Classes:
    """Classes of a collection of texts, by the beginnings of their labels.

    A single one divides all texts into those about it and the others. Of several, texts
    that have exactly one of them are used.
    """

    source: str
    labels: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(2, len(self.labels))


def _nodes(source: str, nodes: Mapping[str, tuple[str, ...]]) -> dict[str, Classes]:
    return {f"{source}-{name}": Classes(source, labels) for name, labels in nodes.items()}


_COMPUTERS = ("graphics", "os.ms-windows", "sys.ibm", "sys.mac", "windows.x")
DATASETS: dict[str, Classes] = {
    "imdb": Classes("imdb", ("pos",)),
    **_nodes("reuters", {name: (name,) for name in ("earn", "acq", "money-fx")}),
    **_nodes("reuters", {"topics": ("earn", "acq", "crude", "trade")}),
    **_nodes(
        "newsgroups",
        {
            "root": ("comp", "rec", "sci", "talk"),
            "comp": tuple(f"comp.{name}" for name in _COMPUTERS),
            "rec": ("rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
            "sci": ("sci.crypt", "sci.electronics", "sci.med", "sci.space"),
        },
    ),
    **_nodes("rcv1", {name: (name,) for name in ("CCAT", "GCAT", "MCAT")}),
    **_nodes(
        "rcv1",
        {
            "root": ("CCAT", "ECAT", "GCAT", "MCAT"),
            "C": ("C1", "C2", "C3", "C4"),
            "M1": ("M11", "M12", "M13", "M14"),
            "M14": ("M141", "M142", "M143"),
        },
    ),
}
"""Reviews; news about a topic or not; nodes of hierarchies of topics with their children."""

# Grids of prevalences for two classes, or shares drawn uniformly from the simplex.
_GRID = ("train_prevalences", "test_prevalences", "repeats", "size", "least")
_UNIFORM = ("train_sets", "test_samples", "size", "least")
_SELECTION = (
    "holdout", "samples", "size", "variants", "covariates", "C", "class_weight", "calibration",
    "bandwidth",
)  # fmt: skip
_OPTIONS = ("quantifier", "repeats", "stop")
_NONE = "none"
_MAX_ITER = 1000
_COSTS = {"imdb": 10.0}  # the others: 1


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    for dataset in spec.datasets:
        check_known("dataset", dataset, DATASETS)
    for metric in spec.metrics:
        check_known("metric", metric, METRICS)
    settings = _UNIFORM if is_uniform(spec) else _GRID
    check_keys("[protocol]", spec.protocol, (), needed=settings)
    check_keys("[selection]", spec.selection, (), needed=_SELECTION)
    for name in settings:
        if name != "train_prevalences":
            check_count(f"{name} of [protocol]", spec.protocol[name])
    for prevalence in spec.protocol.get("train_prevalences", ()):
        check_fraction("an entry of train_prevalences of [protocol]", prevalence)
    several = [name for name in spec.datasets if DATASETS[name].n_classes > 2]
    if several and not is_uniform(spec):
        raise HeadcountError(
            f"[protocol] has a grid of prevalences, but {several[0]!r} has "
            f"{DATASETS[several[0]].n_classes} classes: set train_sets and test_samples "
            "instead."
        )
    for method in spec.methods:
        names = predictors()
        check_known("method of accuracy prediction", method.quantifier, names)
        check_keys(f"options of method {method.name!r}", method.options, _OPTIONS)
        if "quantifier" in method.options:
            find_quantifier(method.options["quantifier"])


def is_uniform(spec: Spec) -> bool:
    """True if shares are drawn uniformly from the simplex, and not from a grid."""
    return "test_samples" in spec.protocol or "train_sets" in spec.protocol


def n_samples(spec: Spec) -> int:
    """Number of test samples."""
    protocol = spec.protocol
    if is_uniform(spec):
        return int(protocol["test_samples"])
    return int(protocol["test_prevalences"] * protocol["repeats"])


def repeats_of(spec: Spec, method: MethodSpec) -> int:
    """Number of samples per test prevalence, or in all, that a method is run on."""
    repeats = spec.protocol["test_samples" if is_uniform(spec) else "repeats"]
    return int(min(repeats, method.options.get("repeats", repeats)))


def is_quacc(method: MethodSpec) -> bool:
    """True if the settings of a method are selected."""
    return method.quantifier == "QuAcc"


def plain_predictor(method: MethodSpec, model: Any, seed: int) -> Any:
    """Unfitted predictor of a method without settings to select."""
    parameters = method.arguments
    if "quantifier" in method.options:
        parameters["quantifier"] = find_quantifier(method.options["quantifier"])(
            **_stop(method)
        )
    predictor = predictors()[method.quantifier](model, **parameters)
    if "random_state" in predictor.get_params():
        predictor.set_params(random_state=seed)
    return predictor


def candidates(
    spec: Spec, method: MethodSpec, model: Any, seed: int
) -> list[tuple[str, QuAcc]]:
    """All settings of QuAcc with the quantifier of a method, each with its name."""
    quantifier = find_quantifier(method.options.get("quantifier", "KDEyML"))
    parameters = quantifier().get_params()
    own_settings = [name for name in ("calibration", "bandwidth") if name in parameters]
    named = ("variants", "covariates", "C", "class_weight", *own_settings)
    named_candidates = []
    for values in product(*(spec.selection[name] for name in named)):
        setting = dict(zip(named, values, strict=True))
        weight = _or_none(setting["class_weight"])
        logistic = LogisticRegression(C=setting["C"], class_weight=weight, max_iter=_MAX_ITER)
        inside = {name: _or_none(setting[name]) for name in own_settings} | _stop(method)
        counted = quantifier(logistic, random_state=seed, **inside)
        predictor = QuAcc(
            model,
            quantifier=counted,
            variant=setting["variants"],
            covariates=setting["covariates"],
        )
        named_candidates.append(
            (" ".join(f"{name}={value}" for name, value in setting.items()), predictor)
        )
    return named_candidates


def _stop(method: MethodSpec) -> dict[str, str]:
    """Rule for stopping of the quantifier inside, if the method names one."""
    return {"stop": method.options["stop"]} if "stop" in method.options else {}


def _or_none(value: Any) -> Any:
    return None if value == _NONE else value


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per dataset and training set."""
    points = 1 if is_uniform(spec) else spec.protocol["test_prevalences"]
    runs = points * sum(repeats_of(spec, method) for method in spec.methods)
    settings = (
        [(str(number), {"set": number}) for number in range(spec.protocol["train_sets"])]
        if is_uniform(spec)
        else [(f"{p:g}", {"prevalence": p}) for p in spec.protocol["train_prevalences"]]
    )
    return [
        Task(
            key=f"{dataset}.{name}",
            dataset=dataset,
            settings=setting,
            cost=_COSTS.get(dataset, 1.0),
            runs=runs,
        )
        for dataset in spec.datasets
        for name, setting in settings
    ]


# File, columns of the part and the labels, and text of each source.
_TEXTS = {
    "imdb": ("imdb50k.parquet", "split", "label", pl.col("text")),
    "newsgroups": ("newsgroups20.parquet", "split", "Category", pl.col("Text").fill_null("")),
    # News that the file marks neither as training nor as test are not used.
    "reuters": (
        "reuters21578.parquet",
        "lewissplit",
        "topics",
        pl.concat_str(pl.col("title", "body").fill_null(""), separator=" "),
    ),
}
# As scikit-learn's fetch_rcv1 keeps it in the folder that it is given as data_home.
_RCV1 = tuple(
    f"RCV1/{name}_py3.pkl" for name in ("samples", "sample_id", "sample_topics", "topics_names")
)
_FEWEST = 5  # items of a class in a training set of random shares


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Texts as weights of words, in a training part and a test part."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    n_classes: int = 2

    def shares(self) -> NDArray[np.float64]:
        """Shares of the classes in the training part."""
        return np.bincount(self.y, minlength=self.n_classes) / len(self.y)


@lru_cache(maxsize=1)
def load_collection(name: str, data: Path, least: int) -> TextCollection:
    """Read a collection."""
    classes = DATASETS[check_known("dataset", name, DATASETS)]
    X, X_test, topics, topics_test = _weighed(classes.source, data, least)
    rows, y = labelled(topics, classes)
    rows_test, y_test = labelled(topics_test, classes)
    return TextCollection(X[rows], y, X_test[rows_test], y_test, classes.n_classes)


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """Files of a dataset."""
    source = DATASETS[check_known("dataset", dataset, DATASETS)].source
    return [data / name for name in (_RCV1 if source == "rcv1" else [_TEXTS[source][0]])]


def labelled(
    topics: NDArray[Any], classes: Classes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the texts that have a class, and their classes.

    >>> topics = np.array(["C11|CCAT", "ECAT", "CCAT|GCAT", ""])
    >>> labelled(topics, Classes("rcv1", ("CCAT",)))
    (array([0, 1, 2, 3]), array([1, 0, 1, 0]))
    >>> labelled(topics, Classes("rcv1", ("CCAT", "ECAT", "GCAT", "MCAT")))
    (array([0, 1]), array([0, 1]))
    """
    # Few of the lists of topics differ.
    kinds, kind = np.unique(topics, return_inverse=True)
    has = np.array(
        [
            [any(topic.startswith(label) for topic in kind.split("|")) for kind in kinds]
            for label in classes.labels
        ]
    )
    if len(classes.labels) == 1:
        return np.arange(len(topics)), has[0, kind].astype(np.int64)
    rows = np.flatnonzero(has.sum(axis=0)[kind] == 1)
    return rows, has.argmax(axis=0)[kind[rows]].astype(np.int64)


@lru_cache(maxsize=1)
def _weighed(
    source: str, data: Path, least: int
) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Weights of words and topics of a source: training part, then test part."""
    if source == "rcv1":
        return _rcv1(data)
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, test = _train_and_test(source, data)
    words = TfidfVectorizer(min_df=least, sublinear_tf=True)
    X = words.fit_transform(train["text"].to_list()).tocsr()
    X_test = words.transform(test["text"].to_list()).tocsr()
    return X, X_test, train["label"].to_numpy(), test["label"].to_numpy()


def _rcv1(data: Path) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Weights that scikit-learn downloads; topics that contain others come with them."""
    from sklearn.datasets import fetch_rcv1

    loaded: list[Any] = []
    for subset in ("train", "test"):
        bunch = fetch_rcv1(data_home=data, subset=subset, download_if_missing=False)
        topics = bunch.target.tocsr()
        names = np.asarray(bunch.target_names, dtype=str)
        listed = [
            "|".join(names[topics.indices[start:end]])
            for start, end in pairwise(topics.indptr.tolist())
        ]
        loaded.append((bunch.data.tocsr(), np.array(listed)))
    (X, train), (X_test, test) = loaded
    return X, X_test, train, test


def _train_and_test(source: str, data: Path) -> list[pl.DataFrame]:
    """Texts and labels of the training part, and of the test part."""
    file, split, label, text = _TEXTS[source]
    table = pl.read_parquet(data_file(data, file)).select(
        pl.col(split).str.to_lowercase().alias("split"),
        pl.col(label).fill_null("").alias("label"),
        text.alias("text"),
    )
    return [table.filter(split=name) for name in ("train", "test")]


@dataclass(frozen=True, eq=False)
class TrainingSets:
    """Rows of the training set and of the labelled set, with the shares of both."""

    train: NDArray[np.int64]
    reference: NDArray[np.int64]
    shares: NDArray[np.float64]


def draw_training_and_reference(
    spec: Spec, collection: TextCollection, setting: Mapping[str, Any], seed: int
) -> TrainingSets:
    """Training set and labelled set, of the same size and shares, from two halves.

    On a grid of prevalences the size is the largest at which neither class runs out at any
    prevalence from 0.1 to 0.9. With shares drawn uniformly it is half of a half; items of
    classes that run out are drawn repeatedly, and shares that leave a class with fewer than
    five items are drawn again.
    """
    in_second = held_out_rows(collection.y, 0.5, task_seed(seed, "halves"))
    halves = [np.flatnonzero(~in_second), np.flatnonzero(in_second)]
    if "set" in setting:
        name, size = setting["set"], min(len(half) // 2 for half in halves)
        shares = _random_shares(collection.n_classes, size, task_seed(seed, "shares", name))
        sizes = [size, size]
    else:
        name = setting["prevalence"]
        shares = np.array([1 - name, name])
        rarest = [min(y.mean(), 1 - y.mean()) for y in (collection.y[half] for half in halves)]
        sizes = [
            int(len(half) * share * 10 / 9) for half, share in zip(halves, rarest, strict=True)
        ]
    drawn_rows = []
    for number, (half, size) in enumerate(zip(halves, sizes, strict=True)):
        protocol = Prevalences(
            [shares], size=size, random_state=task_seed(seed, "sets", number, name)
        )
        drawn_rows.append(half[protocol.draw(collection.y[half])[0]])
    return TrainingSets(drawn_rows[0], drawn_rows[1], shares)


def _random_shares(n_classes: int, size: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if size < _FEWEST * n_classes:
        raise HeadcountError(
            f"training sets would have {size} items, which are too few for {n_classes} "
            "classes: use a larger collection."
        )
    while True:
        shares = rng.dirichlet(np.ones(n_classes))
        if shares.min() * size >= _FEWEST:
            return np.asarray(shares)


def draw_test_samples(spec: Spec, collection: TextCollection, seed: int) -> Samples:
    """Samples of the test part, at every prevalence or of uniformly drawn shares."""
    random_state, size = task_seed(seed, "test"), spec.protocol["size"]
    protocol: APP | UPP
    if is_uniform(spec):
        protocol = UPP(n_samples=n_samples(spec), size=size, random_state=random_state)
    else:
        protocol = APP(
            n_prevalences=spec.protocol["test_prevalences"],
            repeats=spec.protocol["repeats"],
            size=size,
            random_state=random_state,
        )
    return protocol.draw(collection.y_test)


def sample_rows(spec: Spec, method: MethodSpec) -> NDArray[np.int64]:
    """Samples that a method is run on: the first few, of each prevalence if there is a grid."""
    every = n_samples(spec) if is_uniform(spec) else spec.protocol["repeats"]
    numbers = np.arange(n_samples(spec))
    return numbers[numbers % every < repeats_of(spec, method)]


Floats = NDArray[np.float64]


# A metric on each sample, and the tables it comes from; None if there are none.
_Predicted = tuple[Floats | None, Floats | None]
# By method and metric: a setting of QuAcc and its name.
_Settings = dict[tuple[str, str], tuple[str, QuAcc]]


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
        chosen, chosen_seconds = _chosen(spec, model, reference, task_random_seed)
        for method in spec.methods:
            rows, start = sample_rows(spec, method), perf_counter()
            trained = (model, chosen, task_random_seed)
            answer = _answer(spec, method, trained, reference, (pool, samples[rows]))
            seconds = perf_counter() - start + chosen_seconds.get(method.name, 0.0)
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
    spec: Spec, model: Any, labelled_items: tuple[Any, NDArray[np.int64]], seed: int
) -> tuple[_Settings, dict[str, float]]:
    """Settings that err least on held-out items, and the time that their choice took."""
    start = perf_counter()
    classifier = FittedClassifier(model)
    reference = Reference(
        classifier.outputs(labelled_items[0]), labelled_items[1], len(classifier.classes)
    )
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
    best_settings: _Settings = {}
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
    return best_settings, {name: seconds * names.count(name) for name in names}


def _answer(
    spec: Spec,
    method: MethodSpec,
    trained: tuple[Any, _Settings, int],
    reference: tuple[Any, NDArray[np.int64]],
    target: tuple[ScoredPool, Samples],
) -> _Answer:
    model, chosen_settings, seed = trained
    values: dict[str, _Predicted] = dict.fromkeys(spec.metrics, (None, None))
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
        return _Answer(dict.fromkeys(spec.metrics, (None, None)), settings, reason(error))


def _values(
    predictor: Predictor, target: tuple[ScoredPool, Samples], metrics: Sequence[str]
) -> dict[str, _Predicted]:
    """All metrics that a fitted method gives."""
    if predictor.has_table:
        tables = predictor.predict_tables(*target)
        return {metric: (METRICS[metric](tables), tables) for metric in metrics}
    supported = [metric for metric in metrics if predictor.supports(metric)]
    values = dict(zip(supported, predictor.predict_metrics(*target, supported), strict=True))
    return {metric: (values.get(metric), None) for metric in metrics}


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
        values, tables = answer.values[metric]
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
