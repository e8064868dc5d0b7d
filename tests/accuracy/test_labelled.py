from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount import HeadcountError
from headcount.accuracy.estimates import LabelledAccuracy


def world(n_classes=2, moved=False, seed=0):
    """Model, reference, and a pool in which half of the last class may look like the first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=4000)
    looks = y.copy()
    if moved:
        looks[2000:][(y[2000:] == n_classes - 1) & (rng.random(2000) < 0.5)] = 0
    X = rng.normal(size=(4000, n_classes)) + 1.5 * np.eye(n_classes)[looks]
    model = LogisticRegression().fit(X[:1000], y[:1000])
    return model, X[1000:2000], y[1000:2000], X[2000:], y[2000:]


@pytest.fixture(scope="module")
def broken():
    model, X, y, new, truth = world(moved=True)
    leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X, y)
    rows = np.random.default_rng(1).choice(2000, 300, replace=False)
    return leap, new, truth, rows, float(model.score(new, truth))


def test_labels_find_the_accuracy_where_the_assumption_is_broken(broken):
    leap, X, y, rows, truth = broken
    found = leap.estimate(X, labelled=(rows, y[rows]), random_state=0)
    assert isinstance(found, LabelledAccuracy)
    assert found.basis == "labels"
    low, high = found.interval()
    assert low < truth < high
    low, high = found.under_shift.interval()
    assert not low <= truth <= high
    assert found.agreement.rejects()
    assert found.n_labels == 300
    np.testing.assert_allclose(found.table.sum(), 1)
    assert found.under_shift.basis == "prior shift"
    assert found.under_shift.value == leap.estimate(X, random_state=0).value
    assert "300 labels and LEAP: accuracy on these 2,000 items" in repr(found)
    assert "The labels disagree" in repr(found)
    said = json.loads(json.dumps(found.to_dict()))
    assert said["basis"] == "labels"
    assert said["under_shift"]["method"] == "LEAP"


def test_levels_are_nested_and_expected_is_less_certain(broken):
    leap, X, y, rows, _ = broken
    found = leap.estimate(X, labelled=(rows, y[rows]), random_state=0)
    inner, outer = found.interval(0.8), found.interval(0.99)
    assert outer.low < inner.low < inner.high < outer.high
    behind = leap.estimate(X, labelled=(rows, y[rows]), estimand="expected", random_state=0)
    assert np.ptp(behind.interval()) > np.ptp(found.interval())
    assert found.draws.shape == (1000,)


def test_every_kind_of_method_and_metric(broken):
    leap, X, y, rows, truth = broken
    model = leap.classifier
    reference, labels = world(moved=True)[1:3]
    for method in (hc.accuracy.ATC(model), hc.accuracy.CBPE(model), hc.accuracy.Naive(model)):
        found = method.fit(reference, labels).estimate(X, labelled=(rows, y[rows]))
        low, high = found.interval()
        assert low < truth < high
    verdicts = hc.accuracy.Naive().fit(hc.Verdicts(model.predict(reference)), labels)
    found = verdicts.estimate(hc.Verdicts(model.predict(X)), labelled=(rows, y[rows]))
    assert found.interval().low < truth < found.interval().high
    for metric in ("f1", "recall", "mcc", lambda table: table[0, 0] + table[1, 1]):
        low, high = leap.estimate(X, metric, labelled=(rows, y[rows])).interval()
        assert low < high


def test_plans_and_samples():
    model, X, y, new, truth = world(3, moved=True)
    leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X, y)
    half = np.repeat([0, 1], 1000)
    plan = hc.SLD(random_state=0).fit(X, y).plan_labels(new, budget=150, groups=half)
    labelled = (plan.rows, truth[plan.rows])
    parts = [np.arange(1000), np.arange(1000, 2000)]
    both = leap.estimate_many(new, parts, labelled=labelled, design=plan, random_state=0)
    assert [found.n_labels for found in both] == [150, 150]
    for found, part in zip(both, parts, strict=True):
        low, high = found.interval(0.999)  # a single draw, which 95% may miss
        assert low < model.score(new[part], truth[part]) < high
    whole = leap.estimate(new, labelled=labelled, design=plan, random_state=0)
    assert whole.n_labels == 300


def test_a_reference_without_a_class():
    model, X, y, new, truth = world(3)
    cbpe = hc.accuracy.CBPE(model).fit(X[y < 2], y[y < 2])
    rows = np.random.default_rng(0).choice(2000, 200, replace=False)
    found = cbpe.estimate(new, labelled=(rows, truth[rows]))
    assert found.interval().low < model.score(new, truth) < found.interval().high


def test_bad_input(broken):
    leap, X, y, _, _ = broken
    plan = hc.SLD(random_state=0).fit(*world()[1:3]).plan_labels(X[:500], budget=50)
    with pytest.raises(HeadcountError, match="another pool"):
        leap.estimate(X, labelled=(plan.rows, y[plan.rows]), design=plan)
    with pytest.raises(HeadcountError, match="pass it with labelled"):
        leap.estimate(X, design=plan)
    with pytest.raises(HeadcountError, match="1 label for 2 classes"):
        leap.estimate(X, labelled=([3], [0]))
    with pytest.raises(HeadcountError, match="rows go from 0"):
        leap.estimate(X, labelled=([3, 2000], [0, 1]))
