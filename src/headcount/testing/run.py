"""Run of the conformance checks on a quantifier."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from sklearn.base import clone

from headcount._support.text import text_table
from headcount.errors import HeadcountError
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.one_class import OneClassQuantifier
from headcount.testing import (
    bad_input,
    behaviour,
    estimates,
    one_class,
    random_problems,
)
from headcount.testing.cases import Case, NotApplicable
from headcount.testing.one_class import OneClassCase

_MODULES: tuple[ModuleType, ...] = (
    behaviour,
    estimates,
    bad_input,
    random_problems,
)
_CLASSES = (2, 3)


@dataclass(frozen=True, eq=False)
class Check:
    """One check of a quantifier with a number of classes: call it.

    Attributes
    ----------
    name : str
        Name of the check.
    case : Case or OneClassCase
        Quantifier and number of classes.
    function : callable
        Takes the case, and raises AssertionError if the check fails.
    """

    name: str
    case: Case | OneClassCase
    function: Callable[[Any], None]

    def __call__(self) -> CheckResult:
        """Run the check. Warnings are errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                self.function(self.case)
            except NotApplicable as reason:
                return self._result("not applicable", str(reason))
        return self._result("passed")

    def _result(self, status: str, reason: str = "") -> CheckResult:
        return CheckResult(self.name, self.case.n_classes, status, reason)

    def __str__(self) -> str:
        return f"{self.name}-{self.case}"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check.

    Attributes
    ----------
    check : str
        Name of the check.
    n_classes : int
        Number of classes.
    status : {"passed", "failed", "not applicable"}
        Result.
    reason : str
        Reason why it failed or does not apply.
    """

    check: str
    n_classes: int
    status: str
    reason: str = ""


@dataclass(frozen=True)
class CheckReport:
    """Results of all checks of a quantifier; prints as a table.

    Attributes
    ----------
    quantifier : str
        Name of the class of the quantifier.
    results : tuple of CheckResult
        One result per check and number of classes.
    """

    quantifier: str
    results: tuple[CheckResult, ...]

    def with_status(self, status: str) -> tuple[CheckResult, ...]:
        """Results with a status.

        Parameters
        ----------
        status : {"passed", "failed", "not applicable"}
            Status to select.
        """
        return tuple(result for result in self.results if result.status == status)

    @property
    def title(self) -> str:
        """Numbers of checks by status, as a sentence."""
        passed, failed, not_applicable = (
            len(self.with_status(status)) for status in ("passed", "failed", "not applicable")
        )
        return (
            f"{self.quantifier}: {passed} checks passed, {failed} failed, "
            f"{not_applicable} do not apply."
        )

    def __repr__(self) -> str:
        rows = [
            [result.check, str(result.n_classes), result.status, result.reason]
            for result in self.results
        ]
        head = ["check", "classes", "status", "reason"]
        return "\n".join([self.title, *text_table(head, rows, n_texts=4)])


def quantifier_checks(quantifier: Quantifier | OneClassQuantifier) -> list[Check]:
    """Conformance checks of a quantifier, to be called one by one.

    Parameters
    ----------
    quantifier : Quantifier or OneClassQuantifier
        Unfitted instance of the method. It is cloned, never fitted.

    Returns
    -------
    list of Check
        For pytest: ``@pytest.mark.parametrize("check", quantifier_checks(MyMethod()),
        ids=str)``, and in the test ``check()``.

    Examples
    --------
    >>> import headcount as hc
    >>> from headcount import testing
    >>> from headcount.testing import quantifier_checks
    >>> checks = quantifier_checks(hc.CC())
    >>> print(checks[0], checks[0]().status)
    check_fit_and_predict-CC-2 passed
    """
    candidate: Any = quantifier
    if not isinstance(candidate, Quantifier | OneClassQuantifier):
        raise HeadcountError(
            f"quantifier is {candidate!r}; it must be an instance of a subclass of "
            "headcount.quantifiers.Quantifier, or of OneClassQuantifier."
        )
    prototype = _prepared(candidate)
    cases: list[Any] = [Case(prototype, K) for K in _CLASSES]
    modules = _MODULES
    if isinstance(candidate, OneClassQuantifier):
        cases, modules = [OneClassCase(prototype)], (one_class,)
    return [
        Check(name, case, function)
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("check_") and function.__module__ == module.__name__
        for case in cases
    ]


def _prepared(quantifier: Any) -> Any:
    """Clone with a fixed random seed, and a quick classifier if it names none."""
    from sklearn.naive_bayes import GaussianNB

    prototype = clone(quantifier)
    parameters = prototype.get_params(deep=False)
    defaults = {"classifier": GaussianNB(), "random_state": 0}
    prototype.set_params(
        **{
            name: value
            for name, value in defaults.items()
            if parameters.get(name, value) is None
        }
    )
    return prototype


def check_quantifier(quantifier: Quantifier | OneClassQuantifier) -> CheckReport:
    """Check that a method keeps the rules that all quantifiers of the library keep.

    Shares on the simplex, labels of any kind and in any order, weights compared with repeated
    items, results independent of the batch, clones and pickles, frames and sparse matrices,
    scores made elsewhere, intervals, extreme scores, and one clear sentence for bad input: with
    two classes and with three. The facts declared in ``info`` are checked as well. Whether the
    numbers are right cannot be checked this way.

    Parameters
    ----------
    quantifier : Quantifier or OneClassQuantifier
        Unfitted instance of the method. It is cloned, never fitted. Without a classifier it
        is checked with naive Bayes.

    Returns
    -------
    CheckReport
        Result of every check.

    Raises
    ------
    AssertionError
        If a check fails; the message lists all checks that failed, with their reasons.

    Examples
    --------
    >>> import headcount as hc
    >>> print(testing.check_quantifier(hc.CC()).title)  # doctest: +SKIP
    CC: 97 checks passed, 0 failed, 25 do not apply.
    """
    checks = quantifier_checks(quantifier)
    results = [_result(check) for check in checks]
    report = CheckReport(type(quantifier).__name__, tuple(results))
    failed = report.with_status("failed")
    if failed:
        raise AssertionError("\n".join([report.title, *_lines(failed, checks)]))
    return report


def _result(check: Check) -> CheckResult:
    try:
        return check()
    except Exception as error:  # the method of a stranger may raise anything
        text = " ".join(str(error).split())
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        return CheckResult(check.name, check.case.n_classes, "failed", (kind + text)[:300])


def _lines(failed: Sequence[CheckResult], checks: Sequence[Check]) -> list[str]:
    rules: dict[str, Any] = {check.name: inspect.getdoc(check.function) for check in checks}
    return [
        f"- {result.check} with {result.n_classes} classes. {rules[result.check]} "
        f"{result.reason}"
        for result in failed
    ]
