"""Monitors: updates in any order, late rows and labels, alerts and their life, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import headcount as hc
from headcount.errors import HeadcountError
from headcount.monitor.deliveries import MonitorSpec
from headcount.monitor.folder import ChunkSummary
from headcount.monitor.history import _usual_variances


def copy_of(watch, path):
    """A monitor like another one, without rows."""
    path.mkdir()
    for name in ("spec.toml", "reference.parquet"):
        (path / name).write_bytes((watch.path / name).read_bytes())
    return hc.Monitor.open(path)


def state(folder):
    """Content of all files of a monitor but the lock."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


def test_estimates_of_chunks(watch, stream):
    rows = stream.days([0.1, 0.4])
    watch.update(rows.drop("label"))
    frame = watch.to_frame()
    assert frame["chunk"].to_list() == ["2015-01-01", "2015-01-02"]
    assert frame["items"].to_list() == [200, 200]
    true = rows.group_by("day").agg((pl.col("label") == "fraud").mean()).sort("day")["label"]
    assert (frame["low fraud"] <= true).all()
    assert (true <= frame["high fraud"]).all()
    assert frame["accuracy"].is_between(0.5, 1).all()
    assert frame["realised fraud"].is_null().all()


def test_change_opens_an_alert_with_its_reason(watch, stream):
    assert len(watch.update(stream.days([0.1] * 20).drop("label"))) == 0
    rows = pl.concat([stream.day(20 + i, 0.35) for i in range(4)]).drop("label")
    (alert,) = watch.update(rows)
    assert alert.state == "open"
    assert alert.since == "2015-01-21"
    assert alert.reason.startswith("share of 'fraud' rose from ")
    assert alert.reason.endswith(" since 2015-01-21")
    assert [each.name for each in watch.status().open] == [alert.name]
    assert hc.Monitor.open(watch.path).status().to_dict() == watch.status().to_dict()


def test_acknowledged_then_rebased(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.35] * 4).drop("label"))
    watch.acknowledge()
    assert not watch.status().open
    assert len(watch.status().acknowledged) == 1
    watch.rebase()
    assert not watch.status().acknowledged
    assert watch.status().evidence == 0
    assert [alert.state for alert in watch.alerts()] == ["rebased"]
    later = pl.concat([stream.day(24 + i, 0.35) for i in range(10)]).drop("label")
    assert len(watch.update(later)) == 0


def test_change_that_goes_away_is_resolved(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.35] * 4 + [0.1] * 6).drop("label"))
    (alert,) = watch.alerts()
    assert alert.state == "resolved"
    assert alert.ended > alert.chunk


def test_same_rows_again_change_nothing(watch, stream):
    rows = stream.days([0.1, 0.2, 0.3]).drop("label")
    watch.update(rows)
    before = state(watch.path)
    found = watch.update(rows)
    watch.update(rows.filter(pl.col("day") == "2015-01-02").sample(50, seed=0))
    assert state(watch.path) == before
    assert found.chunks == ()


def test_any_order_and_partition_give_the_same_state(watch, stream, tmp_path):
    rows = stream.days([0.1, 0.3, 0.2, 0.4])
    watch.update(rows)
    other = copy_of(watch, tmp_path / "other")
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=1)
    for part in (mixed[500:], mixed[:300], mixed[200:600]):
        other.update(part)
    assert_frame_equal(other.to_frame(), watch.to_frame())
    assert other.status().to_dict() == watch.status().to_dict()


def test_days_in_another_order_give_the_same_files(watch, stream, tmp_path):
    rows = stream.days([0.1] * 12 + [0.4] * 3)
    days = [part for _, part in rows.group_by("day", maintain_order=True)]
    other = copy_of(watch, tmp_path / "other")
    for part in days:
        watch.update(part)
    for part in reversed(days):
        other.update(part)
    assert watch.alerts()
    assert other.alerts() == watch.alerts()
    assert state(other.path) == state(watch.path)


def test_rows_without_key_are_identified_by_content(tmp_path, stream):
    reference = stream.rows(500, 0.3).drop("id")
    watch = hc.Monitor.create(tmp_path / "w", reference, target="label", by="day")
    rows = stream.days([0.2, 0.3]).drop("id", "label")
    watch.update(rows[:250])
    watch.update(rows)
    watch.update(rows[100:])
    assert watch.to_frame()["items"].to_list() == [200, 200]


