"""Identities of rows."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

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
