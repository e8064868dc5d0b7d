"""Moved copies of labelled scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from headcount.estimates.conditioning import smooth
from headcount.parts.training import Training
from tests.estimates.conftest import scores_of


def centred_logs(scores):
    logs = np.log(scores)
    return logs - logs.mean(axis=1, keepdims=True)


def labelled(n_classes, n=600, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    return scores_of(codes, n_classes, rng, strength=1.0), codes


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_copies_nearly_keep_the_mean_and_the_variance_of_each_class(n_classes):
    scores, codes = labelled(n_classes)
    smoothed = smooth(Training(scores, codes, n_classes), 0)
    assert smoothed.items.shape == (8 * 600, n_classes)
    np.testing.assert_array_equal(smoothed.codes, np.tile(codes, 8))
    np.testing.assert_allclose(smoothed.items.sum(axis=1), 1)
    assert (smoothed.items > 0).all()
    before, after = centred_logs(scores), centred_logs(smoothed.items)
    for j in range(n_classes):
        old, new = before[codes == j], after[smoothed.codes == j]
        assert (np.abs(new.mean(axis=0) - old.mean(axis=0)) < 0.1 * old.std(axis=0)).all()
        ratio = new.var(axis=0) / old.var(axis=0)
        assert (ratio > 0.75).all()
        assert (ratio < 1.15).all()
    assert len(np.unique(smoothed.items[:, 0])) > 0.8 * 8 * 600


@pytest.mark.parametrize("n_classes", [2, 5, 12])
def test_classes_overlap_no_more_than_they_did(n_classes):
    """With many classes similar items are far apart, so that added noise would mix classes."""
    scores, codes = labelled(n_classes, 1200)
    smoothed = smooth(Training(scores, codes, n_classes), 0)
    before = scores[np.arange(1200), codes].mean()
    after = smoothed.items[np.arange(len(smoothed.codes)), smoothed.codes].mean()
    assert abs(after / before - 1) < 0.015


def test_rounding_does_not_change_which_items_are_similar():
    rng = np.random.default_rng(0)
    # Many equal distances.
    odds = np.exp(0.1 * rng.integers(-20, 20, 400))
    scores = np.column_stack([odds, np.ones(400)]) / (1 + odds)[:, None]
    rounded = scores * (1 + 1e-12 * rng.normal(size=(400, 2)))
    codes = rng.integers(2, size=400)
    one, two = (smooth(Training(items, codes, 2), 0).items for items in (scores, rounded))
    # All but those whose neighbours farthest away are as far as others; 65% if in the order
    # of the distances.
    assert np.isclose(one, two, atol=1e-6).all(axis=1).mean() > 0.75


def test_items_move_less_where_there_are_many():
    rng = np.random.default_rng(0)
    logits = np.concatenate([rng.normal(0, 0.05, 200), rng.normal(4, 1, 20)])
    scores = 1 / (1 + np.exp(np.column_stack([-logits, logits])))
    smoothed = smooth(Training(scores, np.zeros(220, int), 1), 0)
    moved = np.abs(centred_logs(smoothed.items) - np.tile(centred_logs(scores), (8, 1)))
    by_item = moved.reshape(8, 220, 2).mean(axis=(0, 2))
    assert by_item[:200].mean() < 0.1 * by_item[200:].mean()


@pytest.mark.parametrize("n_classes", [2, 6])
def test_copies_are_combinations_of_an_item_with_two_neighbours(n_classes):
    scores, codes = labelled(n_classes, 120)
    smoothed = smooth(Training(scores, codes, n_classes), 0)
    logs, moved = centred_logs(scores), centred_logs(smoothed.items).reshape(8, 120, n_classes)
    freedom = []
    for item in range(120):
        rows = np.flatnonzero(codes == codes[item])
        distances = np.linalg.norm(logs[rows] - logs[item], axis=1)
        near = logs[rows[np.argsort(distances)[: int(np.ceil(np.sqrt(len(rows))))]]]
        first, second = (each.reshape(-1, n_classes) for each in pairs_of(near))
        free = logs[item] + (first - second) / np.sqrt(2)
        bound = (2 * logs[item] + 2 * first - second) / 3
        step = free - bound
        lengths = np.maximum((step**2).sum(axis=1), 1e-300)
        for drawn in moved[:, item]:
            part = ((drawn - bound) * step).sum(axis=1) / lengths
            away = np.abs(bound + part[:, None] * step - drawn).max(axis=1)
            fits = (away < 1e-9) & (part > -1e-9) & (part < 1 + 1e-9)
            assert fits.any()
            freedom.append(part[fits].max())
    # Few classes move freely, and many are bound.
    assert (np.median(freedom) > 0.9) == (n_classes == 2)


def pairs_of(rows):
    return np.broadcast_arrays(rows[:, None], rows[None])


def test_the_noise_shrinks_as_classes_grow():
    moved = []
    for n in (40, 1000):
        scores, codes = labelled(2, n)
        smoothed = smooth(Training(scores, codes, 2), 0)
        same = np.tile(centred_logs(scores), (len(smoothed.codes) // n, 1))
        moved.append(np.abs(centred_logs(smoothed.items) - same).mean())
    assert moved[1] < 0.7 * moved[0]


@pytest.mark.parametrize(
    ("n", "copies"), [(100, 8), (1250, 8), (3000, 3), (10_000, 2), (10_001, 1)]
)
def test_many_items_have_fewer_copies(n, copies):
    scores, codes = labelled(2, n)
    training = Training(scores, codes, 2)
    smoothed = smooth(training, 0)
    assert len(smoothed.codes) == copies * n
    assert (smoothed is training) == (copies == 1)


def test_classifiers_have_the_same_noise():
    scores, codes = labelled(3)
    # Another classifier that is half as sure, by which everything is half as far away.
    half = np.exp(centred_logs(scores) / 2)
    half /= half.sum(axis=1, keepdims=True)
    first, (second, third) = smooth(Training([scores, [half, scores]], codes, 3), 0).items
    np.testing.assert_allclose(centred_logs(first), 2 * centred_logs(second), atol=1e-6)
    np.testing.assert_array_equal(first, third)


def test_what_is_no_posterior_is_repeated():
    scores, codes = labelled(2, 50)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 4))
    thin, frame = sparse.csr_array(features), pd.DataFrame(features)
    items = [scores, [features, codes], thin, frame]
    kinds = [True, [False, False], False, False]
    moved, (same, labels), thin, frame = smooth(Training(items, codes, 2), 0, kinds).items
    assert (moved != np.tile(scores, (8, 1))).mean() > 0.8
    for table in (same, thin.toarray(), frame.to_numpy()):
        np.testing.assert_array_equal(table, np.tile(features, (8, 1)))
    np.testing.assert_array_equal(labels, np.tile(codes, 8))


def test_items_stay_as_they_are_without_posteriors():
    scores, codes = labelled(2, 50)
    training = Training([scores, codes], codes, 2)
    assert smooth(training, 0, [False, False]) is training


def test_items_without_weight_lend_no_noise():
    scores, codes = labelled(2, 80)
    weights = np.where(np.arange(80) % 2, 1.0, 0.0)
    spoilt = scores.copy()
    spoilt[weights == 0] = [1e-7, 1 - 1e-7]
    smoothed = smooth(Training(spoilt, codes, 2, weights), 0)
    np.testing.assert_array_equal(smoothed.weights, np.tile(weights, 8))
    heavy = smoothed.weights > 0
    before = centred_logs(scores[weights > 0])
    after = centred_logs(smoothed.items[heavy])
    assert np.abs(after).max() < 3 * np.abs(before).max()
    for j in range(2):
        old, new = before[codes[weights > 0] == j], after[smoothed.codes[heavy] == j]
        np.testing.assert_allclose(new.mean(axis=0), old.mean(axis=0), atol=0.4)


def test_one_item_of_a_class_stays_where_it_is():
    scores = np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])
    smoothed = smooth(Training(scores, np.array([0, 1, 1]), 2), 0)
    np.testing.assert_allclose(smoothed.items[::3], np.tile(scores[0], (8, 1)))


def test_seeds_decide():
    scores, codes = labelled(2, 50)
    one, two, other = (smooth(Training(scores, codes, 2), seed).items for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
