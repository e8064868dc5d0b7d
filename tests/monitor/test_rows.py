"""Identities of rows."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount import HeadcountError
from headcount.monitor.folder import content_keys, value_hashes


@pytest.mark.parametrize(
    "values",
    [[1, -20, 2**60], [0.5, 1e-12, 3.0], ["a", "b" * 63 + "c", "ü" * 400], [date(2026, 3, 4)]],
)
def test_hash_of_a_value_is_that_of_its_text(values):
    column = pl.Series(values)
    texts = [str(value).removesuffix(".0") for value in values]
    assert value_hashes(column).tolist() == value_hashes(pl.Series(texts)).tolist()
    alone = [value_hashes(pl.Series([value])).tolist()[0] for value in values]
    assert len(set(alone)) == len(values)


def test_hashes_do_not_depend_on_the_other_values():
    short, long = pl.Series(["a", "b"]), pl.Series(["a", "b", "c" * 200, None, ""])
    assert value_hashes(long)[:2].tolist() == value_hashes(short).tolist()
    assert value_hashes(long)[3] == value_hashes(long)[4]


def test_hashes_are_those_of_every_machine():
    known = [17584912701311544212, 12120078603140946346, 4272033521399126452]
    assert value_hashes(pl.Series(["a", "id-17", "x" * 100])).tolist() == known


def test_numbers_as_text_have_the_same_content():
    numbers = np.random.default_rng(0).random(50)
    numbers[3:5] = np.nan, 0.0
    as_text = pl.Series([repr(each) for each in numbers.tolist()])
    as_text = as_text.replace({"nan": "", "0.0": "-0.0"})
    assert np.array_equal(content_keys([pl.Series(numbers)], 50), content_keys([as_text], 50))


def test_equal_rows_are_distinguished_by_their_number():
    keys = content_keys([pl.Series(["a", "b", "a"])], 3)
    assert len(set(keys.tolist())) == 3
    again = content_keys([pl.Series(["b", "a", "a"])], 3)
    assert set(again.tolist()) == set(keys.tolist())


def in_sequence(tmp_path, stream, **options):
    reference = stream.rows(800, 0.3).drop("id")
    return hc.Monitor.create(
        tmp_path / "w", reference, target="label", chunk_size=100, **options
    )  # fmt: skip


@pytest.mark.parametrize("decimals", [15, 2])
def test_overlapping_deliveries_without_a_key_are_counted_once(tmp_path, stream, decimals):
    watch = in_sequence(tmp_path, stream)
    rows = stream.rows(1000, 0.3).select(pl.col("fraud").round(decimals))
    watch.update(rows[:400])
    watch.update(rows[400:600])
    found = watch.update(rows[300:])
    assert found.notes == ("300 of 700 rows were delivered before: they were not added again.",)
    assert watch.status().chunks == 10
    assert watch.update(rows[300:]).chunks == ()


def test_rows_that_are_equal_by_chance_are_all_counted(tmp_path, stream):
    watch = in_sequence(tmp_path, stream)
    constant = pl.DataFrame({"fraud": [0.25, 0.5] * 200})
    watch.update(constant)
    watch.update(pl.concat([constant, stream.rows(100, 0.3).select("fraud")]))
    watch.update(stream.rows(500, 0.3).select(pl.col("fraud").round(1)))
    watch.update(stream.rows(500, 0.3).select(pl.col("fraud").round(1)))
    assert watch.status().chunks == 19


LONG = "日" * 28


@pytest.mark.parametrize("name", [LONG, "x" * 5000, "~" + "0" * 64])
def test_long_names_of_groups(tmp_path, stream, name):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w", reference, target="label", by="week_of", group="region", key="id",
    )  # fmt: skip
    rows = stream.rows(400, 0.3).drop("label").with_columns(
        region=pl.lit(name), week_of=pl.lit(f"{LONG} 1")
    )  # fmt: skip
    watch.update(rows[:200])
    watch.update(rows)
    frame = hc.Monitor.open(watch.path).to_frame()
    assert frame.select("group", "chunk", "items").rows() == [(name, f"{LONG} 1", 400)]


def test_names_with_control_characters(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    watch = hc.Monitor.create(
        tmp_path / "w\x1b\"", reference, target="label", by="step", group="region"
    )  # fmt: skip
    hostile = "x\n  open: accuracy fell \x1b[2J\u202e\\"
    for step in range(6):
        rows = stream.rows(400, 0.3 if step < 5 else 0.9).select("fraud")
        rows = rows.with_columns(step=pl.lit(f"{step}\n!"), region=pl.lit(hostile))
        watch.update(rows)
    status = str(watch.status())
    assert status.startswith("6 chunks, the last 5\\u000a!: 1 alert open\n  5\\u000a! x\\u000a")
    assert not any(line.lstrip().startswith("open:") for line in status.split("\n"))
    assert "\x1b" not in status
    prom = watch.to_prometheus()
    # Backslash, quote and line feed are the only escapes of the format.
    label = 'group="x\\n  open: accuracy fell \\\\u001b[2J\\\\u202e\\\\"'
    assert f'headcount_n{{monitor="w\\\\u001b\\"",{label}}} 400' in prom.split("\n")


def test_a_damaged_event_is_one_sentence(watch, stream):
    watch.update(stream.days([0.3]))
    watch.rebase("2015-01-01")
    (file,) = (watch.path / "events").iterdir()
    for content in (b"", b"[]", b"{}", b"\xff"):
        file.write_bytes(content)
        with pytest.raises(HeadcountError, match=r"000001.json' is damaged"):
            watch.status()


def test_one_file_has_the_summaries_of_a_stream(watch, stream):
    rows = stream.days([0.3] * 4).drop("label")
    watch.update(rows[:500])
    watch.update(rows)
    (file,) = (watch.path / "summaries").iterdir()
    assert len(json.loads(file.read_bytes())) == 4
    assert watch.to_frame()["items"].to_list() == [200] * 4
    before = file.read_bytes()
    for content in (b"", b"[]", b'{"2026-01-01": 3}', b"\xff"):
        file.write_bytes(content)
        with pytest.raises(HeadcountError, match=r"all.json' is damaged: delete it"):
            watch.status()
    file.unlink()
    watch.update(rows)
    assert file.read_bytes() == before


def test_a_damaged_reference_is_one_sentence(watch):
    file = watch.path / "reference.parquet"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(HeadcountError, match="is not the one it was created with"):
        hc.Monitor.open(watch.path).status()
