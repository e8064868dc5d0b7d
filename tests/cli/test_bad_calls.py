from __future__ import annotations

import pickle

import polars as pl
import pytest
import skops.io

from tests.cli.conftest import LEARN


def change(name, **columns):
    pl.read_csv(name).with_columns(**columns).write_csv(name)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["estimate"], "NEW"),
        (["estimate", "--nonsense"], "nonsense"),
        (["fly"], "fly"),
        (["estimate", "new.csv"], "--train, --scores and --model"),
        (["estimate", "new.csv", "--train", "labelled.csv"], "--target is missing"),
        (["estimate", *LEARN, "--model", "m.skops", "new.csv"], "not --train and --model"),
        (["estimate", *LEARN, "nowhere.csv"], "no file 'nowhere.csv'"),
        (["estimate", "--train", "no.csv", "--target", "churn", "new.csv"], "no file 'no.csv'"),
        (["estimate", "--train", "labelled.csv", "--target", "age2", "new.csv"], "'age2'"),
        (["estimate", "--train", "labelled.csv", "--target", "age", "new.csv"], "fractions"),
        (["estimate", *LEARN[:-1], "PACCC", "new.csv"], "did you mean PACC"),
        (["estimate", *LEARN, "new.csv", "--classifier", "magic"], "'logistic', 'forest'"),
        (["estimate", *LEARN, "new.csv", "--level", "95"], "--level"),
        (["estimate", *LEARN, "new.csv", "--seed", "x"], "seed"),
        (["estimate", *LEARN, "new.csv", "--by", "week2"], "'week2'"),
        (
            ["estimate", *LEARN, "new.csv", "--by", "id", "--date-column", "day"],
            "year, quarter",
        ),
        (["estimate", *LEARN, "new.csv", "--by", "month", "--date-column", "city"], "dates"),
        (["estimate", *LEARN, "new.csv", "--date-column", "day"], "--by"),
        (["estimate", *LEARN, "new.csv", "--separator", ";;"], "single character"),
        (["estimate", *LEARN, "new.csv", "--output", "o.docx"], ".csv"),
        (["estimate", *LEARN, "new.csv", "--report", "o.pdf"], ".html"),
        (["estimate", *LEARN, "new.csv", "--save", "o.pkl"], ".skops"),
        (["estimate", *LEARN, "new.csv", "--output", "no/o.csv"], "no folder"),
        (["estimate", *LEARN, "new.csv", "--output", "."], "."),
        (["estimate", *LEARN, "new.csv", "--output", "/proc/o.csv"], "/proc/o.csv"),
        (["demo", "labelled.csv"], "cannot be made"),
    ],
)
def test_bad_calls(files, refused, arguments, said):
    before = sorted(files.iterdir())
    assert said in refused(*arguments)
    assert sorted(files.iterdir()) == before


def test_an_empty_file(files, refused):
    (files / "new.csv").write_text("")
    assert "'new.csv' is empty" in refused("estimate", *LEARN, "new.csv")


def test_a_file_with_a_header_only(files, refused):
    (files / "new.csv").write_text("id,age,city,member,day\n")
    assert "'new.csv' has no rows" in refused("estimate", *LEARN, "new.csv")


def test_a_target_with_one_value(files, refused):
    change("labelled.csv", churn=pl.lit("no"))
    assert "single value 'no'" in refused("estimate", *LEARN, "new.csv")


def test_a_target_with_too_many_values(files, refused):
    change("labelled.csv", churn=pl.col("id"))
    assert "too many for classes" in refused("estimate", *LEARN, "new.csv")


def test_a_target_with_fractions(files, refused):
    change("labelled.csv", churn=pl.col("age").fill_null(1.5))
    assert "fractions" in refused("estimate", *LEARN, "new.csv")


def test_new_columns_that_are_missing_are_named(files, refused):
    pl.read_csv("new.csv").drop("age", "member").write_csv("new.csv")
    sentence = refused("estimate", *LEARN, "new.csv")
    assert "lacks the columns 'age', 'member'" in sentence


def test_infinite_numbers(files, refused):
    change("new.csv", age=pl.lit("inf"))
    assert "500 of 500 values of column 'age'" in refused("estimate", *LEARN, "new.csv")


