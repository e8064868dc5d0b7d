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
from headcount.scores.folds import one_fold_each
from headcount.scores.scorer import ScoredPool

X, y = make_classification(300, random_state=0)
NEW = X[200:]
FOLDS = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]


class Halves:
    def split(self, X, y=None):
        return iter(FOLDS)


def test_new_items_are_scored_by_the_classifier_of_every_fold():
    scorer = hc.Scorer(GaussianNB(), cv=Halves()).fit(X[:200], y[:200])
    models = [GaussianNB().fit(X[train], y[train]) for train, _ in FOLDS]
    assert scorer.n_folds_ == 2
    assert scorer.has_posteriors_
    np.testing.assert_allclose(
        scorer.fold_posteriors(NEW), [model.predict_proba(NEW) for model in models]
    )
    np.testing.assert_array_equal(
        scorer.fold_labels(NEW), [model.predict(NEW) for model in models]
    )
    # The training items of each fold were scored by one of them.
    for (_, test), by_fold in zip(FOLDS, scorer.fold_posteriors(X[:200]), strict=True):
        np.testing.assert_allclose(scorer.posteriors_[test], by_fold[test])


def test_one_fold_each_takes_the_score_of_one_fold_for_every_item():
    by_folds = np.arange(3)[:, None, None] + np.zeros((3, 60, 2))
    picked = one_fold_each(by_folds)
    assert picked.shape == (60, 2)
    np.testing.assert_array_equal(picked[:, 0], picked[:, 1])
    counts = np.bincount(picked[:, 0].astype(int), minlength=3)
    assert counts.min() > 10
    np.testing.assert_array_equal(picked, one_fold_each(by_folds))
    # The fold of an item does not depend on those after it.
    np.testing.assert_array_equal(picked[:40], one_fold_each(by_folds[:, :40]))


def test_a_frozen_classifier_is_its_only_fold():
    frozen = FrozenEstimator(GaussianNB().fit(X[:100], y[:100]))
    scorer = hc.Scorer(frozen).fit(X[100:200], y[100:200])
    assert scorer.n_folds_ == 1
    np.testing.assert_array_equal(scorer.fold_posteriors(NEW), scorer.posteriors(NEW)[None])


def test_decision_values_are_scaled_as_for_the_training_items():
    scorer = hc.Scorer(LinearSVC(), random_state=0).fit(X[:200], y[:200])
    scored = scorer.fold_posteriors(NEW)
    assert scored.shape == (5, 100, 2)
    np.testing.assert_allclose(scored.sum(axis=2), 1)
    assert np.abs(scored - scorer.posteriors(NEW)).max() < 0.5


def test_there_must_have_been_folds():
    scorer = hc.Scorer(GaussianNB()).fit(X[:200], y[:200], out_of_fold=False)
    assert scorer.n_folds_ == 0
    assert not scorer.has_posteriors_
    for name in ("fold_posteriors", "fold_labels"):
        with pytest.raises(hc.HeadcountError, match=f"{name} was not made"):
            getattr(scorer, name)(NEW)


def test_a_pool_remembers_folds_and_classifier_apart():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X[:200], y[:200])
    pool = ScoredPool(NEW)
    for _ in range(2):
        np.testing.assert_array_equal(pool.posteriors(scorer), scorer.posteriors(NEW))
        np.testing.assert_array_equal(pool.fold_posteriors(scorer), scorer.fold_posteriors(NEW))
        np.testing.assert_array_equal(pool.labels(scorer), scorer.labels(NEW))
        np.testing.assert_array_equal(pool.fold_labels(scorer), scorer.fold_labels(NEW))
    assert pool.n_scorings == 4


@pytest.mark.parametrize(
    ("quantifier", "by_folds"),
    [
        (hc.PACC(GaussianNB(), random_state=0), True),
        (hc.DyS(GaussianNB(), random_state=0), True),
        (hc.SLD(GaussianNB(), random_state=0), False),
        (hc.SLD(GaussianNB(), calibration="bcts", random_state=0), False),
        (hc.PCC(GaussianNB(), random_state=0), False),
    ],
    ids=["PACC", "DyS", "SLD", "SLD(bcts)", "PCC"],
)
def test_methods_that_learn_from_scores_take_those_by_folds(quantifier, by_folds):
    quantifier.fit(X[:200], y[:200])
    scorer = quantifier.fitted_.scorer
    scores = scorer.posteriors(NEW)
    if by_folds:
        scores = scorer.fold_posteriors(NEW).reshape(-1, 2)
    np.testing.assert_allclose(
        quantifier.predict(NEW), quantifier.predict(hc.Scored(scores)), atol=1e-9
    )


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
    tests = [e.fit_test for e in quantifier.estimate_many(pool, samples, replicates=400)]
    misled = hc.PACC().fit(hc.Scored(quantifier.fitted_.scorer.posteriors_), labels[:300])
    others = misled.estimate_many(
        hc.Scored(quantifier.fitted_.scorer.posteriors(pool)),
        samples,
        replicates=400,
        random_state=0,
    )
    assert np.mean([test.rejects() for test in tests]) < 0.2
    assert np.mean([e.fit_test.rejects() for e in others]) > 0.5


def test_a_scorer_may_do_without_fold_scoring():
    X, y = make_classification(400, flip_y=0.3, random_state=0)
    by_folds, plain = (
        hc.PACC().fit_scorer(hc.Scorer(fold_scoring=on, random_state=0).fit(X[:200], y[:200]))
        for on in (True, False)
    )
    scores = plain.fitted_.scorer.posteriors(X[200:])
    alone = hc.PACC().fit(hc.Scored(plain.fitted_.scorer.posteriors_), y[:200])
    np.testing.assert_allclose(
        plain.predict(X[200:]), alone.predict(hc.Scored(scores)), atol=1e-12
    )
    assert abs(by_folds.predict(X[200:])[0] - plain.predict(X[200:])[0]) > 1e-6
