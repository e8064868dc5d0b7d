from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from headcount.errors import HeadcountError
from headcount.items.arrays import check_scores, check_weights

TABLE = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]


@pytest.mark.parametrize(
    "make",
    [list, np.array, np.asfortranarray, pd.DataFrame, lambda t: pl.DataFrame(t, orient="row")],
)
def test_kinds_of_tables(make):
    checked = check_scores(make(TABLE), 3)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, TABLE)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series])
def test_vector_is_posterior_of_second_class(make):
    np.testing.assert_array_equal(
        check_scores(make([0.25, 1.0, 0.0]), 2), [[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]]
    )


def test_one_hot_integers_and_booleans_are_numbers():
    np.testing.assert_array_equal(check_scores(np.eye(3, dtype=int), 3), np.eye(3))
    np.testing.assert_array_equal(check_scores(np.eye(3, dtype=bool), 3), np.eye(3))


@pytest.mark.parametrize(
    ("scores", "n_classes", "message"),
    [
        ([["a", "b"]], 2, "not numeric"),
        ([[0.5, None]], 2, "not numeric"),
        ([[0.5 + 0j, 0.5]], 2, "not numeric"),
        (sparse.csr_matrix(np.eye(2)), 2, "not numeric"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), 2, "not numeric"),
        ([[0.5, 0.5], [1.0]], 2, "different lengths"),
        ([0.5, 0.5], 3, "has 1 dimensions, but must have 2"),
        (np.ones((1, 2, 1)), 2, "has 3 dimensions"),
        (0.5, 2, "has 0 dimensions"),
        ([[0.2, 0.3, 0.5]], 2, "has 3 columns, but there are 2 classes"),
        ([[0.5], [0.4]], 2, "has 1 columns, but there are 2 classes"),
        (np.empty((0, 2)), 2, "no rows"),
        ([], 2, "no rows"),
        ([[0.5, 0.5], [np.nan, 0.5], [0.5, np.inf]], 2, "in 2 of 3 rows, the first in row 1"),
        (pl.DataFrame({"a": [0.5, None], "b": [0.5, 1.0]}), 2, "first in row 1"),
        (pd.DataFrame({"a": [0.5, None], "b": [0.5, 1.0]}), 2, "first in row 1"),
        ([[-0.1, 1.1]], 2, "-0.1 to 1.1.*decision values are not probabilities"),
        ([-2.0, 0.5], 2, "decision values are not probabilities"),
        ([[0.5, 0.5], [0.5, 0.4]], 2, "1 of 2 rows.*first row 1 with a sum of 0.9"),
    ],
)
def test_bad_scores_are_refused(scores, n_classes, message):
    with pytest.raises(HeadcountError, match=f"^mine .*{message}"):
        check_scores(scores, n_classes, name="mine")


def test_tolerances():
    clipped = check_scores([[-5e-7, 1 + 5e-7]], 2)
    np.testing.assert_array_equal(clipped, [[0.0, 1.0]])
    np.testing.assert_allclose(check_scores([[0.5, 0.5009]], 2).sum(), 1.0, rtol=1e-15)
    with pytest.raises(HeadcountError, match="between 0"):
        check_scores([[-5e-6, 1.0]], 2)
    with pytest.raises(HeadcountError, match="sum to 1"):
        check_scores([[0.5, 0.502]], 2)


def test_input_is_not_changed():
    scores = np.array([[-1e-7, 1.0], [0.5, 0.5005]])
    before = scores.copy()
    check_scores(scores, 2)
    np.testing.assert_array_equal(scores, before)


def test_exact_rows_keep_their_bits_beside_others():
    exact = np.array([0.1, 0.2, 0.7])
    checked = check_scores([exact, [0.5, 0.5, 0.0005]], 3)
    np.testing.assert_array_equal(checked[0], exact)
    np.testing.assert_allclose(checked[1].sum(), 1.0, rtol=1e-15)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 40))
def test_checking_twice_changes_nothing(seed, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(n_classes, 0.3), 50).astype(np.float32)
    once = check_scores(scores, n_classes)
    np.testing.assert_allclose(once.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(check_scores(once, n_classes), once)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"shape \(2,\), but there are 3 items"),
        ([[1.0], [1.0], [1.0]], r"shape \(3, 1\)"),
        ([1.0, -1.0, 1.0], "value -1.0 at position 1"),
        ([1.0, 1.0, np.nan], "value nan at position 2"),
        ([0.0, 0.0, 0.0], "all zero"),
        (["a", "b", "c"], "not numeric"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(HeadcountError, match=message):
        check_weights(weights, 3)


def test_no_weights_are_ones():
    np.testing.assert_array_equal(check_weights(None, 3), np.ones(3))
