from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

ASK = ["accuracy", "--reference", "known.csv", "--target", "late", "--method", "CBPE"]


def scored(n, share, seed):
    """A model that knows the class-conditional scores, at a share of 0.3."""
    rng = np.random.default_rng(seed)
    late = rng.random(n) < share
    x = rng.normal(size=n) + 1.5 * late
    score = 1 / (1 + np.exp(-(1.5 * x - 1.125 + np.log(0.3 / 0.7))))
    return pl.DataFrame(
        {
            "yes": score.round(6),
            "late": np.where(late, "yes", "no"),
            "month": np.where(np.arange(n) < n // 2, "2024-01", "2024-02"),
            "predicted": np.where(score > 0.5, "yes", "no"),
        }
    )


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scored(1500, 0.3, 0).drop("month").write_csv("known.csv")
    scored(800, 0.7, 1).write_csv("new.csv")
    return tmp_path


def test_in_words(tables, call):
    pl.read_csv("new.csv").drop("late").write_csv("bare.csv")
    code, out, err = call(*ASK, "bare.csv")
    assert (code, err) == (0, "")
    assert out.startswith("CBPE: accuracy on these 800 items 0.6")
    assert "answer of CBPE itself: 0.7" in out
    assert "by the labels" not in out


def test_labelled_months_decide(tables, call):
    """The reference has months, in which the accuracy was known."""
    parts = [
        scored(400, share, seed).with_columns(month=pl.lit(f"2023-{seed:02}"))
        for seed, share in enumerate([0.2, 0.6, 0.3, 0.7, 0.2, 0.5], 1)
    ]
    pl.concat(parts).write_csv("known.csv")
    code, out, _ = call(*ASK, "new.csv", "--by", "month")
    assert code == 0
    assert "On 3 labelled months, the confidence of the classifier was off by" in out
    facts = json.loads(call(*ASK, "new.csv", "--by", "month", "--json")[1])
    assert facts["history"] in out
    assert facts["low"] <= facts["true"] <= facts["high"]
    alone = json.loads(call(*ASK, "new.csv", "--by", "month", "--json", "--history", "no")[1])
    assert alone["history"] is None


def test_decisions_that_are_not_named(tables, call):
    pl.read_csv("known.csv").drop("yes").write_csv("known.csv")
    code, _, err = call(*ASK[:-2], "new.csv")
    assert code == 2
    assert "Column 'predicted' of 'known.csv' holds decisions, not posteriors" in err
    assert "--prediction" in err


def test_groups_of_unlike_items_are_relied_on_if_nothing_speaks_against_them(tables, call):
    """Groups of 30 rows seldom show by themselves that their scores are blurred."""
    new = scored(240, 0.5, 3).with_columns(
        shop=pl.Series([f"shop {i % 8}" for i in range(240)])
    )
    blurred = pl.col("shop").str.slice(-1).cast(int) % 2 == 1
    new = new.with_columns(
        yes=pl.when(blurred).then(0.05 + 0.8 * pl.col("yes")).otherwise("yes")
    )
    new.drop("late", "month", "predicted").write_csv("new.csv")
    pl.read_csv("known.csv").drop("predicted").write_csv("known.csv")
    code, out, _ = call(*ASK[:-1], "LEAP", "new.csv", "--by", "shop", "--json")
    assert code == 0
    facts = json.loads(out)
    assert not facts["reliable"]
    broken = {item["group"] for item in facts["groups"] if not item["reliable"]}
    unlike = {item["group"] for item in facts["groups"] if item["fit_test"]["p_value"] < 0.01}
    assert broken == {f"shop {i}" for i in (1, 3, 5, 7)}
    assert unlike < broken
    assert (
        f"{len(broken)} of the groups do not look like the labelled items, or may not"
        in " ".join(facts["sentences"])
    )


def test_history_that_is_not_there(tables, call):
    code, _, err = call(*ASK, "new.csv", "--history", "yes")
    assert code == 2
    assert "--history is 'yes', but 'known.csv' has no labelled groups" in err
    out = call(*ASK, "new.csv")[1]
    assert "No labelled groups show how much else may change" in out


def test_leap_follows_the_mix_where_cbpe_does_not(tables, call):
    found = {}
    for method in ("LEAP", "cbpe"):
        code, out, _ = call(*ASK[:-1], method, "new.csv", "--json")
        assert code == 0
        found[method] = json.loads(out)
    leap, cbpe = found["LEAP"], found["cbpe"]
    assert abs(leap["raw"] - leap["true"]) < abs(cbpe["raw"] - cbpe["true"])
    for each in (leap, cbpe):
        assert each["low"] <= each["true"] <= each["high"]
    assert leap["classes"] == ["no", "yes"]
    assert np.sum(leap["table"]) == pytest.approx(1)
    assert leap["groups"] == []


def test_by_group_and_with_predictions(tables, call):
    plain = json.loads(call(*ASK, "new.csv", "--by", "month", "--json", "--metric", "f1")[1])
    told = json.loads(
        call(*ASK, "new.csv", "--by", "month", "--json", "--metric", "f1",
             "--prediction", "predicted")[1]
    )  # fmt: skip
    assert [row["group"] for row in plain["groups"]] == ["2024-01", "2024-02"]
    assert [row["n_items"] for row in plain["groups"]] == [400, 400]
    assert told["value"] == pytest.approx(plain["value"])
    code, out, _ = call(*ASK, "new.csv", "--by", "month")
    assert code == 0
    assert "2024-02" in out
    assert "by the labels of the new table" in out


def broken_in_february():
    """The new table with scores that no mixture of the classes has, in one month."""
    frame = pl.read_csv("new.csv")
    swapped = (pl.col("yes") * 0.2 + 0.4).round(6)
    frame.with_columns(
        yes=pl.when(pl.col("month") == "2024-02").then(swapped).otherwise("yes")
    ).write_csv("new.csv")


def test_groups_that_are_not_to_be_relied_on_are_marked(tables, call):
    broken_in_february()
    frame = pl.read_csv("new.csv")
    third = scored(300, 0.7, 3).with_columns(month=pl.lit("2024-03"))
    pl.concat([frame, third]).write_csv("new.csv")
    code, out, _ = call(*ASK, "new.csv", "--by", "month")
    assert code == 0
    rows = [line for line in out.splitlines() if line.startswith("2024-")]
    assert [line.endswith("do not rely on it") for line in rows] == [False, True, False]
    assert "Over 2 other groups the accuracy " in out
    assert "do not rely on 2024-02" in out
    facts = json.loads(call(*ASK, "new.csv", "--by", "month", "--json")[1])
    assert [row["reliable"] for row in facts["groups"]] == [True, False, True]
    assert call(*ASK, "new.csv", "--by", "month", "--strict")[0] == 3


def test_strict_has_no_effect_on_what_can_be_relied_on(tables, call):
    assert call(*ASK, "new.csv", "--by", "month", "--strict")[0] == 0


def test_items_that_are_not_to_be_relied_on_at_all(tables, call):
    broken_in_february()
    frame = pl.read_csv("new.csv").filter(pl.col("month") == "2024-02")
    frame.write_csv("new.csv")
    code, out, _ = call(*ASK, "new.csv", "--strict")
    assert code == 3
    assert out.startswith("We cannot say what the accuracy is")


def test_the_table_of_the_groups_is_written(tables, call):
    assert call(*ASK, "new.csv", "--by", "month", "--output", "o.csv")[0] == 0
    frame = pl.read_csv("o.csv")
    assert frame["group"].to_list() == [None, "2024-01", "2024-02"]
    assert frame["reliable"].all()
    assert frame["items"].to_list() == [800, 400, 400]
    assert frame["truth"].is_between(frame["low"] - 0.1, frame["high"] + 0.1).all()
    assert call(*ASK, "new.csv", "--output", "o.parquet")[0] == 0
    assert pl.read_parquet("o.parquet")["group"].to_list() == [None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new.csv", "--method", "RCA"], "--method is 'RCA'"),
        (["new.csv", "--metric", "auc"], "--metric is 'auc'"),
        (["new.csv", "--level", "95"], "--level"),
        (["new.csv", "--prediction", "said"], "which --prediction names"),
        (["nowhere.csv"], "no file 'nowhere.csv'"),
        (["new.csv", "--by", "weather"], "weather"),
        (["new.csv", "--method", "Mandoline", "--metric", "f1"], "f1"),
    ],
)
def test_bad_calls(tables, refused, arguments, said):
    assert said in refused(*ASK, *arguments)


