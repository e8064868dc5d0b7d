"""Execution of one task: select settings on development samples, estimate the test samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount.samples.samples import Samples
from headcount_studies.datasets import LequaData
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task, task_seed
from headcount_studies.lequa2024.candidates import candidates_of, combination_of
from headcount_studies.lequa2024.data import load_task
from headcount_studies.lequa2024.selection import Selected, predict, select
from headcount_studies.lequa2024.spec import protocol_of


def run(spec: Spec, task: Task, data: Path) -> pl.DataFrame:
    """Results of some methods on the test samples of a task of the challenge."""
    loaded = load_task(task.dataset, data)
    # The same for all tasks of a dataset, so that methods share folds.
    seed = task_seed(spec.seed, task.dataset)
    methods = [method for method in spec.methods if method.name in task.settings["methods"]]
    candidates = {
        method.name: candidates_of(spec, method, loaded.task, seed) for method in methods
    }
    samples = loaded.test.samples
    if samples.prevalence is None:
        raise HeadcountError(
            f"task {task.dataset} has no test_prevalences.txt: a study needs the true shares."
        )
    combinations = {method.name: combination_of(method, loaded.task) for method in methods}
    selected = select(
        loaded, candidates, protocol_of(spec, seed), combinations=combinations, progress=False
    )
    usable = {
        name: selection for name, selection in selected.items() if selection.failure is None
    }
    shares = predict(loaded, loaded.test, usable, progress=False)
    facts = _facts(loaded)
    return pl.concat(
        _rows(spec, task, name, selection, samples, shares.get(name)).with_columns(facts)
        for name, selection in selected.items()
    )


def _facts(data: LequaData) -> list[pl.Series]:
    """Of each test sample: shift, share of the first domain if known; and p(1) of training.

    The shift of two classes has a sign: the share of training less that of the sample.
    """
    true, K = data.test.samples.prevalence, data.task.n_classes
    assert true is not None
    prior = np.bincount(data.y, minlength=K) / len(data.y)
    shift = prior[1] - true[:, 1] if K == 2 else np.abs(prior - true).mean(axis=1)
    domain = data.first_domain
    return [
        pl.Series("shift", shift, pl.Float64),
        pl.Series("domain", [None] * len(true) if domain is None else domain, pl.Float64),
        pl.Series("p_train", [float(prior[1])] * len(true), pl.Float64),
    ]


def _rows(
    spec: Spec,
    task: Task,
    name: str,
    selected: Selected,
    samples: Samples,
    estimated: NDArray[np.float64] | None,
) -> pl.DataFrame:
    """Results of one method on all test samples."""
    true, n = samples.prevalence, len(samples)
    assert true is not None
    missing = np.full(n, np.nan)
    errors = {
        metric: missing
        if estimated is None
        else check_measure(metric)(true, estimated, samples.sizes)
        for metric in spec.metrics
    }
    shares = np.full_like(true, np.nan) if estimated is None else estimated
    numbers = pl.DataFrame({"sample": np.arange(n, dtype=np.int32), **errors}, nan_to_null=True)
    return numbers.select(
        pl.lit(task.dataset).alias("dataset"),
        pl.lit(name).alias("method"),
        pl.lit(selected.failure, pl.String).alias("failure"),
        pl.all(),
        pl.Series("true", true.tolist(), pl.List(pl.Float64)),
        pl.Series("estimate", shares.tolist(), pl.List(pl.Float64)),
        pl.lit(selected.setting).alias("setting"),
        pl.lit(selected.error, pl.Float64).fill_nan(None).alias("dev_error"),
    )
