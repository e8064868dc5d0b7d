from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.calls import absolute
from tests.oracle import absolute_deviations as oracle

from headcount._kernels.matching import match_two_absolute

few = settings(max_examples=60)
# Counts out of ten: ties, flat stretches and bins that match everywhere are common.
counts = st.integers(1, 6).flatmap(
    lambda bins: st.lists(
        st.lists(st.integers(0, 10), min_size=bins, max_size=bins), min_size=3, max_size=3
    )
)


@few
@given(counts)
def test_gives_the_middle_of_the_best_shares(version, rows):
    low, high, q = np.array(rows) / 10
    profiles = np.array([low, high])
    shares, values = absolute(profiles, q[None], version(match_two_absolute))
    least, greatest = oracle.best_shares(profiles, q)
    assert_allclose(shares[0, 1], (least + greatest) / 2, atol=1e-9)
    assert_allclose(values[0], oracle.value(profiles, q, shares[0, 1]), atol=1e-12)
    assert values[0] <= oracle.value(profiles, q, least) + 1e-12
    assert shares.min() >= 0
    assert abs(shares.sum() - 1) <= 1e-15


def test_flat_stretch_gives_its_middle():
    # Two bins pull with the same force towards 0.2 and 0.6: all between is as good.
    profiles = np.array([[0.0, 0.0], [1.0, 1.0]])
    shares, values = absolute(profiles, np.array([[0.2, 0.6]]))
    assert_allclose(shares, [[0.6, 0.4]], atol=1e-15)
    assert_allclose(values, [0.4], atol=1e-15)


def test_flat_stretch_is_cut_at_the_ends():
    profiles = np.array([[0.0, 0.0], [1.0, 1.0]])
    shares, _ = absolute(profiles, np.array([[0.2, 3.0], [-3.0, 0.2], [-1.0, 2.0]]))
    assert_allclose(shares[:, 1], [0.6, 0.1, 0.5], atol=1e-15)


def test_classes_that_look_alike_share_evenly():
    profiles = np.array([[0.3, 0.7], [0.3, 0.7]])
    shares, _ = absolute(profiles, np.array([[0.9, 0.1]]))
    assert_array_equal(shares, [[0.5, 0.5]])
