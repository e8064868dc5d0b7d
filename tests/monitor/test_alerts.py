"""Life of alerts: labels, the first chunks, return, acknowledgements and notices."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount import HeadcountError
from headcount._support.files import locked, new_folder
from headcount.monitor.series import detect
from tests.monitor.test_detector import noise, series


def flipped(rows, rate, seed=0):
    """Rows of which some have got another label: a change that the scores do not show."""
    flip = pl.Series(np.random.default_rng(seed).random(len(rows)) < rate)
    other = pl.when(pl.col("label") == "ok").then(pl.lit("fraud")).otherwise(pl.lit("ok"))
    return rows.with_columns(label=pl.when(flip).then(other).otherwise(pl.col("label")))


def created(tmp_path, stream, **options):
    options = {"by": "day", "key": "id", "compare_reference": False, **options}
    reference = stream.rows(800, 0.3).drop("id")
    return hc.Monitor.create(tmp_path / "w", reference, target="label", **options)


def first_days(stream, n=12, share=0.3):
    return stream.days([share] * n)


def later_days(stream, first, n, share=0.3):
    return pl.concat([stream.day(first + i, share) for i in range(n)])


@pytest.mark.parametrize("floor", [0.75, None])
def test_realised_accuracy_alerts_when_all_labels_arrive(tmp_path, stream, floor):
    watch = created(tmp_path, stream, accuracy_floor=floor)
    assert not watch.update(first_days(stream)).alerts
    changed = flipped(later_days(stream, 12, 3), 0.3)
    alerts = watch.update(changed).alerts
    assert any("realised:" in name for alert in alerts for name in alert.series)
    assert any("by the labels that arrived" in alert.reason for alert in alerts)


def test_a_floor_alerts_in_the_first_chunk(tmp_path, stream):
    watch = created(tmp_path, stream, accuracy_floor=0.75)
    (alert,) = watch.update(flipped(stream.days([0.3]), 0.6)).alerts
    assert alert.series == ("realised:floor",)
    assert "below the floor of 75.0%" in alert.reason


def test_scores_that_tell_nothing_are_not_below_a_floor(tmp_path):
    rng = np.random.default_rng(0)

    def rows(n):
        label = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
        noise = 1e-9 * rng.random((n, 2))
        scores = {"a": 0.5 - noise.sum(axis=1), "b": 0.3 + noise[:, 0], "c": 0.2 + noise[:, 1]}
        return pl.DataFrame({**scores, "label": label})

    watch = hc.Monitor.create(
        tmp_path / "w", rows(800), target="label", chunk_size=200, accuracy_floor=0.4,
    )  # fmt: skip
    assert not watch.update(rows(2000).drop("label")).alerts


def test_realised_accuracy_alerts_with_random_labels(tmp_path, stream):
    watch = created(tmp_path, stream, labels="random")

    def with_some_labels(rows):
        chosen = pl.Series(np.arange(len(rows)) % 4 == 0)
        return rows.with_columns(label=pl.when(chosen).then(pl.col("label")))

    assert not watch.update(with_some_labels(first_days(stream))).alerts
    alerts = watch.update(with_some_labels(flipped(later_days(stream, 12, 10), 0.3))).alerts
    assert any("realised:accuracy" in alert.series for alert in alerts)


def test_realised_values_of_other_metrics_alert(tmp_path, stream):
    watch = created(tmp_path, stream, metric="f1", accuracy_floor=0.5)
    assert not watch.update(first_days(stream)).alerts
    alerts = watch.update(flipped(later_days(stream, 12, 3), 0.45)).alerts
    assert any(name.startswith("realised:") for alert in alerts for name in alert.series)


def test_a_lasting_change_keeps_its_alarm_open():
    held, n_chunks = 0, 0
    for seed in range(30):
        values = noise(seed, 150)
        values[60:] += 0.1  # one standard error
        alarms = [alarm for alarm in detect(series(values), 365).alarms if alarm.at >= 60]
        if alarms:
            n_chunks += 150 - alarms[0].at
            held += sum((alarm.end or 150) - alarm.at for alarm in alarms)
    assert n_chunks > 1500
    assert held >= 0.95 * n_chunks


def test_a_change_that_is_over_ends_its_alarm():
    for seed in range(20):
        values = noise(seed, 120)
        values[50:80] += 0.2
        alarms = [alarm for alarm in detect(series(values), 365).alarms if alarm.since >= 40]
        assert all(alarm.end is not None for alarm in alarms if alarm.at < 80)


def test_a_limit_is_kept_while_values_are_beyond_it():
    values = noise(1, 80)
    values[20:40] += 2.0
    values[40:60] += 0.5  # far less, but still beyond
    (alarm,) = detect(series(values, limits=[0.1]), 365).alarms
    assert 60 <= alarm.end <= 75


def test_first_chunks_are_compared_with_the_reference(tmp_path, stream):
    watch = created(tmp_path, stream, compare_reference=True)
    (alert,) = watch.update(stream.days([0.6]).drop("label")).alerts
    assert alert.series[0] == "start:share:fraud"
    assert "in the reference: if that is usual, accept it by rebase." in alert.reason
    watch.rebase()
    assert not watch.update(later_days(stream, 1, 5, share=0.6).drop("label")).alerts
    assert not watch.status().open


def test_first_chunks_like_the_reference_raise_no_alert(tmp_path, stream):
    watch = created(tmp_path, stream, compare_reference=True)
    assert not watch.update(stream.days([0.3] * 20).drop("label")).alerts


def test_rows_of_the_future_are_left_out(watch, stream):
    rows = stream.days([0.3, 0.3]).drop("label")
    ahead = str(date.today() + timedelta(days=4000))
    wrong = stream.rows(3, 0.3).drop("label").with_columns(day=pl.lit(ahead))
    found = watch.update(pl.concat([rows, wrong]))
    assert found.notes == (
        f"3 of 403 rows are dated {ahead}, in the future: they are left out. Correct the "
        "dates, and deliver them again.",
    )
    assert watch.status().last == "2015-01-02"


def test_acknowledgements_survive_a_second_group(tmp_path, stream):
    watch = created(tmp_path, stream, group="region")
    days = stream.days([0.1] * 20 + [0.4] * 4).drop("label")
    watch.update(days.with_columns(region=pl.lit("north")))
    watch.acknowledge()
    watch.update(stream.days([0.2]).drop("label").with_columns(region=pl.lit("south")))
    assert not watch.status().open
    assert watch.status().acknowledged


def test_acknowledgements_survive_late_rows_that_move_the_alert(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.2] * 6).drop("label"))
    (before,) = watch.status().open
    watch.acknowledge()
    late = pl.concat([stream.day(20 + i, 0.6, n=400) for i in range(2)])
    watch.update(late.drop("label"))
    (alert,) = watch.alerts()
    assert alert.chunk != before.chunk
    assert alert.state == "acknowledged"


def test_status_after_a_rebase_and_a_killed_late_delivery(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.4] * 4).drop("label"))
    watch.rebase()
    last = watch.status().last
    file = watch.path / "summaries" / "all.json"
    content = json.loads(file.read_bytes())
    del content[last]  # as if killed after the rows were written, before their summary
    file.write_text(json.dumps(content))
    assert watch.status().last < last
    assert hc.Monitor.open(watch.path).alerts()


def test_alerts_are_unnotified_until_somebody_was_told(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.4] * 4).drop("label"))
    (alert,) = watch.unnotified()
    watch.notified(alert)
    assert not watch.unnotified()
    assert watch.status().open


def test_a_failed_create_leaves_the_place_free(tmp_path, stream, monkeypatch):
    from headcount.monitor import monitor as module

    with monkeypatch.context() as patched:
        patched.setattr(module, "write_bytes", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            created(tmp_path, stream)
    assert list(tmp_path.iterdir()) == []
    created(tmp_path, stream)


def test_notices_wait_for_another_update(watch, stream):
    watch.update(stream.days([0.1] * 20 + [0.4] * 4).drop("label"))
    (alert,) = watch.unnotified()
    with ThreadPoolExecutor(1) as pool:
        with locked(watch.path / "lock"):
            noted = pool.submit(watch.notified, alert)
            assert not wait([noted], 0.2).done  # refused at once, it would have ended
        noted.result()
    assert not watch.unnotified()


def test_a_killed_create_is_cleared_by_the_next(tmp_path, stream):
    code = (
        "import os, sys, pathlib, headcount._support.files as files\n"
        "with files.new_folder(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'reference.parquet').write_bytes(b'half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "w"], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    created(tmp_path, stream)
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_a_folder_that_another_create_has_made(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "spec.toml").write_text("")
    with pytest.raises(HeadcountError, match="cannot be made"), new_folder(tmp_path / "w"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_dates_with_the_day_first(tmp_path, stream):
    watch = created(tmp_path, stream, date_order="day-first")
    rows = stream.day(0, 0.3).drop("label", "day").with_columns(date=pl.lit("02/01/2015"))
    watch.update(rows)
    assert watch.status().last == "2015-01-02"
