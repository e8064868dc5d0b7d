from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests.conformance.cases import (
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers.base import ScoringPlan

OPTIONS = {"replicates": 400, "random_state": 0}


def conditioned(quantifier, **more):
    return hc.Conditioned(quantifier, **OPTIONS | more)


class Counted(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "quantifier",
    [
        hc.PACC(GaussianNB(), random_state=1),
        hc.SLD(GaussianNB(), calibration="bcts", random_state=1),
        hc.CC(GaussianNB(), random_state=1),
        hc.Mean([hc.SLD(), hc.EDy()], GaussianNB(), random_state=1),
        hc.HDx(),
        hc.PWK(),
        hc.OneVsRest(hc.MS2(GaussianNB(), random_state=1), scoring="separate"),
        hc.Median(
            hc.GPAC(random_state=1),
            [GaussianNB(), GaussianNB(var_smoothing=0.1)],
            random_state=1,
        ),
        hc.Ensemble(hc.PACC(GaussianNB()), n_members=4, random_state=1),
        hc.Ensemble(hc.PACC(GaussianNB()), n_members=4, scoring="left-out", random_state=1),
        hc.Ensemble(hc.CC(GaussianNB()), n_members=4, policy="ptr", random_state=1),
        hc.Ensemble(hc.SLD(GaussianNB()), n_members=4, policy="ds", random_state=1),
        hc.Ensemble(hc.HDx(), n_members=4, random_state=1),
        hc.GridSearch(hc.PACC(GaussianNB(), random_state=1), {}, random_state=1),
    ],
    ids=lambda q: f"{type(q).__name__}",
)
def test_it_predicts_what_the_quantifier_estimates(quantifier, K):
    X, y = labelled(K)
    given = conditioned(quantifier).fit(X, y).predict_many(pool(K), samples())
    alone = quantifier.fit(X, y).estimate_many(pool(K), samples(), **OPTIONS)
    expected = np.stack([estimate.shares for estimate in alone])
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-9)


def test_one_inside_another_is_the_same():
    X, y = labelled(3)
    once = conditioned(hc.PACC(GaussianNB(), random_state=1)).fit(X, y)
    twice = conditioned(conditioned(hc.PACC(GaussianNB(), random_state=1))).fit(X, y)
    np.testing.assert_allclose(twice.predict(pool(3)), once.predict(pool(3)), atol=1e-9)


def test_quantifiers_with_equal_classifiers_share_their_scores():
    Counted.fits = 0
    several = [hc.PACC(Counted()), hc.SLD(Counted()), hc.CC(Counted(var_smoothing=0.1))]
    conditioned(several).fit(*labelled(2))
    assert Counted.fits == 2 * (5 + 1)


def test_quantifiers_of_all_kinds_are_combined():
    X, y = labelled(3)
    classifier = GaussianNB()
    several = [hc.PACC(classifier), hc.CC(LinearDiscriminantAnalysis()), hc.HDx(), hc.PWK()]
    quantifier = conditioned(several, replicates=2000).fit(X, y)
    shares = quantifier.predict_many(pool(3), samples())
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.abs(shares[4] - 1 / 3).max() < 0.15  # even shares
    for form in (pd.DataFrame, np.asfortranarray):
        same = conditioned(several, replicates=2000).fit(form(X), y)
        np.testing.assert_allclose(
            same.predict_many(form(pool(3)), samples()), shares, atol=1e-6
        )


def test_features_may_be_sparse():
    X, y = labelled(2)
    several = [hc.ED(), hc.HDx(), hc.PACC(LogisticRegression(), random_state=0)]
    dense = conditioned(several).fit(X, y)
    thin = conditioned(several).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        thin.predict(sparse.csr_array(pool(2))), dense.predict(pool(2)), atol=1e-4
    )


