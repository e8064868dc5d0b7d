from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantifiers import AdaptedClassifier


@parametrize_with_checks(
    [
        AdaptedClassifier(),
        AdaptedClassifier(GaussianNB(), hc.PACC(), cv=2, random_state=0),
        AdaptedClassifier(GaussianNB(), hc.MLPE()),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def data(n_classes=2, n=3000):
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=0.8, random_state=0
    )


def shifted(y, shares, first=1500):
    pool = np.arange(first, len(y))
    drawn = hc.Prevalences([shares], size=600, random_state=0).draw(y[pool])
    return pool[drawn[0]]


class Counting(ClassifierMixin, BaseEstimator):
    """Naive Bayes that remembers how many items each fit had."""

    fits: list[int]

    def fit(self, X, y):
        type(self).fits.append(len(y))
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize(
    ("quantifier", "fits"),
    [(None, [100]), (hc.SLD(calibration=None), [100]), (hc.PACC(GaussianNB()), [100, 50, 50])],
)
def test_the_classifier_is_trained_once_for_both(quantifier, fits):
    X, y = data(n=300)
    Counting.fits = []
    adapted = AdaptedClassifier(Counting(), quantifier, cv=2, random_state=0)
    adapted.fit(X[:100], y[:100]).adapt(X[100:]).predict(X[100:])
    assert Counting.fits == fits


@pytest.mark.parametrize("shares", [(0.1, 0.3, 0.6), (0.8, 0.1, 0.1)])
def test_posteriors_follow_bayes_rule(shares):
    X, y = data(3)
    new = shifted(y, shares)
    adapted = AdaptedClassifier(GaussianNB()).fit(X[:1500], y[:1500])
    plain = GaussianNB().fit(X[:1500], y[:1500]).predict_proba(X[new])
    assert_allclose(adapted.predict_proba(X[new]), plain)
    assert adapted.adapt(X[new]) is adapted
    estimated = hc.SLD(GaussianNB(), calibration=None).fit(X[:1500], y[:1500]).predict(X[new])
    assert_allclose(adapted.adapted_prior_, estimated)
    assert_allclose(adapted.prior_, np.bincount(y[:1500]) / 1500)
    expected = plain * estimated / adapted.prior_
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(adapted.predict_proba(X[new]), expected)
    assert_array_equal(adapted.predict(X[new]), expected.argmax(axis=1))


def test_adapted_labels_are_better_and_their_posteriors_average_to_the_shares():
    X, y = data()
    new = shifted(y, (0.92, 0.08))
    adapted = AdaptedClassifier(quantifier=hc.SLD(calibration=None, stop="converged")).fit(
        X[:1500], y[:1500]
    )
    before = adapted.score(X[new], y[new])
    adapted.adapt(X[new])
    assert adapted.score(X[new], y[new]) > before + 0.05
    # At the maximum of the likelihood they agree.
    assert_allclose(
        adapted.predict_proba(X[new]).mean(axis=0), adapted.adapted_prior_, atol=1e-4
    )


def test_shares_that_are_known():
    X, y = data()
    adapted = AdaptedClassifier().fit(X[:1500], y[:1500]).adapt(prior=[0.9, 0.1])
    assert_array_equal(adapted.adapted_prior_, [0.9, 0.1])
    plain = adapted.scorer_.posteriors(X)
    odds = plain[:, 1] / plain[:, 0] * (0.1 / 0.9) * adapted.prior_[0] / adapted.prior_[1]
    assert_allclose(adapted.predict_proba(X)[:, 1], odds / (1 + odds))
    adapted.fit(X, y)
    assert_array_equal(adapted.adapted_prior_, adapted.prior_)


def test_a_class_that_is_gone_is_never_predicted():
    X, y = data(3)
    adapted = AdaptedClassifier().fit(X, y).adapt(prior=[0.5, 0, 0.5])
    assert set(adapted.predict(X)) == {0, 2}
    assert (adapted.predict_proba(X)[:, 1] == 0).all()


def test_an_item_that_only_absent_classes_are_possible_for_gets_the_shares():
    X, y = np.array([[0.0], [1.0], [2.0]] * 4), np.array(["a", "b", "c"] * 4)
    adapted = AdaptedClassifier(Sure()).fit(X, y).adapt(prior=[0, 0.25, 0.75])
    assert_allclose(adapted.predict_proba(X[:3]), [[0, 0.25, 0.75], [0, 1, 0], [0, 0, 1]])
    assert_array_equal(adapted.predict(X[:3]), ["c", "b", "c"])


class Sure(ClassifierMixin, BaseEstimator):
    """Knows the class of each item from its value."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[X[:, 0].astype(int)]

    def predict_proba(self, X):
        return np.eye(len(self.classes_))[X[:, 0].astype(int)]


def test_frozen_classifiers_are_used_as_they_are():
    X, y = data()
    names = np.array(["no", "yes"])[y]
    frozen = FrozenEstimator(GaussianNB().fit(X[:700], names[:700]))
    new = shifted(y, (0.9, 0.1))
    adapted = AdaptedClassifier(frozen, hc.PACC()).fit(X[700:1500], names[700:1500])
    assert adapted.scorer_.classifier_ is frozen
    expected = hc.PACC(frozen).fit(X[700:1500], names[700:1500]).predict(X[new])
    assert_array_equal(adapted.adapt(X[new]).adapted_prior_, expected)
    assert set(adapted.predict(X[new])) == {"no", "yes"}


def test_decision_values_are_turned_to_posteriors():
    X, y = data()
    new = shifted(y, (0.9, 0.1))
    adapted = AdaptedClassifier(LinearSVC(), random_state=0).fit(X[:1500], y[:1500])
    before = adapted.score(X[new], y[new])
    assert adapted.adapt(X[new]).score(X[new], y[new]) > before


@pytest.mark.parametrize("quantifier", [hc.MLPE(), hc.QF(5, random_state=0)])
def test_quantifiers_on_features_are_fitted_on_them(quantifier):
    X, y = data()
    adapted = AdaptedClassifier(quantifier=quantifier).fit(X[:1500], y[:1500])
    new = shifted(y, (0.9, 0.1))
    expected = quantifier.fit(X[:1500], y[:1500]).predict(X[new])
    assert_array_equal(adapted.adapt(X[new]).adapted_prior_, expected)


def test_items_of_other_kinds():
    X, y = data(n=400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    plain = AdaptedClassifier().fit(X, y).adapt(X[y == 1]).predict_proba(X)
    for kind in (frame, csr_array(X)):
        rows = frame[y == 1] if kind is frame else csr_array(X[y == 1])
        adapted = AdaptedClassifier().fit(kind, y).adapt(rows)
        assert_allclose(adapted.predict_proba(kind), plain, atol=1e-4)
    assert AdaptedClassifier().fit(frame, y).feature_names_in_.tolist() == list("abcdef")
    texts, labels = ["good fine day", "bad sad rain"] * 10, ["up", "down"] * 10
    classifier = make_pipeline(CountVectorizer(), MultinomialNB())
    adapted = AdaptedClassifier(classifier).fit(texts, labels).adapt(texts[:1] * 5)
    assert_array_equal(adapted.predict(texts[:2]), ["up", "down"][:1] * 2)


def test_weights_are_part_of_the_prior():
    X, y = data(n=400)
    adapted = AdaptedClassifier().fit(X, y, np.where(y == 1, 3.0, 1.0))
    mass = np.bincount(y) * [1, 3]
    assert_allclose(adapted.prior_, mass / mass.sum())


def test_class_weights_are_warned_of():
    X, y = data(n=400)
    with pytest.warns(HeadcountWarning, match="classifier has a class_weight"):
        AdaptedClassifier(LogisticRegression(class_weight="balanced")).fit(X, y)


def test_bad_calls():
    X, y = data(n=100)
    with pytest.raises(NotFittedError):
        AdaptedClassifier().adapt(X)
    adapted = AdaptedClassifier().fit(X, y)
    for bad in ({}, {"X": X, "prior": [0.5, 0.5]}):
        with pytest.raises(HeadcountError, match=r"adapt takes either X.* or prior"):
            adapted.adapt(**bad)
    for prior, message in [
        ([0.5, 0.2], "prior has .* do not sum to 1"),
        ([0.2, 0.3, 0.5], "prior has 3 columns"),
        ([-0.5, 1.5], "prior has values from -0.5"),
    ]:
        with pytest.raises(HeadcountError, match=message):
            adapted.adapt(prior=prior)
    assert_array_equal(adapted.adapted_prior_, adapted.prior_)
    for quantifier in (LogisticRegression(), hc.SLD, "SLD"):
        with pytest.raises(HeadcountError, match=r"quantifier is .* it must be a quan"):
            AdaptedClassifier(quantifier=quantifier).fit(X, y)
