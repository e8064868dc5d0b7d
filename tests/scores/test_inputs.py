"""Items that were classified elsewhere, as input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from tests.conformance.cases import METHODS, labelled, pool, samples

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers.base import ScoringPlan


def decisions(n_classes):
    """Decisions and labels, as words."""
    rng = np.random.default_rng(n_classes)
    names = np.array(["bad", "fair", "good"][:n_classes])
    y = rng.integers(n_classes, size=300)
    said = np.where(rng.random(300) < 0.8, y, rng.integers(n_classes, size=300))
    return names[said], names[y]


def test_columns_follow_the_classes_that_are_named():
    posteriors = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    scored = hc.Scored(posteriors, classes=["c", "a", "b"])
    np.testing.assert_array_equal(
        scored.posteriors_of(np.array(["a", "b", "c"])), posteriors[:, [1, 2, 0]]
    )
    np.testing.assert_array_equal(scored.codes_of(np.array(["a", "b", "c"])), [2, 1])


def test_a_permutation_of_columns_changes_nothing():
    X, y = labelled(3)
    P = GaussianNB().fit(X, y).predict_proba(X)
    plain = hc.SLD().fit(hc.Scored(P, classes=[0, 1, 2]), y)
    turned = hc.Scored(P[:, [2, 0, 1]], classes=[2, 0, 1])
    np.testing.assert_array_equal(plain.predict(turned), plain.predict(hc.Scored(P)))


def test_predictions_count_for_methods_on_decisions():
    scored = hc.Scored([0.6, 0.7, 0.2], predictions=["no", "yes", "no"])
    q = hc.CC().fit(hc.Scored([0.1, 0.9]), ["no", "yes"])
    np.testing.assert_allclose(q.predict(scored), [2 / 3, 1 / 3])
    np.testing.assert_allclose(q.predict(hc.Scored([0.6, 0.7, 0.2])), [1 / 3, 2 / 3])


@pytest.mark.parametrize("name", ["CC", "ACC", "GAC", "PACC", "SLD", "DM", "AutoQuantifier"])
def test_a_pool_scored_by_the_scorer_gives_the_same_answers(name):
    X, y = labelled(3)
    quantifier = getattr(hc, name)(GaussianNB(), random_state=0).fit(X, y)
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    scored = scorer.score(pool(3), predictions=True)
    np.testing.assert_allclose(
        quantifier.predict_many(scored, samples()),
        quantifier.predict_many(pool(3), samples()),
        atol=1e-12,
    )
    whole, parts = quantifier.estimate(pool(3)), quantifier.estimate(scored)
    np.testing.assert_allclose(whole.shares, parts.shares, atol=1e-12)
    assert parts.fit_test.p_value == pytest.approx(whole.fit_test.p_value)


def test_batches_are_joined_with_their_folds():
    X, y = labelled(2)
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    whole = scorer.score(X, predictions=True)
    halves = hc.Scored.concatenate(
        [scorer.score(X[:70], predictions=True), scorer.score(X[70:], predictions=True)]
    )
    np.testing.assert_array_equal(whole.posteriors, halves.posteriors)
    np.testing.assert_array_equal(whole.predictions, halves.predictions)
    assert len(halves.folds) == len(whole.folds) == scorer.n_folds_
    rows = [5, 100, 3]
    np.testing.assert_array_equal(
        halves.take(rows).folds[1].posteriors, whole.folds[1].posteriors[rows]
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["CC", "ACC", "GAC"])
def test_verdicts_are_words_of_any_number_of_classes(name, n_classes):
    said, y = decisions(n_classes)
    quantifier = getattr(hc, name)().fit(hc.Verdicts(pl.Series(said)), y)
    codes = np.unique(said, return_inverse=True)[1]
    one_hot = getattr(hc, name)().fit(hc.Scored(np.eye(n_classes)[codes]), y)
    np.testing.assert_array_equal(
        quantifier.predict(hc.Verdicts(said[:50])),
        one_hot.predict(hc.Scored(np.eye(n_classes)[codes[:50]])),
    )
    estimate = quantifier.estimate(hc.Verdicts(said[:50]), random_state=0)
    ends = estimate.interval()
    assert (ends.low <= estimate.shares).all()
    assert (estimate.shares <= ends.high).all()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_on_posteriors_refuse_verdicts(name):
    said, y = decisions(2)
    quantifier = METHODS[name]()
    if ScoringPlan(quantifier).takes == "labels":
        quantifier.fit(hc.Verdicts(said), y)
        return
    message = "takes decisions, such as CC, ACC or GAC|pass the items themselves"
    if ScoringPlan(quantifier).takes_scores:
        with pytest.raises(HeadcountError, match=message):
            quantifier.fit(hc.Verdicts(said), y)


def test_verdicts_in_evaluate_and_searches():
    said, y = decisions(3)
    q = hc.GridSearch(hc.GAC(), {"smoothness": [0.0, 1.0]}, random_state=0)
    q.fit(hc.Verdicts(said[:200]), y[:200])
    assert q.best_params_["smoothness"] in (0.0, 1.0)
    drawn = hc.UPP(n_samples=20, size=50, random_state=0)
    found = hc.evaluate({"ACC": q}, hc.Verdicts(said[200:]), y[200:], drawn, metrics="ae")
    assert found.to_frame().height == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hc.Verdicts([]), "^labels is empty"),
        (lambda: hc.Verdicts(["a", None]), "^labels misses 1 of 2 labels"),
        (lambda: hc.Verdicts(["a", "b"], classes=["a", "c"]), "not among the classes: 'b'"),
        (lambda: hc.Scored([0.2, 0.4], classes=["a"]), "^classes has 1 entries"),
        (lambda: hc.Scored([0.2, 0.4], predictions=["a"]), "^predictions has 1 values"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(HeadcountError, match=message):
        make()


def test_verdicts_that_training_never_had():
    said, y = decisions(2)
    q = hc.ACC().fit(hc.Verdicts(said), y)
    with pytest.raises(HeadcountError, match=r"labels of Verdicts has .* 'odd'"):
        q.predict(hc.Verdicts(["odd", "bad"]))


def test_published_rates_are_those_of_the_labelled_verdicts():
    verdicts = np.repeat(["ok", "bad", "ok", "bad"], [255, 45, 20, 180])
    y = np.repeat(["ok", "bad"], [300, 200])
    learnt = hc.ACC().fit(hc.Verdicts(verdicts, ["ok", "bad"]), y)
    given = hc.ACC.from_rates(
        sensitivity=(0.90, 200), specificity=(0.85, 300), classes=["ok", "bad"]
    )
    new = hc.Verdicts(["ok"] * 60 + ["bad"] * 40)
    np.testing.assert_allclose(given.predict(new), learnt.predict(new), atol=1e-12)
    first, second = (q.estimate(new, random_state=0).interval() for q in (given, learnt))
    np.testing.assert_allclose(first.low, second.low, atol=0.02)
    np.testing.assert_allclose(first.high, second.high, atol=0.02)


def test_rates_that_are_not_shares_of_whole_numbers_are_kept():
    q = hc.ACC.from_rates(sensitivity=(0.9, 7), specificity=(1 / 3, 5), classes=[0, 1])
    model = q.fitted_.model
    np.testing.assert_allclose(model.profiles, [[1 / 3, 2 / 3], [0.1, 0.9]], atol=1e-12)
    rates = [[0.8, 0.15, 0.05], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]]
    many = hc.GAC.from_rates(rates, [11, 3, 20], classes=["a", "b", "c"])
    np.testing.assert_allclose(many.fitted_.model.profiles, rates, atol=1e-12)


def test_noisier_rates_widen_the_interval():
    new = hc.Verdicts(["ok"] * 600 + ["bad"] * 400)
    widths = []
    for n in (50, 5000):
        rates = {"sensitivity": (0.9, n), "specificity": (0.85, n)}
        q = hc.ACC.from_rates(**rates, classes=["ok", "bad"])
        ends = q.estimate(new, random_state=0).interval()
        widths.append(float((ends.high - ends.low).max()))
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sensitivity": 0.9}, r"^sensitivity is 0.9; it must be a rate and the number"),
        ({"sensitivity": (1.2, 10)}, "^the rate of sensitivity is 1.2"),
        ({"specificity": (0.9, 0)}, "^n of specificity is 0"),
        ({"classes": ["a", "b", "c"]}, "^classes has 3 entries; it must have 2"),
        ({"classes": ["a", "a"]}, "^classes has a class twice"),
    ],
)
def test_bad_rates_are_named(given, message):
    good = {"sensitivity": (0.9, 20), "specificity": (0.9, 20), "classes": ["a", "b"]}
    with pytest.raises(HeadcountError, match=message):
        hc.ACC.from_rates(**good | given)
