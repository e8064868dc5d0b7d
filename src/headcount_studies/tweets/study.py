"""Plan, collections of tweets and samples of every mix, and execution of one task."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from headcount import metrics
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount.evaluation.search import LabelledPool, Split, labelled
from headcount.samples.protocols import APP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount_studies.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    choose,
    is_installed,
    made,
    quietly,
    shares_classifier,
)
from headcount_studies.data.texts import (
    TWEET_CLASSES,
    TWEETS,
    TWEETS_FILE,
    VECTOR_TWEETS,
    Tweets,
    Vectors,
    Words,
    count_words,
    load_tweet_vectors,
    load_tweets,
    vector_files,
)
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.store import sample_rows
from headcount_studies.engine.task import Task, task_seed

_SHARED = "shared"
_PROTOCOL = ("least", "folds", "step", "repeats", "size")
_SELECTION = ("C", "repeats", "size")
_OPTIONS = ("inside", "around", "C", "chosen_by", "needs")
_COSTS = {_SHARED: 60.0, "Ensemble": 40.0, "QuaNet": 90.0}  # approximate seconds
_COST = 20.0


def settings_of(spec: Spec, method: MethodSpec) -> tuple[dict[str, Any], ...]:
    """Settings of the classifier that are tried for a method: the study's, or its own."""
    return tuple({"C": float(C)} for C in method.options.get("C", spec.selection["C"]))


def has_vectors(spec: Spec) -> bool:
    """True if the study reads the paper's vectors, instead of texts."""
    return bool(spec.protocol.get("source") == "vectors")


def metrics_of(spec: Spec, method: MethodSpec) -> tuple[str, ...]:
    """Metrics that the setting of a method is selected by, each separately."""
    return tuple(method.options.get("chosen_by", spec.metrics))


def check(spec: Spec) -> None:
    """Refuse, in one sentence, a spec that cannot be run."""
    check_known("source", spec.protocol.get("source", "texts"), ("texts", "vectors"))
    for dataset in spec.datasets:
        collections = VECTOR_TWEETS if has_vectors(spec) else TWEETS
        check_known("collection of tweets", dataset, collections)
    for metric in spec.metrics:
        check_measure(metric)
    check_keys("[protocol]", spec.protocol, ("source",), needed=_PROTOCOL)
    check_keys("[selection]", spec.selection, (), needed=_SELECTION)
    for name in ("least", "folds", "repeats", "size"):
        check_count(name, spec.protocol[name])
    for method in spec.methods:
        where = f"options of {method.name!r}"
        check_keys(where, method.options, _OPTIONS)
        for metric in metrics_of(spec, method):
            check_known("metric of the study", metric, spec.metrics)
        if not settings_of(spec, method):
            raise HeadcountError(f"{where} has no C to try: give at least one.")
        made(method)


def plan(spec: Spec, data: Path) -> list[Task]:
    """One task per collection and group of methods."""
    n = round(1 / spec.protocol["step"])
    n_samples = (n + 1) * (n + 2) // 2 * spec.protocol["repeats"]  # points of the simplex
    return [
        Task(
            key=f"{dataset}.{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}",
            dataset=dataset,
            settings={"methods": [method.name for method in methods]},
            cost=_COSTS.get(name, _COSTS.get(methods[0].options.get("inside", ""), _COST)),
            runs=n_samples * sum(len(metrics_of(spec, method)) for method in methods),
        )
        for dataset in spec.datasets
        for name, methods in _groups(spec).items()
    ]


