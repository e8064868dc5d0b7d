from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.kernels.calls import mean_distances
from tests.oracle import distances as oracle

from headcount._kernels.distances import add_mean_distances

few = settings(max_examples=40)
# A coarse grid, so that points and centres often coincide.
places = st.integers(-4, 12).map(lambda k: k / 8)


@few
@given(
    points=st.lists(places, min_size=1, max_size=6),
    centres=st.lists(places, min_size=3, max_size=8),
    seed=st.integers(0, 999),
)
def test_mean_distances_to_classes(version, points, centres, seed):
    rng = np.random.default_rng(seed)
    points, centres = np.array(points), np.array(centres)
    codes = np.append([0, 1, 2], rng.integers(0, 3, len(centres) - 3))
    weights = rng.random(len(centres)) + 0.1
    for j in range(3):
        weights[codes == j] /= weights[codes == j].sum()
    kernel = version(add_mean_distances)
    found = mean_distances(points, centres, codes, weights, 3, kernel)
    expected = oracle.mean_distances(points[:, None], centres[:, None], codes, weights, 3)
    assert_allclose(found, expected, atol=1e-14)


def test_adds_to_what_is_there():
    out = np.full((1, 1), 10.0)
    ones = np.ones(1)
    add_mean_distances(np.array([3.0]), np.array([0]), ones, np.array([0]), ones, out)
    assert out.tolist() == [[12.0]]
