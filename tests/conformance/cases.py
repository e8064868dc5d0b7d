"""Every quantifier of the library, found by looking, with data to try it on.

A method that takes two classes is tried on two, and on three inside `OneVsRest`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from headcount.quantify import PACC, DyS, OneVsRest, Quantifier, quantifiers
from headcount.sampling import Samples
from headcount.scores import Scored

METHODS = quantifiers()


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
    allowed = inspect.signature(method).parameters
    return method(**{name: value for name, value in given.items() if name in allowed})


@dataclass(frozen=True)
class Case:
    """A method on a number of classes."""

    method: type[Quantifier]
    n_classes: int

    @property
    def name(self) -> str:
        return self.method.__name__

    @property
    def wrapped(self) -> bool:
        return self.n_classes > 2 and self.method.info.multiclass == "one-vs-rest"

    @property
    def takes_scores(self) -> bool:
        """Whether it can be fitted on scores made elsewhere."""
        return make(self.method).takes_scores

    @property
    def trains_several(self) -> bool:
        """Whether it trains more than one classifier, so that no scorer can be shared."""
        return self.method.info.input == "any" and make(self.method).unfitted_scorer() is None

    @property
    def simulates(self) -> bool:
        """True if its answers depend on simulated samples, and so on chance."""
        return "replicates" in inspect.signature(self.method).parameters

    @property
    def brings_learner(self) -> bool:
        """Whether it is made of a learner of its own, none of which takes weights."""
        return self.method.info.family == "learner"

    @property
    def ordered(self) -> bool:
        """Whether it expects smooth shares along the classes, as those of two always are."""
        weights = make(self.method).get_params(deep=False)
        asked = any(weights.get(name) for name in ("smoothness", "flatness"))
        return asked and self.n_classes > 2

    def make(self, classifier: Any = None, seed: Any = 0) -> Quantifier:
        base = make(self.method, classifier, seed)
        return OneVsRest(base) if self.wrapped else base

    def fit_quick(self) -> Quantifier:
        """Fitted on scores if it takes them."""
        if self.takes_scores:
            return self.make().fit(*labelled_scores(self.n_classes))
        return self.make().fit(*labelled(self.n_classes))

    def solve_quick(self, quantifier: Quantifier, samples: Any) -> np.ndarray:
        """Shares in samples of the pool that belongs to `fit_quick`."""
        if self.takes_scores:
            return quantifier.predict_many(Scored(scored_pool(self.n_classes)), samples)
        return quantifier.predict_many(pool(self.n_classes), samples)

    def __str__(self) -> str:
        name = f"OneVsRest({self.name})" if self.wrapped else self.name
        return f"{name}-{self.n_classes}"


CASES = [Case(method, K) for method in METHODS.values() for K in (2, 3)]
SCORED = [case for case in CASES if case.takes_scores]

each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_scored_case = pytest.mark.parametrize("case", SCORED, ids=str)


def _read_only(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _items(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    centres = np.array([[0.0, 0.0, 0.0], [1.5, 0.5, 0.0], [0.0, 1.0, 1.5]])
    return centres[codes] + rng.normal(size=(len(codes), 3))


def _scores(codes: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    evidence = 1.5 * np.eye(n_classes)[codes] + rng.normal(size=(len(codes), n_classes))
    scores = np.exp(evidence)
    return scores / scores.sum(axis=1, keepdims=True)


def _codes(n_classes: int, n: int, rng: np.random.Generator) -> np.ndarray:
    shares = np.arange(1, n_classes + 1) / sum(range(1, n_classes + 1))
    return rng.choice(n_classes, n, p=shares)


@cache
def labelled(n_classes: int) -> tuple[np.ndarray, ...]:
    """X and y to fit on; read-only, like everything here."""
    rng = np.random.default_rng(n_classes)
    codes = _codes(n_classes, 180, rng)
    return _read_only(_items(codes, rng), codes)


@cache
def pool(n_classes: int) -> np.ndarray:
    rng = np.random.default_rng(10 + n_classes)
    return _read_only(_items(rng.integers(n_classes, size=120), rng))[0]


@cache
def scored(n_classes: int) -> tuple[np.ndarray, ...]:
    """Scores and y to fit on."""
    rng = np.random.default_rng(20 + n_classes)
    codes = _codes(n_classes, 180, rng)
    return _read_only(_scores(codes, n_classes, rng), codes)


def labelled_scores(n_classes: int) -> tuple[Scored, np.ndarray]:
    """The same, as `fit` takes them."""
    scores, y = scored(n_classes)
    return Scored(scores), y


@cache
def scored_pool(n_classes: int) -> np.ndarray:
    rng = np.random.default_rng(30 + n_classes)
    codes = rng.integers(n_classes, size=120)
    return _read_only(_scores(codes, n_classes, rng))[0]


@cache
def samples() -> Samples:
    """Samples of either pool: of different sizes, some items several times."""
    rng = np.random.default_rng(40)
    return Samples.from_arrays(
        [rng.integers(120, size=size) for size in (40, 1, 75, 2, 120, 33)], n_pool=120
    )


@cache
def fitted(case: Case) -> Quantifier:
    """Fitted on X; to be looked at, not changed."""
    return case.make().fit(*labelled(case.n_classes))


@cache
def fitted_on_scores(case: Case) -> Quantifier:
    """Fitted on scores; to be looked at, not changed."""
    return case.make().fit(*labelled_scores(case.n_classes))
