from __future__ import annotations

import numpy as np
import pytest

from headcount_studies.comparison.training_pool import count_near


@pytest.mark.parametrize("k", [1, 3, 8])
def test_counts_the_classes_of_the_first_members(version, k):
    rng = np.random.default_rng(k)
    near = np.array([rng.permutation(20) for _ in range(6)], np.int32)
    member = rng.integers(0, 3, 20).astype(np.uint8)
    out = np.full((6, 2), 77, np.int16)
    version(count_near)(near, member, k, 1, 6, out)
    assert (out[0] == 77).all()
    for row, found in zip(near[1:], out[1:], strict=True):
        classes = [int(member[i]) - 1 for i in row if member[i]][:k]
        assert found.tolist() == [classes.count(0), classes.count(1)]


def test_says_so_where_a_list_has_too_few(version):
    near, member = np.array([[0, 1], [2, 1]], np.int32), np.array([1, 0, 2], np.uint8)
    out = np.zeros((2, 2), np.int16)
    version(count_near)(near, member, 2, 0, 2, out)
    assert out[:, 0].tolist() == [-1, -1]
