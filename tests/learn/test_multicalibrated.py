from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.errors import HeadcountError
from headcount.learn.multicalibrated import MulticalibratedClassifier


def curved(n, seed):
    """Items whose classes no plane separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * X[:, 0] ** 2))).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = curved(1500, 0)
    return MulticalibratedClassifier(LogisticRegression(), random_state=0).fit(X, y)


def test_posteriors_are_right_in_parts_of_the_feature_space(fitted):
    X, y = curved(4000, 1)
    plain = fitted.scorer_.posteriors(X)[:, 1]
    multi = fitted.predict_proba(X)[:, 1]
    assert fitted.rounds_
    for part in (X[:, 0] > 1, X[:, 0] < -1, np.abs(X[:, 0]) < 0.5):
        assert abs(multi[part].mean() - y[part].mean()) < 0.06
        assert abs(plain[part].mean() - y[part].mean()) > 0.1


def test_shares_under_covariate_shift(fitted):
    X, y = curved(1500, 0)
    new, truth = curved(4000, 1)
    shifted = np.flatnonzero(new[:, 0] > 0.8)
    plain = hc.PCC(LogisticRegression(), cv=None).fit(X, y).predict(new[shifted])[1]
    multi = hc.PCC(clone(fitted), cv=None).fit(X, y).predict(new[shifted])[1]
    share = truth[shifted].mean()
    assert abs(multi - share) < 0.06 < abs(plain - share)


def test_posteriors_that_are_right_are_left_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = rng.random(600) < 1 / (1 + np.exp(-X[:, 0]))
    made = MulticalibratedClassifier(LogisticRegression(), random_state=0).fit(X, y)
    gap = np.abs(made.predict_proba(X) - made.scorer_.posteriors(X))
    assert gap.mean() < 0.05
    none = MulticalibratedClassifier(LogisticRegression(), rounds=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), none.scorer_.posteriors(X))


def test_three_classes_of_any_label_and_a_frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    names = np.array(["far", "left", "right"])
    y = names[np.where(np.abs(X[:, 1]) > 1, 0, np.where(X[:, 0] < 0, 1, 2))]
    made = MulticalibratedClassifier(GaussianNB(), rounds=20, random_state=0)
    made.fit(pl.DataFrame(X), y)
    posteriors = made.predict_proba(pl.DataFrame(X))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    assert made.classes_.tolist() == names.tolist()
    assert np.mean(made.predict(pl.DataFrame(X)) == y) > 0.9
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.predict_proba(pl.DataFrame(X)), posteriors)


def test_texts_and_sparse_items_by_a_pipeline():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    texts = [" ".join(rng.choice(["late", "fast", "shop"], 4, p=[0.5, 0.2, 0.3] if j else
             [0.2, 0.5, 0.3])) for j in y]  # fmt: skip
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    made = MulticalibratedClassifier(pipeline, rounds=5, random_state=0).fit(texts, y)
    assert made.predict_proba(texts).shape == (200, 2)
    counts = csr_matrix(rng.poisson(1.0 + y[:, None], size=(200, 6)).astype(float))
    made = MulticalibratedClassifier(rounds=5, random_state=0).fit(counts, y)
    assert np.mean(made.predict(counts) == y) > 0.7


def test_weights_count_like_copies_of_items():
    X, y = curved(400, 0)
    weights = np.where(y == 1, 3.0, 1.0)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    made = MulticalibratedClassifier(scaled, rounds=10, random_state=0).fit(X, y, weights)
    expected = np.average(y, weights=weights)
    assert np.average(made.predict_proba(X)[:, 1], weights=weights) == pytest.approx(
        expected, abs=0.03
    )


def test_only_ratios_of_weights_matter():
    X, y = curved(400, 0)
    weights = np.where(X[:, 1] > 0, 4.0, 1.0)
    first, second = (
        MulticalibratedClassifier(GaussianNB(), rounds=10, random_state=0).fit(X, y, each)
        for each in (weights, weights / 2**20)
    )
    np.testing.assert_allclose(second.predict_proba(X), first.predict_proba(X), atol=1e-9)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        MulticalibratedClassifier().predict([[0.0]])


def test_one_seed_gives_one_classifier():
    X, y = curved(300, 0)
    first, second = (
        MulticalibratedClassifier(rounds=10, random_state=3).fit(X, y).predict_proba(X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rounds": -1}, "rounds"), ({"learning_rate": 0}, "learning_rate")],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(HeadcountError, match=message):
        MulticalibratedClassifier(**options).fit(*curved(50, 0))


def test_items_without_features_are_refused_in_a_sentence():
    X, y = curved(60, 0)
    X[0, 0] = np.nan

    class TakesNaN(GaussianNB):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.allow_nan = True
            return tags

        def fit(self, X, y, sample_weight=None):
            return super().fit(np.nan_to_num(X), y)

        def predict_proba(self, X):
            return super().predict_proba(np.nan_to_num(X))

        def predict(self, X):
            return super().predict(np.nan_to_num(X))

    with pytest.raises(HeadcountError, match="X has missing numbers") as caught:
        MulticalibratedClassifier(TakesNaN()).fit(X, y)
    assert len(str(caught.value)) <= 300
