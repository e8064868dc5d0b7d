from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import labelled_in_turn
from tests.oracle import sequential_labels as oracle

from headcount._kernels.score_order import label_in_turn

few = settings(max_examples=40)


@few
@given(data=st.data(), K=st.sampled_from([2, 3, 5]), soft=st.booleans())
def test_labels_one_after_the_other(version, data, K, soft):
    # All of them powers of two or few sixteenths: there are ties, and nothing is rounded.
    cuts = st.lists(st.integers(0, 16), min_size=K - 1, max_size=K - 1).map(sorted)
    rows = data.draw(st.lists(cuts, min_size=5, max_size=25))
    posteriors = np.array([np.diff([0, *cut, 16]) for cut in rows]) / 16
    halves = [0.5**k for k in range(1, K)]
    prior = np.array(data.draw(st.permutations([*halves, halves[-1]])))
    rule = data.draw(
        st.one_of(
            st.sampled_from([0.3, 0.75, 1.0]).map(lambda t: {"threshold": t}),
            st.sampled_from([0.0, 0.25, 0.6, 1.0]).map(lambda share: {"share": share}),
        )
    )
    arrays = [[4, 4, 1], list(range(len(rows))), [2]]
    kernel = version(label_in_turn)
    shares = labelled_in_turn(posteriors, arrays, prior, soft=soft, **rule, kernel=kernel)
    for s, array in enumerate(arrays):
        expected = oracle.label_in_turn(posteriors[array], prior, soft=soft, **rule)
        assert_allclose(shares[s], expected, atol=1e-12)


def test_labels_of_others_count():
    # Alone the last item is the first class; the sure items have made the other frequent.
    posteriors = np.array([[0.1, 0.9], [0.05, 0.95], [0.08, 0.92], [0.6, 0.4]])
    arrays = [[3], [0, 1, 2, 3]]
    shares = labelled_in_turn(posteriors, arrays, np.array([0.5, 0.5]), threshold=0.9)
    assert shares.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("soft", [False, True])
def test_without_a_sure_item_it_starts_from_the_training_shares(soft):
    posteriors = np.array([[0.3, 0.7], [0.55, 0.45], [0.6, 0.4]])
    prior = np.array([0.2, 0.8])
    shares = labelled_in_turn(posteriors, [[0], [1], [2]], prior, threshold=1.0, soft=soft)
    assert shares.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
