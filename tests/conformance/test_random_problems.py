"""Intervals on degenerate problems: finite, or one clear error."""

from __future__ import annotations

import pytest

from headcount.testing.random_problems import random_problems, verify_interval
from tests.conformance.cases import PROTOTYPES

PROBLEMS = list(random_problems(72))[::4]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", ["CC", "SLD", "KDEyML", "EDy", "RLLS", "OneVsRest"])
def test_intervals_are_finite_and_hold_the_shares(name, problem):
    verify_interval(PROTOTYPES[name], problem)
