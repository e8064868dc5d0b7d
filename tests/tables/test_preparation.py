from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import headcount as hc
from headcount.errors import HeadcountError
from headcount.tables.columns import DateParts, infer_column
from headcount.tables.preparation import Tally, prepare

WORDS = ["late", "fine", "good", "slow", "nice"]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "code": [f"u{i}" for i in range(n)],
            "age": [None if i % 50 == 0 else float(i % 70) for i in range(n)],
            "city": ["rare" if i < 3 else ["a", "b", None, "c"][i % 4] for i in range(n)],
            "member": [[True, False, None][i % 3] for i in range(n)],
            "day": [date(2024, 1 + i % 9, 1 + i % 28) for i in range(n)],
            "review": [" ".join(rng.choice(WORDS, 4)) + f" {i}" for i in range(n)],
            "constant": ["x"] * n,
            "nothing": [None] * n,
        }
    )


KINDS = {
    "id": "dropped", "code": "dropped", "age": "number", "city": "category",
    "member": "flag", "day": "date", "review": "text", "constant": "dropped",
    "nothing": "dropped",
}  # fmt: skip


def test_kinds_of_typed_columns():
    assert {c.name: c.kind for c in prepare(people()).columns} == KINDS


def test_kinds_of_texts_are_those_of_what_they_hold():
    texts = people().with_columns(pl.all().cast(pl.String))
    assert {c.name: c.kind for c in prepare(texts).columns} == KINDS


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", "2"], "number"),
        (["1.5", "NA", "2"], "number"),
        (["1e3", " 2 ", "2"], "number"),
        (["TRUE", "false", ""], "flag"),
        (["2024-01-05", "2024-02-01", ""], "date"),
        (["2024-01-05 10:00:00", "2024-02-01 11:30:00", "2024-02-01 11:30:00"], "date"),
        (["31/12/2024", "01/02/2024", "01/02/2024"], "date"),
        (["12/31/2024", "01/02/2024", "01/02/2024"], "date"),
        (["a", "b", "b"], "category"),
        (["a", "b", "c"], "dropped"),
        (["1,5", "2,5", "2,5"], "number"),
        (["$29.85", "$1,234.50", "$3"], "number"),
        (["04 Jun 2024", "05 Jun 2024", "05 Jun 2024"], "date"),
        (["Jun 2024", "Jul 2024", "Jul 2024"], "date"),
        (["20240604", "20240605", "20240605"], "date"),
        ([20240604, 20240605, 20240605], "date"),
        (["2024-06", "2024-07", "2024-07"], "date"),
        (["1/2/24", "13/2/24", "13/2/24"], "date"),
        (["12345678", "99999999", "99999999"], "number"),
        ([None, 1, 1], "number"),
        ([1, 1, 1], "dropped"),
        ([[1], [2], [2]], "dropped"),
        (["it is a good thing", "that was a bad one", "who could know that"], "text"),
    ],
)
def test_kind_of_a_column(values, kind):
    assert infer_column(pl.Series("c", values)).kind == kind


def test_whole_numbers_are_identifiers_by_name_or_by_counting():
    assert infer_column(pl.Series("userID", [5, 3, 9])).kind == "dropped"
    assert infer_column(pl.Series("n", [4, 5, 6])).kind == "dropped"
    assert infer_column(pl.Series("n", [4, 9, 6])).kind == "number"
    assert infer_column(pl.Series("paid", [4, 9, 6])).kind == "number"


def test_a_line_for_each_column_says_what_is_done():
    facts = prepare(people(), leave_out={"day": "groups go by it"}).facts()
    assert list(facts) == people().columns
    assert facts["age"].startswith("number; median")
    assert "6 of 300 missing" in facts["age"]
    assert facts["day"] == "not used; groups go by it"
    assert "identifiers" in facts["code"]


def test_texts_and_typed_columns_give_the_same_features():
    frame = people()
    texts = frame.with_columns(pl.all().cast(pl.String))
    made = [
        (p := prepare(each)).pipeline().fit_transform(p.conform(each))
        for each in (frame, texts)
    ]
    assert np.array_equal(*(np.asarray(getattr(z, "todense", lambda z=z: z)()) for z in made))


def test_pandas_frames_give_the_same_features():
    preparation = prepare(people())
    frame = preparation.conform(people())
    fitted = preparation.pipeline().fit(frame)
    assert np.allclose(fitted.transform(frame), fitted.transform(frame.to_pandas()))


def test_unknown_values_and_missing_ones_are_taken():
    preparation = prepare(people())
    fitted = preparation.pipeline().fit(preparation.conform(people()))
    strange = people().with_columns(
        city=pl.lit("elsewhere"), age=pl.lit(None), review=pl.lit(None), day=pl.lit(None)
    )
    Z = fitted.transform(preparation.conform(strange))
    assert np.isfinite(np.asarray(Z)).all()