def test_a_new_table_without_scores(tables, refused):
    pl.read_csv("new.csv").drop("yes").write_csv("empty.csv")
    assert "'yes'" in refused(*ASK, "empty.csv")


def test_a_page_is_written(tables, call):
    code, _, err = call(*ASK, "new.csv", "--by", "month", "--report", "page.html")
    assert (code, err) == (0, "")
    assert (tables / "page.html").read_text().startswith("<!doctype html>")
    code, _, err = call(*ASK, "new.csv", "--report", "missing/page.html")
    assert code == 2
    assert "there is no folder 'missing'" in err


def test_the_value_on_the_reference_is_shown(tables, call):
    known = pl.read_csv("known.csv")
    expected = (known["late"] == known["predicted"]).mean()
    code, out, _ = call(*ASK, "new.csv", "--report", "page.html")
    assert code == 0
    assert f"on the labelled items of the reference: {expected:.3f}" in out
    assert f"on the labelled ones it is {expected:.3f}." in (tables / "page.html").read_text()
    assert json.loads(call(*ASK, "new.csv", "--json")[1])["before"] == pytest.approx(expected)


def test_the_only_column_of_fractions_holds_the_scores(tables, call):
    for name in ("known.csv", "new.csv"):
        frame = pl.read_csv(name).rename({"yes": "score"}).drop("predicted")
        frame.with_columns(age=pl.int_range(pl.len()), flag=pl.lit(1.0)).write_csv(name)
    code, out, err = call(*ASK, "new.csv")
    assert code == 0, err
    assert "Column score was taken for the score of class 'yes'" in out
    frame = pl.read_csv("known.csv")
    frame.with_columns(other=pl.col("score") / 2).write_csv("known.csv")
    code, _, err = call(*ASK, "new.csv")
    assert code == 2
    assert "leave one column with those of the positive class" in err


