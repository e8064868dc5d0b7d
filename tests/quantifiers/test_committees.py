from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from tests.conformance.cases import labelled, pool, samples, scored, scored_pool
from tests.oracle.ensembles import (
    absolute_error,
    mean_of,
    median_of,
    median_of_repeated,
    relative_error,
)

import headcount as hc
from headcount.errors import HeadcountError
from headcount.parts.solvers import Solution
from headcount.quantifiers.committees import combined

BAYES = [GaussianNB(), GaussianNB(var_smoothing=0.1), GaussianNB(var_smoothing=0.5)]


class Counted(GaussianNB):
    """Naive Bayes that counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


# Answers put together


def put_together(shares, weights, how):
    """The answer to one sample."""
    parts = [Solution.closed_form(np.array([part])) for part in shares]
    return combined(parts, np.array(weights, dtype=float)[:, None], how).prevalence[0]


whole = st.integers(0, 20)
answers = st.integers(2, 4).flatmap(
    lambda K: st.lists(
        arrays(np.int64, K, elements=whole).filter(lambda row: row.sum() > 0),
        min_size=1,
        max_size=6,
    )
)


@settings(max_examples=150)
@given(st.data(), answers)
def test_weights_are_repetitions(data, rows):
    shares = [row / row.sum() for row in rows]
    times = data.draw(
        st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any)
    )
    repeated = [part for part, n in zip(shares, times, strict=True) for _ in range(n)]
    for how, oracle in (("mean", mean_of), ("median", median_of)):
        given = put_together(shares, times, how)
        np.testing.assert_allclose(given, oracle(repeated), rtol=0, atol=1e-12)
        assert given.sum() == pytest.approx(1)
        # Weights count relative to one another.
        scaled = put_together(shares, np.array(times) / 7, how)
        np.testing.assert_allclose(scaled, given, rtol=0, atol=1e-12)


def test_medians_of_two_classes_are_those_of_one():
    rng = np.random.default_rng(0)
    positive, times = rng.random(9), rng.integers(0, 5, 9)
    given = put_together(np.column_stack([1 - positive, positive]), times, "median")
    assert given[1] == pytest.approx(median_of_repeated(positive, times))


def test_the_mean_answers_where_all_medians_are_zero():
    given = put_together(np.eye(3), [1, 1, 1], "median")
    np.testing.assert_allclose(given, np.full(3, 1 / 3))


def test_diagnostics_are_put_together():
    parts = [
        Solution(np.eye(2), np.array([True, a]), np.array([a, 3]), np.array([0.5, a]))
        for a in (0, 1, 2)
    ]
    whole = combined(parts, np.ones((3, 2)), "mean")
    assert whole.converged.tolist() == [True, False]
    assert whole.iterations.tolist() == [2, 3]
    assert whole.objective.tolist() == [0.5, 1.0]


# Median


@pytest.mark.parametrize("K", [2, 3])
def test_the_median_over_classifiers(K):
    X, y = labelled(K)
    base = hc.PACC(random_state=0)
    several = hc.Median(base, BAYES).fit(X, y)
    alone = [clone(base).set_params(classifier=each).fit(X, y) for each in BAYES]
    each = np.array([one.predict_many(pool(K), samples()) for one in alone])
    found = several.predict_many(pool(K), samples())
    expected = np.array([median_of(list(answers)) for answers in each.swapaxes(0, 1)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(several.weights_, np.full(3, 1 / 3))
    for member, one in zip(several.members_, alone, strict=True):
        np.testing.assert_array_equal(member.predict(pool(K)), one.predict(pool(K)))


def test_a_quantifier_for_each_classifier():
    X, y = labelled(2)
    each = [
        hc.DyS(bins=4, random_state=0),
        hc.DyS(bins=8, random_state=0),
        hc.ACC(random_state=0),
    ]
    several = hc.Median(each, BAYES).fit(X, y)
    alone = [
        clone(quantifier).set_params(classifier=classifier).fit(X, y).predict(pool(2))
        for quantifier, classifier in zip(each, BAYES, strict=True)
    ]
    np.testing.assert_allclose(several.predict(pool(2)), median_of(alone), atol=1e-12)
    assert each[0].classifier is None
    with pytest.raises(HeadcountError, match=r"^quantifier has 3 entries, but there are 2"):
        hc.Median(each, BAYES[:2]).fit(X, y)


def test_the_median_of_many_classes_is_one_against_the_rest():
    X, y = labelled(3)
    default = hc.Median(classifiers=BAYES, random_state=0).fit(X, y)
    explicit = hc.Median(hc.OneVsRest(hc.DyS()), BAYES, random_state=0).fit(X, y)
    np.testing.assert_array_equal(default.predict(pool(3)), explicit.predict(pool(3)))
    with pytest.raises(HeadcountError, match=r"^DyS works with two classes, but y has 3"):
        hc.Median(hc.DyS(), BAYES).fit(X, y)


def test_many_quantifiers_over_many_classifiers():
    X, y = labelled(3)
    inner = hc.Mean([hc.SLD(), hc.GPAC()], random_state=0)
    several = hc.Median(inner, BAYES).fit(X, y)
    alone = [
        clone(inner).set_params(classifier=each).fit(X, y).predict(pool(3)) for each in BAYES
    ]
    np.testing.assert_allclose(several.predict(pool(3)), median_of(alone), atol=1e-12)


@pytest.mark.parametrize("inner", [hc.HDx(), hc.Ensemble(), hc.Median(), hc.OneVsRest()])
def test_the_median_needs_a_place_for_the_classifier(inner):
    with pytest.raises(
        HeadcountError, match=r"^quantifier is .* on the scores of a classifier"
    ):
        hc.Median(inner, BAYES).fit(*labelled(2))


def test_the_median_takes_no_scores():
    with pytest.raises(HeadcountError, match=r"^Median trains several classifiers"):
        hc.Median().fit(hc.Scored([0.2, 0.8]), [0, 1])


def test_the_median_takes_classifiers_of_all_kinds():
    X, y = labelled(2)
    kinds = [LinearSVC(), RandomForestClassifier(5), LogisticRegression()]
    first, second = (
        hc.Median(hc.PACC(), kinds, random_state=3).fit(X, y).predict(pool(2)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert kinds[1].random_state is None


def test_processes_make_no_difference_to_the_median():
    X, y = labelled(2)
    kinds = [GaussianNB(), RandomForestClassifier(3)]
    one, two = (
        hc.Median(hc.PACC(), kinds, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict(pool(2)), two.predict(pool(2)))


def test_each_classifier_is_cross_fitted_once():
    for weights, fits in ((None, 6), ("ae", 6)):
        Counted.fits = 0
        hc.Median(hc.PACC(), [Counted(), Counted()], weights=weights).fit(*labelled(2))
        assert Counted.fits == 2 * fits
    Counted.fits = 0
    hc.Median(hc.SLD(calibration=None, cv=None), [Counted(), Counted()]).fit(*labelled(2))
    assert Counted.fits == 2


# Mean


@pytest.mark.parametrize("K", [2, 3])
def test_the_mean_over_quantifiers(K):
    X, y = labelled(K)
    quantifiers = [hc.EDy(), hc.KDEyML(), hc.GPAC(), hc.SLD()]
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    # All of them take the scores by folds, from which most of them learn.
    by_folds = scorer.fold_posteriors(pool(K)).reshape(-1, K)
    drawn = samples().over(len(by_folds))
    training = hc.Scored(scorer.posteriors_)
    each = [q.fit(training, y).predict_many(hc.Scored(by_folds), drawn) for q in quantifiers]
    for mean in (
        hc.Mean(classifier=GaussianNB(), random_state=0).fit(X, y),
        hc.Mean(quantifiers).fit_scorer(scorer),
    ):
        found = mean.predict_many(pool(K), samples())
        np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(mean.weights_, np.full(4, 0.25))


def test_one_classifier_is_cross_fitted_once_for_all():
    Counted.fits = 0
    mean = hc.Mean(classifier=Counted()).fit(*labelled(2))
    assert Counted.fits == 6
    mean.predict_many(pool(2), samples())
    Counted.fits = 0
    hc.Mean([hc.SLD(calibration=None), hc.PCC()], Counted(), cv=None).fit(*labelled(2))
    assert Counted.fits == 1
    Counted.fits = 0
    hc.Mean([hc.SLD(calibration=None), hc.PCC()], Counted(), weights="ae").fit(*labelled(2))
    assert Counted.fits == 6


def test_a_pool_is_scored_once_for_all():
    calls = []

    class Watched(GaussianNB):
        def predict_proba(self, X):
            calls.append(len(X))
            return super().predict_proba(X)

    mean = hc.Mean(classifier=Watched()).fit(*labelled(2))
    calls.clear()
    mean.predict_many(pool(2), samples())
    assert calls == [120] * 5  # by the classifiers of the folds


def test_members_that_count_take_the_largest_posterior():
    scores, y = scored(3)
    quantifiers = [hc.ACC(), hc.OneVsRest(hc.DyS()), hc.OneVsRest(hc.ACC()), hc.PCC()]
    each = [q.fit(hc.Scored(scores), y).predict(hc.Scored(scored_pool(3))) for q in quantifiers]
    found = hc.Mean(quantifiers).fit(hc.Scored(scores), y).predict(hc.Scored(scored_pool(3)))
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=0, atol=1e-12)


def test_others_are_built_on_means():
    scores, y = scored(3)
    binary = hc.Mean([hc.DyS(), hc.SMM()])
    whole = hc.OneVsRest(binary).fit(hc.Scored(scores), y).predict(hc.Scored(scored_pool(3)))
    positive = [
        clone(binary)
        .fit(hc.Scored(scores[:, j]), y == j)
        .predict(hc.Scored(scored_pool(3)[:, j]))[1]
        for j in range(3)
    ]
    np.testing.assert_allclose(whole, np.array(positive) / sum(positive), atol=1e-12)
    with pytest.raises(HeadcountError, match=r"^DyS works with two classes, but y has 3"):
        binary.fit(hc.Scored(scores), y)


def test_features_do_not_mix_with_scores():
    with pytest.raises(HeadcountError, match=r"^quantifiers holds HDx, which works on"):
        hc.Mean([hc.SLD(), hc.HDx()]).fit(*labelled(2))


def test_parameters_are_in_reach():
    mean = hc.Mean(classifier=LogisticRegression()).set_params(classifier__C=0.5)
    assert clone(mean).classifier.C == 0.5
    median = hc.Median(hc.DyS(LogisticRegression())).set_params(
        quantifier__bins=4, quantifier__classifier__C=0.5
    )
    assert clone(median).quantifier.bins == 4
    assert median.get_params()["quantifier__classifier__C"] == 0.5


# Weights


def test_weights_as_given():
    scores, y = scored(3)
    quantifiers = [hc.SLD(), hc.GPAC(), hc.PCC()]
    each = [q.fit(hc.Scored(scores), y).predict(hc.Scored(scored_pool(3))) for q in quantifiers]
    mean = hc.Mean(quantifiers, weights=[3, 0, 1]).fit(hc.Scored(scores), y)
    np.testing.assert_array_equal(mean.weights_, [0.75, 0, 0.25])
    found = mean.predict(hc.Scored(scored_pool(3)))
    np.testing.assert_allclose(found, (3 * each[0] + each[2]) / 4, rtol=0, atol=1e-12)
    X, y = labelled(2)
    median = hc.Median(hc.PACC(random_state=0), BAYES, weights=[1, 5, 1]).fit(X, y)
    heavy = median.members_[1].predict(pool(2))
    np.testing.assert_allclose(median.predict(pool(2)), heavy, rtol=0, atol=1e-15)


ERRORS = [("ae", absolute_error), ("rae", relative_error)]


def errors_by_hand(predict, drawn, error):
    return [
        np.mean(
            [
                error(true, predict(m, rows), len(rows))
                for rows, true in zip(drawn, drawn.prevalence, strict=True)
            ]
        )
        for m in range(3)
    ]


def weights_by_hand(errors, n_kept):
    weights = np.array([1 / e for e in errors])
    weights[np.argsort(errors)[n_kept:]] = 0
    return weights / weights.sum()


@pytest.mark.parametrize(("keep", "n_kept"), [(1.0, 3), (0.6, 2), (0.01, 1)])
@pytest.mark.parametrize(("rule", "error"), ERRORS)
def test_weights_of_quantifiers_by_their_errors(rule, error, keep, n_kept):
    scores, y = scored(3)
    protocol = hc.UPP(n_samples=15, size=40, random_state=3)
    quantifiers = [hc.PCC(), hc.GPAC(), hc.ACC()]
    alone = [q.fit(hc.Scored(scores), y) for q in quantifiers]
    mean = hc.Mean(quantifiers, weights=rule, keep=keep, protocol=protocol)
    mean.fit(hc.Scored(scores), y)
    errors = errors_by_hand(
        lambda m, rows: alone[m].predict(hc.Scored(scores[rows])), protocol.draw(y), error
    )
    np.testing.assert_allclose(mean.weights_, weights_by_hand(errors, n_kept), atol=1e-12)
    each = [q.predict(hc.Scored(scored_pool(3))) for q in alone]
    found = mean.predict(hc.Scored(scored_pool(3)))
    expected = sum(w * answer for w, answer in zip(mean.weights_, each, strict=True))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("keep", "n_kept"), [(1.0, 3), (0.6, 2)])
@pytest.mark.parametrize(("rule", "error"), ERRORS)
def test_weights_of_classifiers_by_their_errors(rule, error, keep, n_kept):
    X, y = labelled(2)
    protocol = hc.APP(n_prevalences=5, repeats=2, size=30, random_state=3)
    base = hc.PACC(random_state=0)
    median = hc.Median(base, BAYES, weights=rule, keep=keep, protocol=protocol).fit(X, y)
    scorers = [hc.Scorer(classifier, random_state=0).fit(X, y) for classifier in BAYES]
    scores = [hc.Scored(scorer.posteriors_) for scorer in scorers]
    alone = [clone(base).fit(posteriors, y) for posteriors in scores]
    errors = errors_by_hand(
        lambda m, rows: alone[m].predict(scores[m].take(rows)),
        protocol.draw(y),
        error,
    )
    np.testing.assert_allclose(median.weights_, weights_by_hand(errors, n_kept), atol=1e-12)


def test_samples_to_weigh_by_are_drawn_by_default():
    X, y = labelled(3)
    settings = {"weights": "ae", "random_state": 0}
    first, second = (hc.Mean(classifier=GaussianNB(), **settings).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.weights_, second.weights_)
    assert np.ptp(first.weights_) > 1e-3
    labels = hc.Median(hc.ACC(), BAYES, **settings).fit(X, y)
    assert np.ptp(labels.weights_) > 1e-4


def test_a_perfect_member_is_no_trouble():
    codes = np.arange(60) % 2
    mean = hc.Mean([hc.CC(), hc.GAC()], weights="ae").fit(hc.Scored(np.eye(2)[codes]), codes)
    np.testing.assert_allclose(mean.weights_, [0.5, 0.5])


def test_nobody_is_best_without_errors():
    for quantifier in (hc.Mean(keep=0.5), hc.Median(keep=0.5, classifiers=BAYES)):
        with pytest.raises(HeadcountError, match=r"^keep is 0.5, but without errors"):
            quantifier.fit(*labelled(2))
