from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from headcount import ED, QF, QFAC, HDx, ReadMe
from headcount.errors import HeadcountError
from headcount_studies.comparison import experiment
from headcount_studies.comparison.study import (
    Bench,
    Drawer,
    Trial,
    _decisions,
    by_features,
    by_forest,
    by_scores,
)
from headcount_studies.comparison.training_pool import NeighbourLists
from headcount_studies.data.tables import load_dataset
from headcount_studies.engine.spec import MethodSpec, read_spec
from headcount_studies.engine.store import with_metrics
from headcount_studies.engine.task import task_seed

TRIALS = [Trial(0.5, 1, 0), Trial(0.3, 0, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables in the layout of two datasets, made up."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    n = 260
    strength = rng.uniform(1, 99, n)
    mixed = {f"comp{i}": (strength + rng.normal(0, 30 * i, n)).round(3) for i in range(1, 6)}
    write(folder, "conc", {**mixed, "strength": strength.round(2)})
    write(
        folder,
        "study",
        {
            "gender": rng.choice(["f", "m"], n),
            "math score": strength.round().astype(int),
            "reading score": (strength + rng.normal(0, 20, n)).round().astype(int),
            "writing score": rng.integers(0, 100, n),
        },
    )
    return folder


def write(folder, name, table):
    with gzip.open(folder / f"{name}.csv.gz", "wb") as file:
        file.write(pl.DataFrame(table).write_csv().encode())


def small(name, *datasets, **protocol):
    spec = read_spec(name).restricted(datasets=datasets)
    fewer = {"splits": [0.3, 0.7], "draws": 2} | protocol
    return replace(spec, protocol=spec.protocol | fewer)


@pytest.fixture(scope="module")
def bench(folder):
    dataset = load_dataset("conc", "binary", folder)
    spec = small("comparison-binary", "conc")
    trains, tests = (spec.protocol[which]["2"] for which in ("train", "test"))
    return Bench(dataset, Drawer(dataset.y, trains, tests, 0, "conc"))


@pytest.mark.parametrize(
    ("name", "dataset", "n_methods", "n_samples"),
    [("comparison-binary", "study", 24, 12), ("comparison-multiclass", "conc", 20, 5)],
)
def test_a_study_from_end_to_end(folder, name, dataset, n_methods, n_samples):
    spec = small(name, dataset)
    tasks = experiment.plan(spec, folder)
    assert len({task.key for task in tasks}) == len(tasks)
    frames = [experiment.run(spec, task, folder) for task in tasks]
    assert [len(frame) for frame in frames] == [task.runs for task in tasks]
    results = pl.concat(frames)
    assert results["failure"].null_count() == len(results)
    assert results["method"].n_unique() == n_methods
    n_trains = len(spec.protocol["train"]["2" if name.endswith("binary") else "3"])
    assert len(results) == n_methods * 2 * n_trains * n_samples * 2
    assert results["tae"].is_between(0, 2).all()
    assert results["nkld"].is_between(0, 1).all()
    # Some of the methods are good, and shares that fit are not far off.
    errors = dict(results.group_by("method").agg(pl.col("tae").mean()).iter_rows())
    assert errors["GPAC"] < errors["CC"]
    # Shares are kept, so that metrics can be added later.
    again = with_metrics(results.drop("tae"), ["tae", "rae"])
    np.testing.assert_allclose(again["tae"], results["tae"], atol=1e-12)
    assert again["rae"].null_count() == 0
    assert (results.group_by("method").agg(pl.col("seconds").sum())["seconds"] > 0).all()


def test_a_task_gives_the_same_rows_again_and_on_its_own(folder):
    spec = small("comparison-binary", "study", "conc", draws=1)
    wanted = [task for task in experiment.plan(spec, folder) if task.dataset == "study"]
    alone = small("comparison-binary", "study", draws=1)
    assert experiment.plan(alone, folder) == wanted
    by_group = {task.settings["group"]: task for task in wanted}
    first = {key: experiment.run(spec, task, folder) for key, task in by_group.items()}
    for key in reversed(by_group):
        again = experiment.run(alone, by_group[key], folder)
        assert again.drop("seconds").equals(first[key].drop("seconds"))


def test_datasets_that_are_not_there_are_not_planned(folder):
    spec = small("comparison-binary", "study", "wine")
    assert {task.dataset for task in experiment.plan(spec, folder)} == {"study"}


def test_a_method_that_fails_is_recorded_and_the_others_go_on(folder):
    binned = {"binned": True}
    unusable = (
        MethodSpec("ReadMe", parameters={"subset_size": 50}, options=binned),
        MethodSpec("PWK", parameters={"n_neighbors": -1}, options=binned),
        MethodSpec("QF", parameters={"n_estimators": 0}, options=binned),
    )
    spec = replace(
        small("comparison-binary", "study", draws=1),
        methods=(MethodSpec("DyS", parameters={"bins": -1}), MethodSpec("CC"), *unusable),
    )
    tasks = {task.settings["group"]: task for task in experiment.plan(spec, folder)}
    rows = pl.concat([experiment.run(spec, task, folder) for task in tasks.values()])
    reasons = {"DyS": "bins", "ReadMe": "subset_size", "PWK": "n_neighbors", "QF": "n_est"}
    for method, reason in reasons.items():
        failed = rows.filter(method=method)
        assert failed["failure"].fill_null("").str.contains(reason).all()
        assert failed["tae"].null_count() == len(failed) >= 12
    assert rows.filter(method="CC")["failure"].null_count() == 12


def test_decision_values_are_rounded_and_stretched_over_their_range(bench):
    training = expit(np.array([[2.0, -2.0], [-1.004, 1.004], [-6.0, 6.0]]))
    pool = expit(np.array([[9.0, -9.0], [-4.0, 4.0], [-9.0, 9.0]]))
    own, others = _decisions(training, pool, 2)
    assert np.allclose(own[:, 1], [0, 3 / 8, 1])
    assert np.allclose(others[:, 1], [0, 6 / 8, 1])
    same, _ = _decisions(np.full((4, 2), 0.5), pool, None)
    assert np.isfinite(same).all()
    # Thresholds are chosen among the same items, whatever these are scored by.
    options = [{}, {"decisions": True}]
    methods = [MethodSpec(str(i), "TMAX", options=each) for i, each in enumerate(options)]
    found = next(by_scores(bench, TRIALS, methods)).estimates
    assert np.allclose(found["0"].shares, found["1"].shares)


def test_shift_is_that_of_the_named_distributions(folder):
    spec = small("comparison-binary", "study", draws=1).restricted(methods=["CC"])
    row = experiment.run(spec, experiment.plan(spec, folder)[5], folder)
    assert row["train"].unique().to_list() == [5]
    # From 0.9 positive to none: 0.9 on each of the two classes.
    assert row.filter(test=0)["shift"].to_list() == [1.8]
    assert row.filter(test=11)["shift"].to_list() == [0.0]


def test_all_distances_at_once_are_those_of_the_quantifier(bench):
    _same(bench, by_features, MethodSpec("ED"), lambda trial: ED(), bench.dataset.X, 1e-5)


def test_a_forest_for_two_methods_is_that_of_each(bench):
    options = {"binned": True}
    methods = [MethodSpec("QF", options=options), MethodSpec("QF-AC", "QFAC", options=options)]
    for method, kind in zip(methods, (QF, QFAC), strict=True):
        _same(
            bench,
            lambda *given: by_forest(*given[:2], methods),
            method,
            lambda trial, kind=kind: kind(random_state=bench.seed(trial, "forest")),
            bench.binned,
            1e-9,
        )


def test_methods_on_features_are_fitted_as_they_are(bench):
    method = MethodSpec("HDx", parameters={"bins": 8})
    _same(bench, by_features, method, lambda trial: HDx(bins=8), bench.dataset.X, 1e-9)


@pytest.mark.parametrize("combine", ["stacked", "mean"])
def test_binned_features_are_categories(bench, combine):
    parameters = {"bins": 8, "combine": combine}
    method = MethodSpec("HDx", parameters=parameters, options={"binned": True})
    names = bench.binned.astype(str)
    _same(bench, by_features, method, lambda trial: HDx(**parameters), names, 1e-9)


def test_random_sets_of_features_are_drawn_once_per_draw(bench):
    parameters = {"bins": 8, "n_subsets": 7, "subset_size": 3}
    method = MethodSpec("readme", "ReadMe", parameters, {"binned": True})

    def quantifier(trial):
        seed = task_seed(0, "conc", trial.number, "readme")
        return ReadMe(**parameters, random_state=seed)

    _same(bench, by_features, method, quantifier, bench.binned.astype(str), 1e-9)


def test_lots_decide_between_equally_near_items(bench):
    method = MethodSpec("PWK", options={"binned": True})
    lists = NeighbourLists(bench.binned, bench.dataset.y, task_seed(0, "conc", "ties"))
    for answers in by_features(bench, TRIALS, [method]):
        (labels,) = lists.predict([bench.drawer.training(answers.trial)])
        shares = answers.samples.prevalence_of(labels, 2)
        assert np.array_equal(answers.estimates["PWK"].shares, shares)


def test_the_predicted_label_is_the_only_feature_of_hdy(bench):
    methods = [MethodSpec("HDy", "HDx", options={"predictions": True}), MethodSpec("GAC")]
    found = next(by_scores(bench, TRIALS, methods)).estimates
    # With two classes both find the shares that explain the counts.
    assert np.allclose(found["HDy"].shares, found["GAC"].shares, atol=1e-4)


def _same(bench, group, method, quantifier, X, tolerance):
    y = bench.dataset.y
    for answers in group(bench, TRIALS, [method]):
        rows = bench.drawer.training(answers.trial)
        fitted = quantifier(answers.trial).fit(X[rows], y[rows])
        expected = fitted.predict_many(X, answers.samples)
        found = answers.estimates[method.name]
        assert found.failures == (None,) * len(answers.samples)
        assert np.allclose(found.shares, expected, atol=tolerance)


PROTOCOL = read_spec("comparison-binary").protocol


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": {"task": "binary"}}, "has no 'splits'"),
        ({"datasets": ("whine",)}, "did you mean 'wine'"),
        ({"metrics": ("tea",)}, "did you mean"),
        ({"protocol": PROTOCOL | {"log_base": 1}}, "log_base of .* above 1"),
        ({"methods": (MethodSpec("CC", options={"bined": 1}),)}, "did you mean 'binned'"),
        ({"methods": (MethodSpec("nobody"),)}, "not a method"),
        ({"methods": (MethodSpec("DyS", parameters={"bin": 1}),)}, "did you mean 'bins'"),
    ],
)
def test_specs_that_cannot_be_run_are_refused(change, message):
    with pytest.raises(HeadcountError, match=message):
        experiment.check(replace(read_spec("comparison-binary"), **change))


def test_distributions_for_that_number_of_classes_must_be_there(folder):
    spec = small("comparison-multiclass", "conc", train={"4": []})
    with pytest.raises(HeadcountError, match="no train distributions of 3 classes"):
        experiment.plan(spec, folder)