def test_equal_scores_of_two_files_are_not_dropped(tmp_path, stream):
    reference = stream.rows(500, 0.3).drop("id")
    watch = hc.Monitor.create(tmp_path / "w", reference, target="label", by="day")
    rows = stream.day(0, 0.2, n=2000).drop("id", "label").with_columns(pl.col("fraud").round(3))
    watch.update(rows[:1000])
    before = state(watch.path)
    assert watch.update(rows[:1000]).chunks == ()
    with pytest.raises(HeadcountError, match="without a key it cannot be told"):
        watch.update(rows[1000:])
    assert state(watch.path) == before


def test_keys_that_differ_by_a_space_are_two_rows(watch, stream):
    rows = stream.days([0.2])[:2].drop("label").with_columns(id=pl.Series(["a", " a"]))
    watch.update(rows)
    assert watch.to_frame()["items"].to_list() == [2]


@pytest.mark.parametrize("key", ["id", None])
def test_rows_are_the_same_in_every_file_format(tmp_path, stream, key):
    reference = stream.rows(500, 0.3).drop("id")
    watch = hc.Monitor.create(tmp_path / "w", reference, target="label", by="day", key=key)
    rows = stream.days([0.2, 0.3])
    rows = rows.with_columns(fraud=pl.when(pl.col("id") % 50 > 0).then(pl.col("fraud")))
    new = rows.drop("label") if key else rows.drop("label", "id")
    new.write_csv(tmp_path / "new.csv")
    new.write_parquet(tmp_path / "new.parquet")
    watch.update(tmp_path / "new.csv")
    before = state(watch.path)
    for again in (tmp_path / "new.parquet", new, new.to_pandas()):
        assert watch.update(again).chunks == ()
    assert state(watch.path) == before
    if key:
        rows.select("id", "label").write_csv(tmp_path / "labels.csv")
        watch.update(labels=rows.select("id", "label"))
        assert watch.update(labels=tmp_path / "labels.csv").chunks == ()
        assert watch.to_frame()["labelled"].to_list() == [196, 196]


def test_late_labels(watch, stream):
    rows = stream.days([0.1, 0.4])
    watch.update(rows.drop("label"))
    watch.update(labels=rows.select("id", "label"))
    frame = watch.to_frame()
    true = rows.group_by("day").agg((pl.col("label") == "fraud").mean()).sort("day")["label"]
    assert frame["realised fraud"].to_list() == pytest.approx(true.to_list())
    predicted = rows["fraud"] > 0.5
    right = rows.with_columns(ok=predicted == (rows["label"] == "fraud"))
    right = right.group_by("day").agg(pl.col("ok").mean()).sort("day")["ok"]
    assert frame["realised_accuracy"].to_list() == pytest.approx(right.to_list())
    before = state(watch.path)
    watch.update(labels=rows.select("id", "label"))
    assert state(watch.path) == before


def test_late_labels_leave_earlier_alerts_as_they_are(watch, stream):
    rows = stream.days([0.1] * 20 + [0.25] * 6)
    watch.update(rows.drop("label"))
    alerts, evidence = watch.alerts(), watch.to_frame()["evidence"].to_list()
    assert alerts
    watch.acknowledge()
    # One day with labels has nothing to compare its error with: all evidence is as before.
    watch.update(labels=rows.select("id", "label")[:200])
    assert watch.to_frame()["evidence"].to_list() == evidence
    assert [alert.name for alert in watch.alerts()] == [alert.name for alert in alerts]
    assert not watch.status().open


def test_labels_with_the_rows_are_the_same_as_late_ones(watch, stream, tmp_path):
    rows = stream.days([0.1, 0.4])
    watch.update(rows.drop("label"))
    watch.update(labels=rows.select("id", "label"))
    other = copy_of(watch, tmp_path / "other")
    other.update(rows)
    assert_frame_equal(other.to_frame(), watch.to_frame())


def test_labels_show_that_the_estimator_is_off(watch, stream):
    rows = stream.days([0.2] * 30)
    wrong = rows.filter(pl.col("day") > "2015-01-20").with_columns(
        label=pl.when(pl.col("fraud") > 0.3).then(pl.lit("fraud")).otherwise(pl.lit("ok"))
    )
    rows = pl.concat([rows.filter(pl.col("day") <= "2015-01-20"), wrong])
    alerts = watch.update(rows).alerts
    assert any("error:share:fraud" in alert.series for alert in alerts)
    assert {alert.since for alert in alerts} <= {"2015-01-21", "2015-01-22"}


