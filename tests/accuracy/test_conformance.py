"""What every method of accuracy prediction must do, found by discovery."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import headcount as hc
from headcount.accuracy.base import methods, predictors
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.metrics import METRIC_NAMES, METRICS, as_metric, table_of
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts
from headcount.scores.scorer import ScoredPool
from tests.accuracy.cases import (
    NAMES,
    OF_SCORES,
    QUICK,
    data,
    fitted,
    make,
    some_samples,
)

both = pytest.mark.parametrize("K", [2, 3])
every = pytest.mark.parametrize("name", NAMES)
of_scores = pytest.mark.parametrize("name", OF_SCORES)


def test_all_methods_are_found():
    found = set(methods())
    assert found >= {
        "Naive", "LEAP", "OLEAP", "SLEAP", "CBPE", "ATC", "DoC", "RCA", "RCAStar", "Mandoline",
        "COT", "COTT", "DispersionScore", "NuclearNorm", "PAPE",
    }  # fmt: skip
    assert found == set(NAMES)
    assert found <= set(hc.accuracy.__all__)


@both
@every
def test_tables_are_on_the_simplex_and_give_the_measures(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    samples = some_samples(len(X))
    if not predictor.has_table:
        with pytest.raises(HeadcountError, match="gives no table"):
            predictor.predict_tables(X, samples)
        return
    tables = predictor.predict_tables(X, samples)
    assert tables.shape == (4, K, K)
    assert (tables >= 0).all()
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1, atol=1e-9)
    for metric in METRICS:
        values = predictor.predict_many(X, samples, metric)
        np.testing.assert_allclose(values, METRICS[metric](tables), atol=1e-12)
    corner = predictor.predict_many(X, samples, lambda table: table[0, 1])
    np.testing.assert_array_equal(corner, tables[:, 0, 1])
    np.testing.assert_array_equal(
        predictor.predict_table(X[samples[0]]), predictor.predict_tables(X, samples[:1])[0]
    )


@both
@every
def test_measures_are_given_within_their_range_or_refused(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    given = {}
    for metric in METRIC_NAMES:
        measure = as_metric(metric, predictor.fitted_.training)
        if not predictor.supports(metric):
            with pytest.raises(HeadcountError, match=f"metric is '{metric}', but"):
                predictor.predict(X, metric)
            continue
        given[metric] = predictor.predict(X, metric)
        assert isinstance(given[metric], float)
        assert measure.low <= given[metric] <= measure.high
    assert given["accuracy"] + given["error"] == pytest.approx(1)
    with pytest.raises(HeadcountError, match="metric is 'auc'; it must be one of"):
        predictor.predict(X, "auc")


@both
@every
def test_many_samples_are_as_each_alone(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    samples = some_samples(len(X))
    together = predictor.predict_many(X, samples)
    alone = [predictor.predict(X[rows]) for rows in samples]
    np.testing.assert_allclose(together, alone, atol=1e-12)
    parts = [predictor.predict_many(X, samples[:1]), predictor.predict_many(X, samples[1:])]
    np.testing.assert_array_equal(together, np.concatenate(parts))
    np.testing.assert_array_equal(together[::-1], predictor.predict_many(X, samples[::-1]))


@both
@of_scores
def test_scores_do_instead_of_a_classifier(name, K):
    model, (X, y), (Z, _) = data(K)
    predictor = fitted(name, K)
    known = Scored(model.predict_proba(X), model.classes_, model.predict(X))
    elsewhere = make(name).fit(known, y)
    pool, samples = Scored(model.predict_proba(Z)), some_samples(len(Z))
    found = elsewhere.predict_many(pool, samples)
    assert found.shape == (4,)
    assert elsewhere.predict(pool.take(samples[0])) == pytest.approx(found[0], abs=1e-12)
    with pytest.raises(HeadcountError, match=r"fitted on scores .* no classifier for X"):
        elsewhere.predict(Z)
    if name.startswith("QuAcc"):
        return  # with items, it uses the features as well
    np.testing.assert_array_equal(found, predictor.predict_many(Z, samples))
    np.testing.assert_array_equal(found, predictor.predict_many(pool, samples))
    if predictor.has_table:
        np.testing.assert_array_equal(
            elsewhere.predict_tables(pool, samples), predictor.predict_tables(Z, samples)
        )
        np.testing.assert_array_equal(elsewhere.predict_table(pool), predictor.predict_table(Z))


@both
@of_scores
def test_given_predictions_are_used(name, K):
    model, (X, y), (Z, _) = data(K)
    last, P = model.classes_[-1], model.predict_proba(X)
    own = np.where(P[:, -1] > 0.2, last, model.predict(X))
    predictor = make(name).fit(Scored(P, predictions=own), y)
    truth = np.mean(own == y)
    np.testing.assert_allclose(np.trace(predictor.fitted_.training.table), truth)
    if predictor.has_table:
        pool = Scored(model.predict_proba(Z), predictions=np.full(len(Z), last))
        assert predictor.predict_table(pool)[:, -1].sum() > 0
    default = make(name).fit(Scored(P), y)
    np.testing.assert_array_equal(default.fitted_.training.items.labels, P.argmax(axis=1))


@both
@every
def test_several_metrics_are_as_each_alone(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    samples = some_samples(len(X))
    given = [metric for metric in METRIC_NAMES if predictor.supports(metric)]
    together = predictor.predict_metrics(X, samples, given)
    assert together.shape == (len(given), 4)
    for metric, values in zip(given, together, strict=True):
        np.testing.assert_array_equal(values, predictor.predict_many(X, samples, metric))


@both
@every
def test_a_scored_pool_is_scored_once(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    pool = ScoredPool(X)
    samples = some_samples(len(X))
    first = predictor.predict_many(pool, samples)
    np.testing.assert_array_equal(first, predictor.predict_many(X, samples))
    before = pool.n_scorings
    predictor.predict_many(pool, samples)
    assert pool.n_scorings == before


@both
@of_scores
def test_order_and_names_of_classes_do_not_matter(name, K):
    if name in ("LEAP", "DoC", "NuclearNorm", "QuAcc", "QuAccSearch"):
        pytest.skip("it treats the first class apart, or draws at random")
    model, (X, y), (Z, _) = data(K)
    order = np.arange(K)[::-1]
    P, Q = model.predict_proba(X), model.predict_proba(Z)
    predictor = make(name).fit(Scored(P, model.classes_), y)
    turned = make(name).fit(Scored(P[:, order], model.classes_[order]), y)
    for pool in (Scored(Q[:, order]), Scored(Q, model.classes_)):
        assert turned.predict(pool) == pytest.approx(predictor.predict(Scored(Q)), abs=1e-6)
        if predictor.has_table:
            np.testing.assert_allclose(
                turned.predict_table(pool)[np.ix_(order, order)],
                predictor.predict_table(Scored(Q)),
                atol=1e-6,
            )


@every
def test_parameters_clones_and_pickles(name):
    model, (X, y), (Z, _) = data(2)
    predictor = make(name, model)
    copy = clone(predictor)
    assert copy.classifier is model
    assert not hasattr(copy, "fitted_")
    assert copy.get_params(deep=False).keys() == predictor.get_params(deep=False).keys()
    if "quantifier" in predictor.get_params(deep=False):
        assert copy.quantifier is not predictor.quantifier
        assert "quantifier__random_state" in predictor.get_params()
    found = copy.fit(X, y).predict(Z)
    assert found == predictor.fit(X, y).predict(Z)
    assert pickle.loads(pickle.dumps(predictor)).predict(Z) == found
    assert type(predictor).__name__ in repr(predictor)


@both
@every
def test_estimates(name, K):
    predictor, (_, _, (X, _)) = fitted(name, K), data(K)
    samples = [np.arange(100), np.arange(100, 260)]
    estimates = predictor.estimate_many(X, samples, **QUICK)
    values = predictor.predict_many(X, samples)
    for estimate, value, rows in zip(estimates, values, samples, strict=True):
        assert isinstance(estimate, AccuracyEstimate)
        assert estimate.raw == pytest.approx(value, abs=1e-12)
        assert estimate.value == pytest.approx(estimate.draws.mean(), abs=0.01)
        assert (estimate.n_items, estimate.metric, estimate.estimand) == (
            len(rows),
            "accuracy",
            "realised",
        )
        low, high = estimate.interval()
        wide = estimate.interval(0.99)
        assert 0 <= wide.low <= low <= estimate.value <= high <= wide.high <= 1
        assert high - low >= 1 / len(rows) - 1e-12
        assert (estimate.table is not None) == predictor.has_table
    again = predictor.estimate_many(X, samples, **QUICK)
    assert [e.interval() for e in again] == [e.interval() for e in estimates]
    expected = predictor.estimate(X, estimand="expected", level=0.5, **QUICK)
    assert expected.estimand == "expected"
    assert expected.interval() == expected.interval(0.5)


@of_scores
def test_estimates_of_scores(name):
    model, (X, y), (Z, _) = data(2)
    predictor = make(name).fit(Scored(model.predict_proba(X), model.classes_), y)
    pool = Scored(model.predict_proba(Z))
    assert predictor.estimate(pool, **QUICK).raw == predictor.predict(pool)
    assert predictor.estimate_many(pool, [np.arange(50)], **QUICK)[0].n_items == 50


@every
def test_bad_input_gets_a_sentence(name):
    model, (X, y), (Z, _) = data(2)
    unknown = y.astype(object).copy()
    unknown[3] = "elk"
    with_nan = X.copy()
    with_nan[5, 1] = np.nan
    cases = [
        (lambda: make(name).fit(X, y), "classifier is None"),
        (lambda: make(name, LogisticRegression()).fit(X, y), "never fitted"),
        (lambda: make(name, "model").fit(X, y), "must be a fitted scikit-learn classifier"),
        (lambda: make(name, LinearSVC().fit(X, y)).fit(X, y), "no predict_proba"),
        (lambda: make(name, model).fit(X, unknown), "not among the classes: 'elk'"),
        (lambda: make(name, model).fit(X[:9], y[:8]), "9 rows, but y has 8 labels"),
        (lambda: make(name, model).fit(X[:0], y[:0]), "no rows"),
        (lambda: make(name, model).fit(with_nan, y), "missing"),
        (lambda: make(name, model).fit(X[:, :2], y), "X has 2 columns"),
    ]
    fine = make(name, model).fit(X, y)
    cases += [
        (lambda: fine.predict(with_nan), "missing"),
        (lambda: fine.predict(X[:0]), "no rows"),
        (lambda: fine.predict_many(X, [[0, 10**6]]), "1000000"),
        (lambda: fine.predict_many(X, [[]]), "empty"),
        (lambda: fine.predict(X, metric=3), "metric is 3"),
        (lambda: fine.estimate(X, estimand="true"), "estimand is 'true'"),
        (lambda: fine.estimate(X, level=2), "level is 2"),
        (lambda: fine.estimate(X, replicates=5), "replicates is 5"),
        (lambda: fine.estimate(X, prior=-1), "prior is -1"),
    ]
    for call, sentence in cases:
        with pytest.raises(HeadcountError, match=sentence):
            call()
    assert fine.predict(Z) == fine.predict(Z)


@of_scores
def test_bad_scores_get_a_sentence(name):
    model, (X, y), _ = data(2)
    scores = model.predict_proba(X)
    fine = make(name).fit(Scored(scores), y)
    wide = np.full((5, 3), 1 / 3)
    cases = [
        (lambda: make(name).fit(Scored(wide), y[:5]), "posteriors has 3 columns"),
        (lambda: make(name).fit(Scored(scores[:9]), y), "9 rows, but y has 320"),
        (lambda: make(name).fit(Scored(scores, None, ["elk"] * 320), y), "predictions has"),
        (lambda: make(name).fit(Scored(scores), ["ant"] * 320), "single class"),
        (lambda: fine.predict(Scored(wide)), "posteriors has 3 columns"),
        (lambda: fine.predict(Scored(scores, None, ["elk"] * 320)), "predictions has"),
        (lambda: fine.predict(ScoredPool(X)), "no classifier for X"),
    ]
    for call, sentence in cases:
        with pytest.raises(HeadcountError, match=sentence):
            call()


@both
@pytest.mark.parametrize("name", ["Naive", "LEAP", "OLEAP", "SLEAP"])
def test_decisions_are_enough(name, K):
    model, (X, y), (Z, _) = data(K)
    options = {} if name == "Naive" else {"quantifier": hc.ACC()}
    method = predictors()[name]
    known, pool = Verdicts(model.predict(X)), Verdicts(model.predict(Z))
    predictor = method(**options).fit(known, y)
    assert predictor.fitted_.takes == "labels"
    samples = some_samples(len(Z))
    scored = method(model, **options).fit(X, y)
    np.testing.assert_array_equal(
        predictor.predict_tables(pool, samples), scored.predict_tables(Z, samples)
    )
    np.testing.assert_array_equal(predictor.predict_table(Scored(model.predict_proba(Z))),
                                  predictor.predict_table(pool))  # fmt: skip
    estimate = predictor.estimate(pool, **QUICK)
    assert estimate.interval() == scored.estimate(Z, **QUICK).interval()
    assert estimate.fit_test is None


@of_scores
def test_methods_of_posteriors_refuse_decisions(name):
    _, (_, y), _ = data(2)
    predictor = make(name)
    if name == "Naive":
        return
    with pytest.raises(HeadcountError, match=r"needs posteriors.* Naive, or LEAP, OLEAP or"):
        predictor.fit(Verdicts(y), y)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_SCORES])
def test_methods_of_items_refuse_scores(name):
    with pytest.raises(HeadcountError, match="works on the items, not on outputs"):
        make(name).fit(Scored([0.2, 0.8]), [0, 1])
    model, (X, y), _ = data(2)
    with pytest.raises(HeadcountError, match="works on the items, not on outputs"):
        make(name, model).fit(X, y).predict(Verdicts(y))


@every
def test_it_must_be_fitted_first(name):
    model, _, (Z, _) = data(2)
    with pytest.raises(ValueError, match="not fitted"):
        make(name, model).predict(Z)


@of_scores
def test_a_class_may_be_missing_from_the_labelled_items(name):
    if name.startswith("QuAcc"):
        pytest.skip("its own tests look at that")
    model, (X, y), (Z, _) = data(3)
    kept = y != model.classes_[1]
    predictor = make(name, model)
    if name in ("LEAP", "OLEAP", "SLEAP"):
        with pytest.warns(hc.HeadcountWarning, match="none of class 'bee'"):
            predictor.fit(X[kept], y[kept])
    else:
        predictor.fit(X[kept], y[kept])
    value = predictor.predict(Z)
    assert 0 <= value <= 1
    if predictor.has_table:
        table = predictor.predict_table(Z)
        assert np.isfinite(table).all()
        assert table.sum() == pytest.approx(1)
    estimate = predictor.estimate(Z, **QUICK)
    assert np.isfinite(estimate.interval()).all()


@of_scores
def test_twenty_classes(name):
    if name.startswith("QuAcc"):
        pytest.skip("its own tests look at that")
    rng = np.random.default_rng(0)
    K, n = 20, 600
    codes = rng.integers(K, size=n)
    scores = rng.dirichlet(np.full(K, 0.3), n) * 0.4
    scores[np.arange(n), codes] += 0.6 * rng.random(n)
    scores /= scores.sum(axis=1, keepdims=True)
    predictor = make(name).fit(Scored(scores[:400]), codes[:400])
    pool, samples = Scored(scores[400:]), [np.arange(100), np.arange(100, 200)]
    values = predictor.predict_many(pool, samples)
    truth = [np.mean(codes[400:][r] == scores[400:][r].argmax(axis=1)) for r in samples]
    np.testing.assert_allclose(values, truth, atol=0.2)
    if predictor.has_table:
        tables = predictor.predict_tables(pool, samples)
        np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1, atol=1e-9)
        assert (tables >= 0).all()


def test_the_table_of_known_labels():
    found = table_of(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3)
    np.testing.assert_allclose(found, np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]]) / 4)