def test_parquet_that_is_none(files, refused):
    (files / "new.parquet").write_bytes(b"PAR1 nothing here")
    assert "'new.parquet' cannot be read" in refused("estimate", *LEARN, "new.parquet")


def test_too_many_groups(files, refused):
    pl.DataFrame({"id": range(50_001)}).join(
        pl.read_csv("new.csv").drop("id").head(1), how="cross"
    ).write_csv("new.csv")
    assert "50,001 groups" in refused("estimate", *LEARN, "new.csv", "--by", "id")


def test_several_columns_of_dates(files, refused):
    change("new.csv", other=pl.col("day"))
    assert "several ('day', 'other')" in refused("estimate", *LEARN, "new.csv", "--by", "month")


def test_nothing_to_learn_from(files, refused):
    pl.read_csv("labelled.csv").select("id", "churn").write_csv("labelled.csv")
    assert "no column that can be used as a feature" in refused("estimate", *LEARN, "new.csv")


@pytest.mark.parametrize(
    ("scores", "new", "said"),
    [
        ("a,label\n0.5,x\n0.2,y\n0.2,z\n", "a\n0.5\n", "no column for the class 'x'"),
        ("y,label\n" + "0.5,x\n0.9,y\n" * 4, "x\n0.5\n", "lacks the column 'y'"),
        ("y,label\n0.5,x\n9,y\n", "y\n0.5\n", "between 0 and 1"),
        ("y,label\n0.5,x\n,y\n", "y\n0.5\n", "no score in column 'y' (row 2)"),
        ("y,label\n0.5,x\nq,y\n", "y\n0.5\n", "'q' in column 'y' (row 2)"),
    ],
)
def test_bad_scores(files, refused, scores, new, said):
    (files / "scores.csv").write_text(scores)
    (files / "new.csv").write_text(new)
    assert said in refused("estimate", "--scores", "scores.csv", "--target", "label", "new.csv")


def test_scores_and_a_method_for_features(files, refused):
    (files / "scores.csv").write_text("y,label\n0.5,x\n0.7,y\n")
    learn = ("--scores", "scores.csv", "--target", "label", "--method", "HDx")
    assert "features" in refused("estimate", *learn, "new.csv")


class Harmful:
    def __reduce__(self):
        return (print, ("harm",))


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", pickle.dumps(Harmful()), skops.io.dumps({"kind": "another"})],
    ids=["empty", "text", "pickle", "another"],  # as archives hold addresses and times
)
def test_models_that_are_none(files, refused, content):
    (files / "m.skops").write_bytes(content)
    sentence = refused("estimate", "--model", "m.skops", "new.csv")
    assert "is not a model that headcount has saved" in sentence


def test_models_with_strange_types_are_refused(files, refused):
    # A function of numpy's that runs code when called.
    import numpy as np
    from sklearn.preprocessing import FunctionTransformer

    harmful = FunctionTransformer(np.testing.rundocs)
    packed = skops.io.dumps({"kind": "headcount model", "model": harmful})
    (files / "m.skops").write_bytes(packed)
    sentence = refused("estimate", "--model", "m.skops", "new.csv")
    assert "refused, as it may do harm" in sentence


@pytest.mark.parametrize(
    "name", ["headcount.cli.main", "os.system", "headcount.tables.readers.os"]
)
def test_no_function_that_does_more_than_arithmetic_is_allowed(name):
    from headcount.tables.model_files import _is_allowed

    assert not _is_allowed(name)
    assert _is_allowed("headcount.quantifiers.adjusted.PACC")


def test_a_model_that_learnt_from_the_groups(files, call, refused):
    assert call("estimate", *LEARN, "new.csv", "--save", "m.skops")[0] == 0
    sentence = refused("estimate", "--model", "m.skops", "new.csv", "--by", "city")
    assert "'city'" in sentence


def test_a_defect_is_a_sentence_too(files, call, monkeypatch):
    def broken(new, **options):
        raise RuntimeError("boom")

    monkeypatch.setattr("headcount.tables.from_tables.analyse", broken)
    code, out, err = call("estimate", *LEARN, "new.csv")
    assert (code, out) == (1, "")
    assert "boom" in err
    assert err.count("\n") == 1
