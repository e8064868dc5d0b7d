from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headcount.accuracy.metrics import METRICS
from headcount.errors import HeadcountError
from headcount_studies.engine.spec import read_spec
from headcount_studies.engine.task import datasets_there
from headcount_studies.quacc import experiment
from headcount_studies.quacc.report import _best_of_both, reversals
from headcount_studies.quacc.study import (
    Classes,
    draw_training_and_reference,
    labelled,
    load_collection,
    sample_rows,
)

_NAMED = os.environ.get("HEADCOUNT_DATA")
_DATA = Path(_NAMED) if _NAMED else Path(__file__).parents[3] / "shared" / "data"
PUBLISHED = next(
    (folder for folder in [_DATA.parent / "published"] if (folder / "quacc.csv").is_file()),
    None,
)
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
    assert len(tasks) == 7 * 9
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


def test_training_set_and_reference(spec, data):
    collection = load_collection("imdb", data, 1)
    draw = partial(draw_training_and_reference, spec, collection, {"prevalence": 0.3})
    sets = draw(0)
    train, known = sets.train, sets.reference
    assert len(train) == len(known) == int(300 * 0.5 * 10 / 9)
    assert not set(train) & set(known)
    assert len(set(train)) == len(train)
    assert collection.y[train].mean() == pytest.approx(0.3, abs=0.005)
    assert np.array_equal(train, draw(0).train)
    assert not np.array_equal(train, draw(1).train)


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
    assert titles[:6] == [
        "Experiments",
        "Errors",
        "Standard deviations",
        "Error reduction",
        "Compared with the paper: accuracy",
        "Compared with the paper: f1",
    ]
    sizes = found[0].table.row(0, named=True)
    assert (sizes["items of T"], sizes["items of U"], sizes["items of Tᵢ"]) == (300, 400, 166)
    assert (sizes["classes"], sizes["shares of T"]) == (2, "0.5, 0.5")
    errors, compared = found[1], found[4]
    deviation = results.filter(pl.col("method") == "ATC")["accuracy"].std()
    assert found[2].table["imdb accuracy"][4] == pytest.approx(deviation)
    assert errors.table.shape == found[2].table.shape == (11, 3)
    mean = results.filter(pl.col("method") == "ATC")["accuracy"].mean()
    assert errors.table["imdb accuracy"][4] == pytest.approx(mean)
    best = [row for (row, name), mark in errors.marks.items() if mark == "best"]
    assert errors.table["imdb accuracy"].arg_min() in best
    assert compared.table.row(0)[2] == 0.2
    assert "Rank correlation" in compared.text
    naive = results.filter(pl.col("method") == "Naive")["accuracy"].mean()
    assert f"Naive {naive / 0.2 - 1:+.0%}" in compared.text
    reduced = found[3].table.filter(metric="accuracy").row(0, named=True)
    assert reduced["its error"] == pytest.approx(
        min(
            results.filter(method=name)["accuracy"].mean()
            for name in ("QuAcc(SLD)", "QuAcc(KDEy)")
        )
    )
    assert reduced["reduction, %"] == pytest.approx(
        100 * (1 - reduced["its error"] / reduced["error"])
    )
    choices = found[-1].table
    assert choices.filter(pl.col("method") == "QuAcc(SLD)")["calibration"][0] == 100
    by_training = found[titles.index("Error of f1 by training prevalence: imdb")].table
    assert by_training.columns == ["method", *map(str, spec.protocol["train_prevalences"])]
    share = spec.protocol["train_prevalences"][0]
    at_share = pl.col("train_shares").list.last().is_close(share, abs_tol=1e-6)
    atc = results.filter((pl.col("method") == "ATC") & at_share)["f1"].mean()
    assert by_training.filter(method="ATC")[str(share)].item() == pytest.approx(atc)
    drawn = [section.figure() for section in found if section.figure]
    assert len(drawn) == 4
    assert not any("Compared" in s.title for s in experiment.sections(spec, results, None))


