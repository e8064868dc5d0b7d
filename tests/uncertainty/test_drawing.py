from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.drawing import below, words

from headcount._kernels.drawing import draw_again
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.drawing import ClassDraws, drawn_again, rounded, training_weights

CODES = np.array([0, 1, 1, 2, 2, 2, 0, 2])


@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_rounded_counts_are_next_to_their_due_and_sum_to_the_size(size, K, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(K), 20)
    shares[0] = np.eye(K)[0]
    counts = rounded(shares, np.full(20, size), rng)
    assert (counts.sum(axis=1) == size).all()
    assert (np.abs(counts - size * shares) < 1 + 1e-9).all()
    assert counts[0].tolist() == [size] + [0] * (K - 1)


def test_rounded_counts_are_right_on_average():
    shares = np.tile([0.13, 0.37, 0.5], (20_000, 1))
    counts = rounded(shares, np.full(20_000, 7), np.random.default_rng(0))
    assert np.allclose(counts.mean(axis=0), 7 * shares[0], atol=0.02)


def test_draws_keep_to_the_classes():
    draws = ClassDraws.of(Training(None, CODES, 3))
    shares = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    samples = draws.samples(shares, np.array([400, 800]), np.random.default_rng(0))
    assert np.allclose(samples.prevalence_of(CODES, 3), shares)
    # With replacement, every item of a class as often as another.
    often = np.bincount(samples[1], minlength=8)[CODES == 2]
    assert often.min() > 100


def test_the_compiled_drawing_is_the_slow_one():
    counts, edges = np.array([[3, 0, 4], [1, 5, 2]]), [0, 2, 4, 9]
    seeds = np.array([7, 2**63], np.uint64)
    items, offsets = np.arange(10, 19, dtype=np.int32), np.array([0, 7, 15])
    firsts, lasts = np.array([edges[:-1]] * 2), np.array([edges[1:]] * 2)
    drawn = np.zeros(15, np.int32)
    with np.errstate(over="ignore"):
        draw_again(0, 2, seeds, counts, firsts, lasts, items, offsets, drawn)
    slow = []
    for seed, row in zip(seeds, counts, strict=True):
        stream = words(int(seed))
        for count, (first, last) in zip(row, pairwise(edges), strict=True):
            slow += [10 + first + below(stream, last - first) for _ in range(count)]
    assert drawn.tolist() == slow


def test_weights_decide_how_often_an_item_is_drawn():
    weights = np.array([1.0, 1, 3, 0, 1, 1, 1, 2])
    draws = ClassDraws.of(Training(None, CODES, 3, weights))
    shares = np.array([[0.0, 0.5, 0.5]])
    (drawn,) = draws.samples(shares, np.array([8000]), np.random.default_rng(0))
    often = np.bincount(drawn, minlength=8)
    assert often[[0, 3, 6]].tolist() == [0, 0, 0]
    assert often[[1, 2, 4, 5, 7]] / 1000 == pytest.approx([1, 3, 1, 1, 2], rel=0.1)


def test_draws_by_membership_follow_the_probabilities():
    memberships = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    draws = ClassDraws.by_membership(memberships)
    both = draws.samples(np.eye(2), np.array([3000, 3000]), np.random.default_rng(0))
    often = np.stack([np.bincount(rows, minlength=3) for rows in both]) / 1000
    assert often == pytest.approx(np.array([[2, 1, 0], [0, 1, 2]]), abs=0.1)


def test_samples_are_drawn_again_from_their_own_items():
    samples = Samples.from_arrays([[5, 6, 7], [1, 1, 2, 3]], n_pool=9)
    again = drawn_again(samples, 50, np.random.default_rng(0))
    assert len(again) == 100
    assert set(again[:50].indices) == {5, 6, 7}
    assert set(again[50:].indices) == {1, 2, 3}
    assert again.sizes.tolist() == [3] * 50 + [4] * 50
    # The item that is there twice is drawn twice as often.
    often = np.bincount(again[50:].indices)
    assert often[1] > 1.5 * often[2]


@pytest.mark.parametrize("weights", [None, np.array([1.0, 1, 3, 0, 1, 1, 1, 2])])
def test_training_sets_keep_the_weight_of_each_class(weights):
    training = Training(None, CODES, 3, weights)
    drawn = training_weights(training, 30, np.random.default_rng(0))
    given = np.ones(8) if weights is None else weights
    assert np.allclose(drawn @ np.eye(3)[CODES], np.bincount(CODES, given))
    assert len({row.tobytes() for row in drawn}) > 5


def test_means_of_training_sets_vary_as_means_of_new_ones_would():
    codes = np.zeros(10, np.int64)
    values = np.arange(10.0)
    drawn = training_weights(Training(None, codes, 1), 40_000, np.random.default_rng(0))
    means = drawn @ values / drawn.sum(axis=1)
    assert means.var() == pytest.approx(values.var(ddof=1) / 10, rel=0.03)


def test_classes_can_be_drawn_together_but_none_is_lost():
    drawn = training_weights(
        Training(None, CODES, 3), 200, np.random.default_rng(0), by_class=False
    )
    mass = drawn @ np.eye(3)[CODES]
    assert (mass > 0).all()
    assert len(np.unique(mass.round(6), axis=0)) > 5
