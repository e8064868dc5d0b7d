"""Checks of methods that learn from labelled items of a single class."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from headcount._support.arrays import Floats
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.one_class import OneClassQuantifier
from headcount.samples.samples import Samples
from headcount.testing.behaviour import forms_of_tables
from headcount.testing.cases import close, equal, expect, on_simplex, refuses

_REPLICATES = 200


@dataclass(frozen=True, eq=False)
class OneClassCase:
    """A method for one class, and items to check it on: two clouds of points."""

    prototype: OneClassQuantifier  # unfitted; it is cloned, never fitted
    n_classes: int = 1

    @property
    def items(self) -> Floats:
        """Items of the class."""
        return np.random.default_rng(0).normal(size=(600, 3))

    @property
    def mixed(self) -> Floats:
        """500 items of the class, then as many others."""
        rng = np.random.default_rng(1)
        return np.concatenate([rng.normal(size=(500, 3)), rng.normal(4.0, 1.0, (500, 3))])

    @property
    def samples(self) -> Samples:
        """Samples of the mixed items with shares of the class of 0.8, 0.5, 0 and 1."""
        bounds = [(400, 100), (300, 300), (0, 50), (1, 0)]
        rows = [np.r_[:n_members, 500 : 500 + n_foreign] for n_members, n_foreign in bounds]
        return Samples.from_arrays(rows, n_pool=1000)

    def fit(self, X: Any = None, y: Any = None) -> OneClassQuantifier:
        """Fitted clone."""
        quantifier = clone(self.prototype)
        if "source_share" in quantifier.get_params():
            quantifier.set_params(source_share=0.5)
        return quantifier.fit(self.items if X is None else X, y, unlabelled=self.mixed)

    @cached_property
    def fitted(self) -> OneClassQuantifier:
        """Fitted on the items; not to be changed."""
        return self.fit()

    def __str__(self) -> str:
        return f"{type(self.prototype).__name__}-1"


def check_shares(case: OneClassCase) -> None:
    """Shares are on the simplex and near the truth if other items are far away."""
    shares = case.fitted.predict_many(case.mixed, case.samples)
    on_simplex(shares, 4, 2)
    close(shares[:3, 0], [0.8, 0.5, 0.0], 0.15)


def check_declared_facts(case: OneClassCase) -> None:
    """``info`` declares which labels are needed."""
    info: Any = case.prototype.info
    expect(isinstance(info, MethodInfo), "info is no MethodInfo")
    expect(info.labels.startswith("one class"), "info.labels does not name one class")


def check_names(case: OneClassCase) -> None:
    """The classes are the label and the name of the others; there are no further classes."""
    equal(case.fitted.classes_, ["positive", "other"])
    n = len(case.items)
    equal(case.fit(y=["spam"] * n).classes_, ["spam", "other"])
    refuses("^y has 2 classes", lambda: case.fit(y=np.arange(n) % 2))
    refuses("^other is 'other', which is", lambda: case.fit(y=["other"] * n))
    refuses("", lambda: case.fit(y=[1] * (n - 1)))


def check_batches(case: OneClassCase) -> None:
    """The shares and the estimate of a sample depend on that sample alone, in any order."""
    quantifier, X = case.fitted, case.mixed
    shares = quantifier.predict_many(X, case.samples)
    estimates = quantifier.estimate_many(
        X, case.samples, replicates=_REPLICATES, random_state=0
    )
    for expected, rows, estimate in zip(shares, case.samples, estimates, strict=True):
        close(quantifier.predict(X[rows]), expected, 1e-12)
        close(quantifier.predict(X[rows[::-1]]), expected, 1e-12)
        alone = quantifier.estimate(X[rows], replicates=_REPLICATES, random_state=0)
        close(alone.draws, estimate.draws, 1e-9)
        equal(estimate.raw, expected)


def check_intervals(case: OneClassCase) -> None:
    """`estimate` has intervals that hold its shares, and can be stored."""
    for estimand in ("realised", "expected"):
        estimate = case.fitted.estimate(
            case.mixed, estimand=estimand, replicates=_REPLICATES, random_state=0
        )
        on_simplex(estimate.shares, 2)
        wide, narrow = estimate.interval(0.95), estimate.interval(0.5)
        expect((wide.low <= estimate.shares).all(), "an interval is above its share")
        expect((estimate.shares <= wide.high).all(), "an interval is below its share")
        expect((wide.low <= narrow.low).all(), "the interval of level 0.5 is not within")
        expect(wide.low[0] < 0.5 < wide.high[0], "the interval misses the share by far")
        json.dumps(estimate.to_dict(), allow_nan=False)


def check_clones(case: OneClassCase) -> None:
    """Fits with equal parameters are equal; pickles predict the same."""
    expected = case.fitted.predict(case.mixed)
    equal(case.fit().predict(case.mixed), expected)
    equal(pickle.loads(pickle.dumps(case.fitted)).predict(case.mixed), expected)


def check_frames(case: OneClassCase) -> None:
    """Frames of Polars and pandas give the shares of arrays."""
    expected = case.fitted.predict(case.mixed)
    for table, _ in forms_of_tables():
        mixed = table(case.mixed)
        quantifier = clone(case.fitted).fit(table(case.items), unlabelled=mixed)
        close(quantifier.predict(mixed), expected, 1e-12)


def check_bad_input(case: OneClassCase) -> None:
    """Bad items, samples and options are refused."""
    quantifier, X = case.fitted, case.mixed
    refuses("^X", lambda: case.fit(np.full((300, 3), np.nan)))
    refuses("", lambda: quantifier.predict(np.full((5, 3), np.nan)))
    refuses("", lambda: quantifier.predict_many(X, [[]]), lambda: quantifier.predict(X[:0]))
    refuses("^estimand is", lambda: quantifier.estimate(X, estimand="all"))
    refuses("^replicates is", lambda: quantifier.estimate(X, replicates=3))
