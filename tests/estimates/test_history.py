from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

import headcount as hc
from headcount.estimates import history
from headcount.estimates.assumption import FAR, FitTest
from headcount.estimates.history import (
    COUNTS,
    LAST,
    PAST,
    POSTERIORS,
    PRIOR_SHIFT,
    Drift,
    History,
    Readings,
    ScoreMeans,
    read_samples,
    remaining_uncertainty,
)

NAMES = (PAST, LAST, POSTERIORS, COUNTS, PRIOR_SHIFT)


def readings_of(truth, errors, seed=0, noise=0.02):
    """Readings of groups, each off by normal errors in log odds."""
    rng = np.random.default_rng(seed)
    log_odds = np.log(truth / (1 - truth))
    shares = []
    for error in errors:
        moved = log_odds[:, 1] + rng.normal(0, error, len(truth))
        positive = 1 / (1 + np.exp(-moved))
        shares.append(np.column_stack([1 - positive, positive]))
    stacked = np.stack(shares)
    return Readings(
        NAMES[-len(errors) :], stacked, np.full(stacked.shape, noise), np.ones(len(truth))
    )


def two_classes(n, seed=0):
    positive = np.random.default_rng(seed).uniform(0.2, 0.8, n)
    return np.column_stack([1 - positive, positive])


def slow_posterior(readings, truth):
    """Chances of readings and of drifts by class, by plain sums over the grid."""
    M, G, K = readings.shares.shape
    drifts = history._DRIFTS
    evidence = np.ones(G)
    if LAST in readings.names:
        evidence = np.array([history._RECENCY ** (g / (G - 1)) for g in range(G)])
    evidence *= G / evidence.sum()
    log_weights, by_reading = [], []
    for m in range(M):
        of_common = []
        conditional = np.zeros((len(drifts), K, len(drifts)))
        for o, common in enumerate(drifts):
            near = np.exp(-0.5 * (np.log(drifts / common) / history._BETWEEN_CLASSES) ** 2)
            near /= near.sum()
            total = 0.0
            for k in range(K):
                density = np.zeros(len(drifts))
                for t, drift in enumerate(drifts):
                    share = np.clip(
                        readings.shares[m, :, k], history._LEAST_SHARE, 1 - history._LEAST_SHARE
                    )
                    spread = np.sqrt(
                        (drift * share * (1 - share)) ** 2 * readings.growth
                        + readings.errors[m, :, k] ** 2
                    )
                    off = truth[:, k] - readings.shares[m, :, k]
                    usual = (1 - history._ODD) * stats.norm.pdf(off, 0, spread)
                    density[t] = np.prod((usual + history._ODD / 2) ** evidence)
                joint = near * density
                conditional[o, k] = joint / joint.sum()
                total += np.log(joint.sum()) * (K - 1) / K
            prior = -0.5 * (np.log(common / history._MEDIAN) / history._SPREAD) ** 2
            of_common.append(total + prior)
        of_common = np.array(of_common)
        chances = np.exp(of_common - of_common.max())
        log_weights.append(
            np.log(chances.sum()) + of_common.max() + np.log(history._BEFORE[readings.names[m]])
        )
        by_reading.append(np.einsum("o,okt->tk", chances / chances.sum(), conditional))
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum(), np.stack(by_reading)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("names", [(PAST, PRIOR_SHIFT), (PAST, LAST, PRIOR_SHIFT)])
def test_chances_are_those_of_plain_sums(n_classes, names):
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(n_classes) * 5, 6)
    far = rng.dirichlet(np.ones(n_classes) * 5, (len(names) - 1, 6))
    shares = np.concatenate([far, [0.7 * truth + 0.3 / n_classes]])
    readings = Readings(names, shares, np.full(shares.shape, 0.03), np.arange(1.0, 7))
    drift = Drift.learn(readings, truth, range(6))
    weights, sizes = slow_posterior(readings, truth)
    chances = drift._chances(1.0, "unknown")
    np.testing.assert_allclose(chances.readings, weights, atol=1e-9)
    np.testing.assert_allclose(chances.drifts, sizes, atol=1e-9)


