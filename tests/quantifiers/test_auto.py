from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import headcount as hc
from headcount.quantifiers.conditioned import ordered_shares

X, y = make_classification(700, n_informative=4, class_sep=0.7, random_state=0)
X, y, X_NEW, Y_NEW = X[:400], y[:400], X[400:], y[400:]


class Counted(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def auto(classifier=None, **more):
    options = {"replicates": 1000, "random_state": 0} | more
    return hc.AutoQuantifier(classifier or GaussianNB(), **options)


def test_each_classifier_is_cross_fitted_once_for_all_methods():
    Counted.fits = 0
    several = auto([Counted(), Counted(var_smoothing=0.1)], cv=3).fit(X, y)
    assert Counted.fits == 2 * (3 + 1)
    names = ["SLD", "GPAC", "KDEyML"]
    assert [type(member).__name__ for member in several.members_] == names * 2


def test_it_is_conditioned_on_three_methods():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    methods = [hc.SLD(), hc.GPAC(), hc.KDEyML()]
    by_hand = hc.Conditioned(methods, replicates=1000, random_state=0).fit_scorer(scorer)
    np.testing.assert_array_equal(auto().fit(X, y).predict(X_NEW), by_hand.predict(X_NEW))


def test_a_scorer_with_the_same_seed_has_the_same_folds():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        auto().fit_scorer(scorer).predict(X_NEW), auto().fit(X, y).predict(X_NEW)
    )


def test_estimates_have_the_shares_that_are_predicted():
    quantifier = auto().fit(X, y)
    estimate = quantifier.estimate(X_NEW, replicates=1000)
    np.testing.assert_array_equal(estimate.raw, quantifier.predict(X_NEW))
    np.testing.assert_allclose(estimate.shares, estimate.raw, atol=1e-9)
    low, high = estimate.interval()[1]
    assert low < np.mean(Y_NEW) < high


def test_a_prior_of_the_quantifier_is_that_of_its_estimates():
    sure = auto(prior=[8000.0, 2000.0]).fit(X, y)
    assert sure.predict(X_NEW)[0] == pytest.approx(0.8, abs=0.02)
    assert sure.estimate(X_NEW).shares[0] == pytest.approx(0.8, abs=0.02)
    # One that is given to estimate comes first.
    assert sure.estimate(X_NEW, prior=[2000.0, 8000.0]).shares[0] == pytest.approx(
        0.2, abs=0.02
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_explains_itself(n_classes):
    many, labels = make_classification(
        400, n_classes=n_classes, n_informative=5, class_sep=0.8, random_state=0
    )
    quantifier = auto(LogisticRegression()).fit(many, labels)
    text = quantifier.explain()
    errors = [float(number) for number in re.findall(r"\d\.\d{4}", text)]
    assert text.startswith("SLD, GPAC and KDEyML combined. Mean absolute error")
    assert text.endswith(".")
    combined, *alone, counted = errors
    assert len(alone) == 3
    assert combined < counted
    assert combined < 1.1 * min(alone)
    assert text == quantifier.explain()


def ratings(n, move, seed):
    """Ratings from 1 to 5 of a quality that two noisy features show."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(move, 1, n)
    grades = 1 + np.digitize(quality, [-1.5, -0.6, 0.3, 1.2])
    return quality[:, None] + rng.normal(0, 1.2, (n, 2)), grades


def test_ordered_classes():
    known, grades = ratings(800, 0, 0)
    new, true = ratings(600, 0.8, 1)
    shares = np.bincount(true, minlength=6)[1:] / 600
    ordered = auto(LogisticRegression(), ordered=True).fit(known, grades)
    assert [type(each).__name__ for each in ordered.members_][-1] == "OrdinalPACC"
    assert "combined for ordered classes" in ordered.explain()
    nominal = auto(LogisticRegression()).fit(known, grades)
    errors = []
    for seed in range(1, 6):
        items, grade = ratings(600, 0.8, seed)
        truth = np.bincount(grade, minlength=6)[1:] / 600
        errors.append([np.abs(q.predict(items) - truth).mean() for q in (ordered, nominal)])
    assert np.less(*np.mean(errors, axis=0))
    intervals = ordered.estimate(new, replicates=1000).interval()
    assert ((intervals.low <= shares) & (shares <= intervals.high)).sum() >= 4


def test_shares_of_ordered_classes_are_on_the_simplex_and_near_training_too():
    training = np.array([0.05, 0.0, 0.15, 0.5, 0.3])
    drawn = ordered_shares(training, 1000)
    assert drawn.shape == (1000, 5)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert drawn.min() >= 0
    gaps = np.abs(drawn - training).mean(axis=1)
    assert (gaps < 0.02).sum() > 20
    np.testing.assert_array_equal(drawn, ordered_shares(training, 1000))


def test_it_needs_to_be_fitted_to_explain_itself():
    with pytest.raises(ValueError, match="not fitted"):
        auto().explain()


def test_classes_that_are_told_apart_perfectly_raise_no_warning():
    codes = np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantifier = auto().fit(hc.Scored(np.eye(2)[codes]), codes)
    shares = quantifier.predict(hc.Scored(np.eye(2)[codes[:45]]))
    np.testing.assert_allclose(shares, [23 / 45, 22 / 45], atol=0.01)


@pytest.mark.parametrize("classifier", [[], [3], "x", [LogisticRegression]])
def test_bad_classifiers_are_named(classifier):
    with pytest.raises(hc.HeadcountError, match=r"^classifier is .*\.$"):
        hc.AutoQuantifier(classifier).fit(X, y)
