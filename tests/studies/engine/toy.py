"""A small study of generated data: real classifiers and quantifiers, in a few milliseconds.

``[protocol]`` may name tasks that raise, that warn, or that are killed the first time.
"""

from __future__ import annotations

import os
import signal
import time
import warnings

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.errors import HeadcountError
from headcount.metrics import ae
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, check_known
from headcount_studies.engine.task import Section, Task, task_seed

KIND = "tests.studies.engine.toy:experiment"
DATASETS = ("ants", "bees", "cats")
PROTOCOL = ("draws", "items", "pause", "raises", "refuses", "dies", "waits")


class Toy:
    def check(self, spec):
        check_keys("[protocol]", spec.protocol, PROTOCOL)
        for name in spec.datasets:
            check_known("dataset", name, DATASETS)
        for method in spec.methods:
            hc.method(method.quantifier)

    def plan(self, spec, data):
        return [
            Task(
                f"{dataset}-{draw}",
                dataset,
                {"draw": draw},
                cost=1.0 + DATASETS.index(dataset),
                runs=2 * len(spec.methods),
            )
            for dataset in spec.datasets
            for draw in range(spec.protocol["draws"])
        ]

    def run(self, spec, task, data):
        time.sleep(spec.protocol.get("pause", 0))
        misbehave(spec.protocol, task.key, data)
        rows = [
            {
                "dataset": task.dataset,
                "method": method.name,
                "failure": None if estimate is not None else "it has no heart",
                "ae": None if estimate is None else float(ae(true, estimate)),
                "draw": task.settings["draw"],
            }
            for true, sample, train in samples(spec, task)
            for method in spec.methods
            for estimate in [estimated(method, train, sample)]
        ]
        return pl.DataFrame(rows, schema_overrides={"failure": pl.String})

    def sections(self, spec, results, published):
        table = results.group_by("method", maintain_order=True).agg(pl.col("ae").mean())
        return [Section("Errors", "Mean errors.", table=table)]


experiment = Toy()


def misbehave(protocol, key, data):
    if protocol.get("waits"):  # all tasks but the first, for a file
        try:
            (data / "first").touch(exist_ok=False)
        except FileExistsError:
            while not (data / "go").exists():
                time.sleep(0.02)
    if key in protocol.get("raises", ()):
        raise KeyError("no such\nthing")
    if key in protocol.get("refuses", ()):
        raise HeadcountError("The sample is empty: draw more.")
    mark = data / f"{key}.died"
    if key in protocol.get("dies", ()) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    warnings.warn("tasks may warn", UserWarning, stacklevel=2)


def samples(spec, task):
    rng = np.random.default_rng(task_seed(spec.seed, task.dataset, task.settings["draw"]))
    n = spec.protocol.get("items", 200)

    def drawn(share):
        y = (np.arange(n) < share * n).astype(int)
        return rng.normal(size=(n, 3)) + y[:, None], y

    train = drawn(0.5)
    for share in (0.2, 0.7):
        X, y = drawn(share)
        yield np.bincount(y, minlength=2) / n, X, train


def estimated(method, train, sample):
    if method.options.get("fails"):
        return None
    quantifier = hc.method(method.quantifier)(LogisticRegression(), **method.parameters)
    return quantifier.fit(*train).predict(sample)


def toy_spec(*, datasets=("ants", "bees"), methods=("CC", "PCC"), seed=0, **protocol):
    return Spec(
        name="toy",
        kind=KIND,
        title="A toy",
        seed=seed,
        datasets=tuple(datasets),
        protocol={"draws": 3, **protocol},
        methods=tuple(MethodSpec(name) for name in methods),
        metrics=("ae",),
    )


def result_bytes(folder):
    """All that two runs of a study must have alike."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("journal.jsonl", "lock")
    }
