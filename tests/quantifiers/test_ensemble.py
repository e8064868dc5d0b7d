from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.conformance.cases import (
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)
from tests.oracle.ensembles import (
    absolute_error,
    mean_errors,
    mean_of,
    median_of,
    nearest_by_scores,
    nearest_by_shares,
    relative_error,
    weighted_bin_shares,
)

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.parts.training import Training
from headcount.quantifiers import ensemble as module
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.ensemble import TrainedMember, scores_by_member


def small(base=None, **settings):
    base = hc.PACC(GaussianNB()) if base is None else base
    return hc.Ensemble(base, **({"n_members": 7, "random_state": 0} | settings))


class Counted(GaussianNB):
    """Naive Bayes that counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


# Samples


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_samples_cover_the_simplex(n_classes):
    scores, y = scored(n_classes)
    drawn = small(n_members=200).fit(hc.Scored(scores), y).samples_
    assert len(drawn) == 200
    assert (drawn.sizes == 180).all()
    np.testing.assert_array_equal(drawn.prevalence, drawn.prevalence_of(y, n_classes))
    assert drawn.prevalence.min() >= 5 / 180 - 1e-12
    # As uniform ones are: each class about 1 / K on average, and nearly everything at times.
    np.testing.assert_allclose(drawn.prevalence.mean(axis=0), 1 / n_classes, atol=0.06)
    assert (drawn.prevalence.max(axis=0) > 0.85).all()


@pytest.mark.parametrize("scoring", ["folds", "left-out"])
def test_items_are_taken_as_evenly_as_can_be(scoring):
    X, y = labelled(2)
    drawn = small(n_members=30, size=150, scoring=scoring).fit(X, y).samples_
    repeated = 0
    for rows in drawn:
        for j in (0, 1):
            there = int((y == j).sum())
            allowed = (there + 1) // 2 if scoring == "left-out" else there
            times = np.bincount(rows[y[rows] == j])
            times = times[times > 0]
            assert len(times) == min(allowed, times.sum())
            assert times.max() - times.min() <= 1
            repeated += times.max() > 1
    assert repeated


def test_an_item_without_weight_is_never_drawn():
    X, y = labelled(3)
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    fitted = small().fit(X, y, weights)
    assert set(fitted.samples_.indices) <= set(np.flatnonzero(weights))
    assert (fitted.samples_.sizes == weights.sum()).all()


@pytest.mark.parametrize(("each", "size"), [(20, 60), (5, 15), (2, 15)])
def test_samples_are_as_large_as_the_training_set(each, size):
    scores, y = scored(3)
    rows = np.concatenate([np.flatnonzero(y == j)[:each] for j in range(3)])
    fitted = small().fit(hc.Scored(scores[rows]), y[rows])
    assert (fitted.samples_.sizes == size).all()


def test_samples_are_of_a_thousand_items_at_most():
    rng = np.random.default_rng(0)
    scores, y = rng.random(1500), rng.integers(2, size=1500)
    assert (small(n_members=2).fit(hc.Scored(scores), y).samples_.sizes == 1000).all()
    assert (
        small(n_members=2, size=1200).fit(hc.Scored(scores), y).samples_.sizes == 1200
    ).all()


def test_samples_smaller_than_a_handful_of_each_class():
    scores, y = scored(3)
    drawn = small(size=7).fit(hc.Scored(scores), y).samples_
    assert (drawn.prevalence >= 2 / 7 - 1e-12).all()
    with pytest.raises(HeadcountError, match=r"^size is 2; it must be .* at least 3"):
        small(size=2).fit(hc.Scored(scores), y)


# Members


@pytest.mark.parametrize("policy", ["all", "ptr", "ds", "ae", "rae"])
@pytest.mark.parametrize("combine", ["mean", "median"])
def test_a_single_member_decides_alone(policy, combine):
    one = small(n_members=1, policy=policy, combine=combine).fit(*labelled(2))
    np.testing.assert_allclose(
        one.predict_many(pool(2), samples()),
        one.members_[0].predict_many(pool(2), samples()),
        rtol=0,
        atol=1e-15,
    )
    one = small(n_members=1, policy=policy).fit(*labelled_scores(3))
    np.testing.assert_array_equal(
        one.predict_many(hc.Scored(scored_pool(3)), samples()),
        one.members_[0].predict_many(hc.Scored(scored_pool(3)), samples()),
    )


@pytest.mark.parametrize("base", [hc.PACC(), hc.ACC(), hc.SLD(calibration="bcts"), hc.DM()])
def test_members_learn_from_samples_of_the_scores(base):
    scores, y = scored(3)
    fitted = small(base).fit(hc.Scored(scores), y)
    for member, rows in zip(fitted.members_, fitted.samples_, strict=True):
        alone = clone(base).fit(hc.Scored(scores[rows]), y[rows])
        np.testing.assert_array_equal(
            member.predict_many(hc.Scored(scored_pool(3)), samples()),
            alone.predict_many(hc.Scored(scored_pool(3)), samples()),
        )


def test_members_learn_from_samples_of_the_features():
    X, y = labelled(3)
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = small(hc.HDx()).fit(frame, y)
    assert not ScoringPlan(fitted).takes_scores
    for member, rows in zip(fitted.members_, fitted.samples_, strict=True):
        alone = hc.HDx().fit(frame.iloc[rows], y[rows])
        np.testing.assert_array_equal(
            member.predict_many(frame, samples_of(y)), alone.predict_many(frame, samples_of(y))
        )
    each = [member.predict_many(frame, samples_of(y)) for member in fitted.members_]
    found = fitted.predict_many(frame, samples_of(y))
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=0, atol=1e-14)


def samples_of(y):
    return [np.arange(0, len(y), 2), np.flatnonzero(y == 1), [3, 4, 5, 5]]


@pytest.mark.parametrize("scoring", ["folds", "left-out"])
@pytest.mark.parametrize(
    "base", [hc.PACC(GaussianNB()), hc.ACC(GaussianNB()), hc.SLD(GaussianNB())]
)
def test_members_believe_in_the_shares_of_their_samples(base, scoring):
    X, y = labelled(3)
    for weights in (None, np.linspace(1, 2, len(y))):
        fitted = small(base, scoring=scoring).fit(X, y, weights)
        for member, rows in zip(fitted.members_, fitted.samples_, strict=True):
            mass = np.bincount(y[rows], None if weights is None else weights[rows])
            np.testing.assert_allclose(member.prior_, mass / mass.sum(), atol=1e-12)


@pytest.mark.parametrize("scoring", ["folds", "left-out"])
def test_rates_come_from_items_a_member_was_not_trained_on(scoring):
    X, y = labelled(2)
    fitted = small(scoring=scoring, size=60).fit(X, y)
    for member, rows in zip(fitted.members_, fitted.samples_, strict=True):
        honest, known = honest_scores(member, rows, X, scoring)
        profiles = [honest[y[known] == j].mean(axis=0) for j in (0, 1)]
        np.testing.assert_allclose(member.fitted_.model.profiles, profiles, atol=1e-12)


def honest_scores(member, rows, X, scoring):
    """Scores by a member's classifier of items it was not trained on, and their rows."""
    outside = np.setdiff1d(np.arange(len(X)), rows)
    if scoring == "left-out":
        return member.fitted_.scorer.classifier_.predict_proba(X[outside]), outside
    honest = member.fitted_.scorer.classifier_.predict_proba(X)
    honest[rows] = member.fitted_.scorer.posteriors_
    return honest, np.arange(len(X))


