from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError


def bookings(n, share, rng, *, delay=0.0, day="2024-01"):
    cancelled = rng.random(n) < share
    return pl.DataFrame(
        {
            "number": np.arange(n),
            "day": [f"{day}-{d:02d}" for d in rng.integers(1, 29, n)],
            "nights": rng.poisson(3 + 2 * cancelled),
            "price": rng.normal(100 + 20 * cancelled, 30).round(2),
            "lead_time": rng.gamma(2, 20 + 10 * cancelled + delay).round(),
            "deposit": np.where(rng.random(n) < 0.1 + 0.3 * cancelled, "paid", "none"),
            "member": rng.random(n) < 0.3,
            "currency": ["EUR"] * n,
            "cancelled": np.where(cancelled, "yes", "no"),
        }
    )


@pytest.fixture(name="tables")
def labelled_and_new():
    rng = np.random.default_rng(0)
    return bookings(1500, 0.3, rng), bookings(1200, 0.6, rng, delay=15, day="2024-06")


def test_frames(tables):
    labelled, new = tables
    changes = hc.what_changed(new, train=labelled, target="cancelled")
    assert changes.changed == ("lead_time",)
    assert changes.classes == ("no", "yes")
    assert "lead_time" in repr(changes)
    assert set(changes.left_out) == {"number", "day"}
    assert "always change" in changes.left_out["day"]


def test_files_give_what_frames_give(tables, tmp_path):
    for table, name in zip(tables, ("old.csv", "new.csv"), strict=True):
        table.write_csv(tmp_path / name)
    files = hc.what_changed(
        tmp_path / "new.csv", train=tmp_path / "old.csv", target="cancelled"
    )
    frames = hc.what_changed(tables[1], train=tables[0], target="cancelled")
    assert files.to_frame().equals(frames.to_frame())


def test_only_the_mix(tables):
    same = bookings(1200, 0.7, np.random.default_rng(1), day="2024-06")
    assert hc.what_changed(same, train=tables[0], target="cancelled").changed == ()


def test_a_column_with_one_value_in_training_may_change(tables):
    labelled, new = tables
    other = pl.when(pl.int_range(pl.len()) < 200).then(pl.lit("USD")).otherwise("currency")
    changes = hc.what_changed(
        new.with_columns(other.alias("currency")),
        train=labelled,
        target="cancelled",
        leave_out=["lead_time"],
    )
    assert changes.changed == ("currency",)
    assert changes.left_out["lead_time"] == "left out by the caller"


def test_many_new_rows_are_sampled(tables, monkeypatch):
    monkeypatch.setattr("headcount.tables.changes._MOST_ROWS", 1000)
    changes = hc.what_changed(tables[1], train=tables[0], target="cancelled")
    assert changes.notes[-1] == "Of 1,200 new rows, 1,000 drawn at random were compared."
    assert changes.changed == ("lead_time",)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"target": "canceled"}, "canceled"),
        ({"leave_out": ["nothing"]}, "which `leave_out` names"),
        ({"level": 0}, "level"),
        ({"random_state": None}, "random_state is None"),
        ({"shares": [2, -1]}, "shares"),
    ],
)
def test_bad_input(tables, changed, sentence):
    options = {"train": tables[0], "target": "cancelled"} | changed
    with pytest.raises(HeadcountError, match=sentence):
        hc.what_changed(tables[1], **options)


def test_a_missing_column(tables):
    with pytest.raises(HeadcountError, match="lacks the column 'price'"):
        hc.what_changed(tables[1].drop("price"), train=tables[0], target="cancelled")
