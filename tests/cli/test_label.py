from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

ESTIMATE = ["estimate", "new.csv", "--model", "m.skops"]


def flights(n, share, seed, *, moved=False):
    """Half of the late flights may look as if they were on time."""
    rng = np.random.default_rng(seed)
    late = rng.random(n) < share
    looks = late & ~(moved & (rng.random(n) < 0.5))
    return pl.DataFrame(
        {
            "wind": rng.normal(2.5 * looks).round(3),
            "rain": rng.normal(1.5 * looks).round(3),
            "month": np.where(np.arange(n) % 2, "2025-01", "2025-02"),
            "note": [f"flight {i}" for i in range(n)],
            "crew": [f"c{i // 10}" for i in range(n)],
            "size": rng.uniform(1, 3, n).round(2),
            "late": np.where(late, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from headcount.cli.execute import execute

    folder = tmp_path_factory.mktemp("label")
    flights(600, 0.4, 0).drop("note", "crew", "size").write_csv(folder / "train.csv")
    new = flights(2000, 0.3, 1, moved=True)
    new.write_csv(folder / "known.csv")
    new.drop("late").write_csv(folder / "new.csv")
    chosen = pl.Series(np.random.default_rng(2).random(2000) < 0.1)
    some = new.with_columns(late=pl.when(chosen).then(pl.col("late")))
    some.write_csv(folder / "some.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        learn = ["--train", "train.csv", "--target", "late", "--by", "month"]
        assert (
            execute(["estimate", "new.csv", *learn, "--method", "SLD", "--save", "m.skops"])
            == 0
        )
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch, capfd):
    """A folder of its own with the files; the output so far is discarded."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    return tmp_path


def filled(source, target):
    """Label the rows of a plan as they truly are."""
    truth = pl.read_csv("known.csv")["late"]
    table = pl.read_csv(source)
    table.with_columns(label=truth[table["row"].to_list()]).write_csv(target)


def test_rows_to_label_and_shares_from_them(here, call):
    out = "to_label.csv"
    code, said, err = call(
        "label", "new.csv", "--model", "m.skops", "--budget", 200, "--seed", 1, "--output", out
    )
    assert (code, err) == (0, "")
    assert said.startswith("Plan: label 200 of 2,000 items, drawn from 5 strata")
    assert "labels  shares within" in said
    assert "Fill in the column label of to_label.csv" in said
    table = pl.read_csv(out)
    shown = ["wind", "rain", "month", "note", "crew", "size"]
    assert table.columns == ["row", *shown, "stratum", "weight", "label", "pool"]
    assert table["label"].null_count() == len(table) == 200
    assert table["weight"].sum() == pytest.approx(2000)
    new = pl.read_csv("new.csv")
    assert table["note"].to_list() == new["note"][table["row"].to_list()].to_list()

    filled(out, "done.csv")
    code, said, err = call(*ESTIMATE, "--labelled", "done.csv", "--json")
    assert (code, err) == (0, "")
    found = json.loads(said)["overall"]
    assert found["basis"] == "labels"
    assert found["labels"] == 200
    assert found["reliable"]
    assert found["low"][1] < 0.3 < found["high"][1]
    assert found["without_labels"][1] < 0.25
    assert found["agreement"]["p_value"] < 0.01
    code, said, _ = call(*ESTIMATE, "--labelled", "done.csv")
    assert "This rests on 200 labels of the new items" in said
    assert "without labels" in said


def test_a_spreadsheet_to_fill_in(here, call):
    """The same shares from .xlsx as from .csv, whoever wrote its numbers."""
    from headcount.tables.readers import open_table, write_table

    ask = ["label", "new.csv", "--model", "m.skops", "--budget", 100, "--output"]
    for out in ("plan.csv", "plan.xlsx"):
        code, said, err = call(*ask, out)
        assert (code, err) == (0, "")
    assert "Fill in the column label of plan.xlsx" in said
    table = open_table(here / "plan.xlsx").read()
    assert table["note"].to_list() == pl.read_csv("plan.csv")["note"].to_list()
    assert table["label"].null_count() == 100
    truth = pl.read_csv("known.csv")["late"]
    rows = table["row"].cast(pl.Int64)
    # Spreadsheets keep about 15 digits.
    rounded = table["weight"].cast(pl.Float64).round(12)
    done = table.with_columns(row=rows, weight=rounded, label=truth[rows.to_list()])
    write_table(done, here / "done.xlsx")
    filled("plan.csv", "done.csv")
    found = []
    for labelled in ("done.csv", "done.xlsx"):
        code, said, err = call(*ESTIMATE, "--labelled", labelled, "--json")
        assert (code, err) == (0, "")
        overall = json.loads(said)["overall"]
        found.append([overall["labels"], overall["shares"], overall["low"], overall["high"]])
    assert found[0] == found[1]
    # A weight that was lost is noticed.
    write_table(done[1:], here / "short.xlsx")
    code, _, err = call(*ESTIMATE, "--labelled", "short.xlsx")
    assert code == 2
    assert "keep all rows of the plan" in err


def test_labels_for_one_class(here, call):
    ask = ["label", "new.csv", "--model", "m.skops", "--budget", 100, "--output", "o.csv"]
    code, said, _ = call(*ask, "--positive", "YES", "--json")
    assert code == 0
    assert json.loads(said)["n"] == 100
    code, _, err = call(*ask, "--positive", "maybe")
    assert code == 2
    assert "--positive is 'maybe'; it must be one of the classes, which are 'no', 'yes'" in err


def test_by_group_with_a_page(here, call):
    by = ["--by", "month"]
    call(
        *("label", "new.csv", "--model", "m.skops", "--budget", 150, "--show", "note"),
        *(*by, "--output", "plan.csv"),
    )
    table = pl.read_csv("plan.csv")
    assert table.columns == ["row", "note", "stratum", "weight", "label", "pool"]
    assert len(table) == 300
    filled("plan.csv", "done.csv")
    ask = ["estimate", "known.csv", "--model", "m.skops", *by, "--labelled", "done.csv"]
    code, said, err = call(*ask, "--report", "page.html", "--json", "--strict")
    assert (code, err) == (0, "")
    content = json.loads(said)
    assert [group["labels"] for group in content["groups"]] == [150, 150]
    for group in content["groups"]:
        assert group["low"][1] < group["truth"][1] < group["high"][1]
    page = (here / "page.html").read_text()
    assert "Before and after the labels" in page
    assert "300 labels of the new items" in page
    assert "What do the shares rest on?" in page
    # A plan of all items together does not serve the groups.
    call("label", "new.csv", "--model", "m.skops", "--budget", 200, "--output", "all.csv")
    filled("all.csv", "all_done.csv")
    code, _, err = call(*ESTIMATE, *by, "--labelled", "all_done.csv")
    assert code == 2
    assert "plan labels by the same groups" in err


def test_dates_with_the_day_first(here, call):
    """Where dates do not show their order, the option that the message names is there."""
    when = pl.Series("when", [f"0{1 + i % 9}/0{1 + i % 2}/2025" for i in range(2000)])
    pl.read_csv("new.csv").drop("month").with_columns(when).write_csv("dated.csv")
    call("estimate", "new.csv", "--train", "train.csv", "--target", "late", "--leave-out",
         "month", "--method", "SLD", "--history", "no", "--save", "plain.skops")  # fmt: skip
    plan = ["label", "dated.csv", "--model", "plain.skops", "--budget", "40", "--by", "month"]
    code, _, err = call(*plan, "--output", "plan.csv")
    assert code == 2
    assert "pass --date-order day-first or month-first" in err
    code, out, _ = call(*plan, "--output", "plan.csv", "--date-order", "day-first")
    assert code == 0
    assert "in 2 groups" in out


def test_labels_in_the_table_itself(here, call):
    ask = ["estimate", "some.csv", "--model", "m.skops"]
    code, said, _ = call(*ask)
    assert code == 0
    assert "They are not used, as it is not known how their rows were chosen" in said
    code, said, _ = call(*ask, "--random-labels", "--json")
    found = json.loads(said)
    assert found["overall"]["basis"] == "labels"
    assert found["overall"]["low"][1] < 0.3 < found["overall"]["high"][1]
    more = ["--weight", "size", "--cluster", "crew"]
    code, said, _ = call(*ask, "--random-labels", *more, "--by", "month", "--json")
    assert code == 0
    weighted = json.loads(said)["overall"]
    assert weighted["shares"] != found["overall"]["shares"]


def test_weights_and_clusters_without_labels(here, call):
    shares = {}
    for name, options in {
        "plain": [], "weight": ["--weight", "size"], "cluster": ["--cluster", "crew"],
    }.items():  # fmt: skip
        code, said, _ = call(*ESTIMATE, *options, "--by", "month", "--json")
        assert code == 0
        shares[name] = json.loads(said)["overall"]["shares"][1]
    assert shares["plain"] != shares["weight"]
    assert shares["plain"] == pytest.approx(shares["weight"], abs=0.03)
    assert shares["plain"] == pytest.approx(shares["cluster"], abs=0.03)
    learn = ["--train", "known.csv", "--target", "late", "--method", "SLD", "--weight", "size"]
    code, said, _ = call("estimate", "new.csv", *learn, "--verbose")
    assert "size: not used; it holds the weights of the items" in said


def test_a_labelled_table_of_rows_and_labels(here, call, refused):
    truth = pl.read_csv("known.csv")["late"].to_list()
    rows = np.random.default_rng(0).choice(2000, 200, replace=False).tolist()
    pl.DataFrame({"row": rows, "label": [truth[row] for row in rows]}).write_csv("rows.csv")
    said = refused(*ESTIMATE, "--labelled", "rows.csv")
    assert "does not say how its rows were chosen" in said
    assert "--random-labels" in said
    code, out, _ = call(*ESTIMATE, "--labelled", "rows.csv", "--random-labels", "--json")
    assert code == 0
    assert json.loads(out)["overall"]["labels"] == 200


BAD = {
    "row twice": ([5, 5, 6], ["yes", "no", "no"], "has row 5 2 times"),
    "row out of range": ([5, 2000, 6], ["yes", "no", "no"], "rows go from 0 to 1,999"),
    "row is no number": (["a", "7"], ["yes", "no"], "whole numbers"),
    "unknown class": ([5, 6, 7], ["yes", "no", "maybe"], "the class 'maybe'"),
    "one label": ([5], ["yes"], "1 label for 2 classes"),
    "no label": ([5, 6], ["", " "], "is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_labels(case, here, refused):
    rows, labels, said = BAD[case]
    pl.DataFrame({"row": rows, "label": labels}).write_csv("bad.csv")
    assert said in refused(*ESTIMATE, "--labelled", "bad.csv", "--random-labels")


def test_bad_plans(here, call, refused):
    label = ["label", "new.csv", "--model", "m.skops"]
    assert "either --precision, such as 0.01, or --budget, such as 200" in refused(
        *label, "--output", "a.csv"
    )
    said = refused(*label, "--budget", 50, "--precision", 0.1, "--output", "a.csv")
    assert "either --precision" in said
    assert "--budget is 5,000" in refused(*label, "--budget", 5000, "--output", "a.csv")
    assert "must end in .csv" in refused(*label, "--budget", 50, "--output", "a.png")
    said = refused(*label, "--budget", 50, "--output", "a.csv", "--show", "late")
    assert "lacks the column 'late'" in said
    call(*label, "--budget", 100, "--output", "plan.csv")
    filled("plan.csv", "done.csv")
    table = pl.read_csv("done.csv")
    table[:50].write_csv("half.csv")
    assert "keep all rows of the plan" in refused(*ESTIMATE, "--labelled", "half.csv")
    said = refused(*ESTIMATE, "--labelled", "done.csv", "--random-labels")
    assert "leave out --random-labels" in said
    pl.read_csv("new.csv").reverse().write_csv("other.csv")
    said = refused("estimate", "other.csv", "--model", "m.skops", "--labelled", "done.csv")
    assert "The plan is for another pool" in said
    said = refused(*ESTIMATE, "--random-labels")
    assert "has no column 'late'" in said
    known = ["estimate", "known.csv", "--model", "m.skops", "--random-labels"]
    assert "all of the rows" in refused(*known)
    assert "which --cluster names" in refused(*ESTIMATE, "--cluster", "nobody")
    assert "has no number in row 1" in refused(*ESTIMATE, "--weight", "note")


def test_scores_are_never_shown(here, call, refused):
    known = pl.read_csv("known.csv")
    score = (1 / (1 + (-known["wind"] + 1).exp())).rename("yes")
    known.select(score, "late", "note").write_csv("scored.csv")
    known.select(score, "note").write_csv("bare.csv")
    learn = ["--scores", "scored.csv", "--target", "late", "--method", "SLD"]
    code, _, err = call(
        "estimate", "bare.csv", *learn, "--leave-out", "note", "--save", "s.skops"
    )
    assert (code, err) == (0, "")
    label = ["label", "bare.csv", "--model", "s.skops", "--budget", 50, "--output", "p.csv"]
    assert call(*label)[0] == 0
    assert pl.read_csv("p.csv").columns == ["row", "note", "stratum", "weight", "label", "pool"]
    assert "holds scores or labels" in refused(*label, "--show", "yes")


def test_columns_of_the_same_name_are_kept_apart(here, call):
    new = pl.read_csv("new.csv").with_columns(label=pl.col("note"), row=pl.lit("x"))
    new.write_csv("named.csv")
    label = ["label", "named.csv", "--model", "m.skops", "--budget", 50, "--output", "p.csv"]
    assert call(*label)[0] == 0
    table = pl.read_csv("p.csv")
    assert {"row of NEW", "label of NEW", "row", "label"} <= set(table.columns)


def test_labels_of_people_are_never_overwritten(here, call):
    plan = ["label", "new.csv", "--model", "m.skops", "--budget", 50, "--output", "plan.csv"]
    assert call(*plan)[0] == 0
    assert call(*plan)[0] == 0  # nobody has filled it in
    filled("plan.csv", "plan.csv")
    before = (here / "plan.csv").read_bytes()
    code, _, err = call(*plan)
    assert code == 2
    assert "has 50 labels, which would be lost" in err
    assert (here / "plan.csv").read_bytes() == before
    code, _, err = call(*plan[:-1], "train.csv")
    assert code == 2
    assert "is not a table of rows to label" in err


@pytest.mark.parametrize(
    "arguments",
    [
        [*ESTIMATE, "--output", "new.csv"],
        ["estimate", "new.csv", "--train", "train.csv", "--target", "late", "--output",
         "./train.csv"],
        ["label", "new.csv", "--model", "m.skops", "--budget", 50, "--output", "new.csv"],
        ["backtest", "known.csv", "--target", "late", "--by", "month", "--output", "known.csv"],
    ],
)  # fmt: skip
def test_no_input_is_overwritten(here, call, arguments):
    before = {file.name: file.read_bytes() for file in here.iterdir()}
    code, _, err = call(*arguments)
    assert code == 2
    assert "would be lost" in err
    assert {file.name: file.read_bytes() for file in here.iterdir()} == before