def test_a_report_without_quacc_has_no_sections_about_it(spec, results):
    naive = results.filter(pl.col("method") == "Naive")
    titles = {section.title for section in experiment.sections(spec, naive, None)}
    assert "Errors" in titles
    assert not titles & {"Error reduction", "Selected settings"}


def test_reversals_within_what_was_one_group():
    errors = {
        "Naive": (0.16, 0.15),
        "LEAP": (0.030, 0.0291),
        "QuAcc(SLD)": (0.037, 0.0259),
        "QuAcc(KDEy)": (0.032, 0.0292),
    }
    pairs = [("QuAcc(SLD)", "QuAcc(KDEy)"), ("QuAcc(SLD)", "LEAP")]
    assert reversals(errors) == pairs
    assert reversals({name: (there, there) for name, (_, there) in errors.items()}) == []
    # Equal errors here are no order; equal ones in the paper say nothing.
    assert reversals({"a": (1.0, 0.1), "b": (1.0, 0.2)}) == [("a", "b")]
    assert reversals({"a": (2.0, 0.2), "b": (1.0, 0.2)}) == []


@pytest.mark.skipif(PUBLISHED is None, reason="the published figures are not at hand")
def test_the_papers_own_figures_have_the_reductions_it_states():
    """As far as no cell that they need is lost."""
    stated = {
        "binary": {"d1_F1": 11.0, "d2_Acc": 5.52, "d2_F1": 7.87, "d3_F1": -27.01,
                   "d4_Acc": 25.68, "d4_F1": -6.57},
        "multiclass": {"d1_Acc": -37.30, "d1_F1": 3.88, "d4_F1": 32.44, "d3_Acc": 4.38,
                       "d3_F1": 3.59, "d2_F1": -25.41},
    }  # fmt: skip
    table = pl.read_csv(PUBLISHED / "quacc.csv")
    for setting, columns in stated.items():
        rows = table.filter(setting=setting)
        for column, percent in columns.items():
            means = dict(rows.select("method", column).drop_nulls().iter_rows())
            _, baseline, reduction = _best_of_both(means)
            assert baseline in ("LEAP", "DoC")
            assert 100 * reduction == pytest.approx(percent, abs=1.0), column


def test_which_collections_are_there(data, tmp_path):
    whole = read_spec("quacc")
    assert datasets_there(whole, data) == list(whole.datasets[:4])
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


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_the_stored_results_name_the_reversals_of_their_own_table(metric):
    path = Path(__file__).parents[2] / "docs" / "results" / "quacc.json"
    stored = json.loads(path.read_text("utf-8"))["sections"]
    section = stored[f"Compared with the paper: {metric}"]
    name, ours, theirs = map(section["columns"].index, ("method", "imdb", "imdb, paper"))
    rows = [row for row in section["rows"] if row[ours] and row[theirs]]
    errors = {row[name]: (row[ours], row[theirs]) for row in rows}
    pairs = reversals(errors)
    n_pairs = len(rows) * (len(rows) - 1) // 2
    assert f"{len(pairs)} of {n_pairs} pairs come in the other order" in section["text"]
    for pair in pairs:
        assert all(f"{method} ({errors[method][1]:.4f}" in section["text"] for method in pair)


# Several classes


