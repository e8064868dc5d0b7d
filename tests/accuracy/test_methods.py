from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import headcount as hc
from headcount import accuracy
from headcount.accuracy.leap import Exact, LeastSquaresTables, equations
from headcount.accuracy.metrics import METRICS
from headcount.accuracy.regression import split
from headcount.errors import HeadcountError
from tests.accuracy.cases import data
from tests.oracle import accuracy as oracle

LEAPS = [accuracy.LEAP, accuracy.OLEAP, accuracy.SLEAP]


def scored(K, n, seed, strength=1.2):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    logits = strength * np.eye(K)[codes] + rng.normal(size=(n, K))
    scores = np.exp(logits)
    return scores / scores.sum(axis=1, keepdims=True), codes


def random_rates(K, rng):
    rates = 0.6 * np.eye(K) + 0.4 * rng.dirichlet(np.full(K, 0.3), K)
    rates[rates < 0.02] = 0
    return rates / rates.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("method", LEAPS)
@pytest.mark.parametrize("K", [2, 3, 5])
def test_a_noiseless_mixture_is_told_exactly(method, K):
    scores, codes = scored(K, 60 * K, K)
    repeats = np.arange(1, K + 1)[codes]
    rows = np.repeat(np.arange(len(codes)), repeats)
    predictor = method(quantifier=hc.PACC()).fit(hc.Scored(scores), codes)
    truth = oracle.table(codes[rows], scores[rows].argmax(axis=1), K)
    np.testing.assert_allclose(
        predictor.predict_table(hc.Scored(scores[rows])), truth, atol=1e-8
    )


@given(st.integers(2, 4), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40)
def test_least_squares_are_those_of_a_generic_solver(K, seed, every):
    rng = np.random.default_rng(seed)
    rates = random_rates(K, rng)
    shares, predicted = rng.dirichlet(np.ones(K), 2)
    found = LeastSquaresTables(rates, every=every)(shares[None], predicted[None])[0]
    first = 0 if every else 1
    slow = oracle.leap(rates, shares, predicted, first)
    worth = [oracle.leap_objective(x, rates, shares, predicted, first) for x in (found, slow)]
    assert worth[0] <= worth[1] + 1e-9
    np.testing.assert_allclose(found, slow, atol=2e-3)


def test_many_cells_at_a_time_or_one(monkeypatch):
    rng = np.random.default_rng(0)
    rates = random_rates(7, rng)
    shares, predicted = rng.dirichlet(np.ones(7), (2, 15))
    for every in (True, False):
        solver = LeastSquaresTables(rates, every=every)
        fast = solver(shares, predicted)
        with monkeypatch.context() as patch:
            patch.setattr("headcount.accuracy.leap._MANY_CELLS", 50)
            slow = solver(shares, predicted)
        np.testing.assert_allclose(fast, slow, atol=1e-9)
        with monkeypatch.context() as patch:  # where the free sets would go round
            patch.setattr("headcount.accuracy.leap._MOST_ROUNDS", 0)
            np.testing.assert_allclose(solver(shares, predicted), slow, atol=1e-9)


def test_leap_meets_as_many_equations_as_there_are_cells():
    rng = np.random.default_rng(1)
    rates = random_rates(3, rng)
    shares = np.array([[0.6, 0.3, 0.1]])
    predicted = shares @ rates + np.array([[0.01, -0.02, 0.01]])
    table = Exact(rates)(shares, predicted)[0]
    np.testing.assert_allclose(table[1:], shares[0, 1:, None] * rates[1:])
    np.testing.assert_allclose(table.sum(axis=0), predicted[0])
    np.testing.assert_allclose(table.sum(axis=1), shares[0])
    left = table.ravel() @ equations(rates, every=False)
    np.testing.assert_allclose(
        left, [0, 0, 0, 0, *predicted[0, 1:], *shares[0, 1:]], atol=1e-12
    )


def test_leap_depends_on_which_class_is_first():
    scores, codes = scored(2, 200, 3)
    new = scored(2, 60, 4)[0]
    plain = accuracy.LEAP(quantifier=hc.SLD()).fit(hc.Scored(scores), codes)
    turned = accuracy.LEAP(quantifier=hc.SLD()).fit(hc.Scored(scores[:, ::-1], [1, 0]), codes)
    tables = plain.predict_table(hc.Scored(new)), turned.predict_table(hc.Scored(new[:, ::-1]))
    assert np.abs(tables[0] - tables[1][::-1, ::-1]).max() > 1e-3
    for table in tables:
        np.testing.assert_allclose(table[1], table[1].sum() * [plain, turned][
            0 if table is tables[0] else 1].fitted_.training.rates[1])  # fmt: skip


