"""Methods on the features, trained anew for each training set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.learn import QuantificationForestClassifier
from headcount.quantify.adjusted import ACC
from headcount.quantify.counting import CC
from headcount.quantify.learners import QF
from headcount.sampling import Samples
from headcount.study.comparison.draws import Trial
from headcount.study.comparison.estimates import attempted
from headcount.study.comparison.groups import (
    Answers,
    Bench,
    made,
    quantifier_of,
    wanted,
)
from headcount.study.spec import MethodSpec

__all__ = ["by_features", "by_forest"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def by_features(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of methods that are fitted on features, each by itself."""
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        found = {
            method.name: attempted(
                partial(_fitted, bench, trial, method, rows), samples, bench.dataset.n_classes
            )
            for method in wanted(methods, trial)
        }
        yield Answers(trial, len(rows), samples, found)


def _fitted(
    bench: Bench, trial: Trial, method: MethodSpec, rows: Codes, samples: Samples
) -> Floats:
    more = {}
    if "random_state" in signature(quantifier_of(method.quantifier)).parameters:
        more = {"random_state": bench.seed(trial, method.name)}
    X = bench.features(method)
    quantifier = made(method, **more).fit(X[rows], bench.dataset.y[rows])
    return quantifier.predict_many(X, samples)


def by_forest(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of methods that count what a forest predicts, and may share it."""
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        # Only items that are in a sample need to be labelled.
        grow = lru_cache(partial(_grown, bench, trial, rows, np.unique(samples.indices)))
        found = {
            method.name: attempted(
                partial(_counted, bench, method, rows, grow), samples, bench.dataset.n_classes
            )
            for method in wanted(methods, trial)
        }
        yield Answers(trial, len(rows), samples, found)


def _grown(
    bench: Bench,
    trial: Trial,
    rows: Codes,
    tested: Codes,
    binned: bool,
    parameters: tuple[Any, ...],
) -> tuple[Floats, Floats]:
    """What a forest says of its training items, out of bag, and of the pool."""
    X = bench.binned if binned else bench.dataset.X
    forest = QuantificationForestClassifier(
        **dict(parameters), random_state=bench.seed(trial, "forest")
    ).fit(X[rows], bench.dataset.y[rows])
    said = np.eye(bench.dataset.n_classes)
    pool = np.zeros(len(X), np.int64)
    pool[tested] = forest.predict(X[tested])
    return said[forest.oob_prediction_], said[pool]


def _counted(
    bench: Bench, method: MethodSpec, rows: Codes, grow: Any, samples: Samples
) -> Floats:
    parameters = tuple(sorted(method.parameters.items()))
    training, pool = grow(bool(method.options.get("binned")), parameters)
    counting = CC() if quantifier_of(method.quantifier) is QF else ACC()
    counting.fit_scores(training, bench.dataset.y[rows])
    return counting.predict_many_scores(pool, samples)