def test_labels_of_a_random_sample_correct_the_estimates(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", by="day", key="id", labels="random"
    )
    rows = stream.days([0.2, 0.4], n=600)
    # Scores that no mix explains: the assumption fails, and labels are needed.
    rows = rows.with_columns(fraud=pl.col("fraud") ** 3)
    watch.update(rows.drop("label"))
    assert not watch.to_frame()["reliable"].any()
    watch.update(labels=rows.select("id", "label").sample(300, seed=0))
    frame = watch.to_frame()
    assert frame["basis"].to_list() == ["labels", "labels"]
    assert frame["reliable"].all()
    true = rows.group_by("day").agg((pl.col("label") == "fraud").mean()).sort("day")["label"]
    assert ((frame["low fraud"] < true) & (true < frame["high fraud"])).all()


def test_labels_count_when_they_are_mature(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    rows = stream.days([0.2] * 30)
    wrong = pl.when(pl.col("day") > "2015-01-20", pl.col("fraud") > 0.3).then(pl.lit("fraud"))
    rows = rows.with_columns(label=wrong.otherwise(pl.col("label")))
    for maturity, alerts in ((0, 1), (10, 0)):
        watch = hc.Monitor.create(
            tmp_path / str(maturity), reference, target="label", by="day", maturity=maturity,
            compare_reference=False,
        )  # fmt: skip
        watch.update(rows.drop("id"))
        assert len(watch.alerts()) == alerts


def test_missing_scores_are_left_out_and_counted(watch, stream):
    rows = (
        stream.days([0.3])
        .drop("label")
        .with_columns(
            fraud=pl.when(pl.int_range(pl.len()) < 20).then(None).otherwise(pl.col("fraud"))
        )
    )
    watch.update(rows)
    assert watch.to_frame().select("items", "missing").row(0) == (180, 20)


def test_groups_share_one_budget(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", by="day", group="region"
    )
    parts = []
    for region in ("north", "south"):
        shares = [0.1] * 20 + [0.4 if region == "south" else 0.1] * 4
        parts.append(stream.days(shares).with_columns(region=pl.lit(region)))
    (alert,) = watch.update(pl.concat(parts).drop("id", "label"))
    assert alert.stream == "south"
    assert alert.reason.startswith("south: share of 'fraud' rose")
    assert len(watch.to_frame()) == 48
    watch.rebase(group="south")
    assert watch.alerts()[0].state == "rebased"


def test_chunks_of_a_fixed_size(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(tmp_path / "w", reference, target="label", chunk_size=100)
    rows = stream.rows(250, 0.2).drop("id", "label")
    watch.update(rows)
    assert watch.to_frame()["chunk"].to_list() == ["000001", "000002"]
    watch.update(rows)
    assert len(watch.to_frame()) == 2
    watch.update(stream.rows(50, 0.2).drop("id", "label"))
    assert watch.to_frame()["items"].to_list() == [100, 100, 100]


def test_rows_sent_again_with_others_in_chunks_of_a_fixed_size(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", chunk_size=100, key="id"
    )
    rows = stream.rows(320, 0.2)
    watch.update(rows[:150].drop("label"))
    found = watch.update(rows[50:250].drop("label"))
    assert found.notes == ("100 of 200 rows were delivered before: they were not added again.",)
    # Labels reach rows of complete chunks, of the last one, and of the same delivery.
    watch.update(rows[240:], labels=rows[:250].select("id", "label"))
    frame = watch.to_frame()
    assert frame["items"].to_list() == [100, 100, 100]
    assert frame["labelled"].to_list() == [100, 100, 100]
    true = [(rows[i : i + 100]["label"] == "fraud").mean() for i in (0, 100, 200)]
    assert frame["realised fraud"].to_list() == pytest.approx(true)
    before = state(watch.path)
    watch.update(rows, labels=rows.select("id", "label"))
    assert state(watch.path) == before
    with pytest.raises(HeadcountError, match="delivered before with other scores"):
        watch.update(rows[100:].with_columns(fraud=pl.col("fraud") / 2))
    assert state(watch.path) == before


def test_labels_of_a_chunk_that_lacks_rows(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", chunk_size=100, key="id"
    )
    rows = stream.rows(100, 0.2)
    watch.update(rows[:60].drop("label"))
    watch.update(labels=rows[:60].select("id", "label"))
    assert len(watch.to_frame()) == 0
    watch.update(rows[60:].drop("label"))
    assert watch.to_frame()["labelled"].to_list() == [60]


def test_equal_decisions_of_several_deliveries_all_count(tmp_path, stream):
    known = stream.rows(600, 0.3)
    said = np.where(known["fraud"] > 0.5, "fraud", "ok")
    watch = hc.Monitor.create(
        tmp_path / "w", hc.Verdicts(said), target=known["label"].to_list(), chunk_size=100
    )
    for n_fraud in (10, 11, 12, 13):
        found = watch.update(hc.Verdicts(["fraud"] * n_fraud + ["ok"] * (50 - n_fraud)))
        assert found.notes == ()
    assert watch.to_frame()["items"].to_list() == [100, 100]
    found = watch.update(hc.Verdicts(["fraud"] * 13 + ["ok"] * 37))
    assert found.notes == ("The same rows were delivered before: they were not added again.",)


def test_scored_and_verdicts(tmp_path, stream):
    known, new = stream.rows(600, 0.3), stream.days([0.2, 0.5])
    scored = hc.Scored(known["fraud"].to_numpy(), ["ok", "fraud"])
    watch = hc.Monitor.create(
        tmp_path / "scored", scored, target=known["label"].to_list(), by="day"
    )
    watch.update(
        hc.Scored(new["fraud"].to_numpy(), ["ok", "fraud"]), dates=new["day"].to_list()
    )
    assert watch.to_frame()["items"].to_list() == [200, 200]
    said = lambda frame: np.where(frame["fraud"] > 0.5, "fraud", "ok")  # noqa: E731
    watch = hc.Monitor.create(
        tmp_path / "verdicts", hc.Verdicts(said(known)), target=known["label"].to_list(),
        chunk_size=200,
    )  # fmt: skip
    watch.update(hc.Verdicts(said(new)))
    frame = watch.to_frame()
    assert frame["share fraud"][0] < 0.35 < frame["share fraud"][1]


def opinions(rng, n, share):
    """Items with features of their own, over two days."""
    bad = rng.random(n) < share
    return pl.DataFrame(
        {
            "length": rng.normal(bad * 1.5),
            "shop": np.where(rng.random(n) < 0.3 + 0.4 * bad, "a", "b"),
            "day": np.where(np.arange(n) < n // 2, "2015-01-01", "2015-01-02"),
            "opinion": np.where(bad, "bad", "good"),
        }
    )


def saved_model(path, method, classifier="logistic"):
    rng = np.random.default_rng(0)
    labelled, new = opinions(rng, 500, 0.3), opinions(rng, 400, 0.5)
    options = {"target": "opinion", "method": method, "classifier": classifier}
    hc.analyse(new.drop("opinion"), train=labelled.drop("day"), **options).save(path)
    return new


@pytest.mark.parametrize(("method", "classifier"), [("PACC", "logistic"), ("auto", "auto")])
def test_items_with_a_model(tmp_path, method, classifier):
    new = saved_model(tmp_path / "m.skops", method, classifier)
    watch = hc.Monitor.create(tmp_path / "w", tmp_path / "m.skops", by="day")
    watch.update(new)
    frame = watch.to_frame()
    assert frame["items"].to_list() == [200, 200]
    true = new.group_by("day").agg((pl.col("opinion") == "bad").mean()).sort("day")["opinion"]
    assert frame["realised bad"].to_list() == pytest.approx(true.to_list())
    assert ((frame["low bad"] < true) & (true < frame["high bad"])).all()


@pytest.mark.parametrize("metric", ["auroc", "average_precision", "kappa"])
def test_other_metrics(tmp_path, stream, metric):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", by="day", key="id", metric=metric
    )
    rows = stream.days([0.2, 0.5], n=400)
    watch.update(rows)
    frame = watch.to_frame()
    found = frame["realised_accuracy"]
    assert found.is_between(frame["accuracy_low"] - 0.02, frame["accuracy_high"] + 0.02).all()
    if metric == "auroc":
        day = rows.filter(pl.col("day") == "2015-01-01")
        expected = roc_auc_score(day["label"] == "fraud", day["fraud"])
        watch.report(tmp_path / "page.html")
        assert "AUROC" in (tmp_path / "page.html").read_text("utf-8")
        # The second of the classes "fraud" and "ok" is the positive one; the area is the same.
        assert found[0] == pytest.approx(expected)


def test_accuracy_floor(tmp_path, stream):
    reference = stream.rows(2000, 0.05).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", by="day", accuracy_floor=0.97
    )
    watch.update(stream.days([0.05] * 12).drop("id", "label"))
    (alert,) = watch.alerts()
    assert alert.series == ("floor",)
    assert "below the floor of 97.0%" in alert.reason


def test_replay_leaves_no_trace(watch, stream):
    rows = stream.days([0.1] * 20 + [0.35] * 4).drop("label")
    before = state(watch.path)
    tried = watch.replay(rows)
    assert len(tried.alerts()) == 1
    assert state(watch.path) == before


def test_small_chunks_are_put_together(watch, stream):
    watch.update(stream.days([0.1] * 60, n=10).drop("label"))
    assert len(watch.to_frame()) == 60
    assert np.isfinite(watch.status().evidence)


def test_killed_at_any_moment(watch, stream, tmp_path):
    """Every update is killed a few times; the files are those of an undisturbed run."""
    rows = stream.days([0.1, 0.3, 0.2])
    files = []
    for number, (_, part) in enumerate(rows.group_by("day", maintain_order=True)):
        files.append(tmp_path / f"{number}.csv")
        part.write_csv(files[-1])
    other = copy_of(watch, tmp_path / "other")
    for file in files:
        other.update(file)
    code = (
        "import sys, headcount as hc\n"
        "sys.stdout.write('ready'); sys.stdout.flush()\n"
        "hc.Monitor.open(sys.argv[1]).update(sys.argv[2])\n"
    )
    rng = np.random.default_rng(0)
    for file in files:
        for _ in range(3):
            with subprocess.Popen(
                [sys.executable, "-c", code, str(watch.path), str(file)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as child:
                child.stdout.read(5)
                time.sleep(rng.uniform(0, 1.5))
                child.kill()
        watch.update(file)
    assert state(watch.path) == state(other.path)


def test_prometheus(watch, stream):
    watch.update(stream.days([0.3]).drop("label"))
    text = watch.to_prometheus()
    assert 'headcount_share{monitor="watch",group="all",class="fraud"} 0.' in text
    assert text.endswith("\n")
    assert 'headcount_alerts_open{monitor="watch"} 0' in text


def test_results_print_and_are_plain(watch, stream):
    found = watch.update(stream.days([0.1] * 20 + [0.35] * 4).drop("label"))
    assert "24 chunks updated" in str(found)
    json.dumps([found.to_dict(), watch.status().to_dict()])
    assert "1 alert open" in str(watch)
    axes = watch.plot()
    assert axes.get_ylabel() == "share of ok"


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "match"),
        [({"metric": "auc"}, "`metric` is 'auc'"), ({"method": "PACCC"}, "'PACCC'")],
    )
    def test_unknown_settings(self, tmp_path, stream, options, match):
        with pytest.raises(HeadcountError, match=match):
            hc.Monitor.create(
                tmp_path / "w", stream.rows(100, 0.3), target="label", by="day", **options
            )
        assert not (tmp_path / "w").exists()

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"labels": "random"}, "labels of a random sample"),
            ({"verdict": "said"}, "decisions alone"),
        ],
    )
    def test_ranking_needs_posteriors_and_all_labels(self, tmp_path, stream, options, match):
        reference = stream.rows(100, 0.3).with_columns(said=pl.col("label"))
        if options.get("verdict") is None:
            reference = reference.drop("said")
        with pytest.raises(HeadcountError, match=match):
            hc.Monitor.create(
                tmp_path / "w", reference.drop("id"), target="label", by="day",
                metric="auroc", **options,
            )  # fmt: skip
        assert not (tmp_path / "w").exists()

    @pytest.mark.filterwarnings("ignore::headcount.errors.HeadcountWarning")
    def test_model_without_a_classifier(self, tmp_path):
        saved_model(tmp_path / "m.skops", "HDx")
        with pytest.raises(HeadcountError, match="without out-of-fold posteriors"):
            hc.Monitor.create(tmp_path / "w", tmp_path / "m.skops", by="day")

    def test_folder_exists(self, watch, stream):
        with pytest.raises(HeadcountError, match="exists already"):
            hc.Monitor.create(watch.path, stream.rows(100, 0.3), target="label", by="day")

    def test_no_monitor(self, tmp_path):
        with pytest.raises(HeadcountError, match="no monitor"):
            hc.Monitor.open(tmp_path / "nothing")

    def test_chunks_by_one_rule(self, tmp_path, stream):
        with pytest.raises(HeadcountError, match="one of `by`"):
            hc.Monitor.create(tmp_path / "w", stream.rows(100, 0.3), target="label")

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (lambda rows: rows.rename({"fraud": "score"}), "lacks the column"),
            (lambda rows: rows.with_columns(fraud=pl.col("fraud") + 1), "between 0 and 1"),
            (lambda rows: rows.with_columns(fraud=pl.lit("high")), "had numbers"),
            (lambda rows: rows.with_columns(id=pl.lit(1)), "twice"),
            (lambda rows: rows.with_columns(label=pl.lit("maybe")), "none of the classes"),
            (lambda rows: rows.drop("day"), "dates"),
        ],
    )
    def test_deliveries(self, watch, stream, change, match):
        watch.update(stream.days([0.2]))
        before = state(watch.path)
        with pytest.raises(HeadcountError, match=match):
            watch.update(change(stream.days([0.2, 0.3])))
        assert state(watch.path) == before

    def test_other_scores_for_a_known_row(self, watch, stream):
        rows = stream.days([0.2]).drop("label")
        watch.update(rows)
        before = state(watch.path)
        with pytest.raises(HeadcountError, match="delivered before with other scores"):
            watch.update(rows.with_columns(fraud=pl.col("fraud") / 2))
        assert state(watch.path) == before

    def test_label_of_an_unknown_row(self, watch, stream):
        watch.update(stream.days([0.2]).drop("label"))
        before = state(watch.path)
        with pytest.raises(HeadcountError, match="999999, which no chunk has"):
            watch.update(labels=pl.DataFrame({"id": [800, 999_999], "label": ["ok", "ok"]}))
        assert state(watch.path) == before

    def test_other_label_for_a_known_row(self, watch, stream):
        rows = stream.days([0.2])
        watch.update(rows)
        other = rows.head(1).with_columns(
            label=pl.when(pl.col("label") == "ok").then(pl.lit("fraud")).otherwise(pl.lit("ok"))
        )
        with pytest.raises(HeadcountError, match="has a label already"):
            watch.update(labels=other.select("id", "label"))

    def test_changed_reference(self, watch, stream):
        file = watch.path / "reference.parquet"
        file.write_bytes(file.read_bytes()[:-8] + b"12345678")
        with pytest.raises(HeadcountError, match="is not the one"):
            watch.update(stream.days([0.2]))

    @pytest.mark.parametrize("change", ["other", "gone"])
    def test_changed_model(self, tmp_path, change):
        new = saved_model(tmp_path / "m.skops", "PACC")
        watch = hc.Monitor.create(tmp_path / "w", tmp_path / "m.skops", by="day")
        file = watch.path / "model.skops"
        if change == "other":
            saved_model(file, "SLD")
        else:
            file.unlink()
        with pytest.raises(HeadcountError, match="is not the one it was created with"):
            hc.Monitor.open(watch.path).update(new)

    def test_two_updates_at_once(self, watch, stream):
        from headcount._support.files import locked

        before = state(watch.path)
        with locked(watch.path / "lock"), pytest.raises(HeadcountError, match="another run"):
            watch.update(stream.days([0.2]))
        assert state(watch.path) == before

    def test_acknowledge_what_is_not_open(self, watch):
        with pytest.raises(HeadcountError, match="open alerts are: none"):
            watch.acknowledge("2015-01-01")

    def test_rebase_without_alert_or_chunk(self, watch, stream):
        watch.update(stream.days([0.2]))
        with pytest.raises(HeadcountError, match="name the `chunk`"):
            watch.rebase()
        with pytest.raises(HeadcountError, match="no rows"):
            watch.rebase("2030-01-01")


