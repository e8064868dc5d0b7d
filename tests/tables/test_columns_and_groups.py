"""Dates as people write them, several columns of groups, and columns that changed."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.tables.columns import find_date_form, read_dates


@pytest.mark.parametrize(
    ("texts", "second"),
    [
        (["Mar-24", "Apr-24"], datetime(2024, 4, 1)),
        (["March 2024", "April 2024"], datetime(2024, 4, 1)),
        (["2024Q1", "2024Q4"], datetime(2024, 10, 1)),
        (["2024-Q1", "2024-Q2"], datetime(2024, 4, 1)),
        (["202403", "202412"], datetime(2024, 12, 1)),
        (["01/02/2024 1:05 PM", "13/02/2024 11:05 AM"], datetime(2024, 2, 13, 11, 5)),
        (["05.01.2024 10.30", "06.01.2024 23.59"], datetime(2024, 1, 6, 23, 59)),
        (["2024-05-31 01:00 PM", "2024-06-01 12:00 AM"], datetime(2024, 6, 1)),
        (["2024-05-01T00:30:00+02:00"] * 2, datetime(2024, 5, 1, 0, 30)),
        (["2024-05-01 10:00:00 +0200", "2024-05-02 10:00:00Z"], datetime(2024, 5, 2, 10)),
        (["2024-05-01 10:00:00 UTC", "2024-05-02 10:00:00+02"], datetime(2024, 5, 2, 10)),
        (["Q1 2024", "Q3/2024"], datetime(2024, 7, 1)),
        (["03/2024", "12/2024"], datetime(2024, 12, 1)),
        (["3.2024", "12.2024"], datetime(2024, 12, 1)),
        (["1714521600", "1714521660"], datetime(2024, 5, 1, 0, 1)),
        (["1714521600.0", "1714521660.0"], datetime(2024, 5, 1, 0, 1)),
        (["2024-W52", "2025-W01"], datetime(2025, 1, 2)),
        (["Mon, 01 Jan 2024 10:00:00 +0000"] * 2, datetime(2024, 1, 1, 10)),
        (["Wed Aug 27 13:08:45 +0000 2008"] * 2, datetime(2008, 8, 27, 13, 8, 45)),
    ],
)
def test_dates_as_people_write_them(texts, second):
    values = pl.Series("when", texts)
    form = find_date_form(values, expected=True)
    assert form is not None
    assert read_dates(values, form.form).to_list()[1] == second


@pytest.mark.parametrize("texts", [["123456", "654321"], ["Big 24", "Old 31"], ["Q1", "Q2"]])
def test_other_texts_are_no_dates(texts):
    assert find_date_form(pl.Series("when", texts), expected=True) is None


def test_columns_of_numbers_are_not_tried_as_dates(monkeypatch):
    """Tables with thousands of such columns took minutes."""
    monkeypatch.setattr("headcount.tables.columns.read_dates", None)
    numbers = np.random.default_rng(0).normal(size=100)
    for texts in (numbers, numbers.round(4), numbers.round(2) * 100, np.arange(9000, 9100)):
        assert find_date_form(pl.Series("when", texts).cast(pl.String), expected=True) is None


def people(n, share, seed, old=0):
    rng = np.random.default_rng(seed)
    yes = rng.random(n) < share
    x = rng.normal(size=(n, 2)) + 1.5 * yes[:, None]
    return pl.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "form": np.full(n, old),
            "shop": rng.choice(["north", "south"], n),
            "colour": rng.choice(["red", "blue"], n),
            "label": np.where(yes, "yes", "no"),
        }
    )


def test_groups_of_several_columns():
    found = hc.analyse(
        people(400, 0.5, 1).drop("label"),
        train=people(600, 0.3, 0),
        target="label",
        by=["shop", "colour"],
        method="SLD",
    )
    names = ["north / blue", "north / red", "south / blue", "south / red"]
    assert [item.name for item in found.groups] == names
    assert sum(item.estimate.n_items for item in found.groups) == 400
    assert {"shop", "colour"}.isdisjoint(found.model.columns)
    with pytest.raises(hc.HeadcountError, match="it must be the name of a column, or a list"):
        hc.analyse(people(9, 0.5, 1), train=people(99, 0.3, 0), target="label", by=["a", 3])
    with pytest.raises(hc.HeadcountError, match="lacks the column 'place', which `by` names"):
        hc.analyse(
            people(9, 0.5, 1), train=people(99, 0.3, 0), target="label", by=["a", "place"]
        )


def test_a_column_that_is_wholly_new_is_evidence_by_itself():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1)
    same = hc.analyse(new.drop("label"), train=train, target="label", method="SLD")
    assert same.verdict.status == "fits"
    assert same.changes is None
    other = people(400, 0.6, 1, old=1).drop("label")
    found = hc.analyse(other, train=train, target="label", method="SLD")
    assert found.verdict.status == "broken"
    assert "100% of the items have other values of form" in str(found.verdict)
    assert found.changes.changed == ("form",)


def test_groups_with_few_labels_are_estimated_without_them():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1)
    rows = np.flatnonzero((new["shop"] == "south").to_numpy())[:60]
    labels = [
        label if row in set(rows.tolist()) else None
        for row, label in enumerate(new["label"].to_list())
    ]
    table = new.with_columns(label=pl.Series(labels))
    found = hc.analyse(
        table, train=train, target="label", by="shop", method="SLD", random_labels=True
    )
    north, south = found.groups
    assert (north.estimate.basis, south.estimate.basis) != ("labels", "labels")
    assert south.estimate.basis == "labels"
    assert any("estimated without them: north" in text for text in found.warnings)


def test_a_plan_labels_all_items_of_a_small_group():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1)
    q = hc.SLD(random_state=0).fit(train.select("a", "b").to_numpy(), train["label"])
    X = np.vstack([new.select("a", "b").to_numpy()[:200]])
    groups = np.where(np.arange(200) < 7, "small", "large")
    plan = q.plan_labels(X, budget=20, groups=groups, random_state=0)
    assert plan.n == 27
    assert set(range(7)) <= set(plan.rows.tolist())


def test_notebooks_show_plots_and_doubtful_groups_are_marked():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1, old=1)
    found = hc.analyse(
        new.drop("label"), train=train.drop("shop"), target="label", by="shop", method="SLD"
    )
    assert len(found.broken_groups) == 2
    ax = found.plot()
    assert ax._repr_png_().startswith(b"\x89PNG")
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [
        "do not rely on it"
    ]


@pytest.mark.parametrize(
    ("dates", "by", "held"),
    [
        (["Mar-24", "Apr-24"], "week", "months"),
        (["2024Q1", "2024Q2"], "month", "quarters"),
        (["2024-W12", "2024-W13"], "day", "weeks"),
    ],
)
def test_periods_are_not_shorter_than_the_dates(dates, by, held):
    new = people(200, 0.5, 1).drop("label").with_columns(when=pl.Series(dates * 100))
    with pytest.raises(hc.HeadcountError, match=f"column 'when' of 'new' holds {held}"):
        hc.analyse(new, train=people(300, 0.3, 0), target="label", by=by, method="SLD")


def test_periods_and_columns_make_groups_together():
    dates = pl.Series("when", ["2024-03-05", "2024-04-01"] * 200)
    found = hc.analyse(
        people(400, 0.5, 1).drop("label").with_columns(dates),
        train=people(400, 0.3, 0).with_columns(dates),
        target="label",
        by=["month", "shop", "month"],
        method="SLD",
    )
    names = ["2024-03 / north", "2024-03 / south", "2024-04 / north", "2024-04 / south"]
    assert [item.name for item in found.groups] == names
    assert {"when", "shop", "month"}.isdisjoint(found.model.columns)


def shifted(n, seed, by):
    """Items of a group whose features have changed, beyond any mix, by so much."""
    table = people(n, 0.5, seed).with_columns(a=pl.col("a") + by).drop("shop")
    return table.with_columns(shop=pl.lit(f"shop {seed}"))


@pytest.mark.parametrize("in_batches", [False, True])
def test_groups_that_are_too_small_to_be_unlike_by_themselves(in_batches, monkeypatch):
    train = people(800, 0.4, 0).drop("shop")
    new = pl.concat([shifted(30, seed, 1.7 * (seed % 2)) for seed in range(1, 9)])
    new = new.drop("label")
    if in_batches:
        model = hc.analyse(new, train=train, target="label", by="shop", method="PACC").model
        monkeypatch.setattr("headcount.tables.from_tables._is_streamed", lambda *_: True)
        found = hc.analyse(new, model=model, by="shop")
    else:
        found = hc.analyse(new, train=train, target="label", by="shop", method="PACC")
    assert found.overall.is_unlike
    by_themselves = [item for item in found.groups if item.is_unlike]
    assert len(by_themselves) < 4  # small groups do not show it
    assert {f"shop {seed}" for seed in (1, 3, 5, 7)} <= {
        item.name for item in found.broken_groups
    }


def test_groups_that_are_like_the_labelled_ones_stay_unmarked():
    train = people(2000, 0.4, 0).drop("shop")
    new = pl.concat([shifted(300, 1, 2.0), *(shifted(150, seed, 0) for seed in range(10, 14))])
    found = hc.analyse(
        new.drop("label"), train=train, target="label", by="shop", method="PACC", history="no"
    )
    assert found.overall.is_unlike
    assert [item.name for item in found.broken_groups] == ["shop 1"]


def test_groups_of_a_few_items_are_no_end_of_the_range():
    new = people(400, 0.5, 1).drop("label", "shop")
    names = ["tiny" if i < 5 else f"shop {i % 3}" for i in range(400)]
    found = hc.analyse(
        new.with_columns(shop=pl.Series(names)),
        train=people(600, 0.3, 0).drop("shop"),
        target="label",
        by="shop",
        method="PACC",
        history="no",
    )
    assert "Over 3 groups of 30 items or more the share" in str(found.verdict)
    assert "tiny" not in str(found.verdict)


def test_labelled_shares_of_groups_are_shown():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1).drop("label")
    train = train.filter(pl.col("shop") == "north")
    found = hc.analyse(new, train=train, target="label", by="shop", method="SLD")
    north, south = found.groups
    assert north.in_labelled[1] == pytest.approx((train["label"] == "yes").mean())
    assert south.in_labelled is None
    table = found.to_table()
    place = table.columns.index("labelled")
    assert [row[place].text for row in table.rows][2::2] == [f"{north.in_labelled[0]:.1%}", ""]


def test_groups_that_do_not_add_up_are_explained():
    new = pl.concat([shifted(30, seed, 3.0 * seed) for seed in range(3)])
    train = people(800, 0.4, 0).drop("shop")
    options = {"target": "label", "by": "shop", "method": "PACC", "history": "no"}
    found = hc.analyse(new.drop("label"), train=train, **options)
    together = sum(30 * item.estimate.shares[0] for item in found.groups)
    assert any(f"add up to {together:,.0f} items of class 'no'" in note for note in found.notes)


def test_a_column_that_tells_the_class_is_named():
    train, new = people(600, 0.3, 0), people(400, 0.6, 1).drop("label")
    paid = pl.when(pl.col("label") == "yes").then(7.5).otherwise(-1.0)
    code = pl.when(pl.col("label") == "yes").then(pl.lit("Y")).otherwise(pl.lit("N"))
    leaky = train.with_columns(paid=paid, code=code)
    other = new.with_columns(paid=pl.lit(7.5), code=pl.lit("Y"))
    found = hc.analyse(other, train=leaky, target="label", method="SLD")
    assert any("Columns paid, code tell the class" in note for note in found.notes)
    found = hc.analyse(new, train=train, target="label", method="SLD")
    assert not any("the class of nearly" in note for note in found.notes)
    texts = [
        pl.DataFrame({"text": [f"word {i % 7} and {i % 5} of {i}" for i in range(n)]})
        for n in (90, 60)
    ]
    train = texts[0].with_columns(label=pl.Series(["yes", "no", "no"] * 30))
    assert hc.analyse(texts[1], train=train, target="label", method="SLD").overall is not None


def test_many_groups_are_not_printed_one_by_one():
    new = people(900, 0.5, 1).drop("label")
    new = new.with_columns(customer=pl.Series([f"c{i // 3}" for i in range(900)]))
    train = people(600, 0.3, 0)
    found = hc.analyse(new, train=train, target="label", by="customer", method="SLD")
    text = found.to_text()
    assert text.count("\n") < 60
    assert "Only the 20 largest of 300 groups are printed" in text
    assert len(found.to_frame()) == 602