@pytest.mark.parametrize("quantifier", [hc.ACC(), hc.HDy(), hc.OneVsRest(hc.DyS())])
def test_any_quantifier_will_do(quantifier):
    scores, codes = scored(2, 300, 5)
    predictor = accuracy.SLEAP(quantifier=quantifier).fit(hc.Scored(scores), codes)
    alone = quantifier.fit(hc.Scored(scores), codes).predict(hc.Scored(scores[:50]))
    np.testing.assert_allclose(
        predictor.predict_table(hc.Scored(scores[:50])).sum(axis=1), alone
    )
    assert predictor.estimate(hc.Scored(scores[:50]), replicates=200)


def test_combined_quantifiers_predict_and_refuse_intervals():
    scores, codes = scored(2, 300, 5)
    both = hc.Conditioned([hc.SLD(), hc.PACC()], replicates=200, random_state=0)
    predictor = accuracy.SLEAP(quantifier=both).fit(hc.Scored(scores), codes)
    assert 0 < predictor.predict(hc.Scored(scores)) <= 1
    with pytest.raises(HeadcountError, match="Conditioned, which combines the answers"):
        predictor.estimate(hc.Scored(scores), replicates=200)


def test_several_classifiers_need_the_items():
    model, (X, y), (Z, _) = data(2)
    median = hc.Median(hc.PACC(), [LogisticRegression(), GaussianNB()], random_state=0)
    predictor = accuracy.SLEAP(model, quantifier=median).fit(X, y)
    assert 0 < predictor.predict(Z) <= 1
    assert 0 < predictor.estimate(Z, replicates=200).value <= 1
    with pytest.raises(HeadcountError, match="quantifier is Median, which works on the items"):
        accuracy.SLEAP(quantifier=median).fit(hc.Scored(model.predict_proba(X)), y)


def test_decisions_for_a_class_without_labelled_items():
    y = np.array(["a", "b"] * 20)
    verdicts = hc.Verdicts(y, classes=["a", "b", "c"])
    with pytest.warns(hc.HeadcountWarning, match="none of class 'c'"):
        sleap = accuracy.SLEAP(quantifier=hc.ACC()).fit(verdicts, y)
    assert sleap.predict(hc.Verdicts(["a", "b", "b"])) == pytest.approx(1)
    with pytest.raises(HeadcountError, match="decisions for a class that the labelled"):
        sleap.predict(hc.Verdicts(["a", "c"], classes=["a", "b", "c"]))


def test_quantifiers_of_features_need_the_items():
    model, (X, y), (Z, _) = data(2)
    predictor = accuracy.SLEAP(model, quantifier=hc.HDx()).fit(X, y)
    alone = hc.HDx().fit(X, y).predict(Z)
    np.testing.assert_allclose(predictor.predict_table(Z).sum(axis=1), alone)
    assert predictor.estimate(Z, replicates=200).value > 0
    scores = model.predict_proba(X)
    with pytest.raises(HeadcountError, match="quantifier is HDx, which works on the items"):
        accuracy.SLEAP(quantifier=hc.HDx()).fit(hc.Scored(scores), y)
    with pytest.raises(HeadcountError, match="which works on the items themselves"):
        predictor.predict(hc.Scored(scores))


def test_the_quantifier_must_be_one():
    scores, codes = scored(2, 30, 5)
    with pytest.raises(HeadcountError, match="quantifier is 'SLD'; it must be a quantifier"):
        accuracy.LEAP(quantifier="SLD").fit(hc.Scored(scores), codes)


def test_a_reference_of_a_single_class():
    scores, codes = scored(3, 60, 6)
    one = codes == 1
    one_class = hc.Scored(scores[one], [0, 1, 2])
    with pytest.warns(hc.HeadcountWarning, match="none of class 0"):
        sleap = accuracy.SLEAP().fit(one_class, codes[one])
    table = sleap.predict_table(hc.Scored(scores))
    np.testing.assert_allclose(table.sum(axis=1), [0, 1, 0])
    assert sleap.estimate(hc.Scored(scores), replicates=200).fit_test is None
    cbpe = accuracy.CBPE().fit(one_class, codes[one])
    np.testing.assert_allclose(cbpe.predict_table(hc.Scored(scores)).sum(axis=1), [0, 1, 0])


