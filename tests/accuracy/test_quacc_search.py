from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.accuracy.metrics import METRICS, FittedClassifier, Reference
from headcount.accuracy.quacc import QuAcc
from headcount.accuracy.search import QuAccSearch, held_out_rows, try_settings
from headcount.errors import HeadcountError


class Counting(LogisticRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(2000, n_features=10, n_informative=8, random_state=0)
    X = X / np.abs(X).max(axis=0)
    model = LogisticRegression().fit(X[:300], y[:300])
    return model, X[300:1100], y[300:1100], X[1100:], y[1100:]


def test_settings_that_share_a_classifier_train_it_once(problem):
    model, X, y, *_ = problem
    Counting.fits = 0
    search = QuAccSearch(
        model,
        quantifier=hc.KDEyML(Counting(), random_state=0),
        param_grid={"quantifier__bandwidth": [0.05, 0.1, 0.2], "variant": ["1xn2", "1xn+1"]},
        n_samples=5,
        size=100,
        random_state=0,
    ).fit(X, y)
    # Six for each variant (five folds and the whole), and six for the best on everything.
    assert Counting.fits == 3 * 6
    assert len(search.results_) == 6


def test_sharing_changes_nothing(problem):
    model, X, y, pool, labels = problem
    classifier = FittedClassifier(model)
    train = Reference(classifier.outputs(X), y, 2)
    test = Reference(classifier.outputs(pool), labels, 2)
    samples = hc.UPP(n_samples=6, size=200, random_state=0).draw(labels)
    metrics = [METRICS["accuracy"], METRICS["recall"]]
    candidates = [
        QuAcc(model, quantifier=inside, variant=variant)
        for variant in ("1xn2", "nxn", "1xn+1")
        for inside in (
            hc.SLD(LogisticRegression(), calibration="bcts", random_state=0),
            hc.CC(LogisticRegression(), random_state=0),
        )
    ]
    trials = try_settings(candidates, train, test, samples, metrics)
    for candidate, trial in zip(candidates, trials, strict=True):
        alone = candidate.fit(X, y).predict_many(pool, samples)
        assert trial.predicted[0] == pytest.approx(alone, abs=1e-8)
        assert np.isnan(trial.predicted[1]).all() == (candidate.variant == "1xn+1")
    right = model.predict(pool) == labels
    assert trials[0].true[0] == pytest.approx([right[rows].mean() for rows in samples])


def test_the_best_is_kept_and_fitted_on_everything(problem):
    model, X, y, pool, _ = problem
    search = QuAccSearch(
        model,
        quantifier=hc.SLD(LogisticRegression(), random_state=0),
        param_grid={"quantifier__calibration": [None, "bcts"], "variant": ["nxn", "1xn+1"]},
        random_state=0,
    ).fit(X, y)
    errors = search.results_["error"]
    assert search.best_score_ == pytest.approx(errors.min())
    alone = QuAcc(model, quantifier=hc.SLD(LogisticRegression(), random_state=0))
    alone.set_params(**search.best_params_).fit(X, y)
    assert search.predict(pool) == pytest.approx(alone.predict(pool))
    assert search.best_predictor_.predict(pool) == search.predict(pool)
    low, high = search.estimate(pool[:300], random_state=0, replicates=200).interval()
    assert low < high


def test_what_the_measure_rules_out_is_not_chosen(problem):
    model, X, y, pool, _ = problem
    search = QuAccSearch(
        model,
        quantifier=hc.SLD(random_state=0),
        param_grid={"variant": ["1xn+1", "nxn"]},
        metric="mcc",
        random_state=0,
    ).fit(X, y)
    assert search.best_params_ == {"variant": "nxn"}
    assert search.results_["problem"].null_count() == 1
    assert -1 <= search.predict(pool, metric="mcc") <= 1
    with pytest.raises(HeadcountError, match="No setting could be used"):
        QuAccSearch(model, param_grid={"variant": ["1xn+1"]}, metric="mcc").fit(X, y)


def test_the_held_out_part_is_a_share_of_every_cell():
    cells = np.repeat([0, 3, 1, 2], [600, 300, 50, 10])
    held = held_out_rows(cells, 0.4, 0)
    for cell, n in zip(*np.unique(cells, return_counts=True), strict=True):
        assert abs(held[cells == cell].sum() - 0.4 * n) <= 1
    assert not np.array_equal(held, held_out_rows(cells, 0.4, 1))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"param_grid": {}}, None),
        ({"param_grid": {"bins": [1]}}, "param_grid does not suit QuAcc"),
        ({"param_grid": 3}, "param_grid cannot be read"),
        ({"param_grid": []}, "param_grid is empty"),
        ({"holdout": 1.5}, "holdout is 1.5"),
        ({"n_samples": 0}, "n_samples is 0"),
    ],
)
def test_bad_parameters(problem, parameters, sentence):
    model, X, y, *_ = problem
    search = QuAccSearch(model, quantifier=hc.CC(random_state=0), n_samples=3, random_state=0)
    search.set_params(**parameters)
    if sentence is None:
        assert search.fit(X, y).best_params_ == {}
        return
    with pytest.raises(HeadcountError, match=sentence):
        search.fit(X, y)
