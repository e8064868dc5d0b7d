"""headcount's methods in `real_data.py`, and what is recorded of each."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import headcount as hc
from headcount.quantifiers.registry import quantifiers

__all__ = ["CORE", "LEVEL", "NEWER", "applicable", "known_methods", "measure"]

LEVEL = 0.95

CORE = (
    "CC", "PCC", "ACC", "PACC", "GAC", "GPAC", "SLD", "SLD(bcts)", "KDEyML", "EDy", "DyS",
    "HDy", "DM", "MS2", "TMAX", "T50", "CvMy", "SMM", "FM", "RLLS", "MLPE", "AutoQuantifier",
)  # fmt: skip

# Methods of newer papers and of the peers, beside well-known ones.
NEWER = (
    "SLD", "SLD(bcts)", "PACC", "KDEyML", "EDy", "AutoQuantifier", "ELSA", "ELSA(2)", "DeBias",
    "SORD", "QUANTy", "KDEyML(aitchison 0.1)", "KDEyML(aitchison 0.3)", "KDEyML(aitchison 1)",
    "KDEyCS(aitchison 0.5)", "RUN", "FrankHall", "KMMx", "ACC posterior", "PACC posterior",
    "SLD posterior", "SLD(bcts) posterior", "KDEyML posterior", "PACC uniform prior",
    "SLD uniform prior", "KDEyML uniform prior", "OrdinalPDF",
)  # fmt: skip

# Candidates that are not a method of the registry with its defaults. Each takes the
# classifier, which is used by those that are fitted on features alone.
VARIANTS: dict[str, Callable[[Any], Any]] = {
    "SLD(None)": lambda classifier: hc.SLD(calibration=None),
    "SLD(None .2)": lambda classifier: hc.SLD(calibration=None, tol=0.2),
    "SLD(auto)": lambda classifier: hc.SLD(calibration="auto"),
    "SLD(auto .2)": lambda classifier: hc.SLD(calibration="auto", tol=0.2),
    "SLD(ts)": lambda classifier: hc.SLD(calibration="ts"),
    "SLD(bcts)": lambda classifier: hc.SLD(calibration="bcts"),
    "AutoQuantifier": lambda classifier: hc.AutoQuantifier(),
    "ELSA(2)": lambda classifier: hc.ELSA(steps=2),
    "KDEyML(aitchison 0.1)": lambda classifier: hc.KDEyML(kernel="aitchison"),
    "KDEyML(aitchison 0.3)": lambda classifier: hc.KDEyML(kernel="aitchison", bandwidth=0.3),
    "KDEyML(aitchison 1)": lambda classifier: hc.KDEyML(kernel="aitchison", bandwidth=1.0),
    "KDEyCS(aitchison 0.5)": lambda classifier: hc.KDEyCS(kernel="aitchison", bandwidth=0.5),
    "FrankHall": lambda classifier: hc.FrankHall(hc.DyS(classifier, random_state=0)),
    "Ensemble": lambda classifier: hc.Ensemble(hc.SLD(classifier), n_members=20),
    "Median": lambda classifier: hc.Median(hc.PACC(classifier)),
}
# Options of estimates by the end of a name: the posterior under the method's own likelihood,
# whose prior is uniform, and the default intervals with the same prior.
_OPTIONS: dict[str, dict[str, Any]] = {
    " posterior": {"posterior": True},
    " uniform prior": {"prior": 1.0},
}
_NOT_ALONE = ("OneVsRest",)
_TEXTS_TOO = ("MLPE", "Ensemble", "Median")


def known_methods() -> tuple[str, ...]:
    """Names of all candidates: the core first, then the rest of the registry."""
    rest = [name for name in (*VARIANTS, *quantifiers()) if name not in _NOT_ALONE]
    return tuple(dict.fromkeys((*CORE, *NEWER, *rest)))


def _divided(name: str) -> tuple[str, dict[str, Any]]:
    """Name of the candidate itself, and the options of its estimates."""
    for end, options in _OPTIONS.items():
        if name.endswith(end):
            return name.removesuffix(end), options
    return name, {}


def applicable(name: str, kind: str) -> bool:
    """False for methods on features where the items are texts."""
    found = quantifiers().get(_divided(name)[0])
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
    own_name, options = _divided(name)
    quantifier, shares_scorer = _made(own_name, scorer.classifier, case.n_classes)
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
        found = [{}] * len(drawn)
        if intervals:
            found = _conditioned(quantifier, case.pool, drawn, options)
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


def _conditioned(
    quantifier: Any, pool: Any, drawn: Any, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Shares, intervals, the joint region and the test of the assumption, per sample."""
    rows = []
    estimates = quantifier.estimate_many(pool, drawn.samples, **options, random_state=0)
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