def _groups(spec: Spec) -> dict[str, list[MethodSpec]]:
    """Methods by task: methods that share classifiers are one group.

    Methods that need a package which is not installed are left out.
    """
    groups: dict[str, list[MethodSpec]] = {}
    for method in spec.methods:
        if not is_installed(method):
            continue
        shared = "C" not in method.options and shares_classifier(made(method))
        groups.setdefault(_SHARED if shared else method.name, []).append(method)
    return groups


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """Files of a collection: texts of all are in one, vectors have one per part."""
    if has_vectors(spec):
        return [data / file for file in vector_files(dataset).values()]
    return [data / TWEETS_FILE]


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Numbers of tweets of a collection, shares of its classes, and shift of its test set."""
    tweets = _tweets(dataset, data, has_vectors(spec))[0]
    labels, splits = tweets.labels, tweets.splits
    shares = {
        split: np.array([(labels[rows] == name).mean() for name in TWEET_CLASSES[::-1]])
        for split, rows in (("L", splits != "test"), ("U", splits == "test"))
    }
    counts = {split: int((splits == split).sum()) for split in ("train", "validation", "test")}
    return [
        {
            "dataset": dataset,
            "training": counts["train"],
            "validation": counts["validation"],
            "test": counts["test"],
            "total": len(labels),
            "shift": round(float(np.abs(shares["L"] - shares["U"]).mean()), 4),
        }
        | {
            f"{name}, {split}": round(float(share), 4)
            for split, of_part in shares.items()
            for name, share in zip(TWEET_CLASSES[::-1], of_part, strict=True)
        }
    ]


@dataclass(frozen=True, eq=False)
class TweetCollection:
    """A collection of tweets in three parts: training, validation and test."""

    tweets: Tweets
    words: Words | Vectors

    def training_and_test(self, least: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Items and labels of training and validation, then items and labels of the test."""
        development, test = np.concatenate(self._development()), self.tweets.rows("test")
        X, pool = self.words.tf_idf(development, test, least=least, count="texts")
        return X, self.tweets.labels[development], pool, self.tweets.labels[test]

    def selection(self, spec: Spec, seed: int) -> tuple[LabelledPool, Split]:
        """Items to select settings on: trained on one part, tested on samples of the other."""
        train, held = self._development()
        tables = self.words.tf_idf(train, held, least=spec.protocol["least"], count="texts")
        X = sparse.vstack(tables, format="csr")
        items = labelled(X, self.tweets.labels[np.concatenate([train, held])], None)
        samples = draw_samples(spec, self.tweets.labels[held], spec.selection, seed)
        rows = np.arange(len(train)), len(train) + np.arange(len(held))
        return items, Split(*rows, samples)

    def _development(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.tweets.rows("train"), self.tweets.rows("validation")


@lru_cache(maxsize=2)
def load_collection(dataset: str, data: Path, vectors: bool = False) -> TweetCollection:
    """Read a collection and count its words, or read its vectors."""
    return TweetCollection(*_tweets(dataset, data, vectors, counted=True))


def _tweets(dataset: str, data: Path, vectors: bool, *, counted: bool = False) -> Any:
    if vectors:
        return load_tweet_vectors(dataset, data)
    tweets = load_tweets(dataset, data)
    return tweets, count_words(tweets.texts) if counted else None


def draw_samples(
    spec: Spec, labels: NDArray[Any], settings: dict[str, Any], seed: int
) -> Samples:
    """Samples of every mix of the classes; `given` has their number per mix and their size."""
    protocol = APP(
        repeats=settings["repeats"],
        size=settings["size"],
        step=spec.protocol["step"],
        random_state=seed,
    )
    return protocol.draw(labels, classes=np.array(TWEET_CLASSES))


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of some methods on the test samples of a collection."""
    collection = load_collection(task.dataset, data, has_vectors(spec))
    methods = [method for method in spec.methods if method.name in task.settings["methods"]]
    # The same for all tasks of a collection, so that methods can be compared by sample.
    seed = task_seed(spec.seed, task.dataset)
    grid = ClassifierGrid(settings_of(spec, methods[0]), spec.protocol["folds"], seed)
    quantifiers = {method.name: made(method) for method in methods}
    X, y, pool, y_test = collection.training_and_test(spec.protocol["least"])
    samples = draw_samples(spec, y_test, spec.protocol, task_seed(seed, "test"))
    prior = np.array([(y == label).mean() for label in TWEET_CLASSES])
    frames = []
    answers: dict[tuple[str, int | None], Answer] = {}
    with quietly():
        choices_by_metric = _choices(
            spec, grid, quantifiers, collection, task_seed(seed, "choice")
        )
        for metric, choices in zip(spec.metrics, choices_by_metric, strict=True):
            measured = [method for method in methods if metric in metrics_of(spec, method)]
            # A setting that two metrics select is trained once, and its time counts once.
            new = {
                method.name: choices[method.name]
                for method in measured
                if (method.name, choices[method.name].setting) not in answers
            }
            learners = {name: quantifiers[name] for name in new}
            new_answers = answer(grid, learners, new, (X, y), [(ScoredPool(pool), samples)])
            answers = {key: replace(earlier, seconds=0.0) for key, earlier in answers.items()}
            answers |= {(name, new[name].setting): new_answers[name][0] for name in new}
            for method in measured:
                choice = choices[method.name]
                result = answers[method.name, choice.setting]
                what = method, metric, choice
                frames.append(_rows(spec, task, what, result, (samples, prior), grid))
    return pl.concat(frames)


def _choices(
    spec: Spec,
    grid: ClassifierGrid,
    quantifiers: dict[str, Any],
    collection: TweetCollection,
    seed: int,
) -> list[dict[str, Choice]]:
    """Setting per metric and method, by samples of the validation part."""
    measures = [check_measure(metric) for metric in spec.metrics]
    if len(grid.settings) == 1:
        return [dict.fromkeys(quantifiers, Choice(0)) for _ in measures]
    return choose(grid, quantifiers, *collection.selection(spec, seed), measures)


def _rows(
    spec: Spec,
    task: Task,
    what: tuple[MethodSpec, str, Choice],
    result: Answer,
    tested: tuple[Samples, NDArray[np.float64]],
    grid: ClassifierGrid,
) -> pl.DataFrame:
    """Results of one method, with the setting that one metric selected, on all samples."""
    (method, metric, choice), (samples, prior), n = what, tested, len(tested[0])
    assert samples.prevalence is not None
    columns = {
        "shift": np.asarray(metrics.ae(samples.prevalence, prior)),
        "size": samples.sizes,
        "seconds": result.seconds / n,
        "C": None if choice.setting is None else grid.settings[choice.setting]["C"],
        "sample": np.arange(n, dtype=np.int32),
    }
    texts = {"dataset": task.dataset, "method": method.name, "failure": result.failure}
    return sample_rows(spec, samples, result.prevalence, texts | {"chosen_by": metric}, columns)
