"""PAPE: calibration for the inputs of a sample, under covariate shift."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from headcount import accuracy
from headcount.errors import HeadcountError


def world(n, middle, rng):
    """Two regions of the inputs, in one of which labels are noisy."""
    noisy = rng.random(n) < middle
    x = rng.normal(size=n)
    y = (x + rng.normal(scale=np.where(noisy, 3.0, 0.3), size=n) > 0).astype(int)
    return np.column_stack([x, noisy]).astype(float), y


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X, y = world(2000, 0.2, rng)
    # A model that does not know the regions, so that its scores are right on average only.
    model = LogisticRegression().fit(X * [1, 0], y)
    return model, world(4000, 0.2, rng), world(2000, 0.9, rng)


@pytest.mark.parametrize("learner", [None, LogisticRegression()])
def test_it_follows_a_region_that_cbpe_does_not_see(case, learner):
    model, (X, y), (Z, truth) = case
    expected = model.score(Z, truth)
    found = accuracy.PAPE(model, learner=learner).fit(X, y).predict(Z)
    cbpe = accuracy.CBPE(model).fit(X, y).predict(Z)
    assert abs(found - expected) < 0.05 < 0.1 < cbpe - expected


def test_sparse_features_and_ranked_items(case):
    model, (X, y), (Z, truth) = case
    pape = accuracy.PAPE(model).fit(sparse.csr_matrix(X), y)
    found = pape.predict_metrics(sparse.csr_matrix(Z), None, ["accuracy", "auroc"])
    assert found[0, 0] == pytest.approx(model.score(Z, truth), abs=0.06)
    assert 0.5 < found[1, 0] < 0.95


def test_a_learner_without_posteriors_is_refused(case):
    model, (X, y), _ = case
    with pytest.raises(HeadcountError, match="classifier with predict_proba"):
        accuracy.PAPE(model, learner="trees").fit(X, y)
