from __future__ import annotations

import inspect
import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from headcount.uncertainty.making import _biased
from headcount.uncertainty.rules import Percentile
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.errors import HeadcountError
from headcount.uncertainty import Estimate, Region

QUICK = {"replicates": 200, "training_replicates": 20, "random_state": 0}


@pytest.fixture
def estimate(training, pool):
    return hc.PACC().fit_scores(*training).estimate_scores(pool, **QUICK)


def by_hand(shares, draws, n_items=10, target="realised", **more):
    classes = np.array(list("abc"[: len(shares)]))
    shares = np.asarray(shares, dtype=float)
    rules = {"percentile": Percentile(draws)}
    return Estimate("X", classes, shares, n_items, target, draws, rules, **more)


def about(shares, n=300):
    return np.random.default_rng(0).dirichlet(40 * np.asarray(shares) + 0.5, n)


def test_shares_are_those_that_are_predicted(training, pool):
    quantifier = hc.SLD().fit_scores(*training)
    estimate = quantifier.estimate_scores(pool, **QUICK)
    assert list(estimate.prevalence) == quantifier.classes_.tolist()
    assert list(estimate.prevalence.values()) == quantifier.predict_scores(pool).tolist()
    assert estimate.n_items == len(pool)


def test_intervals_are_a_mapping_of_classes(estimate):
    intervals = estimate.interval(0.9)
    assert list(intervals) == estimate.classes.tolist()
    assert len(intervals) == len(estimate.classes)
    assert intervals[1] == (intervals.low[1], intervals.high[1])
    assert 7 not in intervals
    with pytest.raises(KeyError):
        intervals[7]


@pytest.mark.parametrize("method", ["percentile", "centred", "bca", "delta"])
def test_higher_levels_give_wider_intervals(estimate, method):
    ends = [estimate.interval(level, method) for level in (0.5, 0.8, 0.95, 0.99)]
    for narrow, wide in pairwise(ends):
        assert (wide.low <= narrow.low).all()
        assert (wide.high >= narrow.high).all()
    assert (ends[-1].high - ends[-1].low > ends[0].high - ends[0].low).all()


def test_the_same_seed_gives_the_same_estimate(training, pool):
    quantifier = hc.DM().fit_scores(*training)
    one, two, three = (
        quantifier.estimate_scores(pool, **QUICK | {"random_state": seed}) for seed in (0, 0, 1)
    )
    assert (one.replicates == two.replicates).all()
    assert (one.replicates != three.replicates).any()


def test_the_seed_of_the_quantifier_serves_where_none_is_given(training, pool):
    options = QUICK | {"random_state": None}
    fixed = hc.PACC(random_state=3).fit_scores(*training)
    one, two = (fixed.estimate_scores(pool, **options) for _ in range(2))
    assert (one.replicates == two.replicates).all()
    free = hc.PACC().fit_scores(*training)
    one, two = (free.estimate_scores(pool, **options) for _ in range(2))
    assert (one.replicates != two.replicates).any()


def test_many_samples_at_once(training, pool, samples):
    quantifier = hc.PACC().fit_scores(*training)
    first, second = quantifier.estimate_many_scores(pool, samples, **QUICK)
    assert (first.shares == quantifier.predict_scores(pool[:150])).all()
    assert (second.n_items, first.n_items) == (250, 150)
    alone = quantifier.estimate_scores(pool[:150], **QUICK)
    assert first.replicates.std(axis=0) == pytest.approx(alone.replicates.std(axis=0), rel=0.3)


def test_methods_that_do_not_apply_are_refused_with_those_that_do(estimate):
    with pytest.raises(HeadcountError, match="'auto', 'percentile', 'centred', 'bca', 'delta'"):
        estimate.interval(method="bayes")


@pytest.mark.parametrize(
    ("quantifier", "rule"),
    [(hc.ACC(), "bayes"), (hc.SLD(stop="converged"), "profile"), (hc.KDEyML(), "profile")],
    ids=["ACC", "SLD", "KDEyML"],
)
def test_methods_have_intervals_of_their_own(training, pool, quantifier, rule):
    estimate = quantifier.fit_scores(*training).estimate_scores(pool, **QUICK)
    own, usual = estimate.interval(method=rule), estimate.interval(method="percentile")
    assert own.method == rule
    assert own.low == pytest.approx(usual.low, abs=0.08)
    assert own.high == pytest.approx(usual.high, abs=0.08)


