from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import iterated
from tests.oracle import threshold_iteration as oracle

from headcount._kernels.score_order import iterate_threshold

few = settings(max_examples=40)


@few
@given(
    scores=st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=5, max_size=25),
    prior=st.sampled_from([0.05, 0.3, 0.5, 0.9]),
    max_iter=st.sampled_from([1, 3, 1000]),
)
def test_counts_and_moves_until_they_agree(version, scores, prior, max_iter):
    scores = np.array(scores)
    arrays = [[4, 4, 1], list(range(len(scores)))]
    rule = {"tol": 1e-6, "max_iter": max_iter}
    kernel = version(iterate_threshold)
    shares, steps, changes = iterated(scores, arrays, prior, **rule, kernel=kernel)
    for s, array in enumerate(arrays):
        share, taken = oracle.iterate_threshold(scores[array], prior, **rule)
        assert_allclose(shares[s], share, atol=1e-15)
        assert steps[s] == taken
        assert changes[s] <= 1e-6 or taken == max_iter


@pytest.mark.parametrize(("scores", "share"), [([0.1, 0.2, 0.3], 0.0), ([0.7, 0.8, 0.9], 1.0)])
def test_none_or_all_is_final(scores, share):
    shares, steps, changes = iterated(
        np.array(scores), [range(3)], 0.4, tol=1e-6, max_iter=1000
    )
    assert (shares[0], steps[0], changes[0]) == (share, 2, 0.0)


def test_a_score_at_the_threshold_is_negative():
    shares, _, _ = iterated(np.array([0.5, 0.6]), [range(2)], 0.5, tol=1e-6, max_iter=1)
    assert shares.tolist() == [0.5]
