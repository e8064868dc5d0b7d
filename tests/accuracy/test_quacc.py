from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import headcount as hc
from headcount.accuracy.metrics import METRICS, CellFolds, ModelOutputs
from headcount.accuracy.quacc import QuAcc, cell_sets, cells_of, confidences, inputs
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.samples.samples import Samples

VARIANTS = ("1xn2", "nxn", "1xn+1")


def quantifier():
    return hc.SLD(LogisticRegression(max_iter=1000), calibration="bcts", cv=3, random_state=0)


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(
        3200, n_features=20, n_informative=10, n_classes=3, class_sep=1.5, random_state=0
    )
    few = np.arange(300) % 6 == 0  # of the last class the model has seen few, and misses many
    seen = (y[:300] != 2) | few
    model = LogisticRegression(max_iter=1000).fit(X[:300][seen], y[:300][seen])
    return model, X[300:1500], y[300:1500], X[1500:], y[1500:]


def tables_of(model, X, y, samples):
    K = len(model.classes_)
    cells = samples.prevalence_of(y * K + model.predict(X), K * K)
    return cells.reshape(-1, K, K)


def test_confidences_by_hand():
    said = confidences(np.array([[0.5, 0.5], [0.9, 0.1]]))
    assert said[0] == pytest.approx([0.5, np.log(0.5), 0.0])
    log9 = np.log(0.9) - (np.log(0.9) + np.log(0.1)) / 2
    assert said[1] == pytest.approx([0.9, 0.9 * np.log(0.9) + 0.1 * np.log(0.1), log9])


def test_certain_scores_have_finite_confidences():
    assert np.isfinite(confidences(np.array([[1.0, 0.0, 0.0]]))).all()


@pytest.mark.parametrize("covariates", [True, False])
def test_inputs_leave_the_first_class_out_and_stay_sparse(covariates):
    X, P = np.arange(6.0).reshape(3, 2), np.array([[0.2, 0.3, 0.5]] * 3)
    dense = inputs(X, P, covariates=covariates)
    assert dense.shape == (3, 2 + 2 + 3 * covariates)
    assert np.array_equal(dense[:, 2:4], P[:, 1:])
    thin = inputs(sparse.csr_matrix(X), P, covariates=covariates)
    assert sparse.issparse(thin)
    assert np.allclose(thin.toarray(), dense)
    assert inputs(None, P, covariates=covariates).shape == (3, 2 + 3 * covariates)


def test_cell_sets_of_the_variants():
    true, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 1])
    (all_cells,) = cell_sets("1xn2", true, predicted, 2)
    assert all_cells.cells.tolist() == [0, 1, 2, 3]
    first, second = cell_sets("nxn", true, predicted, 2)
    assert (first.cells.tolist(), second.cells.tolist()) == ([0, 2], [1, 3])
    assert first.rows.tolist() == [0, 3]
    (merged,) = cell_sets("1xn+1", true, predicted, 2)
    assert merged.cells.tolist() == [0, 3, 4]
    assert cells_of("1xn+1", true, predicted, 2).tolist() == [0, 4, 3, 4, 3]


def test_cells_with_one_item_are_there_twice():
    true, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    (part,) = cell_sets("1xn2", true, predicted, 2)
    Z, labels = part.examples(np.arange(4.0)[:, None])
    assert Z[:, 0].tolist() == [0, 1, 2, 3, 2, 3]
    assert labels.tolist() == [0, 0, 1, 2, 1, 2]


def test_folds_have_every_cell_of_two_in_every_training_part():
    y = np.array([0] * 20 + [1] * 2 + [2] * 3)
    tested = []
    for train, test in CellFolds(5, 0).split(None, y):
        assert set(y[train]) == {0, 1, 2}
        tested += test.tolist()
    assert sorted(tested) == list(range(25))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("covariates", [True, False])
def test_follows_the_shift(problem, variant, covariates):
    model, X, y, pool, labels = problem
    samples = hc.UPP(n_samples=30, size=500, random_state=0).draw(labels)
    true = METRICS["accuracy"](tables_of(model, pool, labels, samples))
    quacc = QuAcc(model, quantifier=quantifier(), variant=variant, covariates=covariates)
    estimated = quacc.fit(X, y).predict_many(pool, samples)
    naive = np.abs(model.score(X, y) - true).mean()
    assert np.abs(estimated - true).mean() < 0.6 * naive


