"""COT and COTT: transport of posteriors to classes, compared with a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import softmax

import headcount as hc
from headcount import accuracy
from headcount.accuracy import transport
from headcount.accuracy.transport import class_prices


def best_mean(P, shares):
    """Highest mean posterior of the assigned classes, by a linear program."""
    n, K = P.shape
    of_items = np.kron(np.eye(n), np.ones(K))
    of_classes = np.kron(np.ones(n), np.eye(K))
    sums = np.concatenate([np.full(n, 1 / n), shares])
    made = linprog(-P.ravel(), A_eq=np.vstack([of_items, of_classes]), b_eq=sums)
    return -made.fun


@pytest.mark.parametrize("K", [2, 3, 6])
def test_predicted_accuracy_is_the_optimum(K):
    rng = np.random.default_rng(K)
    P = rng.dirichlet(np.full(K, 0.5), 60)
    y = np.concatenate([np.arange(K), rng.integers(K, size=40)])
    known = rng.dirichlet(np.full(K, 0.5), len(y))
    cot = accuracy.COT(calibration=None).fit(hc.Scored(known), y)
    shares = np.bincount(y, minlength=K) / len(y)
    # Shares that are no whole number of items, and a maximum that is smoothed a little.
    assert cot.predict(hc.Scored(P)) == pytest.approx(best_mean(P, shares), abs=0.004)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_assigned_classes_have_the_shares(K):
    rng = np.random.default_rng(K)
    P = rng.dirichlet(np.ones(K), 2000)
    shares = rng.dirichlet(np.full(K, 3.0))
    assigned = (P + class_prices(P, shares)).argmax(axis=1)
    found = np.bincount(assigned, minlength=K) / len(P)
    np.testing.assert_allclose(found, shares, atol=0.004)


def test_shares_are_reached_with_sharp_posteriors_of_many_classes():
    worst = 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        P = rng.dirichlet(np.full(28, 0.02), 200)
        shares = rng.dirichlet(np.full(28, 0.2)) + 1e-4
        shares /= shares.sum()
        chosen = softmax((P + class_prices(P, shares)) / 0.001, axis=1).mean(axis=0)
        worst = max(worst, float(np.abs(chosen - shares).max()))
    assert worst < 1e-5


def test_shares_that_are_not_reached_give_a_warning(monkeypatch):
    monkeypatch.setattr(transport, "_MOST_STEPS", 1)
    P = np.random.default_rng(0).dirichlet(np.ones(3), 100)
    with pytest.warns(hc.HeadcountWarning, match="are off by .* after 1 steps"):
        class_prices(P, np.array([0.7, 0.2, 0.1]))


def test_threshold_is_right_on_the_reference():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=500)
    P = rng.dirichlet(np.ones(3), 500) + 0.4 * np.eye(3)[y]
    P /= P.sum(axis=1, keepdims=True)
    cott = accuracy.COTT().fit(hc.Scored(P), y)
    assert cott.predict(hc.Scored(P)) == pytest.approx((P.argmax(axis=1) == y).mean(), abs=0.01)
    blurred = 0.5 * P + 0.5 / 3
    assert cott.predict(hc.Scored(blurred)) < cott.predict(hc.Scored(P))