def drifting(first, levels, n=200, seed=0):
    """Days on which the inputs change, and the class depends on them as before."""
    rng = np.random.default_rng(seed)
    frames = []
    for number, level in enumerate(levels, first):
        posterior = 1 / (1 + np.exp(1 - rng.normal(level, 1.0, n)))
        label = np.where(rng.random(n) < posterior, "fraud", "ok")
        day = str(date(2015, 1, 1) + timedelta(days=number))
        frames.append(pl.DataFrame({"day": [day] * n, "fraud": posterior, "label": label}))
    return pl.concat(frames)


def watched(folder, reference, new, **options):
    monitor = hc.Monitor.create(folder, reference, target="label", by="day", **options)
    monitor.update(new.drop("label"))
    frame = monitor.to_frame()
    days = new.group_by("day").agg((pl.col("label") == "fraud").mean().alias("truth"))
    truth = days.sort("day")["truth"]
    inside = (frame["low fraud"] <= truth) & (truth <= frame["high fraud"])
    return monitor, inside.mean(), (frame["share fraud"] - truth).abs().mean()


def test_a_dated_reference_says_what_held_and_how_much_is_usual(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.5, 50)
    reference, new = drifting(0, levels[:20]), drifting(20, levels[20:], seed=1)
    dated, inside, error = watched(tmp_path / "dated", reference, new)
    undated, inside_without, error_without = watched(
        tmp_path / "undated", reference.drop("day"), new
    )
    assert set(dated.to_frame()["basis"]) == {"history"}
    assert set(undated.to_frame()["basis"]) == {"shift"}
    assert inside >= 0.9 > inside_without
    assert error < error_without / 3
    assert len(dated.alerts()) <= 1
    assert len(undated.alerts()) > 3
    assert dated.to_frame()["reliable"].all()


