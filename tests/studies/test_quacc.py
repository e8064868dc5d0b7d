from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from headcount.accuracy.metrics import METRICS
from headcount.errors import HeadcountError
from headcount_studies.engine.spec import read_spec
from headcount_studies.engine.task import datasets_there
from headcount_studies.quacc import experiment
from headcount_studies.quacc.data import (
    draw_training_and_reference,
    load_collection,
    sample_rows,
)
from headcount_studies.quacc.report import reversals

SMALL = {"train_prevalences": [0.3, 0.7], "test_prevalences": 3, "repeats": 3, "size": 60}
CHOICE = {
    "samples": 4, "size": 50, "variants": ["nxn", "1xn+1"], "covariates": [True], "C": [1.0],
    "class_weight": ["none"], "calibration": ["bcts"], "bandwidth": [0.1],
}  # fmt: skip


def reviews(n, seed):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(40)])
    tilt = np.linspace(-1, 1, 40)
    labels = np.array(["neg", "pos"])[np.arange(n) % 2]
    texts = []
    for label in labels:
        weights = np.exp(0.8 * tilt * (1 if label == "pos" else -1))
        texts.append(" ".join(rng.choice(words, 12, p=weights / weights.sum())))
    return labels, texts


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    parts = []
    for split, n in (("train", 600), ("test", 400)):
        labels, texts = reviews(n, n)
        parts.append(pl.DataFrame({"split": split, "label": labels, "text": texts}))
    pl.concat(parts).write_parquet(folder / "imdb50k.parquet")
    topics = ["earn", "acq|earn", "acq", "", "money-fx", ""]
    pl.DataFrame(
        {
            "lewissplit": ["TRAIN", "TRAIN", "TEST", "TRAIN", "TEST", "NOT-USED"],
            "topics": topics,
            "title": ["a title", None, "b title", "c title", "d", "e"],
            "body": ["some words", "some words", "some words", "words", "some words", None],
        }
    ).write_parquet(folder / "reuters21578.parquet")
    return folder


@pytest.fixture(scope="module")
def spec():
    whole = read_spec("quacc").restricted(datasets=["imdb"])
    return replace(whole, protocol=whole.protocol | SMALL, selection=whole.selection | CHOICE)


@pytest.fixture(scope="module")
def results(spec, data):
    return pl.concat(experiment.run(spec, task, data) for task in experiment.plan(spec, data))


def test_the_spec_of_the_paper():
    spec = read_spec("quacc")
    experiment.check(spec)
    tasks = experiment.plan(spec, None)
    assert len(tasks) == 4 * 9
    assert len({task.key for task in tasks}) == len(tasks)
    assert len(spec.methods) == 11
    # Nine methods on 2,100 samples, and two that train a classifier for each on 210.
    assert tasks[0].runs == 9 * 2100 + 2 * 210


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"datasets": ("imbd",)}, "dataset 'imbd'"),
        ({"metrics": ("acc",)}, "metric 'acc'"),
        ({"protocol": {"sizes": 3}}, "sizes"),
        ({"protocol": {}}, "has no 'train_prevalences'"),
        ({"selection": {}}, "has no 'holdout'"),
    ],
)
def test_specs_that_cannot_be_run(change, sentence):
    with pytest.raises(HeadcountError, match=sentence):
        experiment.check(replace(read_spec("quacc"), **change))


def test_news_by_topic(data):
    earn, acq = (load_collection(f"reuters-{topic}", data, 1) for topic in ("earn", "acq"))
    assert earn.y.tolist() == [1, 1, 0]
    assert acq.y.tolist() == [0, 1, 0]
    assert acq.y_test.tolist() == [1, 0]
    assert earn.X.shape == (3, earn.X_test.shape[1])


def test_training_set_and_reference(data):
    collection = load_collection("imdb", data, 1)
    train, known = draw_training_and_reference(collection, 0.3, 0)
    assert len(train) == len(known) == int(300 * 0.5 * 10 / 9)
    assert not set(train) & set(known)
    assert len(set(train)) == len(train)
    assert collection.y[train].mean() == pytest.approx(0.3, abs=0.005)
    again, _ = draw_training_and_reference(collection, 0.3, 0)
    other, _ = draw_training_and_reference(collection, 0.3, 1)
    assert np.array_equal(train, again)
    assert not np.array_equal(train, other)


