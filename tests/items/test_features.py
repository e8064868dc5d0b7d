from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from headcount.errors import HeadcountError
from headcount.items.arrays import check_features, count_rows, take_rows

TABLE = np.arange(12.0).reshape(4, 3)
TEXTS = ["one", "two", "three", "four"]

KINDS = {
    "array": TABLE,
    "fortran": np.asfortranarray(TABLE),
    "float32": TABLE.astype(np.float32),
    "list": TABLE.tolist(),
    "csr_matrix": sparse.csr_matrix(TABLE),
    "csc_array": sparse.csc_array(TABLE),
    "coo_array": sparse.coo_array(TABLE),
    "pandas": pd.DataFrame(TABLE, columns=["a", "b", "c"], index=[9, 9, 3, 1]),
    "polars": pl.DataFrame(TABLE, schema=["a", "b", "c"]),
}


def dense(X):
    if sparse.issparse(X):
        return X.toarray()
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)


@pytest.fixture(params=KINDS)
def table(request):
    return KINDS[request.param]


def test_rows_are_counted(table):
    assert count_rows(table) == 4


def test_rows_are_taken_in_order_and_repeatedly(table):
    taken = take_rows(table, np.array([2, 0, 2], dtype=np.int32))
    np.testing.assert_array_equal(dense(taken), TABLE[[2, 0, 2]])
    if not sparse.issparse(table):
        assert type(taken) is type(table)


def test_no_rows_can_be_taken(table):
    assert count_rows(take_rows(table, [])) == 0


def test_columns_and_index_survive_taking():
    taken = take_rows(KINDS["pandas"], [3, 1])
    assert taken.columns.tolist() == ["a", "b", "c"]
    assert taken.index.tolist() == [1, 9]


@pytest.mark.parametrize("wrong", [[4], [-1], [0, 1, 7]])
def test_rows_out_of_range_are_refused(table, wrong):
    with pytest.raises(HeadcountError, match="there are 4 rows"):
        take_rows(table, wrong)


@pytest.mark.parametrize("wrong", [[True, False, True, False], [0.0, 1.0], [[0], [1]]])
def test_indices_must_be_a_list_of_row_numbers(table, wrong):
    with pytest.raises(HeadcountError, match="flatnonzero"):
        take_rows(table, wrong)


def test_good_features_pass_with_their_values(table):
    np.testing.assert_array_equal(dense(check_features(table)), TABLE)


@pytest.mark.parametrize(
    "kind", ["array", "fortran", "float32", "csr_matrix", "pandas", "polars"]
)
def test_what_has_the_right_form_is_not_copied(kind):
    assert check_features(KINDS[kind]) is KINDS[kind]


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array"])
def test_sparse_becomes_csr(kind):
    assert check_features(KINDS[kind]).format == "csr"


def test_objects_that_are_numbers_become_floats():
    assert check_features(TABLE.astype(object)).dtype == np.float64


@pytest.mark.parametrize(
    "X", [[["red", 1.5], ["blue", 2.0]], np.array([["red", 1.5], ["blue", 2.0]], dtype=object)]
)
def test_mixed_rows_stay_objects(X):
    checked = check_features(X)
    assert checked.dtype == object
    assert checked[0].tolist() == ["red", 1.5]


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS, dtype=np.dtypes.StringDType()),
        pd.Series(TEXTS),
        pl.Series(TEXTS),
    ],
    ids=lambda texts: type(texts).__module__ + "." + type(texts).__name__,
)
def test_texts_become_an_array_of_strings(texts):
    checked = check_features(texts)
    assert checked.dtype == object
    assert checked.tolist() == TEXTS
    assert {type(text) for text in checked} == {str}
    assert list(take_rows(texts, [3, 0])) == ["four", "one"]


@pytest.mark.parametrize("texts", [["a", None], pd.Series(["a", None]), pl.Series(["a", None])])
def test_missing_texts_are_refused(texts):
    with pytest.raises(HeadcountError, match="texts, but at position 1"):
        check_features(texts)


def spoilt(kind, value):
    table = TABLE.copy()
    table[2, 0] = table[3, 0] = value
    if kind == "pandas":
        return pd.DataFrame(table, columns=["a", "b", "c"])
    if kind == "polars":
        return pl.DataFrame(table, schema=["a", "b", "c"])
    return sparse.csc_array(table) if kind == "csc_array" else table


@pytest.mark.parametrize("kind", ["array", "csc_array", "pandas", "polars"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_numbers_are_counted_and_placed(kind, value):
    column = "'a'" if kind in ("pandas", "polars") else "0"
    message = f"inputs has 2 missing or infinite .* row 2, column {column}"
    with pytest.raises(HeadcountError, match=message):
        check_features(spoilt(kind, value), name="inputs")


@pytest.mark.parametrize("kind", ["array", "csc_array", "pandas", "polars"])
def test_nan_may_be_allowed_but_never_infinity(kind):
    assert np.isnan(dense(check_features(spoilt(kind, np.nan), allow_nan=True))).sum() == 2
    with pytest.raises(HeadcountError, match="2 missing or infinite"):
        check_features(spoilt(kind, np.inf), allow_nan=True)


def test_infinities_that_cancel_are_found():
    with pytest.raises(HeadcountError, match=r"2 missing or infinite .* row 0, column 0"):
        check_features(np.array([[np.inf, -np.inf]]))


def test_large_finite_numbers_pass_though_their_sum_overflows():
    for dtype in (np.float16, np.float32, np.float64):
        big = np.full((3, 2), np.finfo(dtype).max)
        assert check_features(big) is big


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"a": [1, None]}),
        [[1], [None]],
    ],
)
def test_missing_integers_are_found(X):
    with pytest.raises(HeadcountError, match=r"1 missing or infinite .* row 1"):
        check_features(X)


def test_columns_that_are_not_numbers_pass():
    X = pl.DataFrame({"colour": ["red", None], "size": [1, 2], "new": [True, None]})
    assert check_features(X) is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((0, 3)), "no rows"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (sparse.csr_array((0, 3)), "no rows"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pl.DataFrame({"a": []}), "no rows"),
        ([], "no rows"),
        (np.zeros(3), r"reshape\(-1, 1\)"),
        ([1, 2], r"reshape\(-1, 1\)"),
        (pl.Series([1, 2]), r"reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (1.5, "0 dimensions"),
        ([[1, 2], [3]], "different lengths"),
        (np.zeros((2, 2), dtype=complex), "complex128"),
        (np.zeros((2, 2), dtype="datetime64[D]"), "datetime64"),
        (sparse.coo_array(np.ones(3)), "1-D sparse"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "same name"),
        (pl.LazyFrame({"a": [1]}), "collect it first"),
        ([{"a": 1}], "must have texts"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_features_is_refused(X, message):
    with pytest.raises(HeadcountError, match=message):
        check_features(X)
