from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels

LABELS = ["b", "a", "c", "a"]
CODES = [1, 0, 2, 0]


@pytest.mark.parametrize(
    "y",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        np.array(LABELS, dtype=np.dtypes.StringDType()),
        np.array(LABELS)[:, None],
        pd.Series(LABELS, index=[7, 7, 3, 1]),
        pd.Series(LABELS, dtype=object),
        pd.Series(LABELS, dtype="category"),
        pd.Categorical(LABELS, categories=["c", "b", "a", "unused"]),
        pd.Index(LABELS),
        pd.DataFrame({"y": LABELS}),
        pl.Series(LABELS),
        pl.Series(LABELS, dtype=pl.Categorical),
        pl.Series(LABELS, dtype=pl.Enum(["c", "b", "a", "unused"])),
        pl.DataFrame({"y": LABELS}),
    ],
    ids=lambda y: type(y).__module__ + "." + type(y).__name__,
)
def test_strings_from_anywhere_become_plain_and_sorted(y):
    classes, codes = encode_labels(y)
    assert classes.dtype.kind == "U"
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.dtype == np.int64
    assert codes.tolist() == CODES


@pytest.mark.parametrize(
    ("y", "expected", "kind"),
    [
        ([True, False], [False, True], "b"),
        ([np.True_, False], [False, True], "b"),
        (pd.Series([True, False], dtype="boolean"), [False, True], "b"),
        (np.array([1, -1], dtype=object), [-1, 1], "i"),
        (np.array([1, -1], dtype=np.int8), [-1, 1], "i"),
        (pd.Series([2, 1], dtype="Int64"), [1, 2], "i"),
        (pd.Series(pd.Categorical([2, 1])), [1, 2], "i"),
        ([2.0, 1.0], [1.0, 2.0], "f"),
        ([2, 1.0], [1.0, 2.0], "f"),
    ],
    ids=str,
)
def test_other_labels_keep_their_kind(y, expected, kind):
    classes, codes = encode_labels(y)
    assert classes.tolist() == expected
    assert classes.dtype.kind == kind
    assert codes.tolist() == [1, 0]


def test_dates_may_be_labels():
    days = [dt.date(2024, 2, 1), dt.date(2024, 1, 1)]
    assert encode_labels(days)[0].tolist() == days[::-1]
    assert encode_labels(pl.Series(days))[1].tolist() == [1, 0]


@settings(max_examples=50)
@given(
    st.one_of(
        st.lists(st.integers(-5, 5), min_size=1),
        st.lists(st.text(st.characters(exclude_characters="\0"), max_size=3), min_size=1),
        st.lists(st.booleans(), min_size=1),
        st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1),
    )
)
def test_decoding_gives_the_labels_back(y):
    classes, codes = encode_labels(y)
    assert classes[codes].tolist() == y
    assert classes.tolist() == sorted(set(y))


def test_given_classes_set_the_order_and_may_be_absent():
    classes, codes = encode_labels(["x", "z", "x"], classes=["z", "y", "x"])
    assert classes.tolist() == ["z", "y", "x"]
    assert codes.tolist() == [2, 0, 2]


def test_numbers_match_classes_of_another_numeric_type():
    assert encode_labels([1.0, 0.0], classes=[0, 1])[1].tolist() == [1, 0]


def test_unknown_labels_are_named_up_to_three():
    with pytest.raises(HeadcountError, match="'q', 'r', 's' and 1 more; the classes are 'a'"):
        encode_labels(["a", "t", "s", "r", "q"], classes=["a"])


@pytest.mark.parametrize("many", [2, 200])  # numpy compares long and short arrays differently
def test_a_number_is_not_the_text_of_it(many):
    numbers = list(range(many))
    texts = [str(number) for number in numbers]
    with pytest.raises(HeadcountError, match="not among the classes"):
        encode_labels(texts, classes=numbers)
    y, classes = numbers, texts
    with pytest.raises(HeadcountError, match="not among the classes"):
        encode_labels(y, classes=classes)


@pytest.mark.parametrize(
    "y",
    [
        ["a", None],
        ["a", float("nan")],
        [1.0, np.nan],
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
        np.array(["a", pd.NA], dtype=object),
        np.array(["a", np.nan], dtype=np.dtypes.StringDType(na_object=np.nan)),
        pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["a", None], dtype="category"),
        pl.Series(["a", None]),
        pl.Series([1, None]),
        pl.Series(["a", None], dtype=pl.Categorical),
    ],
    ids=str,
)
def test_missing_labels_are_counted_and_placed(y):
    with pytest.raises(HeadcountError, match=r"target misses 1 of 2 labels.*position 1"):
        encode_labels(y, name="target")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], "y is empty"),
        (pl.Series([], dtype=pl.String), "y is empty"),
        ("spam", "must be 1-D"),
        (3, "must be 1-D"),
        (np.zeros((3, 2)), "must be 1-D"),
        (pd.DataFrame({"a": [1], "b": [2]}), "must be 1-D"),
        ([[1], [1, 2]], "must be 1-D"),
        ([1, "a"], "mixes labels of types int, str"),
        (pl.LazyFrame({"y": [1]}), "collect it first"),
    ],
    ids=str,
)
def test_what_cannot_be_labels_is_refused(y, message):
    with pytest.raises(HeadcountError, match=message):
        encode_labels(y)


def test_repeated_classes_are_refused():
    with pytest.raises(HeadcountError, match="has a class twice"):
        encode_labels(["a"], classes=["a", "a"])
