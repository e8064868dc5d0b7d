"""Scores of new items, made as those of the training items were."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import headcount as hc

X, y = make_classification(300, random_state=0)
NEW = X[200:]


def test_each_item_is_scored_by_the_classifier_of_one_fold():
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]

    class Halves:
        def split(self, X, y=None):
            return iter(folds)

    scorer = hc.Scorer(GaussianNB(), cv=Halves()).fit(X[:200], y[:200])
    of_folds = np.stack(
        [GaussianNB().fit(X[train], y[train]).predict_proba(NEW) for train, _ in folds]
    )
    scored = scorer.posteriors_by_folds(NEW)
    which = np.isclose(scored, of_folds).all(axis=2)
    assert which.any(axis=0).all()
    assert not which.all(axis=1).any()  # both are asked
    np.testing.assert_array_equal(scored, scorer.posteriors_by_folds(NEW))


def test_a_frozen_classifier_has_no_folds():
    frozen = FrozenEstimator(GaussianNB().fit(X[:100], y[:100]))
    scorer = hc.Scorer(frozen).fit(X[100:200], y[100:200])
    np.testing.assert_array_equal(scorer.posteriors_by_folds(NEW), scorer.posteriors(NEW))


def test_decision_values_are_scaled_as_for_the_training_items():
    scorer = hc.Scorer(LinearSVC(), random_state=0).fit(X[:200], y[:200])
    scored = scorer.posteriors_by_folds(NEW)
    np.testing.assert_allclose(scored.sum(axis=1), 1)
    assert np.abs(scored - scorer.posteriors(NEW)).max() < 0.5


def test_there_must_have_been_folds():
    scorer = hc.Scorer(GaussianNB()).fit(X[:200], y[:200], out_of_fold=False)
    with pytest.raises(hc.HeadcountError, match="posteriors_by_folds was not made"):
        scorer.posteriors_by_folds(NEW)


def test_a_test_of_the_assumption_is_not_misled_by_the_folds():
    # Many features and few items: the final classifier is much surer than those of folds.
    rng = np.random.default_rng(0)
    shift = rng.normal(size=150) * 0.12
    labels = rng.integers(2, size=4300)
    items = rng.normal(size=(4300, 150)) + np.outer(labels, shift)
    quantifier = hc.PACC(LogisticRegression(C=100.0), cv=2, random_state=0)
    quantifier.fit(items[:300], labels[:300])
    samples = hc.UPP(n_samples=40, size=500, random_state=0).draw(labels[300:])
    pool = items[300:]
    tests = [e.fit_test for e in quantifier.estimate_many(pool, samples, replicates=50)]
    misled = hc.PACC().fit_scores(quantifier.scorer_.posteriors_, labels[:300])
    others = misled.estimate_many_scores(
        quantifier.scorer_.posteriors(pool), samples, replicates=50
    )
    assert np.mean([test.rejects() for test in tests]) < 0.2
    assert np.mean([e.fit_test.rejects() for e in others]) > 0.5
