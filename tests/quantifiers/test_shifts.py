from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import GaussianNB

from headcount.quantifiers import compare_shifts


def items(counts, seed, moved=0.0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 3))
    X[:, 0] += 2 * (y == 1)
    X[:, 1] += 2 * (y == 2)
    X[:, 2] += moved
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def training():
    return items([300, 200, 100], 0)


def compared(training, new):
    return compare_shifts(*training, new, classifier=GaussianNB(), random_state=0)


def test_a_change_of_the_mix_is_explained_by_prior_shift(training):
    found = compared(training, items([50, 100, 250], 1)[0])
    assert found.changed
    assert found.prior_fits
    assert found.conclusion.startswith("Prior shift fits")
    np.testing.assert_allclose(found.prior, [0.125, 0.25, 0.625], atol=0.06)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert str(found).splitlines()[1].split()[0] == "class"
    assert "under covariate shift" in found._repr_html_()


def test_a_change_within_classes_is_not(training):
    # A feature without any relation to the classes: the scores do not show it.
    found = compared(training, items([200, 134, 66], 1, moved=1.0)[0])
    assert not found.prior_fits
    assert found.feature_p_value < 1e-4
    assert found.separation > 0.6
    assert found.conclusion.startswith("Prior shift does not fit")
    np.testing.assert_allclose(found.covariate, [0.5, 0.335, 0.165], atol=0.06)


def test_no_change_needs_no_explanation(training):
    found = compared(training, items([150, 100, 50], 1)[0])
    assert not found.changed
    assert "no shift to explain" in found.conclusion
    np.testing.assert_allclose(found.training, [1 / 2, 1 / 3, 1 / 6])


def test_a_small_change_of_the_mix_is_found_by_its_interval(training):
    found = compared(training, items([240, 200, 160], 1)[0])
    assert found.mix_changed
    assert found.change_p_value > 0.01
    assert found.conclusion.startswith("Prior shift fits")


def test_sparse_items():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [150, 100])
    X = csr_matrix(rng.poisson(1.0 + y[:, None], size=(250, 5)).astype(float))
    new = csr_matrix(rng.poisson(1.5, size=(100, 5)).astype(float))
    found = compare_shifts(X, y, new, random_state=0)
    assert 0 <= found.feature_p_value <= 1
    assert found.prior.sum() == pytest.approx(1)
