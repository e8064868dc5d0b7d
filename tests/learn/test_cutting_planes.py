from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from tests.oracle.structural_svm import largest_violation, least_objective

from headcount._kernels.structural_svm import solve_planes
from headcount.learn.multivariate_svc import LOSSES, _Planes, labelling_finder, train


def trained(X, positive, loss, C=1.0, tol=1e-3, max_iter=5000, constant=1.0):
    finder = labelling_finder(loss, positive)
    return train(X, positive, finder, C=C, tol=tol, max_iter=max_iter, constant=constant)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_objective_is_that_of_a_general_solver_with_all_constraints(loss, C):
    rng = np.random.default_rng(1)
    X, positive = rng.normal(size=(8, 3)), np.arange(8) < 3
    X[positive] += 0.7
    found = trained(X, positive, loss, C)
    assert found.converged
    w = np.append(found.coef, found.intercept)
    scores = X @ found.coef + found.intercept
    true_value = 0.5 * w @ w + C * max(0.0, largest_violation(loss, positive, scores))
    assert_allclose(found.objective, true_value, rtol=1e-9)
    least = least_objective(loss, np.column_stack([X, np.ones(8)]), positive, C)
    assert least * (1 - 1e-6) <= found.objective <= least + found.gap + 1e-6
    assert found.gap <= 0.005 * found.objective
    assert found.gap <= C * 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_the_usual_tolerance_is_within_half_a_percent(loss):
    rng = np.random.default_rng(2)
    positive = rng.random(300) < 0.3
    X = rng.normal(size=(300, 5)) + 1.2 * positive[:, None]
    usual, exact = trained(X, positive, loss, tol=0.1), trained(X, positive, loss, tol=1e-3)
    assert exact.objective - 1e-3 <= usual.objective <= 1.005 * exact.objective
    assert exact.objective - exact.gap >= usual.objective - usual.gap - 1e-9


def test_the_bound_holds_when_stopped_early():
    rng = np.random.default_rng(3)
    positive = rng.random(200) < 0.5
    X = rng.normal(size=(200, 4)) + positive[:, None]
    least = trained(X, positive, "q").objective
    for rounds in (1, 2, 5, 15):
        early = trained(X, positive, "q", max_iter=rounds)
        assert early.n_rounds == rounds
        assert not early.converged
        assert early.objective - early.gap <= least + 1e-9
        assert early.objective >= least - 1e-2


def test_many_rounds_outgrow_the_room_and_drop_idle_planes():
    rng = np.random.default_rng(4)
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 10)) + 0.5 * positive[:, None]
    found = trained(X, positive, "error", C=20.0, tol=0.01)
    assert found.converged
    assert found.n_rounds > 100
    hinge = np.maximum(0, 1 - np.where(positive, 1, -1) * (X @ found.coef + found.intercept))
    w = np.append(found.coef, found.intercept)
    assert_allclose(found.objective, 0.5 * w @ w + 20 * 100 * hinge.mean(), rtol=1e-6)


def test_an_idle_plane_is_dropped_and_the_others_stay():
    planes = _Planes(2, C=1.0)
    planes.add(np.array([1.0, 0.0]), 1.0)
    planes.add(np.array([10.0, 10.0]), 0.01)
    for _ in range(49):
        w, slack = planes.solve(1e-9)
    assert planes.n == 3
    w, slack = planes.solve(1e-9)
    assert planes.n == 2
    assert_allclose(w, [1.0, 0.0], atol=1e-6)
    assert_allclose(slack, 0.0, atol=1e-6)
    planes.add(np.array([0.0, 1.0]), 1.0)
    w, slack = planes.solve(1e-9)
    assert_allclose(w, [0.5, 0.5], atol=1e-6)
    assert_allclose(slack, 0.5, atol=1e-6)


@pytest.mark.parametrize("kernel", [solve_planes, solve_planes.py_func])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_dual_problem(kernel, C):
    rng = np.random.default_rng(5)
    planes = np.vstack([np.zeros(3), rng.normal(size=(6, 3))])
    gram, losses = planes @ planes.T, np.append(0.0, rng.random(6))
    weights, slopes = np.append(C, np.zeros(6)), np.empty(7)
    assert kernel(gram, losses, weights, 7, 1e-8, 100_000, slopes) < 100_000

    def negative(v):
        return 0.5 * v @ gram @ v - losses @ v

    expected = minimize(
        negative,
        np.full(7, C / 7),
        bounds=[(0, None)] * 7,
        constraints={"type": "eq", "fun": lambda v: v.sum() - C},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert_allclose(weights.sum(), C)
    assert weights.min() >= 0
    assert_allclose(negative(weights), expected.fun, rtol=1e-6, atol=1e-9)
    assert_allclose(slopes, losses - gram @ weights, atol=1e-9)