@pytest.mark.parametrize("K", [2, 4])
def test_cbpe_is_the_expected_table(K):
    scores, codes = scored(K, 300, 7)
    new = scored(K, 80, 8)[0]
    predictor = accuracy.CBPE(calibration=None).fit(hc.Scored(scores), codes)
    slow = oracle.expected_table(new, new.argmax(axis=1), K)
    np.testing.assert_allclose(predictor.predict_table(hc.Scored(new)), slow)
    calibrated = accuracy.CBPE(calibration="bcts").fit(hc.Scored(scores), codes)
    assert np.abs(calibrated.predict_table(hc.Scored(new)) - slow).max() > 1e-4


def test_cbpe_with_posteriors_brought_to_the_sample():
    scores, codes = scored(3, 400, 9)
    new = scored(3, 90, 10)[0]
    predictor = accuracy.CBPE(calibration=None, correction="prior").fit(
        hc.Scored(scores), codes
    )
    moved = oracle.prior_corrected(new, np.bincount(codes) / len(codes))
    slow = oracle.expected_table(moved, new.argmax(axis=1), 3)
    np.testing.assert_allclose(predictor.predict_table(hc.Scored(new)), slow, atol=1e-4)
    assert predictor.fitted_.shift == "prior"


@pytest.mark.parametrize("parameters", [{"calibration": "magic"}, {"correction": "all"}])
def test_cbpe_refuses_what_it_does_not_know(parameters):
    scores, codes = scored(2, 30, 5)
    with pytest.raises(HeadcountError, match=f"{next(iter(parameters))} is"):
        accuracy.CBPE(**parameters).fit(hc.Scored(scores), codes)


@pytest.mark.parametrize("score", ["maxconf", "entropy"])
@pytest.mark.parametrize("K", [2, 3])
def test_atc_is_the_share_above_the_threshold(score, K):
    scores, codes = scored(K, 200, 11)
    new = scored(K, 70, 12)[0]

    def sure(P):
        return P.max(axis=1) if score == "maxconf" else (P * np.log(P)).sum(axis=1)

    right = scores.argmax(axis=1) == codes
    predictor = accuracy.ATC(score=score).fit(hc.Scored(scores), codes)
    slow = oracle.threshold_accuracy(sure(scores), right, sure(new))
    assert predictor.predict(hc.Scored(new)) == pytest.approx(slow)
    assert predictor.predict(hc.Scored(scores)) == pytest.approx(right.mean())
    slow_table = oracle.threshold_table(sure(scores), right, sure(new), new)
    table = predictor.predict_table(hc.Scored(new))
    np.testing.assert_allclose(table, slow_table, atol=1e-12)
    np.testing.assert_allclose(
        predictor.predict(hc.Scored(new), metric="f1"), METRICS["f1"](slow_table)
    )


