from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import sweep
from tests.oracle import thresholds as oracle

from headcount._kernels.score_order import _select, median_sweep

few = settings(max_examples=50)


@few
@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=20), data=st.data())
def test_selects_the_kth_smallest(version, values, data):
    k = data.draw(st.integers(0, len(values) - 1))
    scratch = np.array([*values, -99], float)  # what lies beyond must not count
    assert version(_select)(scratch, len(values), k) == sorted(values)[k]
    assert max(scratch[:k], default=-np.inf) <= scratch[k]
    assert sorted(scratch[:-1]) == sorted(values)


@few
@given(
    scores=st.lists(st.integers(0, 10), min_size=4, max_size=12),
    used=st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True).map(sorted),
    seed=st.integers(0, 999),
)
def test_median_over_thresholds(version, scores, used, seed):
    rng = np.random.default_rng(seed)
    thresholds = np.array([0.0, 0.2, 0.5, 0.7, 1.0])
    scores = np.array(scores) / 10
    true, false = rng.random(5), rng.random(5)
    codes = np.searchsorted(thresholds, scores, side="right")
    arrays = [[0, 1, 1], list(range(len(scores)))]
    used = np.array(used)
    rates = false[used], (true - false)[used]
    found = sweep(codes, arrays, used, *rates, 6, version(median_sweep))
    expected = [
        oracle.median_adjusted_count(scores[array], thresholds[used], true[used], false[used])
        for array in arrays
    ]
    assert_allclose(found, expected, rtol=1e-12)
