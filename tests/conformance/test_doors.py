"""The same items in another form, or scored elsewhere, get the same answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import headcount as hc
from tests.conformance.cases import (
    each_case,
    each_scored_case,
    fitted,
    fitted_on_scores,
    labelled,
    pool,
    samples,
    scored,
    scored_pool,
)

COLUMNS = ["x", "y", "z"]
FRAMES = {
    "lists": lambda table: table.tolist(),
    "pandas": lambda table: pd.DataFrame(table, columns=COLUMNS[: table.shape[1]]),
    "polars": lambda table: pl.DataFrame(table, schema=COLUMNS[: table.shape[1]]),
}
SERIES = {"lists": lambda column: column.tolist(), "pandas": pd.Series, "polars": pl.Series}
each_kind = pytest.mark.parametrize("kind", FRAMES)


def close(given, expected, tolerance):
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance)


@each_kind
@each_case
def test_items_may_come_in_frames(case, kind):
    X, y = labelled(case.n_classes)
    quantifier = case.make().fit(FRAMES[kind](X), SERIES[kind](y))
    close(
        quantifier.predict_many(FRAMES[kind](pool(case.n_classes)), samples()),
        fitted(case).predict_many(pool(case.n_classes), samples()),
        1e-8,
    )


@each_kind
@each_scored_case
def test_scores_may_come_in_frames(case, kind):
    scores, y = scored(case.n_classes)
    quantifier = case.make().fit(hc.Scored(FRAMES[kind](scores)), SERIES[kind](y))
    np.testing.assert_array_equal(
        quantifier.predict_many(
            hc.Scored(FRAMES[kind](scored_pool(case.n_classes))), samples()
        ),
        fitted_on_scores(case).predict_many(hc.Scored(scored_pool(case.n_classes)), samples()),
    )


@each_scored_case
def test_scores_of_two_classes_may_be_a_vector(case):
    scores, y = scored(case.n_classes)
    new = scored_pool(case.n_classes)
    if case.n_classes > 2:
        with pytest.raises(
            hc.HeadcountError, match="posteriors has 2 columns, but there are 3 classes"
        ):
            case.make().fit(hc.Scored(scores[:, 1]), y)
        return
    # One minus the second column is the first one up to rounding.
    close(
        case.make().fit(hc.Scored(scores[:, 1]), y).predict(hc.Scored(new[:, 1])),
        fitted_on_scores(case).predict(hc.Scored(new)),
        1e-9,
    )


@each_case
def test_items_may_be_sparse(case):
    X, y = labelled(case.n_classes)
    X, new = np.maximum(X, 0), np.maximum(pool(case.n_classes), 0)
    dense = case.make(MultinomialNB()).fit(X, y)
    if not case.method.info.sparse:
        with pytest.raises(hc.HeadcountError, match=r"^X is sparse, but .* dense"):
            case.make().fit(sparse.csr_array(X), y)
        return
    thin = case.make(MultinomialNB()).fit(sparse.csr_array(X), y)
    if case.brings_learner:
        # Machines are trained to a tolerance: sums in another order end elsewhere within it.
        close(thin.predict(sparse.coo_array(new)), dense.predict(new), 0.1)
        return
    close(
        thin.predict_many(sparse.csc_matrix(new), samples()),
        dense.predict_many(new, samples()),
        1e-8,
    )
    close(thin.predict(sparse.coo_array(new)), dense.predict(new), 1e-8)


@each_scored_case
def test_quantifiers_share_a_scorer(case):
    X, y = labelled(case.n_classes)
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    quantifier = case.make()
    assert quantifier.fit_scorer(scorer) is quantifier
    assert quantifier.scorer_.classifier_ is scorer.classifier_
    if case.trains_several:
        return
    np.testing.assert_array_equal(
        quantifier.predict_many(pool(case.n_classes), samples()),
        fitted(case).predict_many(pool(case.n_classes), samples()),
    )


@each_scored_case
def test_fitting_a_shared_scorer_again_leaves_its_quantifiers(case):
    X, y = labelled(case.n_classes)
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    quantifier = case.make().fit_scorer(scorer)
    before = quantifier.predict_many(pool(case.n_classes), samples())
    scorer.fit(X[:, ::-1], y)
    np.testing.assert_array_equal(
        quantifier.predict_many(pool(case.n_classes), samples()), before
    )


@each_scored_case
def test_a_frozen_classifier_is_as_good_as_its_scores(case):
    X, y = labelled(case.n_classes)
    classifier = GaussianNB().fit(X[:90], y[:90])
    frozen = case.make(FrozenEstimator(classifier)).fit(X[90:], y[90:])
    by_scores = case.make().fit(hc.Scored(classifier.predict_proba(X[90:])), y[90:])
    new = pool(case.n_classes)
    np.testing.assert_array_equal(
        frozen.predict_many(new, samples()),
        by_scores.predict_many(hc.Scored(classifier.predict_proba(new)), samples()),
    )


@each_scored_case
def test_a_quantifier_fitted_on_items_takes_scores_too(case):
    quantifier, new = fitted(case), pool(case.n_classes)
    if case.trains_several:
        with pytest.raises(hc.HeadcountError, match="fitted with several classifiers"):
            quantifier.predict(hc.Scored(scored_pool(case.n_classes)))
        return
    scores, drawn = quantifier.scorer_.posteriors(new), samples()
    if quantifier._by_folds or case.simulates:
        scores = quantifier.scorer_.fold_posteriors(new).reshape(-1, case.n_classes)
        drawn = drawn.over(len(scores))
    given = quantifier.predict_many(hc.Scored(scores), drawn)
    expected = quantifier.predict_many(new, samples())
    if case.simulates and len({member.info.scoring for member in quantifier.members_}) > 1:
        # Some of its methods take scores by the classifier, the others those by folds.
        assert np.abs(given - expected)[drawn.n_items > 30].max() < 0.1
        return
    # Sums of the scores of several folds are added up in another order.
    close(given, expected, 1e-9)


@each_scored_case
def test_an_item_that_was_scored_several_times_is_one_item(case):
    quantifier, scores = fitted_on_scores(case), scored_pool(case.n_classes)
    close(
        quantifier.predict_many(hc.Scored(np.tile(scores, (3, 1))), samples().over(360)),
        quantifier.predict_many(hc.Scored(scores), samples()),
        1e-8,
    )


@each_scored_case
def test_labels_are_enough_for_methods_that_count_them(case):
    X, y = labelled(case.n_classes)
    quantifier = case.make(OnlyLabels())
    if quantifier.takes == "labels":
        same = case.make().fit(X, y).predict_many(pool(case.n_classes), samples())
        quantifier.fit(X, y)
        np.testing.assert_array_equal(
            quantifier.predict_many(pool(case.n_classes), samples()), same
        )
    else:
        with pytest.raises(hc.HeadcountError, match=r"OnlyLabels has neither predict_proba"):
            quantifier.fit(X, y).predict(pool(case.n_classes))


class OnlyLabels(ClassifierMixin, BaseEstimator):
    """Naive Bayes that keeps its posteriors to itself."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


