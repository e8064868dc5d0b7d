from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import headcount as hc
from headcount.tables.models import ScoreModel, TableModel
from tests.cli.conftest import customers

LABELLED, NEW = customers(600, 0.2, 1), customers(500, 0.6, 2).drop("churn")


def analysed(new=NEW, **options):
    options = {"train": LABELLED, "target": "churn", "method": "PACC"} | options
    return hc.analyse(new, **options)


@pytest.fixture(scope="module")
def by_month():
    return analysed(by="month")


def test_the_answer_is_that_of_the_command_line(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    LABELLED.write_csv("labelled.csv")
    NEW.write_csv("new.csv")
    learn = ("--train", "labelled.csv", "--target", "churn", "--method", "PACC")
    _, out, _ = call("estimate", "new.csv", *learn, "--by", "month", "--json")
    said = json.loads(out)
    given = {"train": "labelled.csv", "by": "month"}
    found = analysed(tmp_path / "new.csv", **given).to_dict()
    del said["created"], found["created"]
    assert json.loads(json.dumps(found)) == said
    _, text, _ = call("estimate", "new.csv", *learn)
    assert text == f"{analysed('new.csv', train='labelled.csv').to_text()}\n"


@pytest.mark.parametrize(
    "kind", [pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow]
)
def test_frames_of_every_library_give_the_same_answer(kind):
    expected = analysed()
    found = analysed(kind(NEW), train=kind(LABELLED))
    assert found.to_frame().equals(expected.to_frame())
    assert found.columns == expected.columns


def test_columns_of_pandas_with_their_own_types():
    def frame(table):
        made = table.to_pandas().astype({"city": "category", "day": "datetime64[ns]"})
        made.index = made["id"]
        return made

    found = analysed(frame(NEW), train=frame(LABELLED))
    assert found.columns["city"].startswith("category")
    assert found.columns["day"].startswith("date")
    shares = analysed().overall.estimate.shares
    assert found.overall.estimate.shares == pytest.approx(shares, abs=1e-9)


def test_texts_become_features():
    rng = np.random.default_rng(0)
    words = np.array(["late", "broken", "refund", "fast", "lovely", "thanks"])

    def reviews(n, share):
        bad = rng.random(n) < share
        odds = np.where(bad[:, None], [3, 3, 3, 1, 1, 1], [1, 1, 1, 3, 3, 3]) / 12
        text = [" ".join(rng.choice(words, 5, p=each)) for each in odds]
        return pd.DataFrame({"text": text, "opinion": np.where(bad, "bad", "good")})

    new = reviews(400, 0.7)
    found = hc.analyse(new, train=reviews(400, 0.2), target="opinion")
    assert "tf-idf" in found.columns["text"]
    truth = (new["opinion"] == "bad").mean()
    assert found.overall.truth[0] == pytest.approx(truth)
    assert found.overall.low[0] < truth < found.overall.high[0]


def test_groups_facts_and_notes(by_month):
    assert [part.name for part in by_month.groups] == ["2024-01", "2024-02", "2024-03"]
    assert by_month.ordered
    assert by_month.title == "churn in new"
    assert by_month.data_facts["Labelled table"] == "train, 600 rows"
    assert by_month.data_facts["Groups"] == "by day"
    assert "the groups are made of it" in by_month.columns["day"]
    assert any("age" in note for note in by_month.notes)


def test_columns_can_be_left_out():
    found = analysed(leave_out=["city", "member"])
    assert found.columns["city"] == "not used; left out by the caller"
    assert found.model.columns == ("age", "day")
    with pytest.raises(hc.HeadcountError, match="'town', which `leave_out` names"):
        analysed(leave_out=["town"])


def test_classifiers_of_the_users_own():
    def used(analysis):
        return type(analysis.model.quantifier.fitted_.scorer.classifier_[-1]).__name__

    assert used(analysed(classifier="forest")) == "RandomForestClassifier"
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    own = analysed(classifier=tree, method="ACC", history="no")
    assert used(own) == "DecisionTreeClassifier"
    assert 0.3 < own.overall.estimate.shares[1] < 0.9


def test_a_model_is_saved_and_used_again(tmp_path):
    first = analysed()
    first.save(tmp_path / "m.skops")
    for model in (tmp_path / "m.skops", str(tmp_path / "m.skops"), first.model):
        again = hc.analyse(NEW, model=model)
        assert again.to_frame().equals(first.to_frame())
        assert isinstance(again.model, TableModel)


def test_scores_made_elsewhere():
    rng = np.random.default_rng(0)

    def scored(n, share):
        y = rng.random(n) < share
        spam = rng.beta(1 + 3 * y, 1 + 3 * ~y)
        return pl.DataFrame({"score": spam, "other": spam**2, "label": np.where(y, "b", "a")})

    known, new = scored(500, 0.3), scored(400, 0.6)
    options = {"target": "label", "method": "SLD", "leave_out": ["other"]}
    found = hc.analyse(new, scores=known, **options)
    assert isinstance(found.model, ScoreModel)
    assert found.columns == {"score": "posterior of class 'b'"}
    quantifier = hc.SLD(random_state=0).fit(hc.Scored(known["score"]), known["label"])
    expected = quantifier.estimate(hc.Scored(new["score"]), random_state=0)
    assert found.overall.estimate.shares == pytest.approx(expected.shares, abs=1e-12)
    with pytest.raises(hc.HeadcountError, match="no column for the class 'a'"):
        hc.analyse(new, scores=known, target="label")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"train": None}, "One of `train`, `scores` and `model` is needed, none is"),
        ({"scores": LABELLED}, "not `train` and `scores`"),
        ({"target": None}, "`target` is missing"),
        ({"target": "age2"}, "'train' lacks the column 'age2', which `target` names"),
        ({"level": 95}, "`level` is 95"),
        ({"method": "PACCC"}, "`method` is 'PACCC', which is not a method: did you mean PACC"),
        ({"classifier": "magic"}, "`classifier` is 'magic'"),
        ({"by": "week2"}, "which `by` names"),
        ({"date_column": "day"}, "`date_column` has no use without `by`"),
        ({"by": "month", "date_column": "city"}, "does not hold dates"),
        ({"train": [[1, 2]]}, "train is of type list; it must be a frame"),
        ({"train": None, "model": 3}, "`model` is of type int"),
        (
            {"train": None, "model": "none.skops"},
            "`model` is 'none.skops', which cannot be read",
        ),
    ],
)
def test_bad_calls_are_named(options, sentence):
    with pytest.raises(hc.HeadcountError, match=sentence):
        analysed(**options)


