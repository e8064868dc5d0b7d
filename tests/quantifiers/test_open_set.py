from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.samples import Samples
from headcount.scores.novelty import NoveltyScorer
from headcount.scores.scorer import Scorer


def blobs(counts, seed):
    """Items around centres on a ring, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    angle = 2 * np.pi * np.arange(6) / 6
    centres = 5 * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(6)])
    return centres[y] + rng.normal(size=(len(y), 3)), y


@pytest.fixture(scope="module")
def fitted():
    X, y = blobs([80] * 5, seed=0)
    return hc.OpenSet(hc.SLD(GaussianNB(), random_state=0)).fit(X, y)


def test_the_share_of_an_unseen_class_is_found(fitted):
    X, y = blobs([60, 30, 60, 20, 30, 100], seed=1)
    found = fitted.predict(X)
    assert fitted.classes_.tolist() == [0, 1, 2, 3, 4, "other"]
    np.testing.assert_allclose(found, np.bincount(y) / len(y), atol=0.05)
    estimate = fitted.estimate(X)
    low, high = estimate.interval()["other"]
    assert low <= 1 / 3 <= high
    assert estimate.method == "OpenSet(SLD)"
    assert str(estimate).splitlines()[-1].startswith(("other", "note"))
    assert fitted.separation_ > 0.95


def test_unknown_items_unlike_left_out_classes_have_a_warning_of_their_own(fitted):
    X, _ = blobs([60, 60, 60, 60, 60], seed=3)
    far = np.tile([30.0, 0.0, 40.0], (100, 1))
    found = fitted.estimate(np.concatenate([X, far])).warnings
    broken = [text for text in found if text.startswith("The sample does not look like")]
    assert len(broken) == 1
    assert "the known classes and those that were left out in turn (p < 0.0001)" in broken[0]
    assert "PCC" not in broken[0]


def test_nothing_is_unseen(fitted):
    X, _ = blobs([90, 30, 120, 20, 40], seed=2)
    known = fitted.quantifier_.fitted_.scorer.fitted_
    plain = hc.SLD(GaussianNB(), cv=known.cv).fit_scorer(known).predict(X)
    found = fitted.predict(X)
    assert found[-1] < 0.02
    np.testing.assert_allclose(found[:-1], plain, atol=0.02)
    low, high = fitted.estimate(X).interval()["other"]
    assert low == 0
    assert high < 0.3  # it could be a class that looks like the known ones


def test_many_samples_are_solved_as_each_alone(fitted):
    X, _ = blobs([40] * 6, seed=3)
    samples = [np.arange(0, 240, 2), np.arange(100, 240)]
    many = fitted.predict_many(X, samples)
    np.testing.assert_allclose(many.sum(axis=1), 1)
    for own, rows in zip(many, samples, strict=True):
        np.testing.assert_allclose(own, fitted.predict_many(X, [rows])[0], atol=1e-12)
    estimates = fitted.estimate_many(X, samples, replicates=200)
    assert [e.n_items for e in estimates] == [120, 140]


def test_unknown_items_of_a_simulated_sample_are_of_one_left_out_class(fitted):
    model, training = fitted.quantifier_.fitted_.model, fitted.quantifier_.fitted_.training
    assert len(model.without) == 5
    n_known = int((model.source < 0).sum())
    samples = Samples.from_arrays(
        [np.arange(n_known, n_known + 50)] * 10, n_pool=len(training.codes)
    )
    found = model.solve_training(training, samples)
    assert found.prevalence.shape == (10, 6)
    # A few samples have items that look like known ones.
    assert (found.prevalence[:, -1] > 0.7).mean() >= 0.7


def test_models_of_simulations_have_not_learnt_from_the_left_out_class(fitted):
    quantifier = fitted.quantifier_
    training, source = quantifier.fitted_.training, quantifier.fitted_.model.source
    kept = source != 2
    weights = training.weights.copy()
    other = training.codes == 5
    weights[other] *= weights[other].sum() / weights[other & kept].sum()
    alone = quantifier._aggregation().fit(
        type(training)(training.items[kept], training.codes[kept], 6, weights[kept])
    )
    np.testing.assert_allclose(alone.prior, quantifier.fitted_.model.without[2].prior)


@pytest.mark.parametrize("novelty", ["both", "scores", "distance"])
@pytest.mark.parametrize("method", [hc.SLD, hc.GPAC, hc.KDEyML, hc.ACC], ids=str)
def test_any_method_and_sign(novelty, method):
    X, y = load_digits(return_X_y=True)
    known = np.flatnonzero(y[:600] < 6)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    quantifier = hc.OpenSet(
        method(classifier, cv=3, random_state=0), novelty=novelty, held_out=3
    )
    quantifier.fit(X[known], y[known])
    new = np.concatenate([np.flatnonzero(y[600:] < 6)[:300], np.flatnonzero(y[600:] == 6)])
    found = quantifier.predict(X[600:][new])
    assert found.shape == (7,)
    assert found[-1] > 0.08  # 23% are unseen


def test_texts_labels_and_frames():
    rng = np.random.default_rng(0)
    topics = [[f"{letter}{i}" for i in range(12)] for letter in "abcde"]

    def texts(counts):
        y = np.repeat(np.arange(len(counts)), counts)
        made = [" ".join([*rng.choice(topics[j], 4), *rng.choice(topics[4], 2)]) for j in y]
        return made, np.array(["art", "bank", "car", "dog"])[y]

    X, y = texts([60, 60, 60])
    classifier = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    quantifier = hc.OpenSet(hc.SLD(classifier, random_state=0), other="new").fit(X, y)
    assert quantifier.classes_.tolist() == ["art", "bank", "car", "new"]
    X_new, _ = texts([30, 20, 40, 60])
    assert abs(quantifier.predict(X_new)[-1] - 0.4) < 0.1
    np.testing.assert_allclose(quantifier.prior_, [1 / 3, 1 / 3, 1 / 3, 0])
    X, y = blobs([50] * 4, seed=0)
    framed = hc.OpenSet(hc.SLD(random_state=0)).fit(pl.DataFrame(X), y)
    plain = hc.OpenSet(hc.SLD(random_state=0)).fit(X, y)
    np.testing.assert_allclose(framed.predict(pl.DataFrame(X)), plain.predict(X), atol=1e-9)


def test_two_classes_are_told_from_others_by_distance():
    X, y = blobs([100, 100], seed=0)
    with pytest.raises(HeadcountError, match="set novelty to 'distance'"):
        hc.OpenSet(hc.SLD(random_state=0)).fit(X, y)
    quantifier = hc.OpenSet(hc.SLD(random_state=0), novelty="distance").fit(X, y)
    X_new, _ = blobs([60, 60, 0, 80], seed=1)
    assert abs(quantifier.predict(X_new)[-1] - 0.4) < 0.1
    assert quantifier.predict(X)[-1] < 0.05


def test_weights_count_like_copies_of_items():
    X, y = blobs([60] * 4, seed=0)
    weights = np.where(y == 0, 3.0, 1.0)
    quantifier = hc.OpenSet(hc.SLD(GaussianNB(), random_state=0)).fit(X, y, weights)
    np.testing.assert_allclose(quantifier.prior_, [0.5, 1 / 6, 1 / 6, 1 / 6, 0])
    # "Other" weighs as much as a class on average.
    prior = quantifier.quantifier_.prior_
    assert prior[-1] == pytest.approx(0.2)


def test_classes_that_are_hardly_told_apart_give_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.repeat(np.arange(3), 100)
    with pytest.warns(HeadcountWarning, match="hardly told from the known ones"):
        hc.OpenSet(hc.SLD(random_state=0)).fit(X, y)


def test_it_survives_pickling_and_cloning(fitted):
    X, _ = blobs([30] * 6, seed=4)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert clone(fitted).get_params()["quantifier__random_state"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"novelty": "energy"}, "novelty is 'energy'"),
        ({"held_out": 1}, "held_out"),
        ({"other": 2}, "other is 2, which is a class of y"),
        ({"quantifier": "SLD"}, "quantifier is 'SLD'"),
        ({"quantifier": hc.HDx()}, "with one classifier"),
        ({"quantifier": hc.AutoQuantifier()}, "with one classifier"),
        ({"quantifier": hc.DyS()}, "OneVsRest"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, message):
    X, y = blobs([20] * 4, seed=0)
    with pytest.raises(HeadcountError, match=message) as caught:
        hc.OpenSet(**options).fit(X, y)
    assert len(str(caught.value)) <= 300


def test_bad_items_are_refused_in_a_sentence():
    X, y = blobs([20] * 4, seed=0)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    with pytest.raises(HeadcountError, match="classifier is frozen"):
        hc.OpenSet(hc.SLD(frozen)).fit(X, y)
    with pytest.raises(HeadcountError, match="single item"), pytest.warns(HeadcountWarning):
        hc.OpenSet(hc.SLD(GaussianNB())).fit(X[:61], y[:61])
    with pytest.raises(HeadcountError, match="X has 79 rows"):
        hc.OpenSet().fit(X[1:], y)

    class OfTexts(GaussianNB):
        """Takes texts, without a pipeline."""

        def _numbers(self, X):
            return np.array([[float(text[0])] for text in np.asarray(X).ravel()])

        def fit(self, X, y, sample_weight=None):
            return super().fit(self._numbers(X), y)

        def predict_proba(self, X):
            return super().predict_proba(self._numbers(X))

        def predict(self, X):
            return super().predict(self._numbers(X))

    texts = [f"{(j + i) % 9} of it" for i, j in enumerate(y)]
    with pytest.raises(HeadcountError, match="uses the scores alone"):
        hc.OpenSet(hc.SLD(OfTexts())).fit(texts, y)


def test_distances_are_capped_to_a_number_of_references(monkeypatch):
    monkeypatch.setattr("headcount.scores.novelty._MOST_REFERENCES", 30)
    X, y = blobs([40] * 4, seed=0)
    scorer = NoveltyScorer(Scorer(GaussianNB(), random_state=0)).fit(X, y)
    assert scorer._whole.plain.n_samples_fit_ == 30
    assert scorer.labels(X).shape == (160,)
    assert scorer.fold_labels(X).shape == (5, 160)
    assert scorer.n_features_in_ == 3