def test_a_change_beyond_the_usual_raises_an_alert(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.2, 40)
    levels[30:] += 2
    reference, new = drifting(0, levels[:20]), drifting(20, levels[20:], seed=1)
    monitor, _, _ = watched(tmp_path / "watch", reference, new)
    alerts = monitor.alerts()
    assert alerts
    assert alerts[0].chunk >= "2015-01-31"


def test_history_does_not_depend_on_the_order_of_deliveries(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.5, 16)
    reference, new = drifting(0, levels[:10]), drifting(10, levels[10:], seed=1)
    at_once, _, _ = watched(tmp_path / "one", reference, new)
    monitor = hc.Monitor.create(tmp_path / "two", reference, target="label", by="day")
    for _, rows in reversed(list(new.drop("label").group_by("day", maintain_order=True))):
        monitor.update(rows)
    assert monitor.to_frame().equals(at_once.to_frame())


def test_one_period_is_no_history(tmp_path):
    reference, new = drifting(0, [0.0], n=800), drifting(1, [0.1, 0.3])
    monitor, _, _ = watched(tmp_path / "watch", reference, new)
    assert set(monitor.to_frame()["basis"]) == {"shift"}


def test_usual_variances_are_those_beyond_samples():
    rng = np.random.default_rng(0)
    spec = MonitorSpec("scores", ("fraud", "ok"), "label", by="day")
    n, unit, between = 400, 0.2, 0.05
    levels = rng.normal(0.3, between, 400)
    values = rng.normal(levels, np.sqrt(unit / n))
    past = [
        ChunkSummary(n, 0, n, [0.3, 0.7], 0.9, values=[value], unit_variances=[unit])
        for value in values
    ]
    (share,) = _usual_variances(spec, past, ["share:fraud"])
    assert np.sqrt(share) == pytest.approx(between, rel=0.15)
    assert _usual_variances(spec, past[:4], ["share:fraud"]) == [0]


