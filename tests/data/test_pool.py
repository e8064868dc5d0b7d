from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from headcount.data import Pool
from headcount.errors import HeadcountError

X = np.arange(8.0).reshape(4, 2)
Y = ["b", "a", "b", "c"]


def full_pool():
    days = pl.Series(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]).str.to_date()
    return Pool(X, pd.Series(Y, dtype="category"), groups=[3, 3, 5, 5], time=days)


def test_parts_are_plain_arrays_and_features_are_not_copied():
    pool = full_pool()
    assert pool.X is X
    assert pool.y.tolist() == Y
    assert pool.groups.tolist() == [3, 3, 5, 5]
    assert pool.time.dtype == "datetime64[D]"
    assert len(pool) == 4


def test_labels_are_encoded():
    pool = full_pool()
    assert pool.classes.tolist() == ["a", "b", "c"]
    assert pool.codes.tolist() == [1, 0, 1, 2]


def test_taking_takes_every_part_and_keeps_the_classes():
    taken = full_pool().take(np.array([2, 0, 2]))
    np.testing.assert_array_equal(taken.X, X[[2, 0, 2]])
    assert taken.y.tolist() == ["b", "b", "b"]
    assert taken.groups.tolist() == [5, 3, 5]
    assert taken.time.astype(str).tolist() == ["2024-01-03", "2024-01-01", "2024-01-03"]
    assert taken.classes.tolist() == ["a", "b", "c"]
    assert taken.codes.tolist() == [1, 1, 1]


def test_taking_leaves_the_pool_alone():
    pool = full_pool()
    pool.take([0])
    assert len(pool) == 4
    assert pool.codes.tolist() == [1, 0, 1, 2]


def test_taking_nothing_is_refused():
    with pytest.raises(HeadcountError, match="at least one item"):
        full_pool().take([])


def test_a_pool_cannot_be_changed_and_equals_only_itself():
    pool = full_pool()
    with pytest.raises(dataclasses.FrozenInstanceError):
        pool.y = None
    assert pool == pool
    assert pool != full_pool()


@pytest.mark.parametrize("part", ["y", "groups", "time"])
def test_lengths_must_agree(part):
    with pytest.raises(HeadcountError, match=f"{part} has 3 values, but X has 4 rows"):
        Pool(X, **{part: [1, 2, 3]})


def test_without_labels_there_are_no_classes():
    pool = Pool(X)
    with pytest.raises(HeadcountError, match="no labels"):
        _ = pool.classes
    with pytest.raises(HeadcountError, match="no labels"):
        _ = pool.codes
    assert len(pool.take([1])) == 1


def test_features_may_miss_numbers_but_not_be_infinite():
    assert len(Pool([[np.nan], [1.0]])) == 2
    with pytest.raises(HeadcountError, match="infinite"):
        Pool([[np.inf], [1.0]])


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (
            Pool(np.zeros((20000, 20)), np.arange(20000) % 2),
            "20,000 items, 20 features, 2 classes",
        ),
        (Pool(sparse.csr_array([[1.0]]), ["a"]), "1 item, 1 feature, 1 class"),
        (Pool(["a text", "b"], groups=[1, 2]), "2 texts, no labels, groups"),
        (Pool(pl.DataFrame({"a": [1]}), time=[1]), "1 item, 1 feature, no labels, time"),
    ],
)
def test_repr_is_short(pool, expected):
    assert repr(pool) == f"Pool({expected})"
