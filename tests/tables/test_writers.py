from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from headcount.errors import HeadcountError
from headcount.tables.readers import open_table, write_table

TRICKS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "../../etc/passwd", "\x1b[31mred"]


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


def test_a_spreadsheet_holds_what_was_written(tmp_path):
    day = date(2024, 5, 31)
    frame = pl.DataFrame(
        {
            "text": [*TRICKS, " a <b> & 'c' ", "two\nlines", None],
            "n": [1.25e-17, -1.5, float("nan"), float("inf"), None, 0.1, 1e300, 2.0, 3.0],
            "whole": [2**53, *range(8)],
            "yes": [True, False, None] * 3,
            "day": [day] * 9,
            "empty": pl.Series([None] * 9, dtype=pl.String),
        }
    )
    write_table(frame, tmp_path / "o.xlsx")
    first = (tmp_path / "o.xlsx").read_bytes()
    write_table(frame, tmp_path / "o.xlsx")
    assert (tmp_path / "o.xlsx").read_bytes() == first
    found = open_table(tmp_path / "o.xlsx").read()
    assert found.columns == frame.columns
    texts = [None if text is None else text.replace("\x1b", "\ufffd") for text in frame["text"]]
    assert found["text"].to_list() == texts
    numbers = frame["n"].to_list()
    numbers[2:4] = [None, None]
    assert [None if n is None else float(n) for n in found["n"]] == numbers
    assert [int(n) for n in found["whole"]] == frame["whole"].to_list()
    assert found["yes"].to_list() == ["true", "false", None] * 3
    assert set(found["day"]) == {"2024-05-31"}
    assert found["empty"].null_count() == 9


def test_what_no_spreadsheet_holds_is_refused(tmp_path):
    with pytest.raises(HeadcountError, match=r"has 40,000 characters, .* write \.csv"):
        write_table(pl.DataFrame({"a": ["x" * 40_000]}), tmp_path / "o.xlsx")
    wide = pl.DataFrame({f"c{i}": [1] for i in range(16_385)})
    with pytest.raises(HeadcountError, match="too large for a spreadsheet"):
        write_table(wide, tmp_path / "o.xlsx")
    assert not list(tmp_path.iterdir())


def test_other_endings_and_places_are_refused(tmp_path):
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(HeadcountError, match=r"must end in \.csv or"):
        write_table(frame, tmp_path / "o.docx")
    with pytest.raises(HeadcountError, match="no folder"):
        write_table(frame, tmp_path / "none" / "o.csv")
