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
        (["2024-05-01T10:00:00+02:00"] * 2, datetime(2024, 5, 1, 8)),
    ],
)
def test_dates_as_people_write_them(texts, second):
    values = pl.Series("when", texts)
    form = find_date_form(values, wanted=True)
    assert form is not None
    assert read_dates(values, form.form).to_list()[1] == second


@pytest.mark.parametrize("texts", [["123456", "654321"], ["Big 24", "Old 31"], ["Q1", "Q2"]])
def test_other_texts_are_no_dates(texts):
    assert find_date_form(pl.Series("when", texts), wanted=True) is None


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