@pytest.mark.parametrize("variant", ["1xn2", "nxn"])
def test_tables_are_oriented_like_all_others(problem, variant):
    model, X, y, pool, labels = problem
    samples = hc.UPP(n_samples=20, size=1000, random_state=1).draw(labels)
    true = tables_of(model, pool, labels, samples)
    tables = (
        QuAcc(model, quantifier=quantifier(), variant=variant)
        .fit(X, y)
        .predict_tables(pool, samples)
    )
    assert tables.shape == true.shape
    assert tables.sum(axis=(1, 2)) == pytest.approx(1)
    assert tables.min() >= 0
    aligned = np.abs(tables - true).mean()
    assert aligned < 0.5 * np.abs(tables.transpose(0, 2, 1) - true).mean()


def test_nxn_keeps_to_what_is_predicted(problem):
    model, X, y, pool, labels = problem
    samples = hc.UPP(n_samples=5, size=200, random_state=2).draw(labels)
    quacc = QuAcc(model, quantifier=quantifier(), variant="nxn").fit(X, y)
    predicted = samples.prevalence_of(model.predict(pool), 3)
    assert quacc.predict_tables(pool, samples).sum(axis=1) == pytest.approx(predicted)


def test_a_sample_alone_is_as_in_a_batch(problem):
    model, X, y, pool, labels = problem
    samples = hc.UPP(n_samples=4, size=100, random_state=3).draw(labels)
    for variant in VARIANTS:
        quacc = QuAcc(model, quantifier=quantifier(), variant=variant).fit(X, y)
        alone = [quacc.predict(pool[rows]) for rows in samples]
        assert quacc.predict_many(pool, samples) == pytest.approx(alone, abs=1e-6)


def test_samples_of_one_predicted_class(problem):
    model, X, y, pool, _ = problem
    rows = np.flatnonzero(model.predict(pool) == 1)[:50]
    table = (
        QuAcc(model, quantifier=quantifier(), variant="nxn").fit(X, y).predict_table(pool[rows])
    )
    assert table[:, [0, 2]].sum() == 0
    assert table.sum() == pytest.approx(1)


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall", lambda table: table[0, 1]])
def test_merged_errors_refuse_what_needs_them_apart(problem, metric):
    model, X, y, pool, _ = problem
    quacc = QuAcc(model, quantifier=quantifier(), variant="1xn+1").fit(X, y)
    with pytest.raises(HeadcountError, match="merges all errors"):
        quacc.predict(pool, metric=metric)
    with pytest.raises(HeadcountError, match="merges all errors"):
        quacc.predict_table(pool)
    assert quacc.predict(pool, metric="error") == pytest.approx(1 - quacc.predict(pool))


def test_merged_errors_give_f1_of_two_classes():
    X, y = make_classification(2000, random_state=0)
    model = LogisticRegression().fit(X[:500], y[:500])
    quacc = QuAcc(model, quantifier=quantifier(), variant="1xn+1").fit(X[500:1500], y[500:1500])
    pool = ModelOutputs(model.predict_proba(X[1500:]), model.predict(X[1500:]), X[1500:])
    cells = quacc.fitted_.model.cell_shares(pool, Samples.whole(500))[0]
    wanted = 2 * cells[3] / (2 * cells[3] + cells[4])
    assert quacc.predict(X[1500:], metric="f1") == pytest.approx(wanted)
    with pytest.raises(HeadcountError, match="precision"):
        quacc.predict(X[1500:], metric="precision")


def test_scores_alone_will_do(problem):
    model, X, y, pool, _ = problem
    known, new = model.predict_proba(X), model.predict_proba(pool)
    quacc = QuAcc(quantifier=quantifier(), variant="nxn").fit(hc.Scored(known), y)
    table = quacc.predict_table(hc.Scored(new))
    predicted = np.bincount(model.predict(pool), minlength=3) / len(pool)
    assert table.sum(axis=0) == pytest.approx(predicted)
    explicit = QuAcc(quantifier=quantifier(), variant="nxn")
    explicit.fit(hc.Scored(known, predictions=model.predict(X)), y)
    again = explicit.predict_table(hc.Scored(new, predictions=model.predict(pool)))
    assert again == pytest.approx(table)


