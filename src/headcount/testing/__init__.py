"""Conformance checks for methods, in this library or in another package.

>>> import headcount as hc
>>> from headcount import testing
>>> report = testing.check_quantifier(hc.CC())
>>> report.with_status("failed")
()
"""

from headcount.testing.cases import Case
from headcount.testing.run import (
    Check,
    CheckReport,
    CheckResult,
    check_quantifier,
    quantifier_checks,
)

__all__ = [
    "Case",
    "Check",
    "CheckReport",
    "CheckResult",
    "check_quantifier",
    "quantifier_checks",
]
