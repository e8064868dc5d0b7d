"""NuclearNorm and DispersionScore: their statistics, computed again in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from headcount import accuracy
from headcount.accuracy.metrics import ModelOutputs
from headcount.accuracy.regression import nuclear_norms
from headcount.samples import as_samples
from tests.accuracy.cases import data, fitted, some_samples


def test_nuclear_norms():
    P = np.random.default_rng(0).dirichlet(np.ones(4), 100)
    samples = as_samples(some_samples(100), 100)
    found = nuclear_norms(ModelOutputs(P, P.argmax(axis=1)), samples)
    expected = [
        np.linalg.norm(P[rows], "nuc") / np.sqrt(min(len(rows), 4) * len(rows))
        for rows in samples
    ]
    np.testing.assert_allclose(found, expected)
    assert (found <= 1).all()


@pytest.mark.parametrize("K", [2, 3])
def test_dispersion(K):
    model, (X, _), (Z, _) = data(K)
    predictor = fitted("DispersionScore", K)
    samples = as_samples(some_samples(len(Z)), len(Z))
    found = predictor.fitted_.model.statistic(
        ModelOutputs(None, model.predict(Z) == "ant", Z), samples
    )
    for value, rows in zip(found, samples, strict=True):
        items, codes = Z[rows] / X.std(axis=0), model.predict(Z[rows]) == "ant"
        total = sum(
            (codes == c).mean()
            * ((items[codes == c].mean(axis=0) - items.mean(axis=0)) ** 2).sum()
            for c in np.unique(codes)
        )
        assert np.exp(value) == pytest.approx(max(total, 1e-12))


def test_dispersion_of_sparse_features():
    _, (X, y), (Z, _) = data(2)
    model = LogisticRegression().fit(sparse.csr_matrix(X), y)
    predictor = accuracy.DispersionScore(model, n_samples=20, size=100, random_state=0)
    value = predictor.fit(sparse.csr_matrix(X), y).predict(sparse.csr_matrix(Z))
    assert 0.5 < value <= 1
