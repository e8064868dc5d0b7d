from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.cli.execute import execute
from headcount.estimates.estimation import EstimateOptions, estimate_groups
from headcount.tables.readers import as_table


def deliveries(n=1200, seed=0):
    """Deliveries of eight months; how late they are depends on their size as ever."""
    rng = np.random.default_rng(seed)
    month = np.arange(n) * 8 // n + 1
    size = rng.normal(size=n) + month / 3
    late = rng.random(n) < 1 / (1 + np.exp(2 - 1.5 * size))
    day = [f"2024-{m:02d}-{d:02d}" for m, d in zip(month, rng.integers(1, 28, n), strict=True)]
    return pl.DataFrame(
        {"size": size, "shop": rng.choice(["a", "b", "c"], n), "day": day, "late": late}
    )


@pytest.fixture(scope="module")
def by_month():
    return hc.backtest(deliveries(), target="late", by="month", method="SLD")


def test_months_of_a_labelled_table(by_month):
    assert by_month.ordered
    assert by_month.noun == "month"
    assert by_month.estimates.names == ("2024-05", "2024-06", "2024-07", "2024-08")
    assert max(by_month.weights, key=by_month.weights.get) == "mean posteriors"
    assert by_month.sentence.startswith("On 4 labelled months, mean posteriors were off by")
    assert by_month.coverage() >= 0.75
    assert by_month.errors["combined"] < by_month.errors["prior shift"]


def test_results_as_plain_values(by_month):
    content = json.loads(json.dumps(by_month.to_dict()))
    assert content["sentence"] == by_month.sentence
    assert len(content["groups"]) == 8
    assert {reading["name"] for reading in content["readings"]} == set(by_month.readings)


def test_the_page(by_month, tmp_path):
    by_month.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Would the estimates have been right?" in text
    assert by_month.sentence in text
    assert "prior-shift estimate" in text


def test_dates_are_found_without_by():
    backtest = hc.backtest(deliveries(), target="late", method="SLD")
    assert backtest.noun == "month"
    assert len(backtest.truth) == 4


def test_groups_that_are_not_a_sequence():
    backtest = hc.backtest(deliveries(), target="late", by="shop", method="SLD")
    assert not backtest.ordered
    assert sorted(backtest.estimates.names) == ["a", "b", "c"]


def test_scores_instead_of_features():
    table = deliveries().with_columns(
        score=1 / (1 + (2 - 1.5 * pl.col("size")).exp()), month=pl.col("day").str.slice(0, 7)
    )
    backtest = hc.backtest(
        table.select("score", "month", "late"), target="late", by="month", scores=True,
        method="PACC",
    )  # fmt: skip
    assert backtest.ordered
    assert max(backtest.weights, key=backtest.weights.get) == "mean posteriors"


def test_the_command(tmp_path, capsys):
    deliveries().write_csv(tmp_path / "labelled.csv")
    arguments = [
        "backtest",
        str(tmp_path / "labelled.csv"),
        "--target",
        "late",
        "--by",
        "month",
    ]
    arguments += ["--method", "SLD"]
    written = ["--report", str(tmp_path / "p.html"), "--output", str(tmp_path / "t.csv")]
    assert execute([*arguments, *written]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Backtest on 4 labelled months: 95% intervals contain")
    assert (tmp_path / "p.html").exists()
    assert pl.read_csv(tmp_path / "t.csv").height == 8
    assert execute([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "colour"}, "colour"),
        ({"by": "late"}, "late"),
        ({"by": "month", "method": "PCC"}, "not a method for prior shift"),
        ({"by": "year"}, "two labelled groups with at least 20 items"),
        ({"leave_out": ["day", "nothing"]}, "nothing"),
    ],
)
def test_options_that_do_not_do(options, message):
    with pytest.raises(hc.HeadcountError, match=message):
        hc.backtest(deliveries(), target="late", **{"method": "SLD"} | options)


def test_a_table_without_groups():
    table = deliveries().drop("day")
    with pytest.raises(hc.HeadcountError, match="`by` is missing"):
        hc.backtest(table, target="late", method="SLD")


def test_an_analysis_follows_the_history():
    table = deliveries()
    old = table.filter(pl.col("day") < "2024-07")
    new = table.filter(pl.col("day") >= "2024-07")
    analysis = hc.analyse(new, train=old, target="late", by="month", method="SLD")
    assert analysis.history.startswith("On 3 labelled months, mean posteriors were off by")
    assert analysis.history in str(analysis.verdict)
    assert {item.estimate.basis for item in analysis.slices} == {"history"}
    assert analysis.is_reliable
    without = hc.analyse(new, train=old, target="late", by="month", method="SLD", history="no")
    assert {item.estimate.basis for item in without.slices} == {"prior shift"}
    errors = [
        np.mean([np.abs(item.estimate.shares - item.truth).mean() for item in a.groups])
        for a in (analysis, without)
    ]
    assert errors[0] < errors[1] / 2


def test_groups_far_from_all_labelled_ones_are_named():
    """In September all deliveries are of two sizes, which no mix of the classes explains."""
    table = deliveries()
    new = table.filter(pl.col("day") >= "2024-07")
    september = pl.when(pl.col("size") > 2).then(30).otherwise(-30)
    new = pl.concat(
        [new, new.with_columns(pl.lit("2024-09-03").alias("day"), september.alias("size"))],
        how="vertical_relaxed",
    )
    result = hc.analyse(
        new.drop("late"), train=table.filter(pl.col("day") < "2024-07"), target="late",
        by="month", method="SLD",
    )  # fmt: skip
    assert [item.name for item in result.groups if item.is_far] == ["2024-09"]
    assert "further off than their intervals say: 2024-09." in result.to_text()
    assert "so what held in labelled groups" in result.to_frame()["warning"][-1]