@pytest.mark.parametrize(
    ("column", "value"),
    [("age", "old"), ("day", "soon"), ("member", "maybe"), ("age", "inf"), ("day", "3")],
)
def test_what_does_not_fit_counts_as_missing_and_is_noted(column, value):
    preparation = prepare(people())
    batch = people()[:5].with_columns(pl.Series(column, [None, None, value, None, None]))
    tally = Tally(5)
    made = preparation.conform(batch, tally)
    assert made[column].null_count() == 5
    assert tally.unreadable[column] == 1
    notes = " ".join(tally.notes("new.csv"))
    assert f"1 of 5 values of {column} in new.csv could not be read, such as '{value}'" in notes
    tally.check("new.csv")


def test_a_column_that_cannot_be_read_is_an_error():
    preparation = prepare(people())
    tally = Tally(5)
    preparation.conform(people()[:5].with_columns(age=pl.lit("old")), tally)
    with pytest.raises(HeadcountError, match=r"5 of 5 values of column 'age' of 'new.csv'"):
        tally.check("new.csv")


def test_values_never_seen_are_counted():
    preparation = prepare(people())
    tally = Tally(300)
    preparation.conform(people().with_columns(city=pl.lit("elsewhere")), tally)
    assert tally.unseen["city"] == 300
    assert "300 of 300 values of city in t were never seen in training." in tally.notes("t")


def test_one_bad_value_is_a_note_in_training():
    column = infer_column(pl.Series("age", [str(i % 7) for i in range(30)] + ["old"]))
    assert column.kind == "number"
    assert column.note.startswith("1 of 31 values of age are not numbers, such as 'old'")
    column = infer_column(
        pl.Series("d", [f"2024-06-{i + 1:02d}" for i in range(30)] + ["soon"])
    )
    assert column.kind == "date"
    assert "'soon'" in column.note


def test_dates_whose_order_nobody_knows_are_left_out_unless_it_is_named():
    values = pl.Series("d", ["03/04/2024", "05/04/2024", "05/04/2024"])
    column = infer_column(values)
    assert column.kind == "dropped"
    assert "`dates` can name the order" in column.note
    for order, month in (("day-first", 4), ("month-first", 3)):
        column = infer_column(values, dates=order)
        assert column.kind == "date"
        assert column.read(values)[0][0].month == month


def test_the_order_that_was_found_is_said():
    column = infer_column(pl.Series("d", ["31/12/2024", "01/02/2024", "01/02/2024"]))
    assert column.note == "The dates of d were read day-first."


def test_another_table_may_write_dates_and_numbers_differently():
    day = infer_column(pl.Series("d", ["31/12/2024", "01/02/2024", "01/02/2024"]))
    other = day.of_table(pl.Series("d", ["12/31/2024", "03/04/2024"]))
    assert other.read(pl.Series("d", ["03/04/2024"]))[0][0] == datetime(2024, 3, 4)
    # Where it does not show its order, it has that of training.
    same = day.of_table(pl.Series("d", ["03/04/2024"]))
    assert same.read(pl.Series("d", ["03/04/2024"]))[0][0] == datetime(2024, 4, 3)
    price = infer_column(pl.Series("p", ["1.5", "3.25", "3.25"]))
    comma = price.of_table(pl.Series("p", ["1,5", "1.234,25"]))
    assert comma.read(pl.Series("p", ["1.234,25"]))[0][0] == 1234.25


def test_a_batch_cannot_change_how_dates_are_read():
    # 31/12 shows that days come first; a batch with 01/02 alone would not.
    column = infer_column(pl.Series("d", ["31/12/2024", "01/02/2024", "01/02/2024"]))
    assert column.conform(pl.Series("d", ["03/04/2024"]), "t")[0] == datetime(2024, 4, 3)
    column = infer_column(pl.Series("d", ["12/31/2024", "01/02/2024", "01/02/2024"]))
    assert column.conform(pl.Series("d", ["03/04/2024"]), "t")[0] == datetime(2024, 3, 4)


def test_later_dates_count_as_the_last_of_training():
    training = pl.DataFrame({"d": [date(2023, 1, 1), date(2023, 12, 31)]})
    parts = DateParts().fit(training)
    late = parts.transform(pl.DataFrame({"d": [date(2031, 5, 2), None]}))
    assert late[0, :2].tolist() == parts.transform(training)[1, :2].tolist()
    assert late[0, 2:].tolist() == [5, 5, 0]
    assert np.isnan(late[1]).all()


def test_nothing_to_learn_from():
    with pytest.raises(HeadcountError, match="no column that can be used as a feature"):
        prepare(people().select("id", "constant"))


def test_the_pipeline_is_one_of_scikit_learn_and_works_in_a_quantifier():
    frame = people(400)
    preparation = prepare(frame)
    X = preparation.conform(frame)
    y = np.where(np.arange(400) % 70 > 40, "old", "young")
    pipeline = make_pipeline(clone(preparation.pipeline()), LogisticRegression(max_iter=1000))
    shares = hc.PACC(pipeline, random_state=0).fit(X, y).predict(X)
    assert shares == pytest.approx([np.mean(y == "old"), np.mean(y == "young")], abs=0.05)