def test_copies_of_an_item_never_help_to_score_it():
    # Labels that nothing can be learnt of, and a tree that knows them by heart.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    fitted = small(hc.ACC(DecisionTreeClassifier()), size=300).fit(X, y)
    for member, rows in zip(fitted.members_, fitted.samples_, strict=True):
        assert len(np.unique(rows)) < len(rows)
        scorer = member.fitted_.scorer
        by_class = [(scorer.labels_ == y[rows])[y[rows] == j].mean() for j in (0, 1)]
        assert np.mean(by_class) < 0.7
        assert (scorer.labels(X[rows]) == y[rows]).all()


@pytest.mark.parametrize(
    ("base", "scoring", "fits"),
    [
        (hc.PACC(Counted()), "folds", 6),
        (hc.PACC(Counted(), cv=3), "folds", 4),
        (hc.PACC(Counted()), "left-out", 1),
        (hc.CC(Counted()), "folds", 6),
        (hc.CC(Counted(), cv=None), "folds", 1),
        (hc.SLD(Counted(), calibration=None, cv=None), "folds", 1),
    ],
)
def test_no_more_is_trained_than_is_needed(base, scoring, fits):
    Counted.fits = 0
    small(base, scoring=scoring).fit(*labelled(2))
    assert Counted.fits == 7 * fits