def test_sparse_features_are_as_dense_ones(problem):
    model, X, y, pool, _ = problem
    thin = QuAcc(model, quantifier=quantifier()).fit(sparse.csr_matrix(X), y)
    thick = QuAcc(model, quantifier=quantifier()).fit(X, y)
    assert thin.predict(sparse.csr_matrix(pool)) == pytest.approx(thick.predict(pool), abs=0.01)


def test_texts_in_a_pipeline():
    rng = np.random.default_rng(0)
    words = np.array(["good", "fine", "bad", "poor", "film", "plot"])
    y = rng.integers(2, size=400)
    texts = [
        " ".join(rng.choice(words, 6, p=[0.3, 0.2, 0.1, 0.1, 0.2, 0.1] if label else
                            [0.15, 0.1, 0.25, 0.2, 0.2, 0.1]))
        for label in y
    ]  # fmt: skip
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:100], y[:100])
    quacc = QuAcc(model, quantifier=quantifier()).fit(texts[100:300], y[100:300])
    assert 0.5 < quacc.predict(texts[300:]) <= 1
    other = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(HeadcountError, match="not a table of numbers"):
        QuAcc(other)._learn(
            QuAcc(model, quantifier=quantifier())
            .fit(texts[100:300], y[100:300])
            .fitted_.training
        )


def test_a_class_absent_from_the_reference(problem):
    model, X, y, pool, _ = problem
    kept = y != 2
    with pytest.warns(HeadcountWarning, match="none of class 2"):
        quacc = QuAcc(model, quantifier=quantifier()).fit(X[kept], y[kept])
    table = quacc.predict_table(pool)
    assert table[2].sum() == 0
    assert table.sum() == pytest.approx(1)


def test_a_model_that_is_always_right_on_the_reference():
    X = np.r_[np.full((50, 1), -1.0), np.full((50, 1), 1.0)] + np.linspace(0, 0.1, 100)[:, None]
    y = np.repeat([0, 1], 50)
    model = LogisticRegression().fit(X, y)
    for variant in VARIANTS:
        quacc = QuAcc(model, quantifier=hc.SLD(), variant=variant).fit(X, y)
        assert quacc.predict(X[:70]) == pytest.approx(1)


def test_twenty_classes():
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 20
    X = rng.normal(size=(1600, 8)) + 2.5 * rng.normal(size=(20, 8))[y]
    model = LogisticRegression(max_iter=1000).fit(X[:400], y[:400])
    quacc = QuAcc(model, quantifier=hc.SLD(LogisticRegression(max_iter=200)), variant="nxn")
    table = quacc.fit(X[400:1200], y[400:1200]).predict_table(X[1200:])
    assert table.shape == (20, 20)
    assert np.trace(table) == pytest.approx(model.score(X[1200:], y[1200:]), abs=0.1)


@pytest.mark.parametrize("variant", ["1xn2", "nxn"])
@pytest.mark.parametrize(
    "inside", [hc.SLD(cv=2), hc.KDEyML(cv=2, random_state=0), hc.CC(cv=2, random_state=0)]
)
def test_intervals(problem, variant, inside):
    model, X, y, pool, _ = problem
    quacc = QuAcc(model, quantifier=inside, variant=variant).fit(X[:400], y[:400])
    found = quacc.estimate(pool[:200], random_state=0, replicates=200)
    low, high = found.interval()
    assert 0 <= low < high <= 1
    again = quacc.estimate(pool[:200], random_state=0, replicates=200)
    assert again.interval() == (low, high)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"variant": "2x2"}, "variant is '2x2'"),
        ({"covariates": "yes"}, "covariates is 'yes'"),
        ({"quantifier": LogisticRegression()}, "it must be a quantifier"),
    ],
)
def test_bad_parameters(problem, parameters, sentence):
    model, X, y, *_ = problem
    with pytest.raises(HeadcountError, match=sentence):
        QuAcc(model, **parameters).fit(X, y)