def test_mixed_columns_are_refused_in_a_sentence():
    mixed = pd.DataFrame({"a": [1, "x", None] * 20, "churn": ["yes", "no", "no"] * 20})
    with pytest.raises(hc.HeadcountError, match="train cannot be read"):
        analysed(train=mixed)


def test_a_model_that_uses_the_column_of_the_groups():
    with pytest.raises(hc.HeadcountError, match="`by` groups by column 'city'"):
        hc.analyse(NEW, model=analysed().model, by="city")
    with pytest.raises(hc.HeadcountError, match="`leave_out` has no use with `model`"):
        hc.analyse(NEW, model=analysed().model, leave_out=["city"])


def test_it_prints_as_a_verdict_and_a_table(by_month):
    lines = repr(by_month).splitlines()
    assert lines[0] == "churn in new"
    assert lines[1].startswith("Of 500 items, about")
    columns = ["group", "class", "share", "95%", "from", "to", "items", "of", "labelled"]
    assert lines[3].split() == columns
    assert lines[-2].startswith("method: PACC, ")
    assert lines[-1].startswith("note: values missing in new")
    assert str(by_month.verdict) == lines[1]


def test_many_groups_are_cut_short_where_they_are_shown():
    many = analysed(NEW.with_columns(row=pl.int_range(pl.len()) // 10), by="row")
    assert len(many.to_frame()) == 102
    assert "62 more rows are in to_frame()." in repr(many)
    assert "62 more rows are in to_frame()." in many._repr_html_()
    assert "more rows" not in many.to_text()


def test_a_notebook_shows_it_escaped():
    nasty = "<script>alert(1)</script>"
    labelled = LABELLED.with_columns(churn=nasty + pl.col("churn"))
    found = analysed(train=labelled, title=nasty)
    html = found._repr_html_()
    assert nasty not in html
    assert html.count("<table") == 1
    assert html.startswith("<h3>&lt;script&gt;")


def test_it_is_drawn(by_month):
    assert isinstance(by_month.plot(), Axes)
    assert by_month.plot().get_ylabel() == "share of yes"
    assert by_month.plot(positive="no").get_ylabel() == "share of no"
    (line,) = by_month.plot().lines
    shares = [part.estimate.shares[1] for part in by_month.groups]
    assert line.get_ydata() == pytest.approx(shares)
    (training,) = analysed().plot().lines
    assert training.get_xdata() == pytest.approx(by_month.training)
    known = analysed(customers(500, 0.6, 2), by="city")
    assert len(known.plot().lines) == 2


def test_the_report_is_written(tmp_path, by_month):
    by_month.report(tmp_path / "page.html")
    assert "churn in new" in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(hc.HeadcountError, match=r"must end in \.html"):
        by_month.report(tmp_path / "page.pdf")
    with pytest.raises(hc.HeadcountError, match=r"must end in \.skops"):
        by_month.save(tmp_path / "model.pkl")


def test_an_analysis_of_items_has_no_model_to_save(tmp_path):
    from headcount.tables.from_items import analyse_items

    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X[:, 0] > 0
    found = analyse_items(hc.PACC(GaussianNB(), random_state=0).fit(X, y), X)
    with pytest.raises(hc.HeadcountError, match="no model of a table to save"):
        found.save(tmp_path / "m.skops")