def test_from_decisions_alone(tables, call, refused):
    for name in ("known", "new"):
        pl.read_csv(f"{name}.csv").drop("yes").write_csv(f"{name}.csv")
    asked = ["accuracy", "new.csv", "--reference", "known.csv", "--target", "late"]
    code, out, err = call(*asked, "--prediction", "predicted", "--history", "no")
    assert (code, err) == (0, "")
    assert "decisions of column predicted are used alone" in out
    truth = pl.read_csv("new.csv").select((pl.col("predicted") == pl.col("late")).mean()).item()
    estimate = float(out.split("items ")[1].split(",")[0])
    assert estimate == pytest.approx(truth, abs=0.05)
    assert "holds decisions, not posteriors" in refused(*asked)
    of_scores = refused(*asked, "--prediction", "predicted", "--method", "CBPE")
    assert "--method is 'CBPE', which needs posteriors" in of_scores
    ranked = refused(*asked, "--prediction", "predicted", "--metric", "auroc")
    assert "ranks items by posteriors" in ranked


def test_a_single_column_is_of_the_class_with_higher_scores(tables, call):
    for name in ("known", "new"):
        table = pl.read_csv(f"{name}.csv")
        table.select(pl.col("late"), risk=1 - pl.col("yes")).write_csv(f"{name}.csv")
    code, out, _ = call(*ASK, "new.csv")
    assert code == 0
    assert out.startswith("CBPE: accuracy on these 800 items 0.6")
    assert "Column risk was taken for the score of class 'no'." in out
