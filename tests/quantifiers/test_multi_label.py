from __future__ import annotations

import pickle

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates import Estimates
from headcount.samples.samples import Samples

TAGS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = (1.5 * X[:, :3] + rng.normal(size=(500, 3)) > [0.0, 1.0, -1.0]).astype(int)
    return X[:300], y[:300], X[300:], y[300:]


def methods():
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    return [
        hc.SLD(random_state=0),
        hc.SLD(scaled, calibration="bcts", random_state=0),
        hc.ACC(scaled, random_state=0),
        hc.PACC(GaussianNB(), random_state=0),
        hc.PCC(scaled, cv=None),
        hc.HDx(),
        hc.Conditioned(hc.PACC(scaled), replicates=200, random_state=0),
    ]


@pytest.mark.parametrize("quantifier", methods(), ids=str)
def test_shares_are_those_of_one_quantifier_per_tag(data, quantifier):
    X, y, X_new, _ = data
    samples = [np.arange(80), np.arange(60, 200)]
    many = hc.MultiLabel(quantifier).fit(X, y)
    assert many.predict_many(X_new, samples).shape == (2, 3)
    for j in range(3):
        alone = clone(quantifier)
        if isinstance(quantifier, hc.Conditioned):
            alone.set_params(quantifier__cv=many.scorer_.each_[j].cv)
        elif "cv" in quantifier.get_params() and quantifier.cv is not None:
            alone.set_params(cv=many.scorer_.each_[j].cv)
        alone.fit(X, y[:, j])
        expected = alone.predict_many(X_new, samples)[:, 1]
        np.testing.assert_array_equal(many.predict_many(X_new, samples)[:, j], expected)
        np.testing.assert_array_equal(many.predict(X_new)[j], alone.predict(X_new)[1])


@pytest.mark.parametrize("quantifier", methods()[1:3], ids=str)
def test_estimates_are_those_of_one_quantifier_per_tag(data, quantifier):
    X, y, X_new, _ = data
    many = hc.MultiLabel(quantifier).fit(X, y)
    options = {"replicates": 300, "weights": np.linspace(1, 2, len(X_new))}
    found = many.estimate(X_new, **options)
    assert isinstance(found, Estimates)
    assert list(found) == [0, 1, 2]
    for j in range(3):
        alone = clone(quantifier).set_params(cv=many.scorer_.each_[j].cv).fit(X, y[:, j])
        expected = alone.estimate(X_new, **options)
        assert found.shares[j] == expected.shares[1]
        assert found.interval(0.9)[j] == expected.interval(0.9)[1]
        assert found[j].fit_test.p_value == expected.fit_test.p_value


def test_shares_follow_the_sample(data):
    X, y, X_new, y_new = data
    rows = np.flatnonzero(y_new[:, 0] == 1)
    found = (
        hc.MultiLabel(hc.PACC(random_state=0))
        .fit(X, y)
        .predict_many(X_new, [rows, np.arange(200)])
    )
    assert found[0, 0] > 0.9
    np.testing.assert_allclose(found[1], y_new.mean(axis=0), atol=0.1)


def test_sld_is_the_default(data):
    X, y, X_new, _ = data
    quantifier = hc.MultiLabel().fit(X, y)
    assert isinstance(quantifier.quantifiers_[0], hc.SLD)
    np.testing.assert_allclose(quantifier.prior_, y.mean(axis=0))
    assert ((quantifier.predict(X_new) > 0) & (quantifier.predict(X_new) < 1)).all()


