"""Degenerate problems: finite shares on the simplex, or one clear error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headcount as hc
from tests.conformance.cases import METHODS, make
from tests.conformance.random_problems import Problem, random_problems

PROBLEMS = list(random_problems(72))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_shares_are_finite_or_an_error_is_clear(problem):
    for name, method in METHODS.items():
        if make(method).takes_scores:
            check_shares(name, problem)


@pytest.mark.parametrize("problem", PROBLEMS[::4], ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", ["CC", "SLD", "KDEyML", "EDy", "RLLS", "OneVsRest"])
def test_intervals_are_finite_and_hold_the_shares(name, problem):
    check_interval(name, problem)


def fitted(name: str, problem: Problem) -> hc.quantify.Quantifier | None:
    """Fitted quantifier; None if the problem is refused in one sentence."""
    method = METHODS[name]
    quantifier = make(method)
    if problem.n_classes > 2 and method.info.multiclass == "one-vs-rest":
        quantifier = hc.OneVsRest(quantifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.HeadcountWarning)
        try:
            return quantifier.fit(hc.Scored(problem.scores), problem.y, problem.weights)
        except hc.HeadcountError:
            return None


def check_shares(name: str, problem: Problem) -> None:
    """Finite shares on the simplex; numpy's warnings are errors."""
    quantifier = fitted(name, problem)
    if quantifier is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.HeadcountWarning)
        shares = quantifier.predict(hc.Scored(problem.new))
    assert np.isfinite(shares).all(), name
    assert (shares >= 0).all(), name
    assert shares.sum() == pytest.approx(1, abs=1e-6), name


def check_interval(name: str, problem: Problem) -> None:
    """Finite interval around the conditioned shares."""
    quantifier = fitted(name, problem)
    if quantifier is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.HeadcountWarning)
        found = quantifier.estimate(hc.Scored(problem.new), replicates=200, random_state=0)
    ends = found.interval()
    assert np.isfinite(ends.low).all(), name
    assert np.isfinite(ends.high).all(), name
    assert (ends.low <= found.shares + 1e-12).all(), name
    assert (found.shares <= ends.high + 1e-12).all(), name