def test_the_reading_that_held_has_the_weight():
    truth = two_classes(12)
    drift = Drift.learn(readings_of(truth, (1.5, 1.5, 0.05, 1.5, 1.5)), truth, range(12))
    weights = dict(zip(drift.names, drift.weights, strict=True))
    assert weights[POSTERIORS] > 0.95
    assert drift.weights.sum() == pytest.approx(1)


def test_what_held_lately_matters_more_in_a_sequence():
    """Two readings are right in half of the groups each: the later one has the weight."""
    truth = two_classes(8)
    off = np.where(np.arange(8) < 4, 0.6, 0.02)
    readings = readings_of(truth, (1.0,) * 5)
    for name, errors in ((POSTERIORS, off[::-1]), (COUNTS, off)):
        odds = truth[:, 1] / truth[:, 0] * np.exp(errors)
        shares = np.column_stack([np.ones(8), odds]) / (1 + odds)[:, None]
        readings.shares[NAMES.index(name)] = shares
    weights = dict(zip(NAMES, Drift.learn(readings, truth, range(8)).weights, strict=True))
    before = history._BEFORE[COUNTS] / history._BEFORE[POSTERIORS]
    assert weights[COUNTS] / weights[POSTERIORS] > 2 * before


def test_some_groups_show_what_they_show_alone():
    truth = two_classes(9)
    readings = readings_of(truth, (0.6, 0.5, 0.3, 0.4, 0.4))
    some = [1, 4, 6]
    whole = Drift.learn(readings, truth, range(9)).only(some)
    alone = Drift.learn(readings.of(some), truth[some], some)
    assert whole.groups == alone.groups
    np.testing.assert_allclose(whole.weights, alone.weights)


def under_shift(share, n=400, seed=0):
    """An estimate with a share of the second class, as a method makes it."""
    rng = np.random.default_rng(seed)
    y = (rng.random(1000) < 0.5).astype(int)
    posterior = rng.beta(1 + 4 * y, 1 + 4 * (1 - y))
    q = hc.PACC().fit(hc.Scored(posterior), y)
    labels = (rng.random(n) < share).astype(int)
    new = rng.beta(1 + 4 * labels, 1 + 4 * (1 - labels))
    return q.estimate(hc.Scored(new), random_state=0), new


def learnt(errors, truth=None, names=range(12)):
    truth = two_classes(12) if truth is None else truth
    return Drift.learn(readings_of(truth, errors), truth, tuple(names))


def estimated(drift, share=0.6, group=None, last=None, uncertainty=1.0):
    estimate, posteriors = under_shift(share)
    mean = np.array([[1 - posteriors.mean(), posteriors.mean()]])
    counts = np.array([[(posteriors < 0.5).mean(), (posteriors >= 0.5).mean()]])
    past = History(drift, np.array([0.5, 0.5]), last, np.full(2, uncertainty))
    made = past.estimates([estimate], ScoreMeans(mean, counts), [group], np.ones(1))
    return made[0], estimate


def test_where_prior_shift_held_the_estimate_is_that_of_the_method():
    drift = Drift.learn(
        readings_of(two_classes(12), (1.5, 1.5, 1.5, 1.5, 0.01), noise=0.01),
        two_classes(12),
        range(12),
    )
    estimate, method = estimated(drift, last=np.array([0.5, 0.5]))
    assert estimate.basis == "history"
    assert estimate.weights[PRIOR_SHIFT] > 0.9
    assert abs(estimate.shares[1] - method.shares[1]) < 0.02
    widths = [e.interval().high[1] - e.interval().low[1] for e in (estimate, method)]
    assert widths[0] < 1.6 * widths[1]


def test_more_drift_makes_intervals_wider():
    widths = []
    for error in (0.05, 0.3, 1.0):
        estimate, _ = estimated(learnt((2, 2, error, 2, 2)), last=np.array([0.5, 0.5]))
        ends = estimate.interval()
        widths.append(ends.high[1] - ends.low[1])
        assert ends.low[1] <= estimate.shares[1] <= ends.high[1]
    assert widths[0] < widths[1] < widths[2]