def test_several_quantifiers_are_better_than_the_worst():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=5000)
    X = 1.2 * np.eye(3)[codes] + rng.normal(size=(5000, 3))
    drawn = hc.UPP(n_samples=100, size=200, random_state=0).draw(codes[500:])
    errors = {}
    for name, given in {
        "CC": hc.CC(GaussianNB()),
        "Conditioned(CC)": hc.Conditioned(hc.CC(GaussianNB()), random_state=0),
        "both": hc.Conditioned([hc.CC(GaussianNB()), hc.SLD(GaussianNB())], random_state=0),
    }.items():
        shares = given.fit(X[:500], codes[:500]).predict_many(X[500:], drawn)
        errors[name] = np.abs(shares - drawn.prevalence).mean()
    assert errors["Conditioned(CC)"] < 0.7 * errors["CC"]
    assert errors["both"] < errors["Conditioned(CC)"]


def test_its_prior_is_that_of_its_estimates():
    scores, y = scored(2)
    prior = np.array([4000.0, 1000.0])
    quantifier = conditioned(hc.PACC(), prior=prior).fit(hc.Scored(scores), y)
    pool = scored_pool(2)
    # Ten items each that look most like one of the classes, so that no prior is far off.
    few = pool[np.argsort(pool[:, 0], kind="stable")[np.r_[:10, -10:0]]]
    assert quantifier.predict(hc.Scored(few))[0] == pytest.approx(0.8, abs=0.06)
    estimate = quantifier.estimate(hc.Scored(few), **OPTIONS)
    assert estimate.shares == pytest.approx(quantifier.predict(hc.Scored(few)), abs=1e-9)
    other = quantifier.estimate(hc.Scored(few), prior=prior[::-1], **OPTIONS)
    assert other.shares[0] == pytest.approx(0.2, abs=0.06)


def test_it_is_searched_over():
    scores, y = scored(2)
    search = hc.GridSearch(
        conditioned(hc.PACC()),
        {"prior": [None, 1.0]},
        protocol=hc.UPP(n_samples=20, size=40, random_state=0),
        random_state=0,
    )
    search.fit(hc.Scored(scores), y)
    assert isinstance(search.best_quantifier_, hc.Conditioned)
    estimate = search.estimate(hc.Scored(scored_pool(2)), **OPTIONS)
    assert estimate.shares.sum() == pytest.approx(1)


def test_members_without_scores_are_named():
    for several, named in (
        ([hc.PACC(), hc.HDx()], "HDx"),
        ([hc.Median(), hc.PACC()], "Median"),
    ):
        quantifier = conditioned(several)
        assert not ScoringPlan(quantifier).takes_scores
        with pytest.raises(HeadcountError, match=f"^Conditioned has {named}, which"):
            quantifier.fit(*labelled_scores(2))


@pytest.mark.parametrize("quantifier", [[], 3, [hc.PACC(), "x"], [hc.PACC]])
def test_bad_quantifiers_are_named(quantifier):
    with pytest.raises(
        HeadcountError, match=r"^quantifier is .* such as \[SLD\(\), GPAC\(\)\]"
    ):
        conditioned(quantifier).fit(*labelled(2))


def test_scores_of_one_classifier_are_not_enough_for_several():
    X, y = labelled(2)
    several = hc.AutoQuantifier([GaussianNB(), LogisticRegression()], replicates=200)
    several.fit(X, y)
    with pytest.raises(HeadcountError, match="fitted with several classifiers"):
        several.predict(hc.Scored(scored_pool(2)))


def test_the_assumption_is_tested_on_given_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    given = hc.Scored(1 / (1 + np.exp(-rng.normal(2 * y - 1, 1))))
    new = hc.Scored(1 / (1 + np.exp(-rng.normal(2 * rng.integers(0, 2, 500) - 1, 1))))
    combined = conditioned([hc.SLD(), hc.GPAC()]).fit(given, y)
    alone = hc.GPAC().fit(given, y)
    p_value = combined.estimate(new).fit_test.p_value
    # The estimated shares of both differ, but the test does not depend on them.
    assert p_value == pytest.approx(alone.estimate(new).fit_test.p_value)
    assert p_value > 0.01
    broken = hc.Scored(np.full(500, 0.5) + 0.01 * rng.random(500))
    assert combined.estimate(broken).fit_test.p_value < 1e-4
    statistics = hc.Statistics(combined).update(new)
    assert combined.estimate_statistics(statistics)[None].fit_test.p_value == pytest.approx(
        p_value, rel=1e-6
    )
