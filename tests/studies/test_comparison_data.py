from __future__ import annotations

import numpy as np
import pytest

from headcount_studies.comparison.study import Drawer, Trial, test_counts, training_counts

TRAINS = [[0.95, 0.05], [0.5, 0.5], [0.1, 0.9]]
TESTS = [[1.0, 0.0], [0.99, 0.01], [0.5, 0.5], [0.1, 0.9]]


@pytest.fixture
def drawer() -> Drawer:
    y = np.repeat([0, 1], [700, 300])[np.random.default_rng(0).permutation(1000)]
    return Drawer(y, TRAINS, TESTS, seed=5, name="made-up")


def all_trials():
    return [Trial(s, t, n) for s in (0.1, 0.5, 0.7) for t in range(3) for n in range(2)]


def test_sizes_of_the_papers_example():
    counts = np.array([700, 300])
    p = [0.6, 0.4]
    assert training_counts(counts, 0.8, p, [p]).tolist() == [360, 240]
    assert test_counts(counts, np.array([360, 240]), 0.8, p, p).tolist() == [90, 60]


def test_sizes_follow_the_formula_where_items_suffice():
    counts = np.array([10_000, 10_000])
    # n = floor(10,000 / (0.5 * 0.5 + 0.5 * 0.9)) = 14,285, and 20,000 for q = p: half their
    # mean is for training.
    tests = [[0.1, 0.9], [0.5, 0.5]]
    used = training_counts(counts, 0.5, [0.5, 0.5], tests)
    assert used.tolist() == [4285, 4285]
    # The formula wants half of 14,285 items, 6,428 of the second class: 5,715 are left.
    assert test_counts(counts, used, 0.5, [0.5, 0.5], tests[0]).tolist() == [635, 5715]
    assert test_counts(counts, used, 0.5, [0.5, 0.5], tests[1]).tolist() == [5000, 5000]


def test_training_sets_and_samples_share_no_items_and_have_their_shares(drawer):
    for trial in all_trials():
        rows, samples = drawer.draw(trial)
        assert len(np.unique(rows)) == len(rows)
        assert np.array_equal(np.bincount(drawer.y[rows]), drawer.training_counts(trial))
        p = np.bincount(drawer.y[rows]) / len(rows)
        assert np.allclose(p, TRAINS[trial.train], atol=2 / len(rows))
        for sample, shares, q in zip(samples, samples.prevalence, TESTS, strict=True):
            assert not np.intersect1d(sample, rows).size
            assert len(np.unique(sample)) == len(sample)
            found = np.bincount(drawer.y[sample], minlength=2) / len(sample)
            assert np.allclose(found, shares)
            assert np.allclose(found, q, atol=2 / len(sample))


def test_every_class_is_in_every_training_set():
    assert training_counts(np.array([50, 50]), 0.1, [0.99, 0.01], TESTS).min() == 1


def test_a_trial_is_always_the_same_and_differs_from_others(drawer):
    trial = Trial(0.5, 1, 0)
    rows, samples = drawer.draw(trial)
    again = Drawer(drawer.y, TRAINS, TESTS, seed=5, name="made-up").draw(trial)
    assert np.array_equal(rows, again[0])
    assert np.array_equal(samples.indices, again[1].indices)
    assert np.array_equal(rows, drawer.training(trial))
    other = Drawer(drawer.y, TRAINS, TESTS, seed=5, name="another").training(trial)
    for different in (drawer.training(Trial(0.5, 1, 1)), other):
        assert not np.array_equal(rows, different)


def test_a_training_set_does_not_depend_on_a_further_test_distribution_of_equal_size(drawer):
    twice = Drawer(drawer.y, TRAINS, [*TESTS, *TESTS], seed=5, name="made-up")
    trial = Trial(0.3, 2, 1)
    assert np.array_equal(twice.training(trial), drawer.training(trial))
