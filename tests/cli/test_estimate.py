from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import headcount as hc
from headcount.tables.preparation import prepare
from tests.cli.conftest import LEARN, customers


def estimated(call, *arguments):
    code, out, err = call("estimate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_two_files_give_the_right_answer_with_an_interval(files, call):
    code, out, _ = call("estimate", "--train", "labelled.csv", "--target", "churn", "new.csv")
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("yes"))
    share, low, high = (float(cell.rstrip("%")) for cell in row.split()[1:4])
    truth = 100 * customers(500, 0.6, 2)["churn"].eq("yes").mean()
    assert low <= truth <= high
    assert low < share < high < low + 60
    code, out, _ = call("estimate", *LEARN, "new.csv", "--history", "no")
    row = next(line for line in out.splitlines() if line.startswith("yes"))
    narrow_low, narrow_high = (float(cell.rstrip("%")) for cell in row.split()[2:4])
    # Nothing but the mix changes here, which the user may know.
    assert low < narrow_low <= truth <= narrow_high
    assert high - low > narrow_high - narrow_low
    assert narrow_high < narrow_low + 30


@pytest.mark.parametrize("method", ["auto", "PACC", "SLD", "CC"])
def test_the_answer_is_that_of_the_python_interface(files, call, method):
    said = estimated(call, *LEARN, "new.csv", "--method", method, "--history", "no")
    frame, new = customers(600, 0.2, 1), customers(500, 0.6, 2)
    frame = frame.with_columns(pl.col("day").str.to_datetime())
    new = new.with_columns(pl.col("day").str.to_datetime())
    preparation = prepare(frame.drop("churn"))
    pipeline = make_pipeline(preparation.pipeline(), LogisticRegression(max_iter=1000))
    named = hc.AutoQuantifier if method == "auto" else hc.method(method)
    quantifier = named(pipeline, random_state=0)
    quantifier.fit(frame.select(preparation.used), frame["churn"])
    estimate = quantifier.estimate(new.select(preparation.used), random_state=0)
    assert said["overall"]["shares"] == pytest.approx(estimate.shares.tolist(), abs=1e-9)
    assert said["overall"]["low"] == pytest.approx(estimate.interval().low.tolist(), abs=1e-6)
    assert said["overall"]["high"] == pytest.approx(estimate.interval().high.tolist(), abs=1e-6)


def test_every_format_gives_the_same_answer(files, call):
    answers = [estimated(call, *LEARN, "new.csv")["overall"]["shares"]]
    for ending in ("parquet", "feather", "jsonl"):
        for name in ("labelled", "new"):
            frame = pl.read_csv(f"{name}.csv")
            {"parquet": frame.write_parquet, "feather": frame.write_ipc}.get(
                ending, frame.write_ndjson
            )(f"{name}.{ending}")
        learn = [each.replace(".csv", f".{ending}") for each in LEARN]
        answers.append(estimated(call, *learn, f"new.{ending}")["overall"]["shares"])
    for other in answers[1:]:
        assert other == pytest.approx(answers[0], abs=1e-9)


def test_batches_make_no_difference(files, call, monkeypatch):
    import headcount.tables.readers as readers

    whole = estimated(call, *LEARN, "new.csv")["overall"]
    sizes = []
    plain = readers.TableFile.batches

    def small(self, columns, rows=None):
        for batch in plain(self, columns, 60):
            sizes.append(len(batch))
            yield batch

    monkeypatch.setattr(readers.TableFile, "batches", small)
    parts = estimated(call, *LEARN, "new.csv")["overall"]
    assert len(sizes) > 5
    assert parts["shares"] == pytest.approx(whole["shares"], abs=1e-9)


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        (["month"], ["2024-01", "2024-02", "2024-03"]),
        (["quarter", "--date-column", "day"], ["2024-Q1"]),
        (["city"], ["Oslo", "Rome"]),
    ],
)
def test_groups(files, call, by, groups):
    said = estimated(call, *LEARN, "new.csv", "--by", *by)
    assert [part["group"] for part in said["groups"]] == groups
    assert sum(part["items"] for part in said["groups"]) == 500
    column = "city" if by == ["city"] else "day"
    assert "the groups are made of it" in said["columns"][column]


