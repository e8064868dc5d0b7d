from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accuracy.metrics import METRICS, table_of
from headcount.estimates.labels.pool import LabelledTable, PoolPosteriors
from headcount.estimates.labels.sample import LabelSample


def pool_and_truth(seed, n=2000, n_classes=2):
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.full(n_classes, 0.4), n)
    truth = (rng.random((n, 1)) > np.cumsum(posteriors, axis=1)).sum(axis=1)
    return PoolPosteriors(posteriors, 0.9), np.minimum(truth, n_classes - 1)


def labelled(seed, n=150, n_classes=2, expected=False):
    pool, truth = pool_and_truth(seed, n_classes=n_classes)
    rows = np.random.default_rng(seed).choice(2000, n, replace=False)
    predictions = pool.values.argmax(axis=1)
    sample = LabelSample.simple(rows, 2000)
    found = LabelledTable.of(pool, predictions, sample, truth[rows], expected=expected)
    return found, table_of(truth, predictions, n_classes)


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_tables_sum_to_1(seed, n_classes):
    found, _ = labelled(seed, 60, n_classes)
    assert found.table.sum() == pytest.approx(1)
    assert (found.table >= 0).all()


def test_all_items_labelled_give_the_true_table():
    pool, truth = pool_and_truth(0)
    predictions = pool.values.argmax(axis=1)
    sample = LabelSample.simple(np.arange(2000), 2000)
    found = LabelledTable.of(pool, predictions, sample, truth)
    np.testing.assert_allclose(found.table, table_of(truth, predictions, 2))
    value, low, high = found.metric(METRICS["accuracy"])
    assert high - low == pytest.approx(1 / 2000, abs=1e-9)
    assert value == pytest.approx(np.mean(truth == predictions))


def test_accuracy_is_the_difference_estimate_of_right_predictions():
    found, _ = labelled(1)
    pool, truth = pool_and_truth(1)
    predictions = pool.values.argmax(axis=1)
    rows = found.sample.rows
    chance = 0.9 * pool.values.max(axis=1)
    right = (truth == predictions)[rows]
    assert found.metric(METRICS["accuracy"]).value == pytest.approx(
        chance.mean() + (right - chance[rows]).mean()
    )


@pytest.mark.parametrize("name", sorted(METRICS))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coverage_of_metrics(name, n_classes):
    metric = METRICS[name]
    inside = []
    for seed in range(60):
        found, truth = labelled([7, seed], n_classes=n_classes)
        ends = found.metric(metric, low=metric.low, high=metric.high)
        assert ends.low <= ends.value <= ends.high
        inside.append(ends.low <= metric(truth) <= ends.high)
    assert np.mean(inside) >= 0.88


def test_expected_metrics_are_less_certain():
    here, _ = labelled(3, 400)
    behind, _ = labelled(3, 400, expected=True)
    a, b = here.metric(METRICS["f1"]), behind.metric(METRICS["f1"])
    # The pool of 2,000 items adds little to the uncertainty of 400 labels.
    assert a.high - a.low < b.high - b.low < 1.5 * (a.high - a.low)
    assert a.value == b.value


def test_levels_are_nested():
    found, _ = labelled(4)
    wide, narrow = found.metric(np.trace, level=0.99), found.metric(np.trace, level=0.8)
    assert wide.low < narrow.low < narrow.high < wide.high
