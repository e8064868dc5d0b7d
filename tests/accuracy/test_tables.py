from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from headcount.accuracy.metrics import METRICS, as_metric, cost, table_of
from headcount.errors import HeadcountError
from tests.oracle import accuracy as oracle

labels = st.integers(2, 5).flatmap(
    lambda K: st.tuples(
        st.just(K),
        st.lists(
            st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)), min_size=1, max_size=30
        ),
    )
)


@pytest.mark.filterwarnings("ignore:A single label was found", "ignore:.*only one label")
@given(labels)
@settings(max_examples=60)
def test_measures_are_those_of_scikit_learn(case):
    K, pairs = case
    true, predicted = map(np.array, zip(*pairs, strict=True))
    table = table_of(true, predicted, K)
    np.testing.assert_allclose(table, oracle.table(true, predicted, K))
    average = {"average": "binary"} if K == 2 else {"average": "macro"}
    common = {**average, "labels": None if K == 2 else range(K), "zero_division": 0}
    # Where nothing is there and nothing is predicted, scikit-learn has another convention.
    empty = (table.sum(axis=0) == 0) & (table.sum(axis=1) == 0)
    extra = float(empty[1]) if K == 2 else empty.mean()
    expected = {
        "accuracy": sk.accuracy_score(true, predicted),
        "error": 1 - sk.accuracy_score(true, predicted),
        "f1": sk.f1_score(true, predicted, **common) + extra,
        "precision": sk.precision_score(true, predicted, **common) + extra,
        "recall": sk.recall_score(true, predicted, **common) + extra,
        "mcc": sk.matthews_corrcoef(true, predicted),
        "kappa": sk.cohen_kappa_score(true, predicted, replace_undefined_by=0.0),
        "macro_f1": np.mean([oracle.f1_of_class(table, k) for k in range(K)]),
        "balanced_accuracy": np.mean(
            [np.mean(predicted[true == k] == k) for k in range(K) if (true == k).any()]
        ),
    }
    assert expected.keys() == METRICS.keys()
    for name, value in expected.items():
        assert METRICS[name](table) == pytest.approx(value, abs=1e-9), name


def test_f1_is_one_if_there_is_nothing_to_find():
    nothing = np.array([[1.0, 0.0], [0.0, 0.0]])
    almost = np.array([[1.0, 1e-17], [1e-17, 0.0]])
    for name in ("f1", "precision", "recall"):
        assert METRICS[name](nothing) == 1
        assert METRICS[name](almost) == 1
    assert METRICS["mcc"](nothing) == 0


@pytest.mark.parametrize("name", METRICS)
def test_measures_take_any_leading_axes(name):
    tables = np.random.default_rng(0).dirichlet(np.ones(9), (4, 5)).reshape(4, 5, 3, 3)
    found = METRICS[name](tables)
    assert found.shape == (4, 5)
    each = [[METRICS[name](table) for table in row] for row in tables]
    np.testing.assert_allclose(found, each)


def test_functions_of_one_table_are_called_one_by_one():
    tables = np.random.default_rng(0).dirichlet(np.ones(4), (3, 2)).reshape(3, 2, 2, 2)
    costs = as_metric(lambda table: 5 * table[1, 0] + table[0, 1])
    np.testing.assert_allclose(costs(tables), 5 * tables[..., 1, 0] + tables[..., 0, 1])
    # With as many tables as classes, a trace over the wrong axes would have the right shape.
    trace = as_metric(lambda table: table.trace())
    np.testing.assert_allclose(trace(tables[:2, 0]), METRICS["accuracy"](tables[:2, 0]))
    assert trace.low == -np.inf


def test_costs():
    tables = np.random.default_rng(0).dirichlet(np.ones(4), 3).reshape(3, 2, 2)
    metric = as_metric(cost([[0, 1], [10, -2]]))
    expected = tables[:, 0, 1] + 10 * tables[:, 1, 0] - 2 * tables[:, 1, 1]
    np.testing.assert_allclose(metric(tables), expected)
    assert (metric.low, metric.high) == (-2, 10)
    with pytest.raises(HeadcountError, match="must be K x K numbers"):
        cost([[0, 1, 2], [1, 0, 2]])
    with pytest.raises(HeadcountError, match="has 3 classes, but there are 2"):
        cost(np.eye(3))(tables)


def test_what_is_no_measure_is_refused():
    with pytest.raises(HeadcountError, match="metric is 'auc'"):
        as_metric("auc")
    with pytest.raises(HeadcountError, match="metric returned"):
        as_metric(lambda table: table)(np.full((1, 2, 2), 0.25))
    with pytest.raises(HeadcountError, match="must end in K x K"):
        METRICS["accuracy"]([[0.5, 0.2, 0.3]])