def test_intervals_contain_the_share_of_a_new_group():
    """Groups whose log odds drift from the mean posteriors by a standard deviation of 0.4."""
    inside = []
    for seed in range(60):
        truth = two_classes(13, seed)
        readings = readings_of(truth, (1.2, 0.9, 0.4, 0.9, 0.8), seed + 100)
        drift = Drift.learn(readings.of(range(12)), truth[:12], range(12))
        method, _ = under_shift(0.5)
        ends = drift.estimate(method, readings, 12).interval()
        inside.append(ends.low[1] <= truth[12, 1] <= ends.high[1])
    assert 0.85 <= np.mean(inside) <= 1


def test_labels_of_a_group_move_its_estimate():
    truth = two_classes(12)
    truth[0] = 0.05, 0.95  # far from what any reading says of it
    readings = readings_of(two_classes(12), (0.5, 0.5, 0.5, 0.5, 0.5))
    drift = Drift.learn(readings, truth, [f"shop {i}" for i in range(12)])
    new, _ = estimated(drift, last=np.array([0.5, 0.5]))
    seen, _ = estimated(drift, group="shop 0", last=np.array([0.5, 0.5]))
    assert seen.shares[1] > new.shares[1] + 0.05


def test_without_groups_intervals_contain_both_readings():
    estimate, method = estimated(None, share=0.9, uncertainty=0.6)
    assert estimate.basis == "no history: two readings"
    assert estimate.n_groups == 0
    np.testing.assert_allclose(estimate.shares, method.shares)
    ends = estimate.interval()
    for name in (POSTERIORS, PRIOR_SHIFT):
        assert ends.low[1] < estimate.readings[name][1] < ends.high[1]
    assert ends.high[1] - ends.low[1] > 2 * (method.interval().high - method.interval().low)[1]


def test_without_groups_shares_lean_on_mean_posteriors_if_classes_are_hard_to_tell_apart():
    well, method = estimated(None, share=0.9, uncertainty=0.65)
    shares = [well.shares[1]]
    for uncertainty in (0.8, 0.9, 1.0):
        hardly, _ = estimated(None, share=0.9, uncertainty=uncertainty)
        shares.append(hardly.shares[1])
        for end in ("low", "high"):
            ends = getattr(hardly.interval(), end), getattr(well.interval(), end)
            # Numbers of items with the errors of mean posteriors differ.
            np.testing.assert_allclose(*ends, atol=0.01)
    posteriors = hardly.readings[POSTERIORS][1]
    one_item = 1.01 / method.n_items  # shares are medians of draws of whole items
    assert shares[-1] - one_item <= shares[-2] < shares[1] < shares[0] == method.shares[1]
    assert abs(shares[-1] - posteriors) < 0.1 * abs(shares[0] - posteriors)


def test_the_remaining_uncertainty_does_not_need_calibrated_posteriors():
    rng = np.random.default_rng(0)
    scores = rng.beta(2, 2, size=4000)
    codes = (rng.random(4000) < scores).astype(int)
    calibrated = np.column_stack([1 - scores, scores])
    within = (calibrated * (1 - calibrated)).mean(axis=0) / 0.25
    found = remaining_uncertainty(calibrated, codes)
    np.testing.assert_allclose(found, within, atol=0.03)
    shrunk = 0.5 + (calibrated - 0.5) / 3  # a forest's
    np.testing.assert_allclose(remaining_uncertainty(shrunk, codes), found)
    np.testing.assert_array_equal(remaining_uncertainty(np.full((9, 2), 0.5), codes[:9]), 1)


def test_disagreement_beyond_experience_makes_intervals_cautious():
    """A stable past says nothing about a large change."""
    truth = np.tile([0.8, 0.2], (12, 1))
    readings = readings_of(truth, (0.05,) * 5)
    drift = Drift.learn(readings, truth, range(12))
    stable, _ = under_shift(0.2)
    moved, _ = under_shift(0.7)
    shares = np.array([[0.8, 0.2], [0.8, 0.2], [0.6, 0.4], [0.6, 0.4], [0.3, 0.7]])[:, None]
    far = Readings(NAMES, shares, np.full(shares.shape, 0.02), np.ones(1))
    ends = drift.estimate(moved, far, 0).interval()
    assert ends.low[1] < 0.3
    assert ends.high[1] > 0.7
    near = readings_of(truth[:1], (0.05,) * 5, 3)
    narrow = drift.estimate(stable, near, 0).interval()
    assert narrow.high[1] - narrow.low[1] < 0.3