def test_texts_and_groups(data):
    rng = np.random.default_rng(0)
    y = (rng.random((120, 2)) < 0.4).astype(int)
    texts = [
        " ".join(["word", *["late"] * a, *["dear"] * b, rng.choice(["late", "dear", "so"])])
        for a, b in y
    ]
    classifier = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    quantifier = hc.MultiLabel(hc.PACC(classifier, random_state=0))
    quantifier.fit(texts, pl.DataFrame(y, schema=["late", "dear"]), None, np.arange(120) // 3)
    np.testing.assert_allclose(quantifier.predict(texts), y.mean(axis=0), atol=0.05)
    with pytest.raises(HeadcountError, match="too few"):
        quantifier.fit(texts, np.repeat([[1, 1], [0, 0]], 60, axis=0), None,
                       np.repeat([0, 1], 60))  # fmt: skip


def test_scores_of_each_tag_made_elsewhere(data):
    X, y, X_new, _ = data
    shared = hc.MultiLabel(hc.PACC(random_state=0)).fit(X, y)
    scored = [hc.Scored(each.posteriors_) for each in shared.scorer_.each_]
    quantifier = hc.MultiLabel(hc.PACC()).fit(scored, y)
    new = [hc.Scored(each.posteriors) for each in shared.score(X_new)]
    np.testing.assert_allclose(quantifier.predict(new), shared.predict(X_new), atol=0.02)
    with pytest.raises(HeadcountError, match="2 scored sets of items, but there are 3 tags"):
        quantifier.predict(new[:2])
    # Scores of one call serve several.
    np.testing.assert_array_equal(shared.predict(shared.score(X_new)), shared.predict(X_new))


def test_the_result_prints_and_becomes_a_table(data):
    X, y, X_new, _ = data
    quantifier = hc.MultiLabel(hc.PACC(random_state=0)).fit(X, pl.DataFrame(y, schema=TAGS))
    halves = Samples.from_arrays([np.arange(100), np.arange(100, 200)], n_pool=200)
    first, second = quantifier.estimate_many(X_new, halves, replicates=200)
    assert first.n_items == second.n_items == 100
    assert list(first.prevalence) == list(first.interval()) == TAGS
    assert str(first).startswith("PACC: shares of 3 tags among these 100 items, with 95%")
    assert str(first).splitlines()[1].split() == ["tag", "share", "from", "to", "items"]
    frame = first.to_frame(0.9)
    assert frame["tag"].to_list() == TAGS
    assert frame.columns[-1] == "p_value"
    np.testing.assert_array_equal(frame["low"], first.interval(0.9).low)
    plain = first.to_dict()
    assert [each["tag"] for each in plain["tags"]] == TAGS
    assert plain["tags"][0]["share"] == first.prevalence["a"]
    assert plain["n_items"] == 100
    assert "<table" in first._repr_html_()
    assert first["b"].shares[1] == first.prevalence["b"]
    with pytest.raises(KeyError):
        first["d"]
    axes = first.plot()
    assert [label.get_text() for label in axes.get_yticklabels()].count("b") or axes.texts
    plt.close("all")


def test_warnings_name_their_tag(data):
    X, y, X_new, _ = data
    quantifier = hc.MultiLabel(hc.SLD(random_state=0)).fit(X, pl.DataFrame(y, schema=TAGS))
    moved = X_new + np.array([0, 0, 6.0, 0])
    found = quantifier.estimate(moved, replicates=200)
    assert any(text.startswith("c: ") for text in found.warnings)
    assert "note: c: " in str(found)


def test_it_survives_pickling_and_cloning(data):
    X, y, X_new, _ = data
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    quantifier = hc.MultiLabel(hc.SLD(scaled, random_state=0)).fit(X, y)
    again = pickle.loads(pickle.dumps(quantifier))
    np.testing.assert_array_equal(again.predict(X_new), quantifier.predict(X_new))
    assert clone(quantifier).get_params()["quantifier__random_state"] == 0


def test_a_classifier_without_scores_counts_its_predictions(data):
    X, y, X_new, _ = data

    class Labels(GaussianNB):
        predict_proba = property()

    quantifier = hc.MultiLabel(hc.ACC(Labels(), random_state=0)).fit(X, y)
    alone = hc.ACC(Labels(), cv=quantifier.scorer_.each_[0].cv).fit(X, y[:, 0])
    assert quantifier.predict(X_new)[0] == alone.predict(X_new)[1]


@pytest.mark.parametrize("method", [hc.SLD, hc.HDx, hc.MLPE, hc.AutoQuantifier, hc.OneVsRest])
@pytest.mark.parametrize("kind", [np.asarray, pl.DataFrame, np.ndarray.tolist])
def test_a_plain_quantifier_refers_to_this_class(data, method, kind):
    X, y, _, _ = data
    with pytest.raises(HeadcountError, match=r"y has 3 columns.*hc.MultiLabel") as caught:
        method().fit(X, kind(y))
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quantifier": "SLD"}, "quantifier is 'SLD'"),
        ({"y": np.zeros(300)}, "use the quantifier without MultiLabel"),
        ({"y": np.ones((4, 2)).cumsum(axis=0) % 2}, "X has 300 rows, but y has 4 labels"),
        ({"groups": [1, 2]}, "groups has 2 rows"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(data, wrong, message):
    X, y, _, _ = data
    wrong = {"y": y, "quantifier": None, "groups": None} | wrong
    with pytest.raises(HeadcountError, match=message) as caught:
        hc.MultiLabel(wrong["quantifier"]).fit(X, wrong["y"], None, wrong["groups"])
    assert len(str(caught.value)) <= 300


def test_labels_of_new_items_are_for_one_tag_at_a_time(data):
    X, y, X_new, y_new = data
    quantifier = hc.MultiLabel(hc.PACC(random_state=0)).fit(X, y)
    with pytest.raises(HeadcountError, match="labelled is for one tag at a time"):
        quantifier.estimate(X_new, labelled=([0, 1], y_new[:2]))
    found = quantifier.quantifiers_[0].estimate(
        X_new, labelled=(np.arange(60), y_new[:60, 0]), replicates=200
    )
    assert found.basis == "labels"
