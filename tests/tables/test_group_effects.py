from __future__ import annotations

import numpy as np
import pytest

from headcount.estimates import groups as group_effects
from headcount.estimates.groups import GroupEffects


def problem(spread, sizes, seed=0):
    """Labels of groups whose log-odds differ from those of the posteriors, and the effects."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    logit = rng.normal(0, 1.5, len(groups))
    effects = rng.normal(0, spread, len(sizes))
    posteriors = np.column_stack([1 / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit))])
    codes = (rng.random(len(groups)) < 1 / (1 + np.exp(-logit - effects[groups]))).astype(int)
    return posteriors, codes, groups, effects


def by_integration(posteriors, codes, groups, n):
    """Chances of the standard deviations, and mean effects of the groups, on a grid."""
    logit = np.log(posteriors[:, 1] / posteriors[:, 0])
    grid = np.linspace(-12, 12, 4801)
    logs, means = [], []
    for spread in group_effects._EFFECT_SPREADS:
        # Two effects with this standard deviation have a difference with root 2 times it.
        prior = np.exp(-(grid**2) / (4 * spread**2))
        prior /= prior.sum()
        log, mean = 0.0, []
        for g in range(n):
            own = groups == g
            odds = logit[own, None] + grid
            signs = np.where(codes[own] == 1, 1, -1)[:, None]
            likelihood = np.exp(-np.logaddexp(0, -signs * odds).sum(axis=0))
            joint = prior * likelihood
            log += np.log(joint.sum())
            mean.append((grid * joint).sum() / joint.sum())
        logs.append(log)
        means.append(mean)
    prior = group_effects._EFFECT_SPREADS / (1 + (group_effects._EFFECT_SPREADS / 0.3) ** 2)
    chances = np.exp(np.array(logs) - max(logs)) * prior
    return chances / chances.sum(), np.array(means)


def test_effects_are_those_of_integration():
    posteriors, codes, groups, _ = problem(0.8, [40, 60, 5, 1, 80, 30])
    found = GroupEffects.of(posteriors, codes, groups, 6)
    chances, means = by_integration(posteriors, codes, groups, 6)
    assert np.abs(found.chances - chances).sum() < 0.05
    likely = chances > 0.02
    modes = (found.modes[:, likely, 1] - found.modes[:, likely, 0]).T
    # Modes differ from means where there are few labels and the effects are large.
    assert np.abs(modes - means[likely])[:, [0, 1, 4]].max() < 0.02
    assert np.abs(modes - means[likely]).max() < 0.3


def test_a_larger_spread_of_groups_is_found():
    spreads = []
    for spread in (0.0, 1.0, 3.0):
        posteriors, codes, groups, _ = problem(spread, [50] * 30)
        found = GroupEffects.of(posteriors, codes, groups, 30)
        spreads.append(float(found.chances @ group_effects._EFFECT_SPREADS))
    # Of each of two classes: their difference has root 2 times the standard deviation.
    assert spreads[0] < 0.2 < spreads[1] < 1.2 < spreads[2]
    assert spreads[1] == pytest.approx(1 / np.sqrt(2), rel=0.3)


@pytest.mark.parametrize("n_new", [3, 40, 1500])
@pytest.mark.parametrize("tilt", [1.0, 3.0])
def test_intervals_of_groups_contain_their_shares(n_new, tilt):
    inside = []
    for seed in range(6):
        posteriors, codes, groups, effects = problem(0.8, [3, 8, 20, 50] * 4, seed)
        found = GroupEffects.of(posteriors, codes, groups, 16)
        rng = np.random.default_rng(seed + 100)
        odds = np.array([[1.0, tilt]])
        for g in range(16):
            logit = rng.normal(0, 1.5, n_new)
            new = np.column_stack([1 / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit))])
            truth = rng.random(n_new) < 1 / (1 + np.exp(-logit - effects[g] - np.log(tilt)))
            draws = found.shares(new, odds, g, seed=0)
            assert draws.shape == (1000, 2)
            np.testing.assert_allclose(draws.sum(axis=1), 1)
            low, high = np.quantile(draws[:, 1], [0.025, 0.975])
            inside.append(low <= truth.mean() <= high)
    assert np.mean(inside) > 0.88


def test_many_items_have_the_shares_of_all_of_them(monkeypatch):
    posteriors, codes, groups, _ = problem(0.5, [40] * 5)
    found = GroupEffects.of(posteriors, codes, groups, 5)
    rng = np.random.default_rng(0)
    new = rng.dirichlet([0.5, 0.5], 3000)
    few = found.shares(new, np.ones((1, 2)), 2, seed=0)
    monkeypatch.setattr(group_effects, "_MOST_ITEMS", 3000)
    every = found.shares(new, np.ones((1, 2)), 2, seed=0)
    np.testing.assert_allclose(few.mean(axis=0), every.mean(axis=0), atol=3e-3)
    np.testing.assert_allclose(few.std(axis=0), every.std(axis=0), rtol=0.1)


def test_a_group_without_labels_is_as_uncertain_as_the_groups_differ():
    posteriors, codes, groups, _ = problem(2.0, [60] * 20)
    found = GroupEffects.of(posteriors, codes, groups, 20)
    new = np.full((200, 2), 0.5)
    unknown, known = (found.shares(new, np.ones((1, 2)), g, seed=0)[:, 1] for g in (-1, 0))
    assert unknown.mean() == pytest.approx(0.5, abs=0.05)
    assert unknown.std() > 2 * known.std()


def test_three_classes_and_classes_without_labels():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], [300, 40])
    codes = np.where(groups == 0, rng.integers(0, 3, 340), rng.integers(0, 2, 340))
    found = GroupEffects.of(np.full((340, 3), 1 / 3), codes, groups, 2)
    draws = found.shares(np.full((100, 3), 1 / 3), np.ones((1, 3)), 1, seed=0)
    assert draws[:, 2].mean() < 0.1
    assert np.quantile(draws[:, 2], 0.975) < 0.25
