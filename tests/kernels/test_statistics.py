from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import layout, means, shares_of_codes
from tests.oracle import statistics as oracle

from headcount._kernels.accumulation import count_codes, count_items, sum_rows

few = settings(max_examples=30)
samples_of_six = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=5
)
weights_of_six = st.none() | st.lists(
    st.sampled_from([0.25, 1.0, 1e-6, 7.0]), min_size=6, max_size=6
).map(np.array)


@few
@given(arrays=samples_of_six, weights=weights_of_six, seed=st.integers(0, 999))
def test_mean_rows(version, arrays, weights, seed):
    values = np.random.default_rng(seed).normal(size=(6, 3))
    expected = [oracle.mean_row(values, array, weights) for array in arrays]
    found = means(values, arrays, weights, version(sum_rows))
    assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@few
@given(arrays=samples_of_six, weights=weights_of_six, seed=st.integers(0, 999))
def test_shares_of_codes(version, arrays, weights, seed):
    # Two channels that share code 2: an item can be in it twice.
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 3, 6), rng.integers(2, 5, 6)])
    expected = [oracle.code_shares(codes, 6, array, weights) for array in arrays]
    found = shares_of_codes(codes, 6, arrays, weights, version(count_codes))
    assert_allclose(found, expected, rtol=1e-13)
    assert_array_equal(found[:, 5], 0)


@few
@given(counts=st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_whole_weights_repeat_items(counts):
    values = np.arange(12.0).reshape(6, 2) ** 2
    (repeated,) = oracle.repeat_items(counts, values)
    weighted = means(values, [range(6)], np.array(counts, float))
    assert_allclose(weighted, means(repeated, [range(len(repeated))]), rtol=1e-14)


@pytest.mark.parametrize("kernel", [sum_rows, count_codes])
def test_leaves_samples_outside_its_range_alone(kernel):
    indices, offsets = layout([[0], [1], [2], [3]])
    items = np.eye(4) if kernel is sum_rows else np.arange(4, dtype=np.int32)[:, None]
    out = np.full((4, 4), 9.0)
    kernel(items, np.empty(0), indices, offsets, 1, 3, out)
    assert_array_equal(out[1:3], np.eye(4)[1:3])
    assert_array_equal(out[[0, 3]], 9.0)


def test_distinct_items_and_their_numbers(version):
    indices, offsets = layout([[4, 1, 4, 4, 0], [2], [1, 1, 0, 1, 3, 3]])
    items, counts, ends = np.empty(9, np.int32), np.empty(9), np.zeros(4, np.int64)
    version(count_items)(indices, offsets, np.zeros(5, np.int32), items, counts, ends)
    assert ends.tolist() == [0, 3, 4, 7]
    assert items[:7].tolist() == [0, 1, 4, 2, 0, 1, 3]
    assert counts[:7].tolist() == [1, 1, 3, 1, 1, 3, 2]
