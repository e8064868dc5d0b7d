from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

ASK = ["judge", "items.csv", "--verdict", "judge", "--gold", "human"]


def items(n=1200, part=0.25, seed=0):
    """Answers of two models, judged with errors; some have gold labels."""
    rng = np.random.default_rng(seed)
    model = np.where(rng.random(n) < 0.5, "small", "large")
    truth = np.where(rng.random(n) < np.where(model == "large", 0.85, 0.6), "pass", "fail")
    wrong = rng.random(n) < np.where(truth == "fail", 0.3, 0.05)
    verdict = np.where(wrong, np.where(truth == "fail", "pass", "fail"), truth)
    human = np.where(rng.random(n) < part, truth, None)
    return pl.DataFrame(
        {
            "model": model,
            "talk": [f"t{i // 4}" for i in range(n)],
            "judge": verdict,
            "human": human.tolist(),
            "score": np.where(verdict == "pass", rng.beta(5, 2, n), rng.beta(2, 5, n)).round(4),
            "weight": rng.uniform(1, 2, n).round(2),
        }
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items().write_csv("items.csv")
    return tmp_path


def calibration(n=400):
    full = items(n, 1.0, 7).select("judge", "human", "talk")
    full.write_csv("cal.csv")


def test_rates_by_group_with_a_page(here, call):
    code, out, err = call(*ASK, "--by", "model", "--report", "page.html", "--output", "r.csv")
    assert (code, err) == (0, "")
    assert "large - small" in out
    assert "verdict fail" in out
    assert "have gold labels" in out
    table = pl.read_csv("r.csv")
    assert table["group"].unique().sort().to_list() == ["large", "small"]
    rate = dict(zip(table["group"] + table["class"], table["share"], strict=True))
    assert rate["largepass"] == pytest.approx(0.85, abs=0.06)
    assert rate["smallpass"] == pytest.approx(0.6, abs=0.08)
    page = (here / "page.html").read_text()
    for heading in ("Rates by group", "Differences between groups", "How good is the judge?"):
        assert heading in page
    assert "Their difference is clear" in page


def test_the_headline_is_about_groups_with_labels_of_their_own(here, call):
    rows = pl.int_range(pl.len())
    few = pl.when(rows < 30).then(pl.lit("few")).when(rows < 60).then(None).otherwise("model")
    gold = pl.when(rows.is_between(1, 59)).then(None).otherwise("human")
    items().with_columns(model=few, human=gold).write_csv("items.csv")
    code, out, _ = call(*ASK, "--by", "model", "--report", "page.html")
    assert code == 0
    assert "The group has 1 gold label. " in out
    page = (here / "page.html").read_text()
    lead = page[page.index("The corrected rate of") :].split("</p>")[0]
    assert "(small)" in lead
    assert "(large)" in lead


def test_calibration_clusters_weights_and_json(here, call):
    calibration()
    code, out, _ = call(*ASK, "--calibration", "cal.csv", "--cluster", "talk", "--json")
    assert code == 0
    (group,) = json.loads(out)["groups"]
    assert group["estimator"] == "labels"
    assert group["agreement"]["p_value"] > 0.001
    pl.read_csv("items.csv").drop("human").write_csv("items.csv")
    code, out, _ = call(*ASK, "--calibration", "cal.csv", "--weight", "weight", "--json")
    assert code == 0
    (group,) = json.loads(out)["groups"]
    assert group["estimator"] == "rates"
    assert group["low"][1] < 0.725 < group["high"][1]


def test_scores_numbers_and_the_positive_class(here, call):
    score = ["judge", "items.csv", "--verdict", "score", "--gold", "human"]
    code, out, _ = call(*score, "--positive", "fail", "--report", "page.html")
    assert code == 0
    assert "all    fail" in out
    assert "verdict below" in out
    frame = pl.read_csv("items.csv")
    number = {"pass": 1, "fail": 0}
    frame.with_columns(pl.col("judge", "human").replace_strict(number, default=None)).write_csv(
        "items.csv"
    )
    code, out, _ = call(*ASK, "--positive", "1", "--json")
    content = json.loads(out)
    assert content["classes"] == [0, 1]
    assert content["groups"][0]["raw"] is not None


def test_bad_input(here, call, refused):
    frame = items()

    def with_gold(labels):
        frame.with_columns(human=labels).write_csv("items.csv")
        return refused(*ASK)

    assert "gold is empty" in with_gold(pl.lit(None, pl.String))
    assert "--gold is filled in for all 1,200 items" in with_gold(pl.col("judge"))
    assert "single class 'pass'" in with_gold(
        pl.when(pl.col("human") == "pass").then(pl.lit("pass"))
    )
    frame.write_csv("items.csv")
    assert "which --verdict names" in refused(*ASK[:3], "nothing", *ASK[4:])
    assert "which --by names" in refused(*ASK, "--by", "nobody")
    assert "positive is 'good'" in refused(*ASK, "--positive", "good")
    assert "must end in .html" in refused(*ASK, "--report", "page.txt")
    calibration()
    known = pl.read_csv("cal.csv")
    known.with_columns(judge=pl.lit("pass")).write_csv("cal.csv")
    said = refused(*ASK, "--calibration", "cal.csv")
    assert "verdict 'fail' is given to" in said
    known.with_columns(
        human=pl.when(pl.int_range(pl.len()) > 0).then(pl.col("human"))
    ).write_csv("cal.csv")
    assert "misses 1 of 400 labels" in refused(*ASK, "--calibration", "cal.csv")
    frame.with_columns(
        judge=pl.when(pl.int_range(pl.len()) != 3).then(pl.col("judge"))
    ).write_csv("items.csv")
    assert "lacks 1 of 1,200 values, the first in row 4" in refused(*ASK)


def test_a_page_of_one_group_and_of_many_classes(here, call):
    rng = np.random.default_rng(0)
    grade = rng.choice(["a", "b", "c", "d"], 800)
    verdict = np.where(rng.random(800) < 0.2, rng.choice(["a", "b", "c", "d"], 800), grade)
    gold = np.where(rng.random(800) < 0.3, grade, None).tolist()
    pl.DataFrame({"judge": verdict, "human": gold}).write_csv("items.csv")
    code, _, err = call(*ASK, "--report", "page.html")
    assert (code, err) == (0, "")
    page = (here / "page.html").read_text()
    assert page.count("<figcaption>") == 4
    assert "Differences between groups" not in page
