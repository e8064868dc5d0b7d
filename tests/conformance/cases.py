"""Every quantifier of the library, found by looking, with settings that make it fast."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

import pytest
from sklearn.naive_bayes import GaussianNB

from headcount.quantifiers.adjusted import PACC
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.matching import DyS
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.quantifiers.registry import quantifiers
from headcount.testing.cases import (
    Case,
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)

__all__ = [
    "CASES",
    "METHODS",
    "PROTOTYPES",
    "each_case",
    "each_scored_case",
    "labelled",
    "labelled_scores",
    "make",
    "pool",
    "samples",
    "scored",
    "scored_pool",
]

# Networks need PyTorch, which is optional.
METHODS = {
    name: method
    for name, method in quantifiers().items()
    if method.info.family != "network" or find_spec("torch") is not None
}
# Settings that make networks small.
SMALL = {"epochs": 1, "size": 6, "head": (4,), "features": 2, "bins": 3, "units": 2}
SMALL |= {"branches": 1, "gaussians": 2, "dimensions": 2, "width": 4, "heads": 1, "blocks": 1}


def make(method: type[Quantifier], classifier: Any = None, seed: Any = 0) -> Quantifier:
    """An instance with defaults, but for what makes it fast and a fixed source of chance."""
    several = [GaussianNB(), GaussianNB(var_smoothing=0.1), GaussianNB(var_smoothing=0.5)]
    several = several if classifier is None else [classifier]
    classifier = several[0]
    given = {"classifier": classifier, "random_state": seed, "n_estimators": 8}
    given |= {"classifiers": several, "n_members": 4, "replicates": 200}
    if "quantifier" in inspect.signature(method).parameters:
        base = DyS if method is OneVsRest else PACC
        given["quantifier"] = base(classifier, random_state=seed)
    if method.info.family == "network":
        given |= SMALL
    allowed = inspect.signature(method).parameters
    return method(**{name: value for name, value in given.items() if name in allowed})


PROTOTYPES = {name: make(method) for name, method in METHODS.items()}
CASES = [Case(prototype, K) for prototype in PROTOTYPES.values() for K in (2, 3)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_scored_case = pytest.mark.parametrize(
    "case", [case for case in CASES if case.takes_scores], ids=str
)
