"""One row of the comparison: times of both sides, errors paired by sample, goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Result", "compare_estimates", "judge_speed", "spread"]

_FEWEST_TO_JUDGE = 20


@dataclass
class Result:
    """Measurements of one method on one workload; ``None`` where a side was not run."""

    workload: str
    method: str
    peer: str
    n_samples: int
    peer_samples_timed: int
    peer_fit_seconds: float
    peer_seconds: float
    peer_own_mae: float | None = None
    our_fit_seconds: float | None = None
    our_seconds_one_thread: float | None = None
    our_seconds_all_threads: float | None = None
    ratio_one_thread: float | None = None
    ratio_all_threads: float | None = None
    goal: float | None = None
    speed: str = ""
    cold_seconds: float | None = None
    second_process_seconds: float | None = None
    samples_compared: int | None = None
    peer_mae: float | None = None
    our_mae: float | None = None
    mae_excess: float | None = None
    mae_excess_error: float | None = None
    accuracy: str = ""
    our_mae_on_all: float | None = None
    largest_difference: float | None = None
    mean_difference: float | None = None
    why: str = ""


def spread(n: int, most: int) -> np.ndarray:
    """At most ``most`` of ``n`` positions, evenly spread over the prevalences."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def compare_estimates(true: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> dict:
    """Errors of both sides on the same samples, and differences of the estimates."""
    our_errors = np.abs(ours - true).mean(axis=1)
    their_errors = np.abs(theirs - true).mean(axis=1)
    excess = our_errors - their_errors
    error = float(excess.std(ddof=1) / np.sqrt(len(excess))) if len(excess) > 1 else 0.0
    gap = np.abs(ours - theirs)
    return {
        "samples_compared": len(true),
        "peer_mae": float(their_errors.mean()),
        "our_mae": float(our_errors.mean()),
        "mae_excess": float(excess.mean()),
        "mae_excess_error": error,
        "accuracy": _judge_accuracy(float(excess.mean()), error, len(excess)),
        "largest_difference": float(gap.max()),
        "mean_difference": float(gap.mean()),
    }


def _judge_accuracy(excess: float, error: float, n_samples: int) -> str:
    """Result of the paired comparison: different beyond two standard errors and 1e-5."""
    if abs(excess) <= 1e-5:
        return "same"
    if n_samples < _FEWEST_TO_JUDGE:
        return "too few to tell"
    if abs(excess) <= 2 * error:
        return "same"
    return "worse" if excess > 0 else "better"


def judge_speed(goal: float | None, ratio_one: float, ratio_all: float) -> str:
    """Result for a goal: met on one thread, on all cores only, or not."""
    if goal is None:
        return "no goal"
    if ratio_one >= goal:
        return "pass"
    return "pass on all cores" if ratio_all >= goal else "FAIL"