def test_without_groups_scores_that_tell_classes_apart_leave_less_room_for_drift():
    widths = []
    for uncertainty in (0.05, 0.3, 0.65):
        ends = estimated(None, uncertainty=uncertainty)[0].interval()
        widths.append(float((ends.high - ends.low)[1]))
    assert widths[0] < 0.7 * widths[1] < 0.7 * widths[2]


def test_an_odd_group_does_not_widen_the_intervals_of_all():
    """A share that is far from all readings in one group of sixteen."""
    truth = two_classes(16)
    readings = readings_of(truth, (0.6, 0.6, 0.1, 0.6, 0.6))
    widths = {}
    for odd in (False, True):
        moved = truth.copy()
        if odd:
            moved[3] = 0.99 - 0.98 * (readings.shares[2, 3] > 0.5)
        drift = Drift.learn(readings, moved, range(16))
        estimate, _ = estimated(drift, last=np.array([0.5, 0.5]))
        ends = estimate.interval()
        widths[odd] = float((ends.high - ends.low)[1])
        assert drift.weights[2] > 0.9
    assert widths[True] < 1.3 * widths[False]


def test_the_method_is_followed_if_labelled_groups_and_new_items_look_like_mixtures():
    """The mix was the same for long, and moves far now."""
    truth = np.tile([0.6, 0.4], (12, 1))
    readings = readings_of(truth, (0.05,) * 5)
    moved, _ = under_shift(0.9)
    shares = np.array([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.3, 0.7], [0.1, 0.9]])[:, None]
    far = Readings(NAMES, shares, np.full(shares.shape, 0.02), np.ones(1))
    estimates = {}
    for name, p_values in (("none", None), ("alike", np.full(12, 0.4)), ("not", np.zeros(12))):
        drift = Drift.learn(readings, truth, range(12), p_values=p_values)
        estimates[name] = drift.estimate(moved, far, 0).shares[1]
    assert estimates["none"] == estimates["not"] < 0.75
    assert estimates["alike"] > 0.82


def test_draws_are_whole_items():
    estimate, _ = estimated(learnt((0.3,) * 5), last=np.array([0.5, 0.5]))
    items = estimate.draws * estimate.n_items
    np.testing.assert_allclose(items, items.round(), atol=1e-9)
    np.testing.assert_allclose(estimate.draws.sum(axis=1), 1)


def test_readings_without_posteriors():
    estimate, _ = under_shift(0.5)
    readings = read_samples(
        [estimate], None, np.array([0.5, 0.5]), None, np.ones(2), np.ones(1)
    )
    assert readings.names == (PAST, PRIOR_SHIFT)
    assert not readings.disagreements.any()


def test_distance_in_time_makes_intervals_wider():
    truth = two_classes(12)
    readings = readings_of(truth, (0.3,) * 5)
    drift = Drift.learn(readings, truth, range(12))
    method, _ = under_shift(0.5)
    widths = []
    for steps in (1.0, 10.0):
        far = Readings(NAMES, readings.shares, readings.errors, np.full(12, steps))
        ends = drift.estimate(method, far, 0).interval()
        widths.append(ends.high[1] - ends.low[1])
    assert widths[1] > 1.2 * widths[0]


def test_steps_count_new_groups_of_the_same_kind_only():
    equal, drift = np.array([0.5, 0.5]), learnt((0.3,) * 5)
    past = History(drift, equal, equal, np.ones(2), labelled=("May", "June"))
    names = [None, "June", "July", "August", "September"]
    np.testing.assert_array_equal(past.steps(names), [2, 1, 1, 2, 3])
    of_another_kind = History(drift, equal, equal, np.ones(2))
    np.testing.assert_array_equal(of_another_kind.steps(names), np.ones(5))
    sites = History(drift, equal, None, np.ones(2), labelled=("a", "b"))
    np.testing.assert_array_equal(sites.steps(["c", "d"]), np.ones(2))


