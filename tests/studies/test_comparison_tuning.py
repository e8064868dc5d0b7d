from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.svm import SVC

from headcount.errors import HeadcountError
from headcount_studies.comparison import experiment
from headcount_studies.comparison.classifiers import (
    _LEARNERS,
    FOLDS,
    ScoreTrainer,
    stratified_folds,
)
from headcount_studies.comparison.study import (
    Bench,
    Drawer,
    Trial,
    _decisions,
    by_scores,
    group_of,
)
from headcount_studies.data.tables import Dataset
from headcount_studies.engine.spec import MethodSpec, read_spec
from tests.studies.test_comparison_run import folder, small  # noqa: F401

GRIDS = {
    "LR": {"folds": 5, "grid": {"C": [0.001, 0.1, 10.0]}},
    "SV": {"folds": 5, "grid": {"C": [0.1, 10.0], "gamma": [0.01, 1.0]}},
    "RF": {
        "n_estimators": 80,
        "search_trees": 60,
        "grid": {"max_features": [2, 4, 64], "min_samples_split": [2, 32]},
    },
    "AB": {"folds": 5, "n_estimators": 20, "grid": {"learning_rate": [0.001, 0.5]}},
}


def blobs(K=2, n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 3)) + np.eye(max(K, 3))[y][:, :3] * 1.5
    # Only the product of two features tells the rest, which a linear model cannot use.
    return np.column_stack([X, X[:, 0] * X[:, 1]]) / 6, y


def oracle(kind, setting):
    """The same classifier, made by scikit-learn alone."""
    return {
        "LR": lambda: LogisticRegression(**setting, max_iter=5000, tol=1e-9),
        "SV": lambda: SVC(**setting),
        "RF": lambda: RandomForestClassifier(
            80,
            max_features=min(setting["max_features"], 4),
            min_samples_split=setting["min_samples_split"],
            oob_score=True,
            random_state=0,
        ),
        "AB": lambda: AdaBoostClassifier(n_estimators=20, random_state=0, **setting),
    }[kind]()


def settings_of(kind):
    from itertools import product

    grid = GRIDS[kind]["grid"]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", GRIDS)
def test_the_setting_is_the_one_that_scikit_learn_finds_best(kind, K):
    X, y = blobs(K)
    trainer = ScoreTrainer(X, y, kind, GRIDS[kind], 0)
    best = trainer.choose(_LEARNERS[kind](X, y, GRIDS[kind], 0))
    if kind == "RF":
        accuracies = {
            tuple(setting.items()): oracle(kind, setting)
            .set_params(n_estimators=60)
            .fit(X, y)
            .oob_score_
            for setting in settings_of(kind)
        }
    else:
        split = stratified_folds(y, 5)
        accuracies = {}
        for setting in settings_of(kind):
            correct = cross_val_predict(oracle(kind, setting), X, y, cv=split) == y
            accuracies[tuple(setting.items())] = correct.mean()
            scores = cross_val_score(oracle(kind, setting), X, y, cv=split)
            assert abs(scores.mean() - correct.mean()) < 0.01
    named = {name: best[name] for name in GRIDS[kind]["grid"]}
    assert accuracies[tuple(named.items())] == pytest.approx(max(accuracies.values()))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", GRIDS)
def test_scores_are_of_items_that_were_not_trained_on(kind, K):
    X, y = blobs(K)
    one = {name: values[-1:] for name, values in GRIDS[kind]["grid"].items()}
    setting = {name: values[0] for name, values in one.items()}
    rows = np.arange(160)
    scores = ScoreTrainer(X, y, kind, GRIDS[kind] | {"grid": one}, 0).score(rows, None)
    model = oracle(kind, setting).fit(X[rows], y[rows])
    folds = stratified_folds(y[rows], FOLDS)
    if kind == "LR":
        expected = cross_val_predict(model, X[rows], y[rows], cv=folds, method="predict_proba")
        np.testing.assert_allclose(scores.training, expected, atol=1e-3)
        np.testing.assert_allclose(scores.pool, model.predict_proba(X), atol=1e-3)
        return
    if kind == "RF":
        expected = model.oob_decision_function_.argmax(axis=1)
    else:
        expected = cross_val_predict(oracle(kind, setting), X[rows], y[rows], cv=folds)
    assert np.array_equal(scores.training.argmax(axis=1), expected)
    assert np.array_equal(scores.pool.argmax(axis=1), model.predict(X))
    if kind == "SV" and K == 2:
        # Thresholds of decision values are those of the machine.
        values = model.decision_function(X)
        _, pool = _decisions(scores.training, scores.pool, None)
        order = np.argsort(values)
        assert (np.diff(pool[order, 1]) >= 0).all()


def test_one_class_against_the_others_is_tuned_by_itself():
    X, y = blobs(3)
    trainer = ScoreTrainer(X, y, "LR", GRIDS["LR"], 0)
    alone = ScoreTrainer(X, (y == 2).astype(np.int64), "LR", GRIDS["LR"], 0)
    rows = np.arange(100)
    against, binary = trainer.score(rows, 2), alone.score(rows, None)
    np.testing.assert_array_equal(against.pool, binary.pool)
    assert against.codes.sum() == (y[rows] == 2).sum()


