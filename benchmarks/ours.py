"""headcount through its public calls, timed warm and in new processes."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from classifier import FOLDS, new_classifier
from environment import core_count
from methods import Row
from timing import best_of_three, timed
from workloads import Workload

__all__ = ["OurTiming", "evaluate", "first_calls", "protocol", "quantifier", "threads"]

_THREADS = "HEADCOUNT_NUM_THREADS"


@dataclass(frozen=True)
class OurTiming:
    """Seconds of a warm evaluation (draw and predict), and the estimates."""

    fit_seconds: float
    seconds_one_thread: float
    seconds_all_threads: float
    estimates: np.ndarray


def protocol(workload: Workload):
    """Protocol of a workload."""
    import headcount as hc

    common = {"size": workload.sample_size, "random_state": 0}
    if workload.n_prevalences:
        return hc.APP(n_prevalences=workload.n_prevalences, repeats=workload.repeats, **common)
    return hc.UPP(n_samples=workload.repeats, **common)


def quantifier(row: Row, classifier=None):
    """Quantifier of a row, with the folds of the benchmark."""
    import headcount as hc

    method = getattr(hc, row.ours)
    folds = {"cv": FOLDS} if "cv" in inspect.signature(method).parameters else {}
    return method(classifier, **folds, **row.our_settings)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of threads that headcount uses."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before


def evaluate(row: Row, workload: Workload) -> OurTiming:
    """Fit, then time drawing and predicting every sample, after a first call that compiles."""
    import headcount as hc

    model = quantifier(row)
    # The peers score new items by the classifier trained on everything, and so does this side.
    scorer = hc.Scorer(new_classifier(), cv=FOLDS, fold_scoring=False)
    fit_seconds, _ = timed(lambda: model.fit_scorer(scorer.fit(workload.X, workload.y)))
    draws = protocol(workload)

    def draw_and_predict() -> np.ndarray:
        return model.predict_many(workload.X_pool, draws.draw(workload.y_pool))

    with threads(1):
        estimates = draw_and_predict()
        one, _ = best_of_three(draw_and_predict)
    with threads(core_count()):
        every, _ = best_of_three(draw_and_predict)
    return OurTiming(fit_seconds, one, every, estimates)


def first_calls(row: Row, workload: Workload, scores) -> list[dict[str, float]]:
    """Seconds of a first process that compiles, then of a second one."""
    script = Path(__file__).with_name("first_call.py")
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "scores.npz"
        training, pool = scores
        np.savez(arrays, training=training, pool=pool, y=workload.y, y_pool=workload.y_pool)
        task = {
            "ours": row.ours,
            "settings": row.our_settings,
            "arrays": str(arrays),
            "size": workload.sample_size,
            "n_prevalences": workload.n_prevalences,
            "repeats": workload.repeats,
        }
        command = [sys.executable, str(script), json.dumps(task)]
        surroundings = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "compiled")}
        surroundings.pop(_THREADS, None)
        return [
            json.loads(
                subprocess.run(
                    command, env=surroundings, check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(2)
        ]