def test_beliefs_have_no_likelihood_profile(training, pool):
    quantifier = hc.RegularizedLikelihood(tau1=0, concentration=2).fit_scores(*training)
    assert "profile" not in quantifier.estimate_scores(pool, **QUICK).interval_methods


@pytest.mark.parametrize("level", [0, 1, 1.5, "high", None, True])
def test_levels_are_between_0_and_1(estimate, level):
    for call in (estimate.interval, estimate.region, estimate.counts):
        with pytest.raises(HeadcountError, match="level"):
            call(level)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"target": "true"}, "target"),
        ({"replicates": 1}, "replicates"),
        ({"replicates": 2.5}, "replicates"),
        ({"training_replicates": -1}, "training_replicates"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_bad_options_are_named(training, pool, options, named):
    quantifier = hc.PACC().fit_scores(*training)
    with pytest.raises(HeadcountError, match=named):
        quantifier.estimate_scores(pool, **options)


def test_an_interval_holds_its_estimate_and_stays_within_0_and_1():
    estimate = by_hand([0.0, 1.0], np.tile([0.1, 0.9], (50, 1)))
    ends = estimate.interval()
    assert ends["a"] == (0.0, 0.1)
    assert ends["b"] == (0.9, 1.0)


def test_counts_are_whole_and_sum_to_the_items():
    estimate = by_hand([0.25, 0.35, 0.4], about([0.25, 0.35, 0.4]))
    counts = estimate.counts()
    assert counts.count.sum() == 10
    assert counts.count.dtype.kind == "i"
    ends = estimate.interval()
    assert (counts.low >= 10 * ends.low - 1e-6).all()
    assert (counts.high <= 10 * ends.high + 1e-6).all()
    assert (counts.low <= counts.count).all()
    assert (counts.count <= counts.high).all()


def test_counts_of_a_population_are_means():
    estimate = by_hand([0.25, 0.35, 0.4], about([0.25, 0.35, 0.4]), target="expected")
    assert estimate.counts().count.tolist() == pytest.approx([2.5, 3.5, 4.0])


def test_region_holds_as_many_replicates_as_its_level_says():
    draws = about([0.2, 0.3, 0.5], 1000)
    estimate = by_hand(draws.mean(axis=0), draws, n_items=10_000)
    for level in (0.5, 0.9):
        region = estimate.region(level)
        assert np.mean([region.contains(row) for row in draws]) == pytest.approx(
            level, abs=0.01
        )


def test_a_region_is_as_wide_for_every_class_in_standard_errors():
    draws = about([0.2, 0.3, 0.5], 1000)
    estimate = by_hand([0.2, 0.3, 0.5], draws, n_items=10_000)
    region, alone = estimate.region(0.95), estimate.interval(0.95)
    assert (region.high - region.low) / draws.std(axis=0) == pytest.approx(2 * region.reach)
    # What holds all classes at once is wider than what holds each alone.
    assert (region.high - region.low > alone.high - alone.low).all()
    two = by_hand([0.2, 0.8], draws[:, :2] / draws[:, :2].sum(axis=1, keepdims=True))
    assert two.region(0.95).reach < region.reach


def test_a_region_of_one_point_leaves_room_for_rounding():
    draws = np.tile([0.0, 0.4, 0.6], (50, 1))
    region = Region.of(draws, draws[0], 10, 0.95)
    assert region.contains(draws[0])
    assert not region.contains([0.3, 0.3, 0.4])


@pytest.mark.parametrize(
    "shares", [[0.5, 0.5], [0.5, 0.5, 0.5], [-0.5, 0.5, 1.0], [np.nan] * 3]
)
def test_regions_are_asked_about_shares(shares):
    region = by_hand([0.2, 0.3, 0.5], about([0.2, 0.3, 0.5])).region()
    with pytest.raises(HeadcountError, match="shares"):
        region.contains(shares)


def test_it_prints_as_a_table():
    draws = np.tile([0.25, 0.75], (50, 1))
    estimate = by_hand([0.25, 0.75], draws, n_items=1000, warnings=("mind the gap.",))
    assert str(estimate) == (
        "X: shares among these 1,000 items, with 95% intervals\n"
        "class  share   from     to  items\n"
        "a      25.0%  25.0%  25.0%    250\n"
        "b      75.0%  75.0%  75.0%    750\n"
        "note: mind the gap."
    )
    assert "behind these" in str(by_hand([0.25, 0.75], draws, target="expected"))


def test_frame_and_dict_say_the_same(estimate):
    frame, plain = estimate.to_frame(0.9), estimate.to_dict(0.9)
    assert json.loads(json.dumps(plain)) == plain
    assert frame.to_dicts() == plain["classes"]
    assert plain["level"] == 0.9
    assert plain["fit_test"]["p_value"] == estimate.fit_test.p_value
    assert frame.columns[:4] == ["class", "share", "low", "high"]


def test_it_survives_a_pickle(training, pool):
    for method in (hc.ACC, hc.SLD):
        estimate = method().fit_scores(*training).estimate_scores(pool, **QUICK)
        twin = pickle.loads(pickle.dumps(estimate))
        assert str(twin) == str(estimate)
        for rule in estimate.interval_methods:
            ends = [each.interval(method=rule).low for each in (estimate, twin)]
            assert (ends[0] == ends[1]).all()


def test_plots(estimate, n_classes):
    assert len(estimate.plot().patches) == n_classes
    if n_classes == 3:
        assert estimate.plot(kind="simplex").patches
    else:
        with pytest.raises(HeadcountError, match="three classes"):
            estimate.plot(kind="simplex")
    with pytest.raises(HeadcountError, match="kind"):
        estimate.plot(kind="pie")


def test_what_is_left_out_is_said(training, pool):
    def said(quantifier, **options):
        return " ".join(
            quantifier.fit_scores(*training).estimate_scores(pool, **QUICK | options).warnings
        )

    assert said(hc.PACC()) == ""
    assert "noise of training" in said(hc.PACC(), training_replicates=0)
    assert "does not correct" in said(hc.CC())
    assert "posteriors to be right" in said(hc.PCC())


def test_a_bias_is_named():
    shares, classes = np.array([0.2, 0.3, 0.5]), np.array(["a", "b", "c"])
    noise = np.linspace(-0.05, 0.05, 101)
    off = np.array([0.1, -0.04, -0.06])
    drawn = shares + off + noise[:, None] * [1, -1, 0]
    (text,) = _biased(drawn, shares, classes)
    assert "class 'a' 10.0% too high" in text
    assert _biased(drawn - off, shares, classes) == []


def test_sld_without_calibration_says_that_training_is_left_out():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = y[:, None] + rng.normal(size=(200, 2))
    estimate = hc.SLD(LogisticRegression()).fit(X, y).estimate(X, **QUICK)
    assert "noise of training is not in the intervals" in estimate.warnings[0]


@pytest.mark.parametrize(
    "quantifier",
    [hc.Ensemble(hc.PACC(), size=3, random_state=0), hc.SLD(), hc.RegularizedLikelihood()],
)
def test_training_that_cannot_be_drawn_anew_is_said_to_be_left_out(quantifier):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = y[:, None] + rng.normal(size=(200, 2))
    estimate = quantifier.fit(X, y).estimate(X, **QUICK)
    assert any("the noise of training is not in" in text for text in estimate.warnings)


def test_options_are_parameters():
    for name in ("estimate", "estimate_many", "estimate_scores", "estimate_many_scores"):
        known = inspect.signature(getattr(hc.PACC(), name)).parameters
        assert {"target", "replicates", "training_replicates", "random_state"} <= set(known)
    with pytest.raises(TypeError, match="level"):
        hc.PACC().estimate([[0.0]], level=0.9)


def test_a_search_estimates_with_what_it_chose(training):
    scores, codes = training
    protocol = hc.UPP(n_samples=20, size=50, random_state=0)
    search = hc.GridSearch(hc.DyS(), {"bins": [5, 10]}, protocol=protocol, random_state=0)
    if scores.shape[1] > 2:
        search = hc.GridSearch(hc.PACC(), {}, protocol=protocol, random_state=0)
    search.fit_scores(scores, codes)
    estimate = search.estimate_scores(scores, **QUICK)
    assert estimate.method == type(search.best_quantifier_).__name__
    assert (estimate.shares == search.predict_scores(scores)).all()
    assert estimate.replicates.std(axis=0).min() > 0


def test_intervals_of_certain_methods_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = []
    for number in range(30):
        truth = rng.uniform(0.2, 0.8)
        codes = (np.arange(300) < 300 * truth).astype(int)
        y = rng.integers(2, size=300)
        scores = [rng.beta(2 + 2 * part, 4 - 2 * part) for part in (y, codes)]
        quantifier = hc.PACC().fit_scores(scores[0], y)
        options = {"replicates": 200, "training_replicates": 200, "random_state": number}
        estimate = quantifier.estimate_scores(scores[1], **options)
        low, high = estimate.interval(0.8)[1]
        hits.append(low <= codes.mean() <= high)
    assert 0.6 <= np.mean(hits) <= 0.95
