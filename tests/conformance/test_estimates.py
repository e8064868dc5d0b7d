"""Every quantifier tells how sure it is."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from tests.conformance.cases import each_case, fitted, fitted_on_scores, pool, scored_pool

QUICK = {"replicates": 12, "training_replicates": 3, "random_state": 0}


@each_case
@pytest.mark.parametrize("target", ["realised", "expected"])
def test_estimates_have_intervals(case, target):
    X = pool(case.n_classes)[:60]
    quantifier = fitted(case)
    estimate = quantifier.estimate(X, target=target, **QUICK)
    assert (estimate.shares == quantifier.predict(X)).all()
    assert estimate.replicates.shape == (12, case.n_classes)
    assert np.allclose(estimate.replicates.sum(axis=1), 1)
    for method in estimate.interval_methods:
        wide, narrow = (estimate.interval(level, method) for level in (0.95, 0.5))
        assert (wide.low >= 0).all()
        assert (wide.low <= narrow.low + 1e-12).all()
        assert (narrow.low <= estimate.shares).all()
        assert (estimate.shares <= narrow.high).all()
        assert (narrow.high <= wide.high + 1e-12).all()
        assert (wide.high <= 1).all()
    assert estimate.counts().count.sum() == pytest.approx(60)
    json.dumps(estimate.to_dict())
    assert str(pickle.loads(pickle.dumps(estimate))) == str(estimate)


@each_case
def test_estimates_from_scores(case):
    if not case.takes_scores:
        pytest.skip("works on the features, or trains several classifiers")
    scores = scored_pool(case.n_classes)
    quantifier = fitted_on_scores(case)
    rows = [np.arange(40), np.arange(20, 120)]
    estimates = quantifier.estimate_many_scores(scores, rows, **QUICK)
    for estimate, each in zip(estimates, rows, strict=True):
        assert (estimate.shares == quantifier.predict_scores(scores[each])).all()
        assert estimate.n_items == len(each)
