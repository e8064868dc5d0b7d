"""Tables as people have them: messy labels, dates, numbers and groups."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import headcount as hc
from tests.cli.conftest import LEARN, customers


def estimated(call, *arguments):
    code, out, err = call("estimate", *LEARN, "new.csv", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def change(name, **columns):
    pl.read_csv(name).with_columns(**columns).write_csv(name)


def noted(said, *parts):
    return any(all(part in note for part in parts) for note in said["notes"])


def test_text_where_numbers_were_is_noted(files, call):
    text = pl.when(pl.int_range(pl.len()) == 6).then(pl.lit("old")).otherwise("age")
    change("new.csv", age=text)
    assert noted(estimated(call), "1 of 500 values of age", "'old'", "count as missing")


def test_values_never_seen_are_counted(files, call):
    change(
        "new.csv",
        city=pl.when(pl.int_range(pl.len()) < 90).then(pl.lit("Bern")).otherwise("city"),
    )
    said = estimated(call)
    assert noted(said, "90 of 500 values of city in new.csv were never seen in training")
    assert "90 of 500 never seen in training" in said["columns"]["city"]
    assert "never seen" in call("estimate", *LEARN, "new.csv")[1]


@pytest.mark.parametrize(
    "write", [lambda x: f"${x:,.2f}", lambda x: f"{x:.2f}".replace(".", ",")]
)
def test_numbers_are_read_as_people_write_them(files, call, write):
    plain = estimated(call)["overall"]["shares"]
    for name in ("labelled.csv", "new.csv"):
        frame = pl.read_csv(name)
        written = [None if x is None else write(x) for x in frame["age"].to_list()]
        frame.with_columns(age=pl.Series(written)).write_csv(name)
    said = estimated(call)
    assert said["overall"]["shares"] == pytest.approx(plain, abs=1e-6)
    assert noted(said, "was read as")


def test_months_of_dates_in_either_order(files, call):
    plain = [part["group"] for part in estimated(call, "--by", "month")["groups"]]
    for form, order in (("%d/%m/%Y", "day-first"), ("%m/%d/%Y", "month-first")):
        written = pl.col("day").str.to_date().dt.strftime(form)
        for name in ("labelled.csv", "new.csv"):
            change(name, day=written)
        said = estimated(call, "--by", "month")
        assert [part["group"] for part in said["groups"]] == plain
        assert noted(said, f"were read {order}")
        for name, seed, share, n in (("labelled.csv", 1, 0.2, 600), ("new.csv", 2, 0.6, 500)):
            frame = customers(n, share, seed)
            (frame if seed == 1 else frame.drop("churn")).write_csv(name)


def test_dates_in_an_order_that_nobody_knows(files, call, refused):
    change("new.csv", day=pl.lit("03/04/2024"))
    sentence = refused("estimate", *LEARN, "new.csv", "--by", "month", "--leave-out", "day")
    assert "--date-order day-first or month-first" in sentence
    for order, month in (("day-first", "2024-04"), ("month-first", "2024-03")):
        said = estimated(call, "--by", "month", "--date-order", order)
        assert [part["group"] for part in said["groups"]] == [month]
    assert "'day-first', 'month-first'" in refused(
        "estimate", *LEARN, "new.csv", "--by", "month", "--date-order", "us"
    )


@pytest.mark.parametrize(
    "written",
    [
        pl.col("day").str.to_date().dt.strftime("%d %b %Y"),
        pl.col("day").str.to_date().dt.strftime("%m %-d, %Y"),
        pl.col("day").str.to_date().dt.strftime("%Y%m%d"),
        pl.col("day").str.to_date().dt.strftime("%Y-%m"),
        pl.col("day").str.to_date().cast(pl.Datetime("ms")).dt.epoch("s"),
        pl.col("day").str.to_date().cast(pl.Datetime("ms")).dt.epoch("ms"),
    ],
)
def test_dates_in_other_forms(files, call, written):
    change("new.csv", day=written)
    said = estimated(call, "--by", "month", "--leave-out", "day")
    assert [part["group"] for part in said["groups"]] == ["2024-01", "2024-02", "2024-03"]


def test_one_bad_date_is_a_note(files, call):
    written = pl.col("day").str.to_date().dt.strftime("%d/%m/%Y")
    change("labelled.csv", day=written)
    change(
        "new.csv",
        day=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("soon")).otherwise(written),
    )
    said = estimated(call, "--by", "month")
    assert said["groups"][-1]["group"] == "(missing)"
    assert "missing" not in " ".join(said["verdict"]["sentences"])
    assert noted(said, "1 of 500 values of day are not dates", "'soon'")
    assert noted(said, "/2024', were read day-first")


def test_a_constant_date_is_a_date(files, call):
    change("new.csv", day=pl.lit("2024-02-03"))
    assert [p["group"] for p in estimated(call, "--by", "month")["groups"]] == ["2024-02"]


def test_capitals_make_no_class(files, call):
    mixed = pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.col("churn").str.to_titlecase())
    change("labelled.csv", churn=mixed.otherwise("churn"))
    said = estimated(call)
    assert said["classes"] == ["no", "yes"]
    assert noted(said, "'no' and 'No'", "one class")


def test_a_repeated_header_and_rows_without_labels(files, call):
    lines = (files / "labelled.csv").read_text().splitlines()
    lines.insert(100, lines[0])
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    (files / "labelled.csv").write_text("\n".join(lines) + "\n")
    said = estimated(call)
    assert said["classes"] == ["no", "yes"]
    assert noted(said, "1 row of labelled.csv repeats the header")
    assert noted(said, "1 of 601 rows", "no label")
    assert said["training"]["items"] == 599


def test_headers_that_repeat_are_no_missing_labels(files, call):
    lines = (files / "labelled.csv").read_text().splitlines()
    for place in (50, 100, 150):
        lines.insert(place, lines[0])
    (files / "labelled.csv").write_text("\n".join(lines) + "\n")
    said = estimated(call)
    assert noted(said, "3 rows of labelled.csv repeat the header")
    assert not noted(said, "no label")


def test_a_class_with_a_single_item(files, call):
    change(
        "labelled.csv",
        churn=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("?!")).otherwise("churn"),
    )
    said = estimated(call)
    assert said["classes"] == ["no", "yes"]
    assert noted(said, "class '?!' of churn has a single labelled item")


def test_unknown_labels_in_the_new_table(files, call):
    customers(500, 0.6, 2).with_columns(
        churn=pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("unknown")).otherwise("churn")
    ).write_csv("new.csv")
    said = estimated(call)
    assert said["overall"]["truth"] is None
    assert noted(said, "7 of 500 labels", "'unknown'", "not shown")


def test_a_class_with_the_name_of_its_column(files, call):
    for name in ("labelled.csv", "new.csv"):
        pl.read_csv(name).rename({"churn": "yes"}, strict=False).write_csv(name)
    learn = ("--train", "labelled.csv", "--target", "yes", "--method", "PACC")
    said = json.loads(call("estimate", *learn, "new.csv", "--json")[1])
    assert said["classes"] == ["no", "yes"]
    assert not noted(said, "header")


@pytest.mark.parametrize("mark", ["", "unknown"])
def test_one_table_with_labelled_and_unlabelled_rows(files, call, mark):
    labelled, new = customers(600, 0.2, 1), customers(500, 0.6, 2)
    both = pl.concat([labelled, new.with_columns(churn=pl.lit(mark))])
    both.write_csv("both.csv")
    code, out, err = call(
        "estimate", "both.csv", "--target", "churn", "--method", "PACC", "--json"
    )
    assert code == 0, err
    said = json.loads(out)
    assert noted(said, "600 rows of both.csv have a label", "other 500 are counted")
    assert said["overall"]["items"] == 500
    found = hc.analyse(pl.read_csv("both.csv"), target="churn", method="PACC")
    assert said["overall"]["shares"] == pytest.approx(found.overall.estimate.shares.tolist())


def test_one_table_without_rows_to_count(files, refused):
    sentence = refused("estimate", "labelled.csv", "--target", "churn")
    assert "every row has a label" in sentence


def loans(n, seed, plans=("month", "year", "two")):
    """Churn by plan, with a feature that depends on the plan: not a shift of the mix alone."""
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, len(plans), n)
    tenure = rng.normal(1.5 * plan, 1)
    y = rng.random(n) < 1 / (1 + np.exp(1.2 * tenure + 0.5))
    return pl.DataFrame(
        {
            "tenure": tenure.round(3),
            "noise": rng.normal(size=n).round(3),
            "plan": np.array(plans)[plan],
            "churn": np.where(y, "yes", "no"),
        }
    )


def test_groups_by_what_features_depend_on(files, call):
    loans(2400, 0).write_csv("labelled.csv")
    loans(1800, 1).write_csv("new.csv")
    given = ("--train", "labelled.csv", "--target", "churn", "--method", "PACC", "new.csv")
    said = json.loads(call("estimate", *given, "--by", "plan", "--json")[1])
    assert said["history"].startswith("On 3 labelled groups, mean posteriors were off by")
    assert {group["basis"] for group in said["groups"]} == {"history"}
    error = np.abs([np.subtract(g["shares"], g["truth"])[0] for g in said["groups"]])
    given = (*given, "--history", "no")
    pooled = json.loads(call("estimate", *given, "--by", "plan", "--json")[1])
    wrong = np.abs([np.subtract(g["shares"], g["truth"])[0] for g in pooled["groups"]])
    assert error.mean() < wrong.mean() / 2
    for group in said["groups"]:
        assert group["low"][0] <= group["truth"][0] <= group["high"][0]


def test_groups_of_a_saved_model_rest_on_its_history(files, call):
    loans(900, 0).write_csv("labelled.csv")
    loans(600, 1).write_csv("new.csv")
    given = ("new.csv", "--by", "plan", "--json")
    learn = ("--train", "labelled.csv", "--target", "churn", "--method", "PACC")
    said = json.loads(call("estimate", *learn, *given, "--save", "m.skops")[1])
    again = json.loads(call("estimate", "--model", "m.skops", *given)[1])
    assert again["groups"] == said["groups"]
    assert again["history"] == said["history"]
    # Without the column, the drift that is usual is assumed.
    pl.read_csv("labelled.csv").drop("plan").write_csv("labelled.csv")
    said = json.loads(call("estimate", *learn, *given)[1])
    assert said["history"] is None
    assert {group["basis"] for group in said["groups"]} == {"no history: two readings"}


def test_groups_with_few_labels_have_honest_intervals_when_the_mix_changes():
    # Many plans, so that each has few labelled items; churn is more frequent among new items.
    plans = tuple("abcdefghijkl")
    inside, errors = [], []
    for seed in (100, 102, 104):
        new = loans(6000, seed + 1, plans)
        leaves = pl.concat([new.filter(pl.col("churn") == "yes")] * 3 + [new])
        analysis = hc.analyse(leaves, train=loans(700, seed, plans), target="churn", by="plan")
        assert len(analysis.groups) == 12
        for part in analysis.groups:
            inside.append(part.low[0] - 5e-4 <= part.truth[0] <= part.high[0] + 5e-4)
            errors.append(abs(part.estimate.shares[0] - part.truth[0]))
    assert sum(inside) >= 30
    assert np.mean(errors) < 0.1


def test_a_group_without_labels_has_an_interval_as_wide_as_groups_differ(files, call):
    # Churn depends on the plan itself, which the model does not see.
    def plans(n, seed, letters):
        rng = np.random.default_rng(seed)
        plan = rng.choice(list(letters), n)
        shift = np.array([2.5 if letter in "ace" else -2.5 for letter in plan])
        tenure = rng.normal(0.3 * shift, 1)
        y = rng.random(n) < 1 / (1 + np.exp(tenure + shift))
        churn = np.where(y, "yes", "no")
        return pl.DataFrame({"tenure": tenure.round(3), "plan": plan, "churn": churn})

    plans(600, 0, "abcdef").write_csv("labelled.csv")
    plans(900, 1, "abcdefg").write_csv("new.csv")
    given = ("--train", "labelled.csv", "--target", "churn", "--by", "plan", "new.csv")
    said = json.loads(call("estimate", *given, "--json")[1])
    groups = {group["group"]: group for group in said["groups"]}
    assert all(g["low"][0] <= g["truth"][0] <= g["high"][0] for g in groups.values())
    assert groups["g"]["high"][0] - groups["g"]["low"][0] > 0.1


def test_groups_that_are_too_small_for_a_backtest_are_noted(files, call):
    labelled = customers(40, 0.3, 1).with_columns(shop=pl.int_range(pl.len()).cast(pl.String))
    new = customers(60, 0.6, 2).with_columns(shop=(pl.int_range(pl.len()) % 20).cast(pl.String))
    given = {"train": labelled, "target": "churn", "by": "shop", "method": "PACC"}
    analysis = hc.analyse(new.drop("churn"), **given)
    assert noted({"notes": analysis.notes}, "two labelled groups with at least 20 items")
    with pytest.raises(hc.HeadcountError, match=r"`history` is 'yes'.*two labelled groups"):
        hc.analyse(new.drop("churn"), **given, history="yes")