def test_a_frozen_classifier_scores_once():
    X, y = labelled(2)
    classifier = GaussianNB().fit(X[:90], y[:90])
    fitted = small(hc.PACC(FrozenEstimator(classifier))).fit(X[90:], y[90:])
    assert isinstance(fitted.fitted_.scorer, hc.Scorer)
    assert all(member.fitted_.scorer is None for member in fitted.members_)


@pytest.mark.parametrize("scoring", ["shared", "separate"])
@pytest.mark.parametrize("base", [hc.DyS, hc.MS2, hc.CC])
def test_one_class_against_the_rest_inside(base, scoring):
    X, y = labelled(3)
    for policy in ("all", "ds", "ae"):
        inner = hc.OneVsRest(base(GaussianNB()), scoring=scoring)
        fitted = small(inner, n_members=3, policy=policy).fit(X, y)
        shares = fitted.predict_many(pool(3), samples())
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    with pytest.raises(HeadcountError, match=r"^DyS works with two classes, but y has 3"):
        small(hc.DyS(GaussianNB())).fit(X, y)


def test_other_kinds_of_items_and_classifiers():
    X, y = labelled(2)
    holes = X.copy()
    holes[::7, 1] = np.nan
    forest = HistGradientBoostingClassifier(max_iter=3)
    assert small(hc.PACC(forest), n_members=2).fit(holes, y).predict(holes).shape == (2,)
    with pytest.raises(HeadcountError, match=r"^X has 26 missing"):
        small().fit(holes, y)
    for scoring in ("folds", "left-out"):
        machines = small(hc.PACC(LinearSVC()), n_members=2, scoring=scoring).fit(X, y)
        assert abs(machines.predict(X)[1] - y.mean()) < 0.1
    texts = [
        "good fine day",
        "bad sad rain",
        "good sun",
        "rain bad",
        "fine sun",
        "sad rain",
    ] * 8
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    shares = small(hc.PACC(words), n_members=3).fit(texts, ["up", "down"] * 24)
    np.testing.assert_allclose(shares.predict(texts[:3]), [1 / 3, 2 / 3], atol=0.01)


# Policies


POLICIES = [
    (2, hc.PACC, "scores"),
    (3, hc.PACC, "scores"),
    (3, hc.ACC, "scores"),
    (2, hc.PACC, "folds"),
    (3, hc.PACC, "left-out"),
    (3, hc.ACC, "folds"),
]


def one_hot(items, K):
    return items if items.ndim == 2 else np.eye(K)[items]


def seen_by(fitted, rows, door, K):
    """What each member sees of a sample."""
    if door == "scores":
        scores = scored_pool(K)[rows]
        labels = fitted.quantifier.info.input == "labels"
        return [one_hot(scores.argmax(axis=1) if labels else scores, K)] * len(fitted.members_)
    return [one_hot(items_of(member, pool(K)[rows]), K) for member in fitted.members_]