def test_rows_without_a_group_are_a_group(files, call):
    new = pl.read_csv("new.csv").with_columns(
        day=pl.when(pl.int_range(pl.len()) < 10).then(None).otherwise("day")
    )
    new.write_csv("new.csv")
    said = estimated(call, *LEARN, "new.csv", "--by", "month")
    assert [part["group"] for part in said["groups"]][-1] == "(missing)"
    assert said["groups"][-1]["items"] == 10
    assert any("10 of 500" in note for note in said["notes"])


def test_true_labels_are_shown_beside(files, call):
    customers(500, 0.6, 2).write_csv("known.csv")
    code, out, _ = call("estimate", *LEARN, "known.csv")
    assert code == 0
    assert "true share" in out
    truth = estimated(call, *LEARN, "known.csv")["overall"]["truth"]
    assert truth[1] == pytest.approx(customers(500, 0.6, 2)["churn"].eq("yes").mean())


def test_some_true_labels_only_are_left_out_and_said(files, call):
    customers(500, 0.6, 2).with_columns(
        churn=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("churn")
    ).write_csv("known.csv")
    said = estimated(call, *LEARN, "known.csv")
    assert said["overall"]["truth"] is None
    assert any("has 497 of 500 labels" in note for note in said["notes"])


def test_missing_values_are_counted_and_said(files, call):
    said = estimated(call, *LEARN, "new.csv")
    n_missing = customers(500, 0.6, 2)["age"].null_count()
    assert f"{n_missing} of 500 missing in new.csv" in said["columns"]["age"]
    assert any(f"age {n_missing}" in note for note in said["notes"])
    assert "identifiers" in said["columns"]["id"]


def test_verbose_says_what_was_done_with_each_column(files, call):
    code, out, _ = call("estimate", *LEARN, "new.csv", "--verbose")
    assert code == 0
    assert "city: category; one feature per value" in out


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [3, 7]])
def test_labels_of_every_kind(files, call, labels):
    as_label = pl.col("churn").replace_strict(
        {"no": labels[0], "yes": labels[1]}, return_dtype=pl.Series(labels).dtype
    )
    pl.read_csv("labelled.csv").with_columns(as_label).write_csv("labelled.csv")
    customers(500, 0.6, 2).with_columns(as_label).write_csv("new.csv")
    said = estimated(call, *LEARN, "new.csv")
    assert said["classes"] == sorted(labels)
    assert sum(said["overall"]["truth"]) == 1


def test_three_classes_and_a_method_for_two(files, call):
    three = pl.when(pl.col("age") > 50).then(pl.lit("maybe")).otherwise("churn")
    pl.read_csv("labelled.csv").with_columns(churn=three).write_csv("labelled.csv")
    said = estimated(
        call, "--train", "labelled.csv", "--target", "churn", "new.csv", "--method", "MS2"
    )
    assert said["classes"] == ["maybe", "no", "yes"]
    assert sum(said["overall"]["shares"]) == pytest.approx(1)


@pytest.mark.parametrize("method", ["HDx", "ED", "MLPE", "Ensemble", "QF"])
def test_methods_without_a_classifier_get_the_prepared_features(files, call, method):
    learn = (*LEARN[:-1], method)
    said = estimated(call, *learn, "new.csv")
    assert sum(said["overall"]["shares"]) == pytest.approx(1)


def test_the_forest(files, call):
    said = estimated(call, *LEARN, "new.csv", "--classifier", "forest", "--history", "no")
    assert 0.4 < said["overall"]["shares"][1] < 0.8


