"""Packs: many small files of rows become few, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import headcount as hc
from headcount import HeadcountError
from headcount.monitor import folder as folder_module

SETTINGS = [{"by": "day", "key": "id"}, {"by": "day"}, {"chunk_size": 90, "key": "id"},
            {"chunk_size": 90}]  # fmt: skip


@pytest.fixture
def pair(tmp_path, stream, request):
    """Two monitors that are the same."""
    reference = stream.rows(800, 0.3).drop("id")
    options = {"target": "label", "compare_reference": False, **request.param}
    return [hc.Monitor.create(tmp_path / name, reference, **options) for name in "ab"]


def delivered(watch, days, key):
    """Late rows, late labels, and the same rows again."""
    columns = ["day", "fraud", *(["id"] if key else [])]
    for number, day in enumerate(days):
        watch.update(day.select(columns)[: 150 if key else 200])
        if key and number:
            watch.update(days[number - 1].select(columns)[100:])
            watch.update(labels=days[number - 1].select("id", "label")[::2])
    watch.update(days[-2].select(columns))


def n_files(watch, kind):
    return sum(file.is_file() for file in (watch.path / kind).rglob("*"))


@pytest.mark.parametrize("pair", SETTINGS, indirect=True, ids=str)
def test_packed_rows_give_the_same_results(pair, stream, monkeypatch):
    key = pair[0].spec.key
    days = [stream.day(number, 0.1 if number < 8 else 0.4) for number in range(12)]
    delivered(pair[0], days, key)
    monkeypatch.setattr(folder_module, "_PACKED", 3)
    delivered(pair[1], days, key)
    assert n_files(pair[0], "packs") == 0
    assert n_files(pair[0], "rows") >= 12
    assert n_files(pair[1], "packs") >= 4
    assert n_files(pair[1], "rows") + n_files(pair[1], "labels") < 3
    assert len(list((pair[1].path / "rows").glob("*/*/"))) < 3
    plain, packed = [hc.Monitor.open(watch.path) for watch in pair]
    assert_frame_equal(plain.to_frame(), packed.to_frame(), check_exact=True)
    assert plain.alerts() == packed.alerts()
    assert plain.to_prometheus().replace('"a"', '"b"') == packed.to_prometheus()
    files = [(watch.path / "summaries" / "all.json") for watch in pair]
    before = files[0].read_bytes()
    assert files[1].read_bytes() == before
    # Summaries are made again of packed rows.
    files[1].unlink()
    assert hc.Monitor.open(pair[1].path).update(days[0].drop("label")).chunks == ()
    assert files[1].read_bytes() == before


@pytest.mark.parametrize("pair", SETTINGS[:1], indirect=True)
def test_a_pack_is_finished_by_the_next_update(pair, stream, monkeypatch):
    monkeypatch.setattr(folder_module, "_PACKED", 3)
    days = [stream.day(number, 0.3).drop("label") for number in range(3)]
    pair[1].update(pl.concat(days))
    removed = Path.unlink

    def killed(path, missing_ok=False):
        if path.suffix == ".parquet":
            raise KeyboardInterrupt
        removed(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            pair[0].update(pl.concat(days))
    assert n_files(pair[0], "rows") == 3
    assert n_files(pair[0], "packs") == 1
    assert pair[0].to_frame()["items"].to_list() == [200] * 3
    pair[0].update(days[0])
    assert n_files(pair[0], "rows") == 0
    contents = [next((watch.path / "packs").iterdir()).read_bytes() for watch in pair]
    assert contents[0] == contents[1]


@pytest.mark.parametrize("pair", SETTINGS[:1], indirect=True)
def test_large_files_are_not_packed(pair, stream, monkeypatch):
    monkeypatch.setattr(folder_module, "_PACKED", 2)
    monkeypatch.setattr(folder_module, "_SMALL", 4000)
    pair[0].update(
        pl.concat([stream.day(0, 0.3, 1000), stream.day(1, 0.3), stream.day(2, 0.3)])
    )
    sizes = [file.stat().st_size for file in (pair[0].path / "rows").rglob("*.parquet")]
    assert len(sizes) == 3
    monkeypatch.setattr(folder_module, "_SMALL", 20_000)
    pair[0].update(stream.day(3, 0.3))
    sizes = [file.stat().st_size for file in (pair[0].path / "rows").rglob("*.parquet")]
    assert len(sizes) == 2


@pytest.mark.parametrize("pair", SETTINGS[:1], indirect=True)
def test_a_damaged_pack_is_one_sentence(pair, stream, monkeypatch):
    monkeypatch.setattr(folder_module, "_PACKED", 2)
    rows = stream.days([0.3] * 2).drop("label")
    pair[0].update(rows)
    (file,) = (pair[0].path / "packs").iterdir()
    original = file.read_bytes()
    flipped = bytearray(original)
    flipped[500] ^= 255
    for content in (b"", original[:1000], bytes(flipped)):
        file.write_bytes(content)
        with pytest.raises(HeadcountError, match=r"000001.zip' is damaged \("):
            hc.Monitor.open(pair[0].path).update(rows)