def items_of(member, X):
    return member.fitted_.source.items(X, by_folds=False)


def training_histogram(member, rows, door, K):
    labels = member.info.input == "labels"
    if door == "scores":
        scores, y = scored(K)
        items = scores[rows].argmax(axis=1) if labels else scores[rows]
        return weighted_bin_shares(one_hot(items, K), np.ones(len(rows)))
    X, y = labelled(K)
    known = np.arange(len(X))
    if door == "left-out":
        known = np.setdiff1d(known, rows)
        items = items_of(member, X[known])
    else:
        items = items_of(member, X).copy()
        items[rows] = (
            member.fitted_.scorer.labels_ if labels else member.fitted_.scorer.posteriors_
        )
    shares = np.bincount(y[rows]) / len(rows)
    there = np.bincount(y[known]) / len(known)
    return weighted_bin_shares(one_hot(items, K), (shares / there)[y[known]])


@pytest.mark.parametrize("combine", ["mean", "median"])
@pytest.mark.parametrize("policy", ["all", "ptr", "ds"])
@pytest.mark.parametrize(("K", "base", "door"), POLICIES)
def test_members_are_chosen_as_the_oracle_does(K, base, door, policy, combine):
    settings = {"policy": policy, "combine": combine, "keep": 0.4}
    if door == "scores":
        fitted = small(base(), **settings).fit(*labelled_scores(K))
        found = fitted.predict_many(hc.Scored(scored_pool(K)), samples())
    else:
        fitted = small(base(GaussianNB()), scoring=door, **settings).fit(*labelled(K))
        found = fitted.predict_many(pool(K), samples())
    members = fitted.members_
    histograms = [
        training_histogram(member, rows, door, K)
        for member, rows in zip(members, fitted.samples_, strict=True)
    ]
    for rows, given in zip(samples(), found, strict=True):
        if door == "scores":
            answers = [member.predict(hc.Scored(scored_pool(K)[rows])) for member in members]
        else:
            answers = [member.predict(pool(K)[rows]) for member in members]
        chosen = range(7)
        if policy == "ptr":
            chosen = nearest_by_shares(answers, fitted.samples_.prevalence, 3)
        elif policy == "ds":
            chosen = nearest_by_scores(seen_by(fitted, rows, door, K), histograms, 3)
        expected = {"mean": mean_of, "median": median_of}[combine]([answers[m] for m in chosen])
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-10)


def test_policies_make_a_difference():
    answers = [
        small(policy=policy)
        .fit(*labelled_scores(3))
        .predict_many(hc.Scored(scored_pool(3)), samples())
        for policy in ("all", "ptr", "ds", "ae", "rae")
    ]
    for i, one in enumerate(answers[:4]):
        for other in answers[i + 1 : 4]:
            assert np.abs(one - other).max() > 1e-4


@pytest.mark.parametrize(("policy", "error"), [("ae", absolute_error), ("rae", relative_error)])
@pytest.mark.parametrize("door", ["scores", "folds", "left-out"])
@pytest.mark.parametrize("K", [2, 3])
def test_members_with_the_least_error_are_kept(K, door, policy, error):
    if door == "scores":
        items, y = scored(K)
        fitted = small(policy=policy, keep=0.3).fit(hc.Scored(items), y)
    else:
        items, y = labelled(K)
        fitted = small(policy=policy, keep=0.3, scoring=door, size=50).fit(items, y)

    def answer(m, rows):
        member = fitted.members_[m]
        if door == "scores":
            return member.predict(hc.Scored(items[rows])), rows
        honest, known = honest_scores(member, fitted.samples_[m], items, door)
        place = {row: i for i, row in enumerate(known)}
        asked = [row for row in rows if row in place]
        return member.predict(hc.Scored(honest[[place[row] for row in asked]])), np.array(asked)

    errors = mean_errors(answer, list(fitted.samples_), y, error)
    np.testing.assert_allclose(fitted.errors_, errors, atol=1e-10)
    best = [fitted.members_[m] for m in np.argsort(errors)[:2]]
    if door == "scores":
        found = fitted.predict_many(hc.Scored(scored_pool(K)), samples())
        each = [member.predict_many(hc.Scored(scored_pool(K)), samples()) for member in best]
    else:
        found = fitted.predict_many(pool(K), samples())
        each = [member.predict_many(pool(K), samples()) for member in best]
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("policy", ["ae", "ptr"])
def test_policies_that_need_no_scores_take_features(policy):
    X, y = labelled(3)
    fitted = small(hc.HDx(), policy=policy).fit(X, y)
    assert fitted.predict_many(pool(3), samples()).shape == (6, 3)


