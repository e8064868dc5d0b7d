"""headcount's methods in `real_data.py`, and what is recorded of each."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import headcount as hc
from headcount.quantify.registry import quantifiers

__all__ = ["CORE", "LEVEL", "applicable", "known_methods", "measure"]

LEVEL = 0.95

CORE = (
    "CC", "PCC", "ACC", "PACC", "GAC", "GPAC", "SLD", "SLD(bcts)", "KDEyML", "EDy", "DyS",
    "HDy", "DM", "MS2", "TMAX", "T50", "CvMy", "SMM", "FM", "RLLS", "MLPE", "AutoQuantifier",
)  # fmt: skip

# Candidates that are not a method of the registry with its defaults. Each takes the
# classifier, which is used by those that are fitted on features alone.
VARIANTS: dict[str, Callable[[Any], Any]] = {
    "SLD(bcts)": lambda classifier: hc.SLD(calibration="bcts"),
    "AutoQuantifier": lambda classifier: hc.AutoQuantifier(),
    "Ensemble": lambda classifier: hc.Ensemble(hc.SLD(classifier), n_members=20),
    "Median": lambda classifier: hc.Median(hc.PACC(classifier)),
}
_NOT_ALONE = ("OneVsRest",)
_TEXTS_TOO = ("MLPE", "Ensemble", "Median")


def known_methods() -> tuple[str, ...]:
    """Names of all candidates: the core first, then the rest of the registry."""
    rest = [name for name in (*VARIANTS, *quantifiers()) if name not in _NOT_ALONE]
    return tuple(dict.fromkeys((*CORE, *rest)))


def applicable(name: str, kind: str) -> bool:
    """False for methods on features where the items are texts."""
    found = quantifiers().get(name)
    on_features = found is not None and found.info.input in ("features", "any")
    return kind != "text" or not on_features or name in _TEXTS_TOO


def _made(name: str, classifier: Any, n_classes: int) -> tuple[Any, bool]:
    """A quantifier with its defaults, and whether it shares the scorer."""
    found = quantifiers().get(name)
    quantifier = VARIANTS[name](classifier) if name in VARIANTS else found()
    if "random_state" in quantifier.get_params(deep=False):
        quantifier.set_params(random_state=0)
    shares_scorer = found is None or found.info.input in ("posteriors", "labels")
    if n_classes > 2 and type(quantifier).info.multiclass == "one-vs-rest":
        quantifier = hc.OneVsRest(quantifier)
    return quantifier, shares_scorer


def measure(name: str, case: Any, *, intervals: bool = True) -> list[dict[str, Any]]:
    """Rows of one method: one per sample, with shares, intervals and seconds."""
    scorer = case.scorer
    quantifier, shares_scorer = _made(name, scorer.classifier, case.n_classes)
    start = perf_counter()
    if shares_scorer:
        quantifier.fit_scorer(scorer)
    else:
        quantifier.fit(case.X, case.y)
    fitting = (perf_counter() - start) / sum(len(drawn) for drawn in case.draws)
    rows = []
    for drawn in case.draws:
        start = perf_counter()
        plain = quantifier.predict_many(case.pool, drawn.samples)
        middle = perf_counter()
        found = _conditioned(quantifier, case.pool, drawn) if intervals else [{}] * len(drawn)
        end = perf_counter()
        common = {
            "library": "headcount", "method": name, "seconds_fit": fitting,
            "seconds_predict": (middle - start) / len(drawn),
            "seconds_estimate": (end - middle) / len(drawn),
        }  # fmt: skip
        rows += [
            sample | common | {"plain": shares} | estimated
            for sample, shares, estimated in zip(drawn.rows(), plain, found, strict=True)
        ]
    return rows


def _conditioned(quantifier: Any, pool: Any, drawn: Any) -> list[dict[str, Any]]:
    """Shares, intervals, the joint region and the test of the assumption, per sample."""
    rows = []
    estimates = quantifier.estimate_many(pool, drawn.samples, random_state=0)
    for estimate, truth in zip(estimates, drawn.truth, strict=True):
        ends = estimate.interval(LEVEL)
        row = {
            "conditioned": np.asarray(estimate.shares), "low": ends.low, "high": ends.high,
            "region": bool(estimate.region(LEVEL).contains(truth)),
            "p_value": _p_value(estimate.fit_test),
        }  # fmt: skip
        rows.append(row)
    return rows


def _p_value(test: Any) -> float | None:
    """Of the test of the assumption; None where there was none."""
    return None if test is None or np.isnan(test.p_value) else float(test.p_value)
