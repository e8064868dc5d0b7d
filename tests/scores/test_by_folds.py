"""Scores of new items, made as those of the training items were."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupShuffleSplit,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
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
    elsewhere = clone(quantifier).fit(hc.Scored(scorer.posteriors_), y[:200])
    np.testing.assert_allclose(
        quantifier.predict(NEW), elsewhere.predict(hc.Scored(scores)), atol=1e-9
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


def test_scores_made_elsewhere_are_used_by_folds_where_they_hold_them():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X[:200], y[:200])
    here = hc.PACC().fit_scorer(scorer)
    elsewhere = hc.PACC().fit(hc.Scored(scorer.posteriors_), y[:200])
    scored = scorer.score(NEW)
    np.testing.assert_allclose(elsewhere.predict(scored), here.predict(NEW), rtol=1e-9)
    by_one = elsewhere.predict(hc.Scored(scorer.posteriors(NEW)))
    assert np.abs(by_one - here.predict(NEW)).max() > 1e-4
    options = {"replicates": 200, "random_state": 0}
    estimates = [q.estimate(Z, **options) for q, Z in ((here, NEW), (elsewhere, scored))]
    np.testing.assert_allclose(estimates[0].raw, estimates[1].raw, rtol=1e-9)
    np.testing.assert_allclose(*(estimate.fit_test.p_value for estimate in estimates))
    # A method that takes the scores of the final classifier ignores the others.
    sld = hc.SLD().fit(hc.Scored(scorer.posteriors_), y[:200])
    np.testing.assert_array_equal(
        sld.predict(scored), sld.predict(hc.Scored(scorer.posteriors(NEW)))
    )


def test_scores_of_one_classifier_are_warned_of_where_folds_were_learnt_from():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X[:200], y[:200])
    by_one = hc.Scored(scorer.posteriors(NEW))
    with pytest.warns(hc.HeadcountWarning, match=r"scorer\.score\(items\) in place of"):
        hc.PACC().fit_scorer(scorer).predict(by_one)
    # None of these learns from scores by other classifiers than those of new items.
    frozen = FrozenEstimator(GaussianNB().fit(X[:100], y[:100]))
    held_out = hc.Scorer(frozen).fit(X[100:200], y[100:200])
    hc.PACC().fit_scorer(held_out).predict(hc.Scored(held_out.posteriors(NEW)))
    one = hc.Scorer(GaussianNB(), fold_scoring=False).fit(X[:200], y[:200])
    hc.PACC().fit_scorer(one).predict(by_one)
    hc.SLD().fit_scorer(scorer).predict(by_one)


@pytest.mark.parametrize("groups", [None, np.arange(200) % 40])
def test_folds_are_the_same_in_every_fit(groups):
    fits = [hc.Scorer(GaussianNB()).fit(X[:200], y[:200], groups=groups) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].posteriors_, fits[1].posteriors_)
    other = hc.Scorer(GaussianNB(), random_state=1).fit(X[:200], y[:200], groups=groups)
    assert (other.posteriors_ != fits[0].posteriors_).any()


@pytest.mark.parametrize("as_lists", [False, True])
def test_a_single_split_is_a_classifier_fitted_on_the_others(as_lists):
    train, held_out = np.arange(0, 120), np.arange(120, 200)
    split = (train.tolist(), held_out.tolist()) if as_lists else (train, held_out)
    frozen = FrozenEstimator(GaussianNB().fit(X[train], y[train]))
    for quantifier in (hc.PACC(), hc.SLD(), hc.KDEyML(), hc.CC()):
        quantifier.set_params(classifier=GaussianNB(), cv=split).fit(X[:200], y[:200])
        same = clone(quantifier).set_params(classifier=frozen, cv=5)
        same.fit(X[held_out], y[held_out])
        np.testing.assert_array_equal(quantifier.predict(NEW), same.predict(NEW))
    assert quantifier.fitted_.scorer.n_folds_ == 1


@pytest.mark.parametrize(
    "cv",
    [
        StratifiedShuffleSplit(n_splits=1, test_size=0.4, random_state=0),
        ShuffleSplit(1, test_size=0.4, random_state=0),
        GroupShuffleSplit(1, test_size=0.4, random_state=0),
        PredefinedSplit(np.where(np.arange(200) % 5 < 2, 0, -1)),
        [(np.arange(120), np.arange(120, 200))],
    ],
)
def test_a_splitter_of_one_split_holds_items_out(cv):
    groups = np.arange(200) // 4 if isinstance(cv, GroupShuffleSplit) else None
    pairs = cv if isinstance(cv, list) else list(cv.split(X[:200], y[:200], groups))
    for quantifier in (hc.PACC(GaussianNB()), hc.CC(GaussianNB())):
        quantifier.set_params(cv=cv).fit(X[:200], y[:200], groups=groups)
        as_pair = clone(quantifier).set_params(cv=pairs[0]).fit(X[:200], y[:200])
        np.testing.assert_array_equal(quantifier.predict(NEW), as_pair.predict(NEW))
        np.testing.assert_array_equal(quantifier.fitted_.scorer.codes_, y[pairs[0][1]])


@pytest.mark.parametrize("groups", [None, np.arange(200) // 4])
def test_a_share_of_every_class_is_held_out(groups):
    scorer = hc.Scorer(GaussianNB(), cv=0.4).fit(X[:200], y[:200], groups=groups)
    assert abs(len(scorer.codes_) - 80) <= (1 if groups is None else 25)
    assert scorer.posteriors_.shape == (len(scorer.codes_), 2)
    if groups is None:
        counts = np.bincount(scorer.codes_)
        np.testing.assert_allclose(counts, 0.4 * np.bincount(y[:200]), atol=0.5)
    again = hc.Scorer(GaussianNB(), cv=0.4).fit(X[:200], y[:200], groups=groups)
    np.testing.assert_array_equal(scorer.posteriors_, again.posteriors_)
    weighted = hc.Scorer(GaussianNB(), cv=0.4).fit(X[:200], y[:200], np.ones(200))
    assert len(weighted.weights_) == len(weighted.codes_)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1.5, "cv is 1.5"),
        (0.0, "cv is 0.0"),
        ((np.arange(10), np.arange(5, 20)), "both to train on and held out"),
        ((np.arange(10), np.arange(10, 999)), "cv has the row number 998"),
        ((np.flatnonzero(y[:200] == 0), np.flatnonzero(y[:200] == 1)), "leaves no item of"),
    ],
)
def test_bad_splits_are_named(cv, message):
    with pytest.raises(hc.HeadcountError, match=message):
        hc.Scorer(GaussianNB(), cv=cv).fit(X[:200], y[:200])
