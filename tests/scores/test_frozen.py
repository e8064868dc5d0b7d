from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from headcount.errors import HeadcountError
from headcount.scores.scorer import Scorer


@pytest.fixture
def data():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    return X, np.array(["a", "b", "c"])[y]


def test_a_frozen_classifier_is_used_as_it_is(data):
    X, y = data
    inner = KNeighborsClassifier(1).fit(X[:150], y[:150])
    frozen = FrozenEstimator(inner)
    scorer = Scorer(frozen).fit(X[150:], y[150:])
    assert scorer.classifier_ is frozen
    np.testing.assert_array_equal(scorer.posteriors_, inner.predict_proba(X[150:]))
    np.testing.assert_array_equal(scorer.classes_[scorer.labels_], inner.predict(X[150:]))
    np.testing.assert_array_equal(scorer.posteriors(X[:9]), inner.predict_proba(X[:9]))
    shares = [(y[150:] == label).mean() for label in scorer.classes_]
    np.testing.assert_allclose(scorer.prior_, shares)


def test_weights_and_few_items_do_not_matter_to_it(data):
    X, y = data
    frozen = FrozenEstimator(KNeighborsClassifier().fit(X, y))  # takes no weights
    rows = [np.flatnonzero(y == label)[0] for label in "abc"]
    scorer = Scorer(frozen).fit(X[rows], y[rows], sample_weight=[1.0, 1.0, 2.0])
    np.testing.assert_allclose(scorer.prior_, [0.25, 0.25, 0.5])


def test_no_scores_of_the_held_out_set_unless_asked_for(data):
    X, y = data
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    scorer = Scorer(frozen).fit(X, y, out_of_fold=False)
    assert not hasattr(scorer, "posteriors_")


def test_decision_values_are_calibrated_on_the_held_out_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 300)), rng.integers(0, 2, 200)
    inner = LinearSVC(random_state=0).fit(X[:100], y[:100])
    assert inner.score(X[:100], y[:100]) == 1.0
    scorer = Scorer(FrozenEstimator(inner)).fit(X[100:], y[100:])
    # On held-out noise there is nothing to learn but the shares.
    np.testing.assert_allclose(scorer.posteriors(X[:100]).mean(), 0.5)
    assert np.abs(scorer.posteriors(X[100:])[:, 1] - scorer.prior_[1]).max() < 0.35


def test_labels_it_does_not_know_are_refused(data):
    X, y = data
    known = y != "c"
    frozen = FrozenEstimator(LogisticRegression().fit(X[known], y[known]))
    with pytest.raises(HeadcountError, match=r"label 'c'.*does not know .*\['a', 'b'\]"):
        Scorer(frozen).fit(X, y)


def test_classes_without_items_are_refused(data):
    X, y = data
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(HeadcountError, match="no items of class 'c'"):
        Scorer(frozen).fit(X[y != "c"], y[y != "c"])


def test_labels_of_another_kind_are_refused(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    frozen = FrozenEstimator(LogisticRegression().fit(X, codes))
    with pytest.raises(HeadcountError, match="label 'a', which the frozen classifier does not"):
        Scorer(frozen).fit(X, y)


def test_a_frozen_classifier_must_be_fitted(data):
    with pytest.raises(HeadcountError, match="frozen, but was never fitted"):
        Scorer(FrozenEstimator(LogisticRegression())).fit(*data)


def test_a_frozen_classifier_must_name_its_classes(data):
    class Nameless(BaseEstimator):
        def fit(self, X, y):
            self.fitted_ = True
            return self

        def predict(self, X):
            return ["a"] * len(X)

    with pytest.raises(HeadcountError, match="no classes_"):
        Scorer(FrozenEstimator(Nameless().fit(*data))).fit(*data)
