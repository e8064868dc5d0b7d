"""One task of `real_data.py`: a training set, its samples, and every method on them."""

from __future__ import annotations

import json
import os
import traceback
import warnings
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
import real_data_methods
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool
from real_datasets import Items, SelectWords, prepared, replace_file

__all__ = ["CLASSIFIERS", "SHARES", "Settings", "Task", "cells", "pending", "run"]

SHARES = ("uniform", "natural", "mild")
CLASSIFIERS = ("lr", "hgb", "rf")
FEWEST_TRAINING = 5  # Items of each class in every training set.
FEWEST_POOL = 40  # Items of each class that a training set must leave.
MOST_POOL = 2_000  # Items of each class in a pool.
MILD = 20.0  # Mild shift: Dirichlet(20 x training shares + 0.1).

_SCHEMA = {
    "dataset": pl.String, "kind": pl.String, "classifier": pl.String, "classes": pl.Int32,
    "training": pl.Int32, "set": pl.Int32, "library": pl.String, "method": pl.String,
    "counterpart": pl.String, "n": pl.Int32, "shares": pl.String, "sample": pl.Int32,
    "repeated": pl.Float32, "truth": pl.List(pl.Float32), "plain": pl.List(pl.Float32),
    "conditioned": pl.List(pl.Float32), "low": pl.List(pl.Float32),
    "high": pl.List(pl.Float32), "region": pl.Boolean, "p_value": pl.Float64,
    "seconds_fit": pl.Float32, "seconds_predict": pl.Float32, "seconds_estimate": pl.Float32,
    "error": pl.String,
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of a run, the same for all its tasks."""

    store: Path
    methods: tuple[str, ...]
    peers: tuple[str, ...] = ()
    sizes: tuple[int, ...] = (100, 1000)
    samples: int = 4
    intervals: bool = True


@dataclass(frozen=True)
class Task:
    """One training set of a dataset, and one classifier."""

    dataset: str
    training: int
    number: int
    classifier: str

    def path(self, store: Path) -> Path:
        folder = f"{self.dataset}-{self.training}-{self.classifier}"
        return store / "rows" / folder / f"{self.number:03d}.parquet"


def cells(counts: np.ndarray, training: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sample sizes that a dataset allows at a training size; none means it is left out.

    Each class must keep, in expectation, at least as many items in the pool as it has in the
    training set, at least 40, and at least half of what a sample with equal shares takes.
    Otherwise samples would consist of a few items, repeated.
    """
    if 2 * training > counts.sum():
        return ()
    left = counts.min() * (1 - training / counts.sum())
    return tuple(n for n in sizes if left >= max(FEWEST_POOL, n / (2 * len(counts))))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples of one size from the pool."""

    size: int
    samples: Samples
    truth: np.ndarray
    kinds: list[str]
    repeated: np.ndarray

    def __len__(self) -> int:
        return len(self.kinds)

    def rows(self) -> list[dict[str, Any]]:
        """Columns that identify each sample."""
        each = len(self.kinds) // len(SHARES)
        return [
            {
                "n": self.size, "shares": kind, "sample": number % each,
                "truth": self.truth[number], "repeated": self.repeated[number],
            }
            for number, kind in enumerate(self.kinds)
        ]  # fmt: skip


class Case:
    """A training set with its scorer, a pool that is classified once, and samples of it."""

    def __init__(self, task: Task, settings: Settings):
        items = prepared(task.dataset, settings.store / "prepared")
        self.kind, self.n_classes = items.kind, items.n_classes
        seed = [crc32(task.dataset.encode()), task.training, task.number]
        rows, pool, natural = _split(items.y, task.training, np.random.default_rng(seed))
        self.X, self.y = items.X[rows], items.y[rows]
        self.X_pool, self.y_pool = items.X[pool], items.y[pool]
        training = np.bincount(self.y, minlength=items.n_classes) / len(self.y)
        self.draws = [
            _draw(self.y_pool, n, settings.samples, natural, training, [*seed, n])
            for n in cells(items.counts, task.training, settings.sizes)
        ]
        self.pool = ScoredPool(self.X_pool)
        self.scorer = hc.Scorer(_classifier(task.classifier, items), random_state=0)
        self.scorer.fit(self.X, self.y)
        self.pool.posteriors(self.scorer)

    @cached_property
    def pool_posteriors(self) -> np.ndarray:
        """The full classifier's posteriors of the pool: what a peer's user would have."""
        return self.scorer.classifier_.predict_proba(self.X_pool)


def _classifier(name: str, items: Items) -> Any:
    if name == "hgb":
        return HistGradientBoostingClassifier(random_state=0)
    if name == "rf":
        forest = RandomForestClassifier(random_state=0, min_samples_leaf=2)
        return make_pipeline(SelectWords(), forest) if items.kind == "text" else forest
    regression = LogisticRegression(max_iter=1000)
    if items.kind == "text":
        return make_pipeline(SelectWords(), TfidfTransformer(), regression)
    return make_pipeline(StandardScaler(), regression)


def _split(
    y: np.ndarray, n_training: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the training set and of the pool, and the shares of all rows left.

    The training set is random. Where a class has fewer than 5 items, items of the largest
    class are exchanged for items of it. The pool has at most 2,000 items per class.
    """
    order = rng.permutation(len(y))
    training, left = order[:n_training], order[n_training:]
    n_classes = int(y.max()) + 1
    while (counts := np.bincount(y[training], minlength=n_classes)).min() < FEWEST_TRAINING:
        out = np.flatnonzero(y[training] == counts.argmax())[0]
        into = np.flatnonzero(y[left] == counts.argmin())[0]
        training[out], left[into] = left[into], training[out]
    natural = np.bincount(y[left], minlength=n_classes) / len(left)
    pool = np.concatenate([left[y[left] == j][:MOST_POOL] for j in range(n_classes)])
    return training, pool, natural


def _draw(
    y_pool: np.ndarray,
    size: int,
    n_samples: int,
    natural: np.ndarray,
    training: np.ndarray,
    seed: list[int],
) -> Drawn:
    """Samples of every kind of shares, without replacement unless a class runs short."""
    K = len(natural)
    by_class = [np.flatnonzero(y_pool == j) for j in range(K)]
    index_arrays, kinds, counts = [], [], []
    for place, kind in enumerate(SHARES):
        rng = np.random.default_rng([*seed, place])
        for _ in range(n_samples):
            shares = {
                "uniform": lambda rng=rng: rng.dirichlet(np.ones(K)),
                "natural": lambda: natural,
                "mild": lambda rng=rng: rng.dirichlet(MILD * training + 0.1),
            }[kind]()
            taken = rng.multinomial(size, shares)
            parts = [
                rng.choice(rows, m, replace=m > len(rows))
                for rows, m in zip(by_class, taken, strict=True)
            ]
            index_arrays.append(np.concatenate(parts))
            kinds.append(kind)
            counts.append(taken)
    repeated = [1 - len(np.unique(index)) / size for index in index_arrays]
    samples = Samples.from_arrays(index_arrays, n_pool=len(y_pool))
    return Drawn(size, samples, np.array(counts) / size, kinds, np.array(repeated))


def pending(task: Task, settings: Settings) -> tuple[list[str], list[str]]:
    """Methods of ours and of the peers that the store does not have for a task."""
    path = task.path(settings.store)
    there: set[str] = set()
    if path.exists():
        rows = pl.read_parquet(path, columns=["method", "library", "error", "low"])
        if settings.intervals:
            # A run with --plain left out the intervals of headcount's methods.
            plain = pl.col("low").is_null() & pl.col("error").is_null()
            rows = rows.filter(~(plain & (pl.col("library") == "headcount")))
        there = set(rows["method"].unique())
    return (
        [name for name in settings.methods if name not in there],
        [name for name in settings.peers if name not in there],
    )


def run(task: Task, settings: Settings) -> dict[str, Any]:
    """Measure what is missing and add it to the store; returns seconds by part."""
    warnings.simplefilter("ignore")
    ours, theirs = pending(task, settings)
    start = perf_counter()
    case = Case(task, settings)
    seconds = {"classifier": perf_counter() - start, "headcount": 0.0, "peers": 0.0}
    rows = []
    for part, names in (("headcount", ours), ("peers", theirs)):
        start = perf_counter()
        for name in names:
            rows += _measured(name, part, case, settings.intervals)
        seconds[part] = perf_counter() - start
    _add(task, case, rows, settings.store)
    note = {**vars(task), "methods": len(ours), "peer_methods": len(theirs), **seconds}
    with (settings.store / "seconds.jsonl").open("a") as file:
        file.write(json.dumps(note) + "\n")
    return note


def _measured(name: str, part: str, case: Case, intervals: bool) -> list[dict[str, Any]]:
    """Rows of one method. A failure is recorded, so that the report can count it."""
    try:
        if part == "peers":
            from real_data_peers import measure_peer

            return measure_peer(name, case)
        if not real_data_methods.applicable(name, case.kind):
            return [_no_result(name, part, "not applicable")]
        return real_data_methods.measure(name, case, intervals=intervals)
    except Exception as error:
        if "HEADCOUNT_BENCH_DEBUG" in os.environ:
            traceback.print_exc()
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return [_no_result(name, part, why)]


def _no_result(name: str, part: str, why: str) -> dict[str, Any]:
    library = "headcount" if part == "headcount" else name.split(" ")[0]
    return {"library": library, "method": name, "error": why}


def _add(task: Task, case: Case, rows: list[dict[str, Any]], store: Path) -> None:
    common = {
        "dataset": task.dataset, "kind": case.kind, "classifier": task.classifier,
        "classes": case.n_classes, "training": task.training, "set": task.number,
    }  # fmt: skip
    full = [common | {key: _plain(value) for key, value in row.items()} for row in rows]
    frame = pl.DataFrame(full, schema=_SCHEMA)
    path = task.path(store)
    if path.exists():
        kept = pl.read_parquet(path).filter(~pl.col("method").is_in(frame["method"].unique()))
        frame = pl.concat([kept, frame])
    content = BytesIO()
    frame.write_parquet(content, compression="zstd")
    replace_file(path, content.getvalue())


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
