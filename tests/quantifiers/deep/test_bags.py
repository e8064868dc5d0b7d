"""Bags have the shares that they are said to have."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.quantifiers.deep.model import Bags, KnownBags, LabelledBags, Mix, split_by_class
from headcount.samples.samples import Samples

RNG = np.random.default_rng
CODES = np.random.default_rng(0).integers(3, size=90)


def known(sizes=(10, 10, 10, 6)):
    offsets = np.cumsum([0, *sizes])
    samples = Samples(np.arange(offsets[-1]), offsets, n_pool=90)
    return Bags(samples, samples.prevalence_of(CODES, 3))


def test_bags_of_labelled_items():
    rows = np.arange(20, 70)
    bags = LabelledBags(rows, CODES[rows], 3, 90).draw(300, 40, RNG(0))
    assert set(bags.samples.indices) <= set(rows)
    assert (bags.samples.sizes == 40).all()
    np.testing.assert_allclose(bags.samples.prevalence_of(CODES, 3), bags.shares, atol=1e-12)
    # Uniform on the simplex, down to empty classes.
    np.testing.assert_allclose(bags.shares.mean(axis=0), 1 / 3, atol=0.05)
    assert (bags.shares == 0).any(axis=0).all()


def test_known_bags_as_they_are():
    bags = known((10, 10, 10))
    drawn = KnownBags(bags).draw(6, 10, RNG(0))
    own = {tuple(bag) for bag in bags.samples}
    assert [tuple(bag) in own for bag in drawn.samples] == [True] * 6
    # Each as often as the others.
    assert all(sum(tuple(bag) == each for bag in drawn.samples) == 2 for each in own)
    np.testing.assert_allclose(drawn.samples.prevalence_of(CODES, 3), drawn.shares, atol=1e-12)


def test_known_bags_of_other_sizes():
    bags = known()
    drawn = KnownBags(bags, CODES).draw(4, 15, RNG(0))
    assert (drawn.samples.sizes == 15).all()
    np.testing.assert_allclose(drawn.samples.prevalence_of(CODES, 3), drawn.shares, atol=1e-12)
    for bag in drawn.samples:
        counts = np.unique(bag, return_counts=True)[1]
        assert np.ptp(counts) <= 1
    smaller = KnownBags(bags).draw(4, 5, RNG(0))
    assert all(len(set(bag)) == 5 for bag in smaller.samples)


def test_mixtures_have_true_counts_where_labels_are_known():
    bags = known()
    drawn = KnownBags(bags, CODES, mixtures=True).draw(50, 10, RNG(0))
    np.testing.assert_allclose(drawn.samples.prevalence_of(CODES, 3), drawn.shares, atol=1e-12)


def test_mixtures_have_mean_shares_where_labels_are_not_known():
    bags = known()
    drawn = KnownBags(bags, mixtures=True).draw(2000, 10, RNG(0))
    off = drawn.samples.prevalence_of(CODES, 3) - drawn.shares
    assert np.abs(off).max() > 0.05
    np.testing.assert_allclose(off.mean(axis=0), 0, atol=0.01)


def test_a_mix_of_sources():
    labelled = LabelledBags(np.arange(60, 90), CODES[60:], 3, 90)
    bags = Mix([labelled, KnownBags(known((10, 10)))], [3, 1]).draw(40, 10, RNG(0))
    from_items = [min(bag) >= 60 for bag in bags.samples]
    assert sum(from_items) == 30
    assert not all(from_items[:30])
    np.testing.assert_allclose(bags.samples.prevalence_of(CODES, 3), bags.shares, atol=1e-12)


def test_equal_seeds_draw_equal_bags():
    source = Mix([LabelledBags(np.arange(90), CODES, 3, 90), KnownBags(known())], [1, 1])
    first, second = (source.draw(8, 12, RNG(5)) for _ in range(2))
    np.testing.assert_array_equal(first.samples.indices, second.samples.indices)
    np.testing.assert_array_equal(first.shares, second.shares)


@pytest.mark.parametrize("part", [0.01, 0.2, 0.99])
def test_a_split_has_every_class_in_both_parts(part):
    codes = np.array([0] * 50 + [1] * 2 + [2])
    kept, held = split_by_class(codes, 3, part, seed=0)
    assert set(codes[kept]) == set(codes[held]) == {0, 1, 2}
    # The only item of its class is in both.
    assert set(kept) & set(held) == {52}
    assert set(kept) | set(held) == set(range(53))
