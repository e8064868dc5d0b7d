"""headcount: shares of the classes in a set of unlabelled items.

>>> import headcount as hc
>>> from sklearn.datasets import make_classification
>>> X, y = make_classification(2000, random_state=0)
>>> hc.SLD().fit(X[:1000], y[:1000]).predict(X[1000:]).round(1)
array([0.5, 0.5])
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount import accuracy, metrics, plots, shift
    from headcount.errors import HeadcountError, HeadcountWarning
    from headcount.evaluation.collection import Evaluations
    from headcount.evaluation.evaluation import Evaluation
    from headcount.evaluation.run import evaluate
    from headcount.evaluation.search import GridSearch
    from headcount.evaluation.significance import Comparison, compare
    from headcount.quantify import (
        ACC,
        BBSE,
        CC,
        CDE,
        DM,
        ED,
        FM,
        FMM,
        GAC,
        GPAC,
        KMM,
        LEIP,
        MLPE,
        MS,
        MS2,
        PACC,
        PCC,
        PWK,
        QF,
        QFAC,
        RLLS,
        SLD,
        SMM,
        SVMAE,
        SVMK,
        SVMN,
        SVMQ,
        SVMRAE,
        T50,
        TMAX,
        TX,
        AdaptedClassifier,
        AutoQuantifier,
        Conditioned,
        ContinuousSweep,
        CvMy,
        DyS,
        EDy,
        Ensemble,
        HDx,
        HDy,
        KDEyCS,
        KDEyHD,
        KDEyML,
        Mean,
        Median,
        OneVsRest,
        OrdinalACC,
        OrdinalPACC,
        OrdinalSLD,
        ReadMe,
        RegularizedLikelihood,
        method,
        methods,
    )
    from headcount.sampling import APP, NPP, UPP, Dirichlet, Prevalences, Samples
    from headcount.scores import Scored, Scorer, Verdicts
    from headcount.uncertainty import Estimate

__version__ = version("headcount")

__all__ = [
    "ACC",
    "APP",
    "BBSE",
    "CC",
    "CDE",
    "DM",
    "ED",
    "FM",
    "FMM",
    "GAC",
    "GPAC",
    "KMM",
    "LEIP",
    "MLPE",
    "MS",
    "MS2",
    "NPP",
    "PACC",
    "PCC",
    "PWK",
    "QF",
    "QFAC",
    "RLLS",
    "SLD",
    "SMM",
    "SVMAE",
    "SVMK",
    "SVMN",
    "SVMQ",
    "SVMRAE",
    "T50",
    "TMAX",
    "TX",
    "UPP",
    "AdaptedClassifier",
    "AutoQuantifier",
    "Comparison",
    "Conditioned",
    "ContinuousSweep",
    "CvMy",
    "Dirichlet",
    "DyS",
    "EDy",
    "Ensemble",
    "Estimate",
    "Evaluation",
    "Evaluations",
    "GridSearch",
    "HDx",
    "HDy",
    "HeadcountError",
    "HeadcountWarning",
    "KDEyCS",
    "KDEyHD",
    "KDEyML",
    "Mean",
    "Median",
    "OneVsRest",
    "OrdinalACC",
    "OrdinalPACC",
    "OrdinalSLD",
    "Prevalences",
    "ReadMe",
    "RegularizedLikelihood",
    "Samples",
    "Scored",
    "Scorer",
    "Verdicts",
    "accuracy",
    "compare",
    "evaluate",
    "method",
    "methods",
    "metrics",
    "plots",
    "shift",
]

_HOMES = {
    "headcount.errors": {"HeadcountError", "HeadcountWarning"},
    "headcount.evaluation.collection": {"Evaluations"},
    "headcount.evaluation.evaluation": {"Evaluation"},
    "headcount.evaluation.run": {"evaluate"},
    "headcount.evaluation.search": {"GridSearch"},
    "headcount.evaluation.significance": {"Comparison", "compare"},
    "headcount.sampling": {"APP", "NPP", "UPP", "Dirichlet", "Prevalences", "Samples"},
    "headcount.scores": {"Scored", "Scorer", "Verdicts"},
    "headcount.uncertainty": {"Estimate"},
}
_FOLDERS = {"accuracy", "metrics", "plots", "shift"}


def __getattr__(name: str) -> Any:
    # Imports on first access, so that `import headcount` itself is instant.
    if name not in __all__:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    if name in _FOLDERS:
        return importlib.import_module(f"headcount.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), "headcount.quantify")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
