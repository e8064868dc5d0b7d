from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from headcount.parts.solvers import AdjustedCount, LeastSquares


@pytest.mark.parametrize(
    ("count", "positive"),
    [(0.1, 0.0), (0.4, 0.5), (0.55, 0.75), (0.7, 1.0), (0.0, 0.0), (0.9, 1.0)],
)
def test_two_classes_in_closed_form(count, positive):
    rates = np.array([[0.9, 0.1], [0.3, 0.7]])
    solution = AdjustedCount().solve(rates, np.array([[1 - count, count]]))
    assert_allclose(solution.prevalence, [[1 - positive, positive]], atol=1e-15)
    assert solution.converged.all()
    assert_array_equal(solution.iterations, 0)
    inside = min(max(count, 0.1), 0.7)
    assert_allclose(solution.objective, abs(count - inside), atol=1e-15)


def test_rates_the_wrong_way_round_still_solve():
    rates = np.array([[0.2, 0.8], [0.9, 0.1]])
    solution = AdjustedCount().solve(rates, np.array([[0.55, 0.45]]))
    assert_allclose(solution.prevalence, [[0.5, 0.5]])


def test_classes_that_look_alike_give_the_plain_count():
    rates = np.array([[0.6, 0.4], [0.6, 0.4]])
    seen = np.array([[0.75, 0.25], [0.0, 1.0]])
    assert_array_equal(AdjustedCount().solve(rates, seen).prevalence, seen)


def test_more_classes_are_least_squares():
    rng = np.random.default_rng(0)
    rates, seen = rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(4), 6)
    found = AdjustedCount().solve(rates, seen)
    assert_array_equal(found.prevalence, LeastSquares().solve(rates, seen).prevalence)