def test_the_period_of_an_undated_reference_row_is_left_out(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.5, 12)
    reference, new = drifting(0, levels[:10]), drifting(10, levels[10:], seed=1)
    days = pl.Series("day", [None, *reference["day"][1:].to_list()])
    monitor, _, _ = watched(tmp_path / "watch", reference.with_columns(days), new)
    assert set(monitor.to_frame()["basis"]) == {"history"}


def test_a_column_of_scores_is_of_the_class_with_higher_ones(tmp_path, stream):
    def named(rows):
        return rows.rename({"fraud": "risk"})

    reference = named(stream.rows(800, 0.3)).drop("id")
    with pytest.warns(hc.HeadcountWarning, match="'risk' was taken for the score of class 'fr"):
        monitor = hc.Monitor.create(
            tmp_path / "risk", reference, target="label", by="day", key="id"
        )
    monitor.update(named(stream.day(0, 0.3)))
    assert monitor.to_frame()["accuracy"].item() > 0.8


def test_a_reference_of_scores_takes_dates(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.5, 16)
    reference, new = drifting(0, levels[:10]), drifting(10, levels[10:], seed=1)
    classes = np.array(["fraud", "ok"])

    def scored(frame):
        posterior = frame["fraud"].to_numpy()
        return hc.Scored(np.column_stack([posterior, 1 - posterior]), classes)

    monitor = hc.Monitor.create(
        tmp_path / "watch", scored(reference), target=reference["label"].to_list(), by="day",
        dates=reference["day"].to_list(),
    )  # fmt: skip
    monitor.update(scored(new), dates=new["day"].to_list())
    table, _, _ = watched(tmp_path / "table", reference, new)
    assert set(monitor.to_frame()["basis"]) == {"history"}
    shares = monitor.to_frame()["share fraud"].to_numpy()
    assert shares == pytest.approx(table.to_frame()["share fraud"].to_numpy())
    with pytest.raises(HeadcountError, match="`dates` is for a reference of Scored"):
        hc.Monitor.create(
            tmp_path / "other", reference, target="label", by="day", dates=["2024-01-01"]
        )


