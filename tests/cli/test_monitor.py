"""The command ``headcount monitor``."""

from __future__ import annotations

import json
import re
import sys

import polars as pl
import pytest

from tests.monitor.conftest import Stream


@pytest.fixture
def tables(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    stream = Stream()
    stream.rows(800, 0.3).drop("id").write_csv("reference.csv")
    rows = stream.days([0.1] * 20 + [0.35] * 4)
    rows.drop("label").write_csv("all.csv")
    rows.drop("label").filter(pl.col("day") <= "2015-01-20").write_csv("quiet.csv")
    rows.select("id", "label").write_csv("labels.csv")
    made = call(
        "monitor", "create", "watch", "reference.csv", "--target", "label", "--by", "day",
        "--key", "id", "--no-compare-reference",
    )  # fmt: skip
    assert made[0] == 0
    return tmp_path


def test_exit_codes_over_the_life_of_an_alert(tables, call):
    code, out, err = call("monitor", "update", "watch", "quiet.csv")
    assert (code, out, err) == (0, "20 chunks updated\n", "")
    code, out, _ = call("monitor", "update", "watch", "all.csv")
    assert code == 3
    assert "open: share of 'fraud' rose from" in out
    code, out, _ = call("monitor", "update", "watch", "all.csv")
    assert code == 3
    assert out.startswith("0 chunks updated\nstill open: share of 'fraud' rose from")
    code, out, _ = call("monitor", "status", "watch")
    assert code == 3
    assert "1 alert open" in out
    assert call("monitor", "ack", "watch")[0] == 0
    assert call("monitor", "rebase", "watch")[0] == 0
    assert call("monitor", "status", "watch")[0] == 0


def test_files_for_machines_and_people(tables, call):
    hook = f"{sys.executable} -c \"import sys; open('seen.json', 'w').write(sys.stdin.read())\""
    code, out, _ = call(
        "monitor", "update", "watch", "all.csv", "--labels", "labels.csv", "--json",
        "--prom", "values.prom", "--report", "page.html", "--on-alert", hook,
    )  # fmt: skip
    assert code == 3
    rows, labels = map(json.loads, out.splitlines())
    assert len(rows["chunks"]) == len(labels["chunks"]) == 24
    alert = rows["alerts"][0]
    assert json.loads((tables / "seen.json").read_text())["alert"] == alert["alert"]
    assert 'headcount_alerts_open{monitor="watch"} 1' in (tables / "values.prom").read_text()
    page = (tables / "page.html").read_text()
    assert "1 alert open" in page
    # Not in the packed data, whose letters are those of base64.
    assert re.search(r"(?<![\w+/])NaN(?![\w+/])", page) is None


def test_replay_changes_nothing(tables, call):
    code, out, _ = call("monitor", "replay", "watch", "all.csv")
    assert code == 0
    assert out.startswith("24 chunks, 1 alert\n")
    assert "0 chunks" in call("monitor", "status", "watch")[1]


def test_bad_calls_are_one_sentence(tables, call):
    for arguments, sentence in (
        (["status", "nothing"], "There is no monitor in 'nothing'"),
        (["create", "watch", "reference.csv", "--target", "label", "--by", "day"], "exists"),
        (["create", "other", "reference.csv", "--target", "label"],
         "Pass one of --by, such as day, and --chunk-size, such as 1000."),
        (["create", "other", "reference.csv", "--target", "label", "--by", "day",
          "--metric", "auroc", "--labels", "random"], "or complete --labels"),
        (["update", "watch"], "--labels"),
        (["update", "watch", "reference.csv"], "lacks the column"),
    ):  # fmt: skip
        code, out, err = call("monitor", *arguments)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1


def test_the_command_of_an_alert_is_run_until_it_succeeds(tables, call):
    code, _, err = call("monitor", "update", "watch", "all.csv", "--on-alert", "exit 7")
    assert code == 3
    assert "exit code 7: the next update runs it again" in err
    hook = "cat >> seen.json"
    call("monitor", "update", "watch", "quiet.csv", "--on-alert", hook)
    call("monitor", "update", "watch", "quiet.csv", "--on-alert", hook)
    assert json.loads((tables / "seen.json").read_text())["state"] == "open"  # once only


def test_the_command_of_an_alert_is_run_though_a_later_table_is_bad(tables, call):
    hook = "cat >> seen.json"
    code, _, err = call("monitor", "update", "watch", "all.csv", "none.csv", "--on-alert", hook)
    assert code == 2
    assert "none.csv" in err
    assert (tables / "seen.json").exists()
