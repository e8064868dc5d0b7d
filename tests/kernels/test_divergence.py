from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracle import matching as oracle

from headcount._kernels.divergence import (
    HELLINGER,
    LIKELIHOOD,
    PROBSYMM,
    TOPSOE,
    curvatures,
    slopes,
    total,
)

kinds = pytest.mark.parametrize(
    ("kind", "by_hand"),
    [
        (LIKELIHOOD, oracle.likelihood),
        (HELLINGER, oracle.hellinger),
        (TOPSOE, oracle.topsoe),
        (PROBSYMM, oracle.probsymm),
    ],
)
SEEN = np.array([0.1, 0.5, 0.0, 0.2, 0.2])
MIXED = np.array([0.3, 0.1, 0.1, 0.2, 0.3])


@kinds
def test_total(version, kind, by_hand):
    assert_allclose(version(total)(kind, SEEN, MIXED), by_hand(SEEN, MIXED), rtol=1e-14)


@kinds
def test_total_where_a_bin_is_empty(kind, by_hand):
    empty = np.array([0.0, 0.0, 0.6, 0.1, 0.3])
    if kind != LIKELIHOOD:
        assert_allclose(total(kind, SEEN, empty), by_hand(SEEN, empty), rtol=1e-14)
        assert total(kind, np.zeros(5), np.zeros(5)) == pytest.approx(0, abs=1e-80)
    assert np.isfinite(total(kind, SEEN, np.zeros(5)))


@kinds
def test_slopes_are_those_of_the_total(version, kind, by_hand):
    found = np.empty(5)
    version(slopes)(kind, SEEN, MIXED, found)
    step = 1e-6
    for b in range(5):
        apart = step * np.eye(5)[b]
        rise = by_hand(SEEN, MIXED + apart) - by_hand(SEEN, MIXED - apart)
        assert_allclose(found[b], rise / (2 * step), rtol=1e-7, atol=1e-8)


@kinds
def test_curvatures_are_those_of_the_slopes(version, kind, by_hand):
    found, above, below = np.empty(5), np.empty(5), np.empty(5)
    version(curvatures)(kind, SEEN, MIXED, found)
    step = 1e-6
    slopes(kind, SEEN, MIXED + step, above)
    slopes(kind, SEEN, MIXED - step, below)
    assert_allclose(found, (above - below) / (2 * step), rtol=1e-7, atol=1e-8)


@kinds
@pytest.mark.parametrize("q", [0.0, 1e-12, 0.3])
def test_derivatives_are_finite_where_nothing_is_mixed(kind, by_hand, q):
    first, second = np.empty(1), np.empty(1)
    slopes(kind, np.array([q]), np.zeros(1), first)
    curvatures(kind, np.array([q]), np.zeros(1), second)
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    assert second[0] >= 0