def test_a_value_of_history_that_is_not_allowed():
    table = deliveries()
    with pytest.raises(hc.HeadcountError, match="`history` is 'maybe'"):
        hc.analyse(table, train=table, target="late", history="maybe")


def test_new_months_before_labelled_ones_are_noted():
    table = deliveries()
    old = table.filter(pl.col("day") >= "2024-03")
    new = table.filter(pl.col("day") < "2024-03").drop("late")
    analysis = hc.analyse(new, train=old, target="late", by="month", method="SLD")
    assert "2 months are before the last labelled one, 2024-08" in " ".join(analysis.notes)


def test_an_estimate_does_not_depend_on_the_groups_read_with_it(tmp_path):
    table = deliveries(1600)
    analysis = hc.analyse(
        table.filter(pl.col("day") >= "2024-05").drop("late"),
        train=table.filter(pl.col("day") < "2024-05"),
        target="late",
        by="month",
        method="SLD",
    )
    quantifier = analysis.model.quantifier
    months = [item.name for item in analysis.groups]
    X, _ = analysis.model.items(as_table(table.filter(pl.col("day") >= "2024-05"), "new"))
    of_rows = table.filter(pl.col("day") >= "2024-05")["day"].str.slice(0, 7).to_list()
    statistics = hc.Statistics(quantifier).update(X, groups=of_rows)
    options = EstimateOptions(random_state=0, groups=months)
    by_name = estimate_groups(quantifier.fitted_, statistics, None, options)
    for name, estimate in zip(months, by_name.values(), strict=True):
        np.testing.assert_array_equal(by_name[name].draws, estimate.draws)


def test_sites_are_not_a_sequence_though_the_history_has_dates():
    table = deliveries()
    old = table.filter(pl.col("day") < "2024-07").drop("shop")
    new = table.filter(pl.col("day") >= "2024-07").drop("late")
    large = pl.concat([old] * 2)  # so that dates have enough items
    analysis = hc.analyse(new, train=large, target="late", by="shop", method="SLD")
    assert analysis.history
    assert analysis.model.history.labelled == ()


@pytest.mark.parametrize(("first", "is_sequence"), [(7, True), (3, False)])
def test_numbers_are_a_sequence_if_the_new_ones_are_above(first, is_sequence):
    table = deliveries().with_columns(batch=pl.col("day").str.slice(5, 2).cast(pl.Int64) + 3)
    in_new = pl.col("batch").is_between(first + 3, first + 4)
    analysis = hc.analyse(
        table.filter(in_new).drop("late", "day"),
        train=table.filter(~in_new).drop("day"),
        target="late",
        by="batch",
        method="SLD",
    )
    readings = analysis.overall.estimate.readings
    assert ("last share" in readings) == is_sequence
    assert [item.name for item in analysis.groups] == sorted(
        (str(first + 3), str(first + 4)), key=float
    )


def _single_month(table):
    return table.filter(pl.col("day") < "2024-02")


def _one_class_a_month(table):
    return table.with_columns(late=pl.col("day").str.slice(5, 2).cast(int) % 2 == 0)


def _future_dates(table):
    far = pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("2031-05-01"))
    return table.with_columns(day=far.otherwise("day"))


@pytest.mark.parametrize(
    ("changed", "by", "basis", "note"),
    [
        (_single_month, "month", "no history", "there is one: choose finer groups"),
        (_one_class_a_month, "month", "history", None),
        (_future_dates, "month", "history", "2 months are before the last labelled one, 2031"),
        (lambda table: table.drop("day"), "site", "no history", "there is one: choose finer"),
        (lambda table: table.drop("day"), "tiny", "no history", "there are none: choose"),
    ],
)  # fmt: skip
def test_labelled_groups_that_say_little(changed, by, basis, note, tmp_path, capsys):
    table = deliveries(1600).with_columns(site=pl.lit("x"), tiny=pl.int_range(pl.len()) // 5)
    old = changed(table.filter(pl.col("day") < "2024-07"))
    new = table.filter(pl.col("day") >= "2024-07")
    new = new.select(name for name in old.columns if name != "late")
    analysis = hc.analyse(new, train=old, target="late", by=by, method="SLD")
    assert analysis.overall.estimate.basis.startswith(basis)
    assert note is None or note in " ".join(analysis.notes)
    old.write_csv(tmp_path / "old.csv")
    new.write_csv(tmp_path / "new.csv")
    command = ["estimate", str(tmp_path / "new.csv"), "--train", str(tmp_path / "old.csv")]
    assert execute([*command, "--target", "late", "--by", by, "--method", "SLD"]) == 0
    assert note is None or note in " ".join(capsys.readouterr().out.split())


def test_dates_are_used_if_by_names_a_single_group():
    table = deliveries(1600).with_columns(site=pl.lit("x"))
    old, new = table.filter(pl.col("day") < "2024-07"), table.filter(pl.col("day") >= "2024-07")
    analysis = hc.analyse(new.drop("late"), train=old, target="late", by="site", method="SLD")
    assert analysis.history.startswith("On 3 labelled months")