@pytest.fixture(scope="module")
def several_data(tmp_path_factory):
    """Newsgroups of which each has its own words."""
    folder = tmp_path_factory.mktemp("several")
    rng = np.random.default_rng(0)
    groups = ["sci.crypt", "sci.electronics", "sci.med", "sci.space", "rec.autos"]
    words = np.array([f"word{i}" for i in range(50)])
    rows = []
    for split, n in (("train", 700), ("test", 500)):
        for i in range(n):
            own = np.exp(1.2 * (np.arange(50) // 10 == i % 5))
            text = " ".join(rng.choice(words, 9, p=own / own.sum()))
            rows.append((groups[i % 5], text, split))
    pl.DataFrame(rows, ["Category", "Text", "split"], orient="row").write_parquet(
        folder / "newsgroups20.parquet"
    )
    return folder


@pytest.fixture(scope="module")
def several_spec():
    whole = read_spec("quacc-multiclass").restricted(datasets=["newsgroups-sci"])
    protocol = whole.protocol | {"train_sets": 2, "test_samples": 8, "size": 80, "least": 1}
    return replace(whole, protocol=protocol, selection=whole.selection | CHOICE)


@pytest.fixture(scope="module")
def several_results(several_spec, several_data):
    tasks = experiment.plan(several_spec, several_data)
    return pl.concat(experiment.run(several_spec, task, several_data) for task in tasks)


def test_the_multiclass_spec_of_the_paper():
    spec = read_spec("quacc-multiclass")
    experiment.check(spec)
    tasks = experiment.plan(spec, None)
    assert len({task.key for task in tasks}) == len(tasks) == 9 * 9
    # 18,900 combinations of training sets and samples for each dataset and method.
    runs = sum(task.runs for task in tasks if task.dataset == "rcv1-M1")
    assert runs == 18_900 * len(spec.methods)


def test_tables_of_several_classes(several_spec, several_results):
    results = several_results
    assert results["failure"].null_count() == len(results) == 2 * 8 * len(several_spec.methods)
    tables = results["true_table"].list.to_array(16).to_numpy().reshape(-1, 4, 4)
    np.testing.assert_allclose(METRICS["accuracy"](tables), results["true_accuracy"])
    np.testing.assert_allclose(METRICS["f1"](tables), results["true_f1"])
    # All methods give F1, ATC included.
    assert results["f1"].null_count() == 0
    train = np.stack(results["train_shares"].to_list())
    shift = np.abs(tables.sum(axis=2) - train).sum(axis=1) / 2
    np.testing.assert_allclose(results["shift"], shift, atol=1e-12)
    assert results["train_prevalence"].null_count() == len(results)
    assert results["training_size"].unique().to_list() == [139]
    # A merged cell of errors cannot give the mean F1 of four classes.
    quacc = results.filter(method="QuAcc(SLD)")
    assert not quacc["chosen_f1"].str.contains("1xn+1", literal=True).any()
    means = dict(results.group_by("method").agg(pl.col("accuracy").mean()).iter_rows())
    assert means["LEAP"] < means["Naive"]


def test_random_shares_are_those_of_both_sets_and_leave_no_class_out(
    several_spec, several_data
):
    collection = load_collection("newsgroups-sci", several_data, 1)
    assert collection.shares().tolist() == [0.25] * 4
    all_shares = []
    for number in range(30):
        sets = draw_training_and_reference(several_spec, collection, {"set": number}, 0)
        for rows in (sets.train, sets.reference):
            counts = np.bincount(collection.y[rows], minlength=4)
            assert counts.min() >= 4
            np.testing.assert_allclose(counts / len(rows), sets.shares, atol=1 / len(rows))
        assert not set(sets.train) & set(sets.reference)
        all_shares.append(sets.shares)
    # Uniform on the simplex but for shares near 0.
    assert np.abs(np.mean(all_shares, axis=0) - 0.25).max() < 0.12
    assert np.std(all_shares, axis=0).min() > 0.1


def test_the_report_on_several_classes(several_spec, several_results, tmp_path):
    rows = ["setting,method,d1_Acc,d1_F1,d2_Acc,d2_F1,d3_Acc,d3_F1,d4_Acc,d4_F1"]
    rows += ["multiclass,Naive,0.2,0.2,0.1,0.1,0.1,0.1,0.4,0.1", "binary,Naive,9,9,9,9,9,9,9,9"]
    rows += ["multiclass,DoC,0.1,0.1,,,,,,", "multiclass,LEAP,0.05,0.1,,,,,,"]
    (tmp_path / "quacc.csv").write_text("\n".join(rows))
    found = {
        section.title: section
        for section in experiment.sections(several_spec, several_results, tmp_path)
    }
    compared = found["Compared with the paper: accuracy"]
    assert compared.table.columns == ["method", "stand-ins", "RCV1 nodes, paper"]
    assert compared.table.row(0)[2] == pytest.approx(0.2)
    assert "means over newsgroups-sci" in compared.text
    assert found["Experiments"].table["classes"].to_list() == [4]
    assert "uniformly" in found["Experiments"].text
    for section in found.values():
        if section.figure:
            section.figure()
    # The same results as those of the paper's own node are compared with that one.
    node = several_results.with_columns(pl.lit("rcv1-M1").alias("dataset"))
    spec = replace(several_spec, datasets=("rcv1-M1",))
    titles = {section.title: section for section in experiment.sections(spec, node, tmp_path)}
    compared = titles["Compared with the paper: accuracy"]
    assert compared.table.columns == ["method", "rcv1-M1", "rcv1-M1, paper"]
    assert "Distance from the published errors: Naive" in compared.text


def test_a_grid_of_prevalences_is_for_two_classes():
    spec = replace(read_spec("quacc"), datasets=("newsgroups-sci",))
    with pytest.raises(HeadcountError, match="'newsgroups-sci' has 4 classes: set train_sets"):
        experiment.check(spec)


def test_texts_with_exactly_one_of_several_classes():
    topics = np.array(["M141|M14|MCAT", "M14|M141|M142|MCAT", "M132|M13|MCAT", "CCAT"])
    rows, y = labelled(topics, Classes("rcv1", ("M141", "M142", "M143")))
    assert (rows.tolist(), y.tolist()) == ([0], [0])
    rows, y = labelled(topics, Classes("rcv1", ("M11", "M12", "M13", "M14")))
    assert (rows.tolist(), y.tolist()) == ([0, 1, 2], [3, 3, 2])


def test_rcv1_is_read_where_scikit_learn_keeps_it(tmp_path, monkeypatch):
    import joblib
    from scipy import sparse

    names = np.array(["C11", "CCAT", "GCAT", "M11", "M14", "M141", "MCAT"])
    rng = np.random.default_rng(0)
    # As scikit-learn splits it: the first 23,149 are for training.
    n = 23_149 + 60
    leaves = rng.integers(0, 4, n)
    sets = [[0, 1], [2], [3, 6], [4, 5, 6]]
    topics = sparse.lil_matrix((n, len(names)), dtype=np.uint8)
    for row, leaf in enumerate(leaves):
        topics[row, sets[leaf]] = 1
    folder = tmp_path / "RCV1"
    folder.mkdir()
    samples = sparse.csr_matrix(np.eye(4)[leaves])
    for name, value in {
        "samples": samples, "sample_id": np.arange(n, dtype=np.uint32),
        "sample_topics": topics.tocsr(), "topics_names": names,
    }.items():  # fmt: skip
        joblib.dump(value, folder / f"{name}_py3.pkl")
    spec = read_spec("quacc-multiclass")
    assert datasets_there(spec, tmp_path) == ["rcv1-root", "rcv1-C", "rcv1-M1", "rcv1-M14"]
    root = load_collection("rcv1-root", tmp_path, 5)
    assert (len(root.y), len(root.y_test)) == (23_149, 60)
    assert np.array_equal(root.y_test, np.array([0, 2, 3, 3])[leaves[23_149:]])
    assert np.array_equal(root.X_test.toarray().argmax(axis=1), leaves[23_149:])
    market = load_collection("rcv1-M1", tmp_path, 5)
    assert np.array_equal(
        market.y_test, np.where(leaves == 2, 0, 3)[23_149:][leaves[23_149:] > 1]
    )