@each_scored_case
def test_a_scorer_that_did_not_cross_fit_is_enough_for_methods_that_count(case):
    X, y = labelled(case.n_classes)
    scorer = hc.Scorer(GaussianNB()).fit(X, y, out_of_fold=False)
    quantifier = case.make()
    if quantifier._learns_from_scores():
        with pytest.raises(hc.HeadcountError, match="was not made"):
            quantifier.fit_scorer(scorer)
    else:
        np.testing.assert_array_equal(
            quantifier.fit_scorer(scorer).predict_many(pool(case.n_classes), samples()),
            fitted(case).predict_many(pool(case.n_classes), samples()),
        )


def test_items_may_be_texts():
    texts = [
        "good fine day",
        "bad sad rain",
        "good sun",
        "rain bad",
        "fine sun",
        "sad rain",
    ] * 5
    y = ["up", "down"] * 15
    classifier = make_pipeline(CountVectorizer(), MultinomialNB())
    for method in (hc.MLPE(), hc.CC(classifier), hc.PACC(classifier, random_state=0)):
        shares = method.fit(texts, y).predict_many(texts, [[0, 2, 4, 6], [1, 3]])
        assert shares.shape == (2, 2)
    np.testing.assert_allclose(shares, [[0, 1], [1, 0]], atol=1e-9)