def mixture_of_one(shares, drift, counted_items=1e9):
    """A reading that is off by a drift of one size."""
    sizes = np.zeros((1, len(history._DRIFTS), len(shares)))
    place = np.abs(history._DRIFTS - drift).argmin()
    sizes[0, place] = 1
    shares = np.array([shares])
    variances = np.broadcast_to(history._DRIFTS[:, None] ** 2, sizes.shape)
    mixture = history.ReadingMixture(
        history.Chances(np.ones(1), sizes),
        shares,
        np.full(shares.shape, counted_items),
        np.zeros(sizes.shape),
        variances,
        shifted=1,
    )
    return mixture, history._DRIFTS[place]


@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.5, 0.2, 0.3], [0.1, 0.05, 0.6, 0.25]])
def test_log_odds_of_draws_spread_by_the_drift(shares):
    mixture, drift = mixture_of_one(shares, 0.3)
    draws = mixture.posterior(np.empty(0), 10**9).draws
    log_odds = np.log(draws / (1 - draws))
    np.testing.assert_allclose(np.median(draws, axis=0), shares, rtol=0.05)
    np.testing.assert_allclose(
        log_odds.std(axis=0), drift, rtol=0.2 if len(shares) > 2 else 0.02
    )


def test_counts_of_draws_spread_by_sampling():
    mixture, _ = mixture_of_one([0.6, 0.3, 0.1], 0.01, 200)
    draws = mixture.posterior(np.empty(0), 10**9).draws
    expected = np.sqrt(np.array([0.6 * 0.4, 0.3 * 0.7, 0.1 * 0.9]) / 200)
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.05)


def test_a_class_that_was_absent_may_appear():
    """Drifts of rare classes are learnt on the scale of shares, and applied on it."""
    for shares in ([1.0, 0.0], [0.6, 0.4, 0.0]):
        mixture, drift = mixture_of_one(shares, 0.4)
        rare = mixture.posterior(np.empty(0), 10**6).draws[:, -1]
        slope = history._LEAST_SHARE * (1 - history._LEAST_SHARE)
        assert np.quantile(rare, 0.7) == pytest.approx(
            slope * drift * stats.norm.ppf(0.7), rel=0.1
        )
        assert np.quantile(rare, 0.4) < 1e-4


def test_shares_are_rounded_to_the_nearest_items():
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    items = history._whole_items(shares, 37) * 37
    np.testing.assert_allclose(items, items.round(), atol=1e-9)
    np.testing.assert_allclose(items.sum(axis=1), 37)
    assert np.abs(items - 37 * shares).max() <= 1
    two = history._whole_items(shares[:, :2], 37) * 37
    np.testing.assert_allclose(
        two[:, 0], (37 * shares[:, 0] / shares[:, :2].sum(axis=1)).round()
    )


def fit_test(distance, n=400):
    return FitTest(3 + n * distance**2, 3, 0.0 if distance else 0.5, np.full(2, 0.5), n)


def test_groups_far_from_all_mixes_are_odd_and_have_a_warning():
    drift = learnt((0.1,) * 5)
    method, _ = under_shift(0.5)
    readings = readings_of(two_classes(12), (0.1,) * 5)
    widths, warned = [], []
    for distance in (0.1, 0.5, 2.0):
        estimate = dataclasses.replace(method, fit_test=fit_test(distance))
        revised = drift.estimate(estimate, readings, 0)
        ends = revised.interval()
        widths.append(ends.high[1] - ends.low[1])
        warned.append([text for text in revised.warnings if text.startswith(FAR)])
    assert widths[0] < widths[1] < 0.8 * widths[2]
    assert warned[:2] == [[], []]
    assert "2 standard deviations" in warned[2][0]


def test_the_distance_from_mixes_does_not_grow_with_the_number_of_items():
    for n in (50, 5000):
        assert history.distance_from_mixes(fit_test(1.2, n)) == pytest.approx(1.2)
    assert history.distance_from_mixes(None) == 0
    untested = FitTest(np.nan, 0, np.nan, np.full(2, 0.5), 40)
    assert history.distance_from_mixes(untested) == 0
