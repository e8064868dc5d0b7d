from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracle.structural_svm import largest_violation, table_loss, violation

from headcount._kernels.structural_svm import worst_counts_for_q
from headcount.learn.multivariate_svc import LOSSES, labelling_finder


@st.composite
def problems(draw):
    """Up to 9 items of both classes, with scores among which there are ties."""
    truth = draw(
        st.lists(st.booleans(), min_size=2, max_size=9).filter(lambda t: 0 < sum(t) < len(t))
    )
    scores = st.one_of(st.integers(-3, 3), st.floats(-20, 20))
    return np.array(truth), np.array([float(draw(scores)) for _ in truth])


@pytest.mark.parametrize("loss", LOSSES)
@given(problem=problems())
@settings(max_examples=40)
def test_no_labelling_is_violated_more(loss, problem):
    positive, scores = problem
    said, value = labelling_finder(loss, positive)(scores)
    assert_allclose(value, table_loss(loss, positive, said), atol=1e-9)
    expected = largest_violation(loss, positive, scores)
    assert_allclose(violation(loss, positive, said, scores), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_was_asked_before_does_not_change_the_value(loss):
    rng = np.random.default_rng(0)
    positive = rng.random(9) < 0.4
    find = labelling_finder(loss, positive)
    for _ in range(20):
        scores = rng.normal(size=9) * 3
        said, _ = find(scores)
        expected = largest_violation(loss, positive, scores)
        assert_allclose(violation(loss, positive, said, scores), expected, rtol=1e-9)


def _every_pair_of_counts(of_positives, of_negatives, scale):
    P, N = len(of_positives) - 1, len(of_negatives) - 1
    a, b = np.arange(P + 1)[:, None], np.arange(N + 1)
    recall, balance = a / P, 1 - abs(P - a - b) / max(P, N)
    both = np.maximum(recall + balance, 1e-300)
    return 100 - 200 * recall * balance / both + scale * (of_positives[:, None] + of_negatives)


@pytest.mark.parametrize("kernel", [worst_counts_for_q, worst_counts_for_q.py_func])
@pytest.mark.parametrize(("P", "N"), [(60, 90), (90, 25), (1, 40), (40, 1)])
def test_q_over_many_items(P, N, kernel):
    rng = np.random.default_rng(P)
    for spread, apart in [(0.1, 0), (1, 1), (3, -1), (30, 5)]:
        sums = [
            np.append(0.0, np.cumsum(np.sort(rng.normal(centre, spread, size))[::-1]))
            for size, centre in [(P, apart), (N, 0)]
        ]
        values = _every_pair_of_counts(*sums, 100 / (P + N))
        a, b = kernel(*sums, 100 / (P + N), 0, 0)
        assert_allclose(values[a, b], values.max(), rtol=1e-12)
