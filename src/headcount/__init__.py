"""headcount: shares of the classes in a set of unlabelled items.

>>> import headcount as hc
>>> from sklearn.datasets import make_classification
>>> X, y = make_classification(2000, random_state=0)
>>> hc.SLD().fit(X[:1000], y[:1000]).predict(X[1000:]).round(1)
array([0.5, 0.5])
"""
# ruff: noqa: F403

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.analysis import Analysis as Analysis
    from headcount.analysis import analyse as analyse
    from headcount.analysis import judge as judge
    from headcount.deep import *
    from headcount.errors import HeadcountError as HeadcountError
    from headcount.errors import HeadcountWarning as HeadcountWarning
    from headcount.evaluation.evaluation import Evaluation as Evaluation
    from headcount.evaluation.evaluation import Evaluations as Evaluations
    from headcount.evaluation.run import evaluate as evaluate
    from headcount.evaluation.search import GridSearch as GridSearch
    from headcount.evaluation.significance import Comparison as Comparison
    from headcount.evaluation.significance import compare as compare
    from headcount.labels import JudgeResult as JudgeResult
    from headcount.labels import LabelledEstimate as LabelledEstimate
    from headcount.labels import LabelPlan as LabelPlan
    from headcount.monitor import Monitor as Monitor
    from headcount.quantify import *
    from headcount.sampling import APP as APP
    from headcount.sampling import NPP as NPP
    from headcount.sampling import UPP as UPP
    from headcount.sampling import Dirichlet as Dirichlet
    from headcount.sampling import Prevalences as Prevalences
    from headcount.sampling import Samples as Samples
    from headcount.scores import Scored as Scored
    from headcount.scores import Scorer as Scorer
    from headcount.scores import Verdicts as Verdicts
    from headcount.statistics import Statistics as Statistics
    from headcount.uncertainty import Estimate as Estimate
    from headcount.uncertainty import Estimates as Estimates

__version__ = version("headcount")

_HOMES = {
    "headcount.analysis": {"Analysis", "analyse", "judge"},
    "headcount.errors": {"HeadcountError", "HeadcountWarning"},
    "headcount.evaluation.evaluation": {"Evaluation", "Evaluations"},
    "headcount.evaluation.run": {"evaluate"},
    "headcount.evaluation.search": {"GridSearch"},
    "headcount.evaluation.significance": {"Comparison", "compare"},
    "headcount.labels": {"JudgeResult", "LabelPlan", "LabelledEstimate"},
    "headcount.monitor": {"Monitor"},
    "headcount.sampling": {"APP", "NPP", "UPP", "Dirichlet", "Prevalences", "Samples"},
    "headcount.scores": {"Scored", "Scorer", "Verdicts"},
    "headcount.statistics": {"Statistics"},
    "headcount.uncertainty": {"Estimate", "Estimates"},
}
# Packages that are loaded when they are used.
_PACKAGES = {
    "accuracy",
    "deep",
    "diagnose",
    "distributed",
    "interop",
    "learn",
    "metrics",
    "plots",
    "shift",
    "testing",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Imports on first use, so that `import headcount` takes no time.
        name = {"analyze": "analyse"}.get(name, name)  # the American spelling
        if name == "__all__":
            return [each for each in __dir__() if each != "__version__"]
        if name in _PACKAGES:
            return importlib.import_module(f"headcount.{name}")
        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None and (name.startswith("_") or name not in _methods().__all__):
            raise AttributeError(f"module 'headcount' has no attribute {name!r}")
        value = getattr(_methods() if home is None else importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    others = (name for names in _HOMES.values() for name in names)
    return sorted({*_methods().__all__, *others, *_PACKAGES, "__version__"})


def _methods() -> Any:
    return importlib.import_module("headcount.quantify")
