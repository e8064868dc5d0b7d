from __future__ import annotations

import polars as pl
import pytest

from headcount.data.writers import write_table
from headcount.errors import HeadcountError

TRICKS = ["=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(A1)", "../../etc/passwd", "\x1b[31mred"]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_no_cell_is_a_formula(tmp_path, ending):
    frame = pl.DataFrame({"=head": TRICKS, "n": [-1.5] * len(TRICKS)})
    write_table(frame, tmp_path / f"o{ending}")
    text = (tmp_path / f"o{ending}").read_text()
    sign = "," if ending == ".csv" else "\t"
    cells = [line.split(sign)[0].lstrip('"') for line in text.splitlines()]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert f"{sign}-1.5" in text


@pytest.mark.parametrize(
    ("ending", "read"),
    [
        ("csv", pl.read_csv),
        ("parquet", pl.read_parquet),
        ("feather", pl.read_ipc),
        ("arrow", pl.read_ipc),
        ("jsonl", pl.read_ndjson),
    ],
)
def test_what_is_written_can_be_read(tmp_path, ending, read):
    frame = pl.DataFrame({"class": ["a", "b"], "share": [0.25, None]})
    write_table(frame, str(tmp_path / f"o.{ending}"))
    assert read(tmp_path / f"o.{ending}").equals(frame)


def test_other_endings_and_places_are_refused(tmp_path):
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(HeadcountError, match=r"must end in \.csv or"):
        write_table(frame, tmp_path / "o.xlsx")
    with pytest.raises(HeadcountError, match="no folder"):
        write_table(frame, tmp_path / "none" / "o.csv")