def test_rows(spec, results):
    assert results["failure"].null_count() == len(results)
    counts = dict(results.group_by("method").len().rows())
    assert counts["LEAP"] == 2 * 3 * 3
    error = (results["estimated_accuracy"] - results["true_accuracy"]).abs()
    assert np.allclose(results["accuracy"], error)
    mandoline = results.filter(pl.col("method") == "Mandoline")
    assert mandoline["f1"].null_count() == len(mandoline)
    assert mandoline["accuracy"].null_count() == 0
    shift = (results["test_prevalence"] - results["train_prevalence"]).abs()
    assert np.allclose(results["shift"], shift)
    chosen = results.filter(pl.col("method") == "QuAcc(SLD)")["chosen_accuracy"]
    assert chosen.str.contains("calibration=bcts").all()


def test_the_same_rows_whatever_was_run_before(spec, results, data):
    task = experiment.plan(spec, data)[1]
    again = experiment.run(spec, task, data).drop("seconds")
    assert again.equals(results.filter(pl.col("train_prevalence") == 0.7).drop("seconds"))


def test_methods_asked_about_fewer_samples(spec):
    method = next(each for each in spec.methods if each.name == "RCA")
    few = replace(method, options={"repeats": 1})
    assert sample_rows(spec, few).tolist() == [0, 3, 6]


def test_a_method_that_fails_says_why(spec, data):
    broken = replace(spec.methods[0], name="DoC", quantifier="DoC", parameters={"n_samples": 0})
    task = experiment.plan(spec, data)[0]
    found = experiment.run(replace(spec, methods=(broken,)), task, data)
    assert found["failure"].str.contains("n_samples").all()
    assert found["accuracy"].null_count() == len(found)


def test_sections(spec, results, tmp_path):
    rows = ["setting,method,d1_Acc,d1_F1,d2_Acc,d2_F1,d3_Acc,d3_F1,d4_Acc,d4_F1"]
    rows += ["binary,Naive,0.2,0.2,0.1,0.1,0.1,0.1,0.1,0.1", "binary,DoC,0.02,,,,,,,"]
    rows += ["binary,RCA,0.1,0.1,,,,,,", "multiclass,Naive,0.9,0.9,,,,,,"]
    (tmp_path / "quacc.csv").write_text("\n".join(rows))
    found = experiment.sections(spec, results, tmp_path)
    titles = [section.title for section in found]
    assert titles[:4] == [
        "Experiments",
        "Errors",
        "Compared with the paper: accuracy",
        "Compared with the paper: f1",
    ]
    errors, compared = found[1], found[2]
    assert errors.table.shape == (11, 3)
    mean = results.filter(pl.col("method") == "ATC")["accuracy"].mean()
    assert errors.table["imdb accuracy"][4] == pytest.approx(mean)
    best = [row for (row, name), mark in errors.marks.items() if mark == "best"]
    assert errors.table["imdb accuracy"].arg_min() in best
    assert compared.table.row(0)[2] == 0.2
    assert "Rank correlation" in compared.text
    choices = found[-1].table
    assert choices.filter(pl.col("method") == "QuAcc(SLD)")["calibration"][0] == 100
    drawn = [section.figure() for section in found if section.figure]
    assert len(drawn) == 4
    assert not any("Compared" in s.title for s in experiment.sections(spec, results, None))


def test_reversals():
    errors = {
        "Naive": 0.3,
        "RCA": 0.1,
        "ATC": 0.2,
        "DoC": 0.05,
        "LEAP": 0.06,
        "QuAcc(SLD)": 0.01,
    }
    assert reversals(errors) == [("RCA", "ATC"), ("DoC", "LEAP")]


def test_which_collections_are_there(data, tmp_path):
    whole = read_spec("quacc")
    assert datasets_there(whole, data) == list(whole.datasets)
    (tmp_path / "imdb50k.parquet").touch()
    assert datasets_there(whole, tmp_path) == ["imdb"]


def test_other_metrics_can_be_computed_from_the_tables(results):
    known = results.filter(pl.col("table_f1").is_not_null())
    assert set(known["method"]) >= {"Naive", "CBPE", "LEAP", "QuAcc"} & set(results["method"])
    for true, estimated, metric in (
        ("true_accuracy", "estimated_accuracy", "accuracy"),
        ("true_f1", "estimated_f1", "f1"),
    ):
        for column, cells in ((true, "true_table"), (estimated, f"table_{metric}")):
            tables = known[cells].list.to_array(4).to_numpy().reshape(-1, 2, 2)
            np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1)
            np.testing.assert_array_equal(METRICS[metric](tables), known[column].to_numpy())


def test_the_time_of_each_method_is_measured(results):
    seconds = results.group_by("method").agg(pl.col("seconds").sum())
    assert (seconds["seconds"] > 0).all()