@pytest.mark.parametrize("labels", ["complete", "random"])
def test_labels_of_chunks_show_later_ones_which_reading_holds(tmp_path, labels):
    """Mean posteriors are right here, and a reference without dates does not say so."""
    levels = np.random.default_rng(1).normal(0, 0.7, 30)
    reference = drifting(0, np.zeros(10)).drop("day")
    new = drifting(0, levels, seed=1).with_row_index("id")
    shown = new.filter(pl.col("id") % 2 == 0) if labels == "random" else new
    monitor = hc.Monitor.create(
        tmp_path / "watch", reference, target="label", by="day", key="id", labels=labels
    )
    coverage = {}
    for n_labelled in (0, 15):
        monitor.update(
            new.drop("label") if n_labelled == 0 else None,
            shown.filter(pl.col("day") < str(date(2015, 1, 1 + n_labelled))).select(
                "id", "label"
            )
            if n_labelled
            else None,
        )
        frame = monitor.to_frame()[15:]
        truth = new.group_by("day").agg((pl.col("label") == "fraud").mean().alias("share"))
        truth = truth.sort("day")["share"][15:]
        inside = (frame["low fraud"] <= truth) & (truth <= frame["high fraud"])
        coverage[n_labelled] = inside.mean()
        errors = (frame["share fraud"] - truth).abs().mean()
    assert coverage[15] >= 0.9 > coverage[0]
    assert errors < 0.05