def test_features_have_no_scores_to_compare():
    with pytest.raises(HeadcountError, match=r"^policy is 'ds', .* HDx works on features"):
        small(hc.HDx(), policy="ds").fit(*labelled(2))


@pytest.mark.parametrize("base", [hc.SLD(), hc.CC()])
def test_scores_are_made_for_policies_that_look_at_them(base):
    base.classifier = GaussianNB()
    for policy in ("ds", "ae"):
        fitted = small(base, policy=policy).fit(*labelled(2))
        assert fitted.predict_many(pool(2), samples()).shape == (6, 2)
        scorer = hc.Scorer(GaussianNB()).fit(*labelled(2), out_of_fold=False)
        with pytest.raises(HeadcountError, match="was not made"):
            small(base, policy=policy).fit_scorer(scorer)


# An answer depends on the sample alone


@pytest.mark.parametrize("combine", ["mean", "median"])
@pytest.mark.parametrize("policy", ["ptr", "ds", "rae"])
@pytest.mark.parametrize("K", [2, 3])
def test_what_it_was_computed_with_makes_no_difference(K, policy, combine, monkeypatch):
    fitted = small(policy=policy, combine=combine).fit(*labelled_scores(K))
    scores = scored_pool(K)
    batch = fitted.predict_many(hc.Scored(scores), samples())
    order = [3, 0, 5, 1, 4, 2]
    np.testing.assert_array_equal(
        fitted.predict_many(hc.Scored(scores), samples()[order]), batch[order]
    )
    loop = [fitted.predict(hc.Scored(scores[rows])) for rows in samples()]
    np.testing.assert_array_equal(batch, loop)
    monkeypatch.setattr(module, "_BATCH_SAMPLES", 2)
    np.testing.assert_array_equal(fitted.predict_many(hc.Scored(scores), samples()), batch)


