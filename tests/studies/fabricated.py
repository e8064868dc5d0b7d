"""Results of a comparison as they might have come out, without running anything."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import polars as pl

from headcount_studies.engine.spec import Spec, read_spec
from headcount_studies.engine.store import Entry, Store, parts_of
from headcount_studies.engine.task import Task

# About how large errors are, relative to those of the best.
LEVELS = {
    "MS": 1.0, "DyS": 1.1, "TSMax": 1.15, "FM": 1.2, "GPAC": 1.3, "PAC": 1.35, "TSX": 1.25,
    "TS50": 1.6, "EM": 1.5, "ED": 1.7, "HDx": 2.2, "HDy": 2.4, "GAC": 2.5, "AC": 2.6,
    "readme": 2.7, "FMM": 2.8, "PWK": 3.2, "QF-AC": 3.3, "SVM-K": 4.5, "CDE": 5.0, "PCC": 5.2,
    "SVM-Q": 6.0, "QF": 6.1, "CC": 6.2,
}  # fmt: skip
DATASETS = ("wine", "spam", "yeast", "musk", "adult")


def binary_spec(datasets=DATASETS) -> Spec:
    from dataclasses import replace

    return replace(read_spec("comparison-binary"), datasets=tuple(datasets))


def level(method: str) -> float:
    return LEVELS.get(method, 2.0)


def dataset_level(dataset: str) -> float:
    return 0.02 * (1 + sum(map(ord, dataset)) % 7)


def make_results(spec: Spec, *, draws: int = 2, failing: str | None = "SVM-K", seed: int = 0):
    """Rows of every setting; the level of a method and dataset, and its shift, make errors."""
    rng = np.random.default_rng(seed)
    protocol = spec.protocol
    (classes,) = list(protocol["train"])[:1]
    train, test = (np.array(protocol[each][classes], float) for each in ("train", "test"))
    cells = list(product(protocol["splits"], range(len(train)), range(len(test)), range(draws)))
    split, i, j, draw = map(np.array, zip(*cells, strict=True))
    shift = np.abs(train[i] - test[j]).sum(axis=1).round(9)
    frames = []
    for dataset, method in product(spec.datasets, spec.methods):
        few = method.options.get("draws", draws)
        kept = draw < few
        n = int(kept.sum())
        size = level(method.name) * dataset_level(dataset)
        size = size * (1 + shift[kept]) * (1 + 0.5 * (split[kept] == 0.1))
        tae = np.minimum(2.0, size * rng.lognormal(0, 0.5, n))
        failure = np.full(n, None, dtype=object)
        if method.name == failing:
            failure[rng.random(n) < 0.05] = "No convergence after 100 steps."
        lost = np.array([each is not None for each in failure])
        frames.append(
            pl.DataFrame(
                {
                    "dataset": [dataset] * n,
                    "method": [method.name] * n,
                    "failure": pl.Series(failure.tolist(), dtype=pl.String),
                    "tae": np.where(lost, np.nan, tae),
                    "nkld": np.where(lost, np.nan, np.minimum(1.0, tae**2 / 4)),
                    "split": split[kept],
                    "train": i[kept],
                    "test": j[kept],
                    "draw": draw[kept],
                    "shift": shift[kept],
                    "n_train": [100] * n,
                    "size": [100] * n,
                }
            ).with_columns(pl.col("tae", "nkld").fill_nan(None))
        )
    return pl.concat(frames)


def make_store(folder, spec: Spec, results: pl.DataFrame, *, undone: int = 0) -> Store:
    """A store with a task a dataset, the last of which are not done."""
    store = Store(folder)
    tasks = [
        Task(f"task-{i}", name, runs=results.filter(pl.col("dataset") == name).height)
        for i, name in enumerate(spec.datasets)
    ]
    with store.writing():
        store.begin(spec, tasks, parts_of(spec, []))
        store.journal.begin({"at": "2024-05-01T12:00:00+00:00", "workers": 2})
        for task in tasks[: len(tasks) - undone]:
            part = results.filter(pl.col("dataset") == task.dataset)
            buffer = io.BytesIO()
            part.write_parquet(buffer)
            entry = Entry(task.key, 1.5, 2.0, task.runs, part["failure"].count(), processor=0.5)
            store.keep(task, buffer.getvalue(), entry)
    return store