def test_labels_count_for_later_chunks_whenever_they_arrive(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.7, 14)
    reference = drifting(0, np.zeros(10)).drop("day")
    new = drifting(0, levels, seed=1).with_row_index("id")
    settings = {"target": "label", "by": "day", "key": "id"}
    late = hc.Monitor.create(tmp_path / "late", reference, **settings)
    days = new["day"].unique(maintain_order=True).to_list()
    at_the_time = []
    for number, day in enumerate(days):
        arrived = new.filter(pl.col("day") == days[number - 3]) if number >= 3 else None
        labels = None if arrived is None else arrived.select("id", "label")
        late.update(new.filter(pl.col("day") == day).drop("label"), labels)
        at_the_time.append(late.to_frame()["share fraud"][-1])
    at_once = hc.Monitor.create(tmp_path / "once", reference, **settings)
    labelled = pl.when(pl.col("day") < days[-3]).then("label")
    at_once.update(new.with_columns(label=labelled))
    assert_frame_equal(late.to_frame(), at_once.to_frame())
    # Chunks whose predecessors had no labels then are revised, the last one is not.
    final = late.to_frame()["share fraud"].to_list()
    assert final[-1] == at_the_time[-1]
    assert final[5] != at_the_time[5]


def test_labels_that_may_be_missing_do_not_count_for_later_chunks(tmp_path):
    levels = np.random.default_rng(1).normal(0, 0.7, 8)
    reference, new = drifting(0, np.zeros(10)).drop("day"), drifting(0, levels, seed=1)
    shares = {}
    for maturity in (0, 20):
        monitor = hc.Monitor.create(
            tmp_path / str(maturity), reference, target="label", by="day", maturity=maturity
        )
        monitor.update(new)
        shares[maturity] = monitor.to_frame()["share fraud"].to_list()
    unlabelled = hc.Monitor.create(tmp_path / "none", reference, target="label", by="day")
    unlabelled.update(new.drop("label"))
    assert shares[20] == unlabelled.to_frame()["share fraud"].to_list() != shares[0]
