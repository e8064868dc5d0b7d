"""The shipped checks find what is wrong with a method."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.parts import MethodInfo
from headcount.parts.aggregation import Aggregation, Counting, Moments
from headcount.parts.classifier_outputs import Posterior
from headcount.parts.solvers import LeastSquares, Solution
from headcount.quantifiers import Quantifier
from headcount.testing.cases import NotApplicable, close, expect, on_simplex, raises
from headcount.testing.run import check_quantifier, quantifier_checks

INFO = MethodInfo("least squares", "adjusted count", "a test")


def failures(quantifier):
    """Names of the checks that a quantifier fails."""
    with pytest.raises(AssertionError) as caught:
        check_quantifier(quantifier)
    return set(re.findall(r"^- (\w+) with", str(caught.value), re.MULTILINE))


class Sound(Quantifier):
    info = INFO

    def _aggregation(self):
        return Moments(Posterior(), LeastSquares())


def test_a_sound_method_passes():
    report = check_quantifier(Sound())
    assert report.quantifier == "Sound"
    assert not report.with_status("failed")
    passed, other = (len(report.with_status(each)) for each in ("passed", "not applicable"))
    assert passed > 120
    assert report.title == f"Sound: {passed} checks passed, 0 failed, {other} do not apply."
    lines = repr(report).splitlines()
    assert lines[0] == report.title
    assert len(lines) == len(report.results) + 2
    assert all(each.reason for each in report.with_status("not applicable"))


class DependsOnBatch(Sound):
    """Shares that depend on the number of samples."""

    def _aggregation(self):
        return _Batched(Posterior())


@dataclass(frozen=True, eq=False)
class _Batched(Counting):
    def fit(self, training):
        return _Batched(self.representation.fit(training))

    def solve(self, items, samples):
        shares = super().solve(items, samples).prevalence + 1e-6 * len(samples)
        return Solution.closed_form(shares / shares.sum(axis=1, keepdims=True))


def test_results_that_depend_on_the_batch():
    found = failures(DependsOnBatch())
    assert {"check_batch", "check_batch_of_scores", "check_exact_mixtures"} <= found
    assert "check_clone" not in found


class Unchecked(Sound):
    """A parameter that nothing checks."""

    def __init__(self, classifier=None, *, extra=1.0, cv=5, random_state=None):
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.extra = extra


def test_parameters_that_are_not_checked():
    assert failures(Unchecked()) == {
        "check_unknown_values",
        "check_bad_parameters_lose_nothing",
    }


class Computes(Sound):
    """Work in __init__."""

    def __init__(self, classifier=None, *, cv=5, random_state=None):
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.more = [cv]


def test_init_that_does_more():
    assert "check_init_stores" in failures(Computes())


def with_facts(**facts):
    class Declared(Sound):
        info = replace(INFO, **facts)

    return Declared()


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        ({"title": ""}, "check_info"),
        ({"shift": "some"}, "check_info"),
        ({"inconsistency": "is approximate"}, "check_exact_mixtures"),
        ({"sparse": False}, "check_sparse_items"),
        ({"family": "learner"}, "check_weights_of_items"),
    ],
)
def test_facts_that_are_wrong(facts, check):
    assert check in failures(with_facts(**facts))


class Leaves(Sound):
    """Shares that leave the simplex, and errors of any kind."""

    def _aggregation(self):
        return _Negative()


@dataclass(frozen=True, eq=False)
class _Negative(Aggregation):
    def fit(self, training):
        if training.n_classes > 2:
            raise RuntimeError("two, please")
        return self

    def solve(self, items, samples):
        return Solution.closed_form(np.tile([-0.5, 1.5], (len(samples), 1)))


def test_messages_name_the_rule_and_the_reason():
    with pytest.raises(AssertionError) as caught:
        check_quantifier(Leaves())
    text = str(caught.value)
    assert "Leaves: " in text.splitlines()[0]
    line = next(each for each in text.splitlines() if "check_fit_and_predict with 2" in each)
    assert "`predict` shares on the simplex. a share is -0.5" in line
    assert "RuntimeError: two, please" in text


def test_single_checks_are_named_for_pytest():
    checks = quantifier_checks(hc.PCC())
    names = [str(check) for check in checks]
    assert len(set(names)) == len(names)
    assert names[0] == "check_fit_and_predict-PCC-2"
    assert checks[0]().status == "passed"
    assert {check.case.n_classes for check in checks} == {2, 3}


def test_the_quantifier_is_not_touched():
    quantifier = hc.PCC()
    for check in quantifier_checks(quantifier)[:6]:
        check()
    assert vars(quantifier) == vars(hc.PCC())


@pytest.mark.parametrize("bad", [3, None, hc.PCC])
def test_no_quantifier(bad):
    with pytest.raises(HeadcountError, match=r"^quantifier is .* must be an instance of a sub"):
        check_quantifier(bad)


def test_pytest_is_not_needed():
    script = (
        "import sys; import headcount as hc; from headcount import testing; "
        "testing.quantifier_checks(hc.CC())[0](); "
        "print({'pytest', 'hypothesis'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_expectations_fail():
    for bad in (
        lambda: expect(False, "no"),
        lambda: close([0.1], [0.2], 0.01),
        lambda: on_simplex(np.array([0.5, 0.6]), 2),
        lambda: on_simplex(np.array([0.5, 0.5]), 3),
        lambda: on_simplex([0.5, 0.5], 2),
        lambda: on_simplex(np.array([0, 1]), 2),
    ):
        with pytest.raises(AssertionError):
            bad()
    with pytest.raises(AssertionError, match="no ValueError was raised"), raises(ValueError):
        pass
    with pytest.raises(AssertionError, match="does not match 'b'"), raises(ValueError, "b"):
        raise ValueError("a")
    with pytest.raises(KeyError), raises(ValueError):
        raise KeyError
    assert not issubclass(NotApplicable, AssertionError)