@pytest.mark.parametrize("base", [hc.PACC(GaussianNB()), hc.ACC(RandomForestClassifier(3))])
def test_processes_make_no_difference(base):
    X, y = labelled(2)
    answers = [small(base, n_members=3, policy="ae", n_jobs=1).fit(X, y)]
    with parallel_config(backend="threading"):
        answers.append(small(base, n_members=3, policy="ae", n_jobs=3).fit(X, y))
    answers.append(small(base, n_members=3, policy="ae", n_jobs=2).fit(X, y))
    first, *others = (fitted.predict_many(pool(2), samples()) for fitted in answers)
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_chance_left_open_is_decided_by_the_ensemble():
    X, y = labelled(2)
    open_, given = (
        hc.KDEyHD(RandomForestClassifier(3)),
        hc.PACC(RandomForestClassifier(3, random_state=5)),
    )
    first, second = (small(open_, n_members=2).fit(X, y).predict(pool(2)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    members = small(given, n_members=2).fit(X, y).members_
    assert [member.classifier.random_state for member in members] == [5, 5]
    members = small(open_, n_members=2).fit(X, y).members_
    assert members[0].classifier.random_state != members[1].classifier.random_state
    assert open_.random_state is open_.classifier.random_state is None


def test_more_members_leave_the_first_ones_alone():
    X, y = labelled(3)
    few, many = (small(n_members=number).fit(X, y) for number in (2, 4))
    for one, other in zip(few.members_, many.members_, strict=False):
        np.testing.assert_array_equal(one.predict(pool(3)), other.predict(pool(3)))


# Interface


def test_parameters_of_the_base_are_in_reach():
    ensemble = small(hc.PACC(LogisticRegression())).set_params(
        quantifier__classifier__C=0.5, quantifier__cv=3
    )
    assert ensemble.get_params()["quantifier__classifier__C"] == 0.5
    twin = clone(ensemble)
    assert twin.quantifier.classifier.C == 0.5
    assert twin.quantifier is not ensemble.quantifier
    members = twin.fit(*labelled(2)).members_
    assert [member.classifier.C for member in members] == [0.5] * 7


def test_scores_after_items_are_refused():
    fitted = small().fit(*labelled(2))
    with pytest.raises(HeadcountError, match=r"fitted with several classifiers"):
        fitted.predict_many(hc.Scored(scored_pool(2)), samples())


@pytest.mark.parametrize("inner", [hc.Ensemble(), hc.Median(), "x", hc.PACC])
def test_members_are_simple_quantifiers(inner):
    with pytest.raises(HeadcountError, match=r"^quantifier is .* pass for instance PACC"):
        hc.Ensemble(inner).fit(*labelled(2))


def test_other_quantifiers_are_not_built_on_ensembles():
    with pytest.raises(HeadcountError, match=r"^quantifier is Ensemble"):
        hc.OneVsRest(hc.Ensemble()).fit(*labelled(3))
    with pytest.raises(HeadcountError, match=r"^Ensemble is not made of one classifier"):
        hc.Ensemble()._aggregation()


def test_a_class_of_one_item():
    X, y = labelled(2)
    y = np.where(np.arange(len(y)) == 3, 2, y)
    with pytest.raises(
        HeadcountError, match=r"^scoring is 'left-out', but class 2 has a single"
    ):
        small(scoring="left-out").fit(X, y)
    with pytest.warns(HeadcountWarning, match="class 2 has a single item"):
        shares = small(n_members=3).fit(X, y).predict(pool(2))
    assert shares.sum() == pytest.approx(1)


def test_solutions_are_put_together():
    fitted = small(hc.SLD(max_iter=1)).fit(*labelled_scores(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        whole = fitted.fitted_.solve_many(hc.Scored(scored_pool(3)), samples())
        parts = [
            m.fitted_.solve_many(hc.Scored(scored_pool(3)), samples()) for m in fitted.members_
        ]
    np.testing.assert_array_equal(whole.converged, np.all([p.converged for p in parts], axis=0))
    np.testing.assert_array_equal(
        whole.iterations, np.max([p.iterations for p in parts], axis=0)
    )
    np.testing.assert_allclose(whole.objective, np.mean([p.objective for p in parts], axis=0))
    assert not whole.converged.all()


def test_members_score_a_pool_once():
    X, y = labelled(2)
    fitted = {"E": small(policy="ds").fit(X, y)}
    protocol = hc.UPP(n_samples=5, size=20, random_state=0)
    found = hc.evaluate(fitted, X, y, protocol, metrics=["ae"])
    drawn = protocol.draw(y)
    errors = hc.metrics.ae(drawn.prevalence, fitted["E"].predict_many(X, drawn))
    assert found.to_frame()["ae"].to_numpy() == pytest.approx(errors)


def test_a_search_trains_members_of_its_own():
    Counted.fits = 0
    grid = {"policy": ["all", "ptr"]}
    search = hc.GridSearch(
        small(hc.PACC(Counted()), n_members=2), grid, refit=False, random_state=0
    )
    search.fit(*labelled(2))
    assert Counted.fits == 2 * 2 * 6


# Estimates


def learnt_by(*parts):
    """Members by the rows that they know, and their scores of these."""
    empty = np.empty(0)
    return [
        TrainedMember(None, empty, 0.0, np.array(items), np.array(known))
        for known, items in parts
    ]


def test_items_that_a_member_was_trained_on_get_scores_of_similar_ones():
    codes = np.array([0, 0, 0, 1, 1, 1])
    first = ([0, 1, 3, 4], [[0.9], [0.6], [0.4], [0.1]])
    # Items 2 and 5 are, to the second member, like the items 1 and 3.
    second = (np.arange(6), [[0.99], [0.7], [0.72], [0.5], [0.2], [0.49]])
    made = scores_by_member(Training(None, codes, 2), learnt_by(first, second), 0)
    assert made.items[0].ravel().tolist() == [0.9, 0.6, 0.6, 0.4, 0.1, 0.4]
    assert made.items[1].ravel().tolist() == [0.99, 0.7, 0.72, 0.5, 0.2, 0.49]
    np.testing.assert_array_equal(made.codes, codes)


def test_items_that_nobody_knows_are_left_out():
    codes = np.array([0, 0, 1, 1])
    both = learnt_by(([0, 2], [[0.8], [0.3]]), ([0, 2], [[0.7], [0.2]]))
    made = scores_by_member(Training(None, codes, 2, np.arange(4.0)), both, 0)
    assert [part.ravel().tolist() for part in made.items] == [[0.8, 0.3], [0.7, 0.2]]
    assert made.codes.tolist() == [0, 1]
    assert made.weights.tolist() == [0, 2]


def test_a_member_that_knows_nothing_of_a_class_prevents_estimates():
    codes = np.array([0, 0, 1, 1])
    some = learnt_by(([0, 1], [[0.8], [0.3]]), (np.arange(4), [[0.7]] * 4))
    assert scores_by_member(Training(None, codes, 2), some, 0) is None


def test_among_equal_scores_the_similar_item_is_drawn_at_random():
    codes = np.zeros(400, int)
    codes[-2:] = 1
    predicted = np.arange(200) % 2  # of the first half of class 0
    first = (
        np.concatenate([np.arange(200), [398, 399]]),
        np.concatenate([predicted, [1, 1]]),
    )
    second = (np.arange(400), np.ones(400, int))
    made = scores_by_member(Training(None, codes, 2), learnt_by(first, second), 0)
    assert 0.3 < made.items[0][200:398].mean() < 0.7


@pytest.mark.parametrize(
    "ensemble",
    [
        hc.Ensemble(hc.PACC(GaussianNB()), n_members=8, random_state=0),
        hc.Ensemble(hc.PACC(GaussianNB()), n_members=8, scoring="left-out", random_state=0),
        hc.Ensemble(hc.PACC(GaussianNB()), n_members=8, policy="ptr", random_state=0),
        hc.Ensemble(hc.CC(GaussianNB()), n_members=8, random_state=0),
    ],
    ids=["folds", "left-out", "ptr", "CC"],
)
def test_estimates_of_ensembles_are_near_the_truth(ensemble):
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=4000)
    X = rng.normal(size=(4000, 2)) + 1.2 * codes[:, None]
    drawn = hc.UPP(n_samples=40, size=300, random_state=0).draw(codes[600:])
    ensemble.fit(X[:600], codes[:600])
    found = ensemble.estimate_many(X[600:], drawn, replicates=1000, random_state=0)
    truth = drawn.prevalence[:, 1]
    errors = np.array([each.shares[1] for each in found]) - truth
    assert np.abs(errors).mean() < 0.05
    ends = [each.interval(0.95)[1] for each in found]
    inside = [low <= p <= high for (low, high), p in zip(ends, truth, strict=True)]
    assert np.mean(inside) > 0.75
