from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.assumption import components, fit_test_items
from headcount.samples.samples import Samples


def normals(codes, rng, d=40, moved=0.0):
    """Classes differ in the first feature alone; the last one may move, whatever the class."""
    X = rng.normal(size=(len(codes), d))
    X[:, 0] += 2 * codes
    X[:, 1:6] += 2 * rng.normal(size=(len(codes), 1))
    X[:, -5:] += 2 * rng.normal(size=(len(codes), 1)) + moved
    return X


def rejections(moved, rng, n=500):
    y = np.repeat([0, 1], [300, 200])
    X = normals(y, rng)
    scorer = hc.Scorer(LogisticRegression(), random_state=0).fit(X, y)
    codes = np.concatenate([np.repeat([0, 1], [n // 5, n - n // 5])] * 5)
    samples = Samples(np.arange(5 * n), n * np.arange(6), n_pool=5 * n)
    tests = fit_test_items(scorer, X, normals(codes, rng, moved=moved), samples)
    return tests.p_value < 0.05


def test_sees_what_scores_do_not_show():
    rng = np.random.default_rng(0)
    still = np.concatenate([rejections(0.0, rng) for _ in range(12)])
    moved = np.concatenate([rejections(0.8, rng) for _ in range(4)])
    assert still.mean() < 0.15
    assert moved.mean() > 0.9


def test_columns_count_alike_whatever_their_scale():
    rng = np.random.default_rng(1)
    own, new = rng.normal(size=(60, 30)), rng.normal(size=(40, 30))
    scale, shift = 10.0 ** rng.integers(-3, 4, size=30), rng.normal(size=30)
    first = np.concatenate(components(own, new, 4))
    again = np.concatenate(components(own * scale + shift, new * scale + shift, 4))
    assert np.allclose(first, again, atol=1e-6)
    assert np.allclose(first.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_columns_as_they_are(make):
    rng = np.random.default_rng(2)
    own, new = rng.poisson(0.3, size=(50, 12)), rng.poisson(0.3, size=(30, 12))
    few = components(make(own), make(new), 12)
    assert np.array_equal(few[0], own)
    assert np.array_equal(few[1], new)
    found = np.concatenate(components(make(own), make(new), 3))
    left, sizes, _ = np.linalg.svd(np.concatenate([own, new]).astype(float))
    expected = left[:, :3] * sizes[:3]
    assert np.allclose(np.abs(found), np.abs(expected), atol=1e-6)


def test_frames_and_constant_columns():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.normal(size=20), "b": np.arange(20), "c": np.full(20, 7.0)})
    own, new = components(frame[:12], frame[12:])
    assert own.shape == (12, 2)
    assert new.shape == (8, 2)


def fitted():
    rng = np.random.default_rng(4)
    y = np.arange(60) % 2
    X = normals(y, rng, d=7)
    return hc.PACC(random_state=0).fit(X, y), X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, X: (q.fitted_.scorer, X[:-1], X), "training_items has 59 rows, but scorer"),
        (
            lambda q, X: (q.fitted_.scorer, X, X[:, 1:]),
            "has 6 columns, but training_items has 7",
        ),
        (
            lambda q, X: (hc.Scorer().fit(X, q.fitted_.scorer.codes_, out_of_fold=False), X, X),
            "scorer has no out-of-fold posteriors",
        ),
        (lambda q, X: (q.fitted_.scorer, ["a"] * 60, ["b"]), "training_items must be numbers"),
        (lambda q, X: (q.fitted_.scorer, np.where(X > 9, X, np.nan), X), "training_items"),
    ],
)
def test_what_cannot_be_tested(change, message):
    with pytest.raises(HeadcountError, match=message):
        fit_test_items(*change(*fitted()))


def test_some_directions_there_must_be():
    quantifier, X = fitted()
    with pytest.raises(HeadcountError, match="n_components"):
        fit_test_items(quantifier.fitted_.scorer, X, X, n_components=0)
