"""headcount: how much of each class is in a set of items nobody has labelled.

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
    from headcount import metrics
    from headcount.data import Pool
    from headcount.errors import HeadcountError, HeadcountWarning
    from headcount.quantify import (
        ACC,
        CC,
        CDE,
        DM,
        FM,
        FMM,
        GAC,
        GPAC,
        KMM,
        MLPE,
        MS,
        MS2,
        PACC,
        PCC,
        SLD,
        SMM,
        T50,
        TMAX,
        TX,
        CvMy,
        DyS,
        EDy,
        HDy,
        KDEyCS,
        KDEyHD,
        KDEyML,
        OneVsRest,
        methods,
    )
    from headcount.sampling import APP, NPP, UPP, Dirichlet, Prevalences, Samples
    from headcount.scores import Scorer

__version__ = version("headcount")

__all__ = [
    "ACC",
    "APP",
    "CC",
    "CDE",
    "DM",
    "FM",
    "FMM",
    "GAC",
    "GPAC",
    "KMM",
    "MLPE",
    "MS",
    "MS2",
    "NPP",
    "PACC",
    "PCC",
    "SLD",
    "SMM",
    "T50",
    "TMAX",
    "TX",
    "UPP",
    "CvMy",
    "Dirichlet",
    "DyS",
    "EDy",
    "HDy",
    "HeadcountError",
    "HeadcountWarning",
    "KDEyCS",
    "KDEyHD",
    "KDEyML",
    "OneVsRest",
    "Pool",
    "Prevalences",
    "Samples",
    "Scorer",
    "methods",
    "metrics",
]

_HOMES = {
    "headcount.data": {"Pool"},
    "headcount.errors": {"HeadcountError", "HeadcountWarning"},
    "headcount.sampling": {"APP", "NPP", "UPP", "Dirichlet", "Prevalences", "Samples"},
    "headcount.scores": {"Scorer"},
}


def __getattr__(name: str) -> Any:
    # Imports what is asked for when it is asked for: `import headcount` itself is instant.
    if name not in __all__:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    if name == "metrics":
        return importlib.import_module("headcount.metrics")
    home = next((home for home, names in _HOMES.items() if name in names), "headcount.quantify")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
