"""One collection and some methods: settings chosen, methods fitted, all samples answered."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount import metrics
from headcount.data.datasets.texts import Tweets, load_tweets
from headcount.data.datasets.word_counts import Words, count_words
from headcount.evaluation.candidates import Split
from headcount.evaluation.measures import check_measure
from headcount.evaluation.selected import labelled
from headcount.sampling import APP, Samples
from headcount.scores import ScoredPool
from headcount.study.classifier_grid import (
    Answer,
    Choice,
    ClassifierGrid,
    answer,
    choose,
    made,
    quietly,
)
from headcount.study.spec import MethodSpec, Spec
from headcount.study.task import Task, task_seed
from headcount.study.tweets.settings import measures_of, settings_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CLASSES", "run"]

CLASSES = ("negative", "neutral", "positive")


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of some methods on the test samples of a collection."""
    import polars as pl

    tweets, words = _counted(task.dataset, data)
    methods = [each for each in spec.methods if each.name in task.settings["methods"]]
    # The same for all tasks of a collection, so that methods can be compared by the sample.
    seed = task_seed(spec.seed, task.dataset)
    grid = ClassifierGrid(settings_of(spec, methods[0]), spec.protocol["folds"], seed)
    quantifiers = {each.name: made(each) for each in methods}
    known = np.concatenate([tweets.rows("train"), tweets.rows("validation")])
    test = tweets.rows("test")
    X, pool = words.tf_idf(known, test, least=spec.protocol["least"], count="texts")
    samples = _drawn(spec, tweets.labels[test], spec.protocol, task_seed(seed, "test"))
    prior = np.array([(tweets.labels[known] == label).mean() for label in CLASSES])
    frames = []
    answers: dict[tuple[str, int | None], Answer] = {}
    with quietly():
        chosen = _choices(spec, grid, quantifiers, (tweets, words), task_seed(seed, "choice"))
        for metric, choices in zip(spec.metrics, chosen, strict=True):
            wanted = [each for each in methods if metric in measures_of(spec, each)]
            # What is chosen by two measures alike is trained once.
            new = [
                each.name
                for each in wanted
                if (each.name, choices[each.name].setting) not in answers
            ]
            found = answer(
                grid,
                {name: quantifiers[name] for name in new},
                {name: choices[name] for name in new},
                (X, tweets.labels[known]),
                [(ScoredPool(pool), samples)],
            )
            answers |= {(name, choices[name].setting): found[name][0] for name in new}
            frames += [
                _rows(
                    spec,
                    task,
                    (each, metric, choices[each.name]),
                    answers[each.name, choices[each.name].setting],
                    (samples, prior),
                    grid,
                )
                for each in wanted
            ]
    return pl.concat(frames)


@lru_cache(maxsize=2)
def _counted(dataset: str, data: Path) -> tuple[Tweets, Words]:
    tweets = load_tweets(dataset, data)
    return tweets, count_words(tweets.texts)


def _drawn(spec: Spec, labels: NDArray[Any], given: dict[str, Any], seed: int) -> Samples:
    protocol = APP(
        repeats=given["repeats"],
        size=given["size"],
        step=spec.protocol["step"],
        random_state=seed,
    )
    return protocol.draw(labels, classes=np.array(CLASSES))


def _choices(
    spec: Spec,
    grid: ClassifierGrid,
    quantifiers: dict[str, Any],
    collection: tuple[Tweets, Words],
    seed: int,
) -> list[dict[str, Choice]]:
    """For each metric and method a setting, by samples of the tweets held out for that."""
    if len(grid.settings) == 1:
        return [{name: Choice(0) for name in quantifiers} for _ in spec.metrics]
    tweets, words = collection
    train, held = tweets.rows("train"), tweets.rows("validation")
    parts = words.tf_idf(train, held, least=spec.protocol["least"], count="texts")
    X = sparse.vstack(parts, format="csr")
    items = labelled(X, tweets.labels[np.concatenate([train, held])], None)
    samples = _drawn(spec, tweets.labels[held], spec.selection, seed)
    split = Split(np.arange(len(train)), len(train) + np.arange(len(held)), samples)
    measures = [check_measure(metric) for metric in spec.metrics]
    return choose(grid, quantifiers, items, split, measures)


def _rows(
    spec: Spec,
    task: Task,
    what: tuple[MethodSpec, str, Choice],
    result: Answer,
    tested: tuple[Samples, NDArray[np.float64]],
    grid: ClassifierGrid,
) -> pl.DataFrame:
    """One method, with the setting that one measure chose, on all samples."""
    import polars as pl

    (method, metric, choice), (samples, prior) = what, tested
    true, n, estimated = samples.prevalence, len(samples), result.prevalence
    assert true is not None
    none = np.full(n, np.nan)
    errors = {
        name: none if estimated is None else check_measure(name)(true, estimated, samples.sizes)
        for name in spec.metrics
    }
    guessed = np.full_like(true, np.nan) if estimated is None else estimated
    C = None if choice.setting is None else grid.settings[choice.setting]["C"]
    fixed = pl.DataFrame(
        {"dataset": [task.dataset], "method": [method.name], "failure": [result.failure]},
        schema_overrides={"failure": pl.String},
    )
    numbers = pl.DataFrame(
        {
            **errors,
            "shift": np.asarray(metrics.ae(true, prior)),
            **{f"true_{name}": true[:, k] for k, name in enumerate(CLASSES)},
            **{f"estimate_{name}": guessed[:, k] for k, name in enumerate(CLASSES)},
        },
        nan_to_null=True,
    )
    return fixed.join(numbers, how="cross").with_columns(
        pl.lit(metric).alias("chosen_by"),
        pl.lit(C, pl.Float64).alias("C"),
        pl.Series("sample", np.arange(n), pl.Int32),
    )