def test_atc_divides_items_evenly_where_no_other_class_has_a_posterior():
    reference = [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.1, 0.2, 0.7], [0.0, 0.6, 0.4]]
    predictor = accuracy.ATC().fit(hc.Scored(np.array(reference)), [0, 1, 2, 0])
    # Confidence 1 is above the threshold; a tie of all is not.
    sure = hc.Scored(np.array([[1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(predictor.predict_table(sure)[:, 0], [1, 0, 0])
    model = predictor.fitted_.model
    never = replace(model, threshold=replace(model.threshold, value=2.0))
    outputs = predictor.fitted_.source.items(sure)
    np.testing.assert_allclose(never.posteriors(outputs), [[0, 0.5, 0.5]])


def test_mandoline_weighs_the_reference_log_linearly():
    scores, codes = scored(2, 150, 13)
    new = scored(2, 80, 14, strength=2)[0]
    predictor = accuracy.Mandoline(bins=3).fit(hc.Scored(scores), codes)
    edges = predictor.fitted_.model.edges

    def slices(P):
        entropy = (P * np.log(P)).sum(axis=1)
        bins = np.eye(3)[np.searchsorted(edges, entropy)]
        return np.hstack([np.eye(2)[P.argmax(axis=1)], bins])

    weights = oracle.log_linear_weights(slices(scores), slices(new).mean(axis=0))
    slow = weights @ (scores.argmax(axis=1) == codes)
    assert predictor.predict(hc.Scored(new)) == pytest.approx(slow, abs=1e-6)


def test_mandoline_with_slices_that_the_reference_does_not_have():
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    predictor = accuracy.Mandoline(bins=2).fit(hc.Scored(P), [0, 0, 1, 0])
    assert predictor.predict(hc.Scored(P[:, ::-1])) == pytest.approx(0.75)
    assert 0 <= predictor.predict(hc.Scored(np.vstack([P[:2], P[:2, ::-1]]))) <= 1


def test_doc_is_a_regression_on_confidence():
    scores, codes = scored(3, 900, 15)
    new = scored(3, 200, 16)[0]
    predictor = accuracy.DoC(n_samples=40, size=300, random_state=0).fit(
        hc.Scored(scores), codes
    )
    model = predictor.fitted_.model
    kept = split(predictor.fitted_.training, np.random.default_rng(0))[0]
    assert len(kept) == 540
    truth = predictor.fitted_.training.tables(model.samples).trace(axis1=1, axis2=2)
    base = predictor.fitted_.training.take(kept).table.trace()
    slope, start = np.polyfit(model.levels, base - truth, 1)
    gap = model.statistic.level - new.max(axis=1).mean()
    assert predictor.predict(hc.Scored(new)) == pytest.approx(base - start - slope * gap)
    naive = accuracy.Naive().fit(hc.Scored(scores), codes)
    assert predictor.predict(hc.Scored(new)) != naive.predict(hc.Scored(new))
    sure = np.tile([1.0, 0.0, 0.0], (5, 1))
    assert predictor.predict(hc.Scored(sure)) <= 1


def test_the_split_keeps_all_items_and_the_mix():
    scores, codes = scored(3, 301, 17)
    reference = accuracy.Naive().fit(hc.Scored(scores), codes).fitted_.training
    kept, rest = split(reference, np.random.default_rng(0))
    assert sorted([*kept, *rest]) == list(range(301))
    for k in range(3):
        assert np.mean(codes[rest] == k) == pytest.approx(np.mean(codes == k), abs=0.02)


@pytest.mark.parametrize("method", [accuracy.RCA, accuracy.RCAStar])
def test_reverse_classification_varies_with_the_sample(method):
    model, (X, y), (Z, truth) = data(2)
    predictor = method(model, n_samples=10, size=100, random_state=0).fit(X, y)
    first, second = (Z[truth == name] for name in ("ant", "bee"))
    assert predictor.predict(first) != predictor.predict(second)
    only = Z[model.predict(Z) == "ant"]  # a single predicted class teaches a single class
    assert 0 <= predictor.predict(only) <= 1
    other = method(model, learner=GaussianNB(), n_samples=10, size=100, random_state=0)
    assert other.fit(X, y).predict(Z) != predictor.predict(Z)
    with pytest.raises(HeadcountError, match="learner is 'tree'"):
        method(model, learner="tree").fit(X, y)


def test_under_prior_shift_equations_beat_confidence():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [1.3, 0.6]])

    def draw(n, share):
        codes = (rng.random(n) < share).astype(int)
        return centres[codes] + rng.normal(size=(n, 2)), codes

    X, y = draw(2000, 0.2)
    model = LogisticRegression().fit(X, y)
    V, Z = draw(3000, 0.2), draw(6000, 0.5)
    samples = hc.APP(n_prevalences=9, repeats=4, size=500, random_state=0).draw(Z[1])
    cells = 2 * Z[1] + model.predict(Z[0])
    truth = samples.prevalence_of(cells, 4)[:, [0, 3]].sum(axis=1)
    errors = {
        method.__class__.__name__: np.abs(
            method.fit(*V).predict_many(Z[0], samples) - truth
        ).mean()
        for method in (
            accuracy.Naive(model),
            accuracy.CBPE(model),
            accuracy.LEAP(model),
            accuracy.SLEAP(model, quantifier=hc.SLD()),
        )
    }
    corrected = accuracy.CBPE(model, correction="prior").fit(*V).predict_many(Z[0], samples)
    assert errors["LEAP"] < errors["CBPE"] / 3
    assert errors["SLEAP"] < errors["CBPE"] / 3
    assert np.abs(corrected - truth).mean() < errors["CBPE"] / 3
    assert errors["CBPE"] < errors["Naive"]