def posteriors(n, share, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    spam = rng.beta(1 + 3 * y, 1 + 3 * ~y)
    label = np.where(y, "spam", "ham")
    return pl.DataFrame({"spam": spam, "ham": 1 - spam, "label": label})


def test_scores_in_a_column_for_each_class_or_for_one(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    learnt, new = posteriors(600, 0.3, 0), posteriors(500, 0.7, 1)
    shares = []
    for kept in (["ham", "spam"], ["spam"], ["ham"]):
        learnt.select(*kept, "label").write_parquet("scores.parquet")
        new.select(kept).write_parquet("new.parquet")
        said = estimated(
            call, "--scores", "scores.parquet", "--target", "label", "new.parquet",
            "--method", "PACC",
        )  # fmt: skip
        shares.append(said["overall"]["shares"])
    learnt.select(score="spam", label="label").write_csv("scores.csv")
    new.select(score="spam").write_csv("new.csv")
    said = estimated(
        call, "--scores", "scores.csv", "--target", "label", "new.csv", "--method", "PACC"
    )
    shares.append(said["overall"]["shares"])
    scored = hc.Scored(learnt.select("ham", "spam"))
    quantifier = hc.PACC(random_state=0).fit(scored, learnt["label"])
    expected = quantifier.estimate(hc.Scored(new.select("ham", "spam"))).shares
    for each in shares:
        assert each == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("by", [(), ("--by", "month")])
def test_a_saved_model_gives_the_same_answer(files, call, by):
    first = estimated(call, *LEARN, "new.csv", "--save", "model.skops", *by)
    again = estimated(call, "--model", "model.skops", "new.csv", *by)
    for key in ("overall", "groups", "classes", "method", "columns"):
        assert again[key] == first[key]


@pytest.mark.parametrize("method", ["auto", "SLD", "KDEyML", "HDx", "MS2", "Ensemble"])
def test_models_of_many_methods_can_be_saved(files, call, method):
    learn = (*LEARN[:-1], method)
    first = estimated(call, *learn, "new.csv", "--save", "model.skops")
    again = estimated(call, "--model", "model.skops", "new.csv")
    assert again["overall"] == first["overall"]


def test_a_saved_model_of_scores(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    posteriors(600, 0.3, 0).write_csv("scores.csv")
    posteriors(500, 0.7, 1).drop("label").write_csv("new.csv")
    learn = ("--scores", "scores.csv", "--target", "label", "--method", "DyS")
    first = estimated(call, *learn, "new.csv", "--save", "m.skops")
    assert estimated(call, "--model", "m.skops", "new.csv")["overall"] == first["overall"]


def test_the_table_is_written_in_the_form_of_its_ending(files, call):
    names = ["o.csv", "o.tsv", "o.parquet", "o.feather", "o.jsonl"]
    for name in names:
        assert call("estimate", *LEARN, "new.csv", "--output", name)[0] == 0
    frames = [
        pl.read_csv("o.csv"),
        pl.read_csv("o.tsv", separator="\t"),
        pl.read_parquet("o.parquet"),
        pl.read_ipc("o.feather"),
        pl.read_ndjson("o.jsonl"),
    ]
    for frame in frames:
        assert frame["class"].to_list() == ["no", "yes"]
        assert frame["share"].to_list() == pytest.approx(frames[0]["share"].to_list())


def test_the_page_is_written(files, call):
    assert call("estimate", *LEARN, "new.csv", "--report", "page.html")[0] == 0
    page = (files / "page.html").read_text()
    assert "churn in new.csv" in page
    assert "identifiers" in page


def test_the_same_seed_gives_the_same_answer(files, call):
    first, again, other = (
        estimated(call, *LEARN, "new.csv", "--seed", seed)["overall"]["low"]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_the_level_of_the_intervals(files, call):
    wide, narrow = (
        estimated(call, *LEARN, "new.csv", "--level", level)["overall"] for level in (0.99, 0.5)
    )
    assert wide["low"][0] < narrow["low"][0] < narrow["high"][0] < wide["high"][0]


def test_strict_has_an_exit_code_of_its_own(files, call):
    given = ("--train", "labelled.csv", "--target", "churn", "--strict")
    assert call("estimate", "new.csv", *given)[0] == 0
    other = pl.read_csv("new.csv").with_columns(pl.col("age") * 0.1, city=pl.lit("Bern"))
    other.write_csv("other.csv")
    code, printed, _ = call("estimate", "other.csv", *given)
    assert code == 3
    assert printed.startswith("We cannot say what the shares are")
    assert call("estimate", "other.csv", *given[:-1])[0] == 0
