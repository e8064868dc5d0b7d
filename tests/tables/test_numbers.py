from __future__ import annotations

import polars as pl
import pytest

from headcount.tables.columns import read_numbers


@pytest.mark.parametrize(
    ("written", "form", "number"),
    [
        ("1 234", ".", 1234.0),
        ("3 000 000,5", ",", 3000000.5),
        ("1'234.50", ".", 1234.5),
        ("$ 29.85", ".", 29.85),
        ("(1,234)", ".", -1234.0),
        ("5 %", ",", 5.0),
        # Digits apart that are no thousands: dates, telephone numbers, several numbers.
        ("02 2, 2014", ",", None),
        ("02 2, 2014", ".", None),
        ("12 34", ".", None),
        ("1 2345", ".", None),
        ("555 0199", ".", None),
        (None, ".", None),
    ],
)
def test_numbers_as_people_write_them(written, form, number):
    assert read_numbers(pl.Series([written], dtype=pl.String), form).to_list() == [number]