def test_a_class_of_a_single_item_is_scored_in_sample():
    X, y = blobs()
    rows = np.concatenate([np.flatnonzero(y == 0)[:30], np.flatnonzero(y == 1)[:1]])
    for kind, grid in GRIDS.items():
        scores = ScoreTrainer(X, y, kind, grid, 0).score(rows, None)
        assert scores.training.shape == (31, 2)
        assert np.isfinite(scores.pool).all()


def test_methods_of_one_classifier_share_its_training(monkeypatch):
    X, y = blobs(n=300)
    data = Dataset("made-up", X, y, ("a", "b", "c", "d"), np.zeros(4, np.bool_))
    bench = Bench(data, Drawer(y, [[0.5, 0.5]], [[0.3, 0.7], [0.8, 0.2]], 0, "made-up"))
    calls = []
    score = ScoreTrainer.score
    monkeypatch.setattr(
        ScoreTrainer, "score", lambda self, *given: calls.append(given) or score(self, *given)
    )
    methods = [MethodSpec("CC-RF", "CC"), MethodSpec("AC-RF", "ACC")]
    trainer = ScoreTrainer(X, y, "RF", GRIDS["RF"], 0)
    answers = list(by_scores(bench, [Trial(0.3, 0, 0)], methods, trainer=trainer))
    assert len(calls) == 1
    shares = answers[0].estimates["CC-RF"].shares
    predicted = trainer.score(bench.drawer.training(Trial(0.3, 0, 0)), None).pool
    expected = answers[0].samples.prevalence_of(predicted.argmax(axis=1), 2)
    np.testing.assert_allclose(shares, expected)


@pytest.mark.parametrize(
    ("task", "n_methods", "n_plain"), [("binary", 36, 18), ("multiclass", 33, 15)]
)
def test_the_specs_have_the_papers_runs(task, n_methods, n_plain):
    spec = read_spec(f"comparison-tuned-{task}")
    experiment.check(spec)
    tuned = [
        method
        for method in spec.methods
        if "classifier" in method.options or method.name.startswith("RBF")
    ]
    assert (len(tuned), len(spec.methods) - len(tuned)) == (n_methods, n_plain)
    # 2,666,520 runs on 24 datasets of two classes and nine of more, as the paper counts.
    runs = {"binary": 24 * 6 * 12 * 40 * 36, "multiclass": 9 * 3 * 5 * 40 * 33}
    assert sum(runs.values()) == 2_666_520
    main = read_spec(f"comparison-{task}")
    assert set(spec.datasets) <= set(main.datasets)
    assert spec.protocol == main.protocol
    assert {method.name: method for method in spec.methods}["MS"] in main.methods
    assert {group_of(method) for method in tuned} == {
        "tuned-LR", "tuned-SV", "tuned-RF", "tuned-AB",
    } | ({"learners"} if task == "binary" else set())  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dataset"),
    [("comparison-tuned-binary", "study"), ("comparison-tuned-multiclass", "conc")],
)
def test_a_study_from_end_to_end(folder, name, dataset):  # noqa: F811
    spec = small(name, dataset, splits=[0.3], draws=1)
    spec = replace(spec, selection=GRIDS)
    tasks = experiment.plan(spec, folder)
    rows = pl.concat([experiment.run(spec, task, folder) for task in tasks])
    assert rows["failure"].null_count() == len(rows) == sum(task.runs for task in tasks)
    assert rows["method"].n_unique() == len(spec.methods)
    errors = dict(rows.group_by("method").agg(pl.col("tae").mean()).iter_rows())
    assert errors["GPAC-LR"] < errors["CC-LR"]
    # The same task again, without the others.
    tuned = next(task for task in tasks if task.settings["group"] == "tuned-RF")
    again = experiment.run(spec, tuned, folder).drop("seconds")
    assert again.equals(
        rows.filter(pl.col("method").str.ends_with("-RF"), train=0).drop("seconds")
    )


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"XX": {}}, "unknown key 'XX'"),
        ({"LR": {"grid": {"C": [1.0], "gamma": [1.0]}}}, "unknown key 'gamma'"),
        ({"LR": 3}, "must be a table"),
        ({"SV": {"grid": {"C": [1.0]}}}, "has no 'gamma'"),
        ({"LR": {"folds": 1, "grid": {"C": [1.0]}}}, "folds of .*selection.LR"),
        ({"LR": {"trees": 1, "grid": {"C": [1.0]}}}, "unknown key 'trees'"),
        ({}, "There is no table of .selection. 'LR'"),
    ],
)
def test_grids_that_cannot_be_used(selection, sentence):
    spec = replace(
        read_spec("comparison-binary"),
        selection=selection,
        methods=(MethodSpec("CC-LR", "CC", options={"classifier": "LR"}),),
    )
    with pytest.raises(HeadcountError, match=sentence):
        experiment.check(spec)
