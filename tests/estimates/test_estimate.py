from __future__ import annotations

import inspect
import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates import conditioning as share_posteriors
from headcount.estimates.conditioning import SharePosterior
from headcount.estimates.estimate import Estimate, Region
from tests.estimates.conftest import scores_of

QUICK = {"replicates": 500, "random_state": 0}
CALLS = ("estimate", "estimate_many")


@pytest.fixture
def estimate(training, pool):
    return hc.PACC().fit(hc.Scored(training[0]), training[1]).estimate(hc.Scored(pool), **QUICK)


def by_hand(shares, draws, n_items=10, estimand="realised", **more):
    """An estimate whose posterior is the given draws."""
    classes = np.array(list("abc"[: len(shares)]))
    shares = np.asarray(shares, dtype=float)
    posterior = SharePosterior(draws, np.full(len(draws), 1 / len(draws)))
    return Estimate("X", classes, shares, shares, n_items, estimand, posterior, **more)


def about(shares, n=1000):
    return np.random.default_rng(0).dirichlet(40 * np.asarray(shares) + 0.5, n)


# What it is made of


def test_the_shares_have_the_least_expected_absolute_error(estimate):
    assert estimate.shares == pytest.approx(estimate.point("ae"))
    assert estimate.point("mean") == pytest.approx(estimate.draws.mean(axis=0), abs=1e-3)
    error, of_mean = (
        np.abs(estimate.draws - estimate.point(metric)).mean() for metric in ("ae", "mean")
    )
    assert error <= of_mean
    assert list(estimate.prevalence) == estimate.classes.tolist()
    assert list(estimate.prevalence.values()) == estimate.shares.tolist()


def test_the_raw_shares_are_those_that_are_predicted(training, pool):
    quantifier = hc.SLD().fit(hc.Scored(training[0]), training[1])
    estimate = quantifier.estimate(hc.Scored(pool), **QUICK)
    assert estimate.raw.tolist() == quantifier.predict(hc.Scored(pool)).tolist()
    assert estimate.shares == pytest.approx(estimate.raw, abs=0.05)
    assert estimate.n_items == len(pool)


def test_the_same_seed_gives_the_same_estimate(training, pool):
    quantifier = hc.DM().fit(hc.Scored(training[0]), training[1])
    one, two, three = (
        quantifier.estimate(hc.Scored(pool), **QUICK | {"random_state": seed})
        for seed in (0, 0, 1)
    )
    assert (one.draws == two.draws).all()
    assert (one.shares != three.shares).any()


def test_the_seed_of_the_quantifier_serves_where_none_is_given(training, pool):
    options = QUICK | {"random_state": None}
    fixed = hc.PACC(random_state=3).fit(hc.Scored(training[0]), training[1])
    one, two = (fixed.estimate(hc.Scored(pool), **options) for _ in range(2))
    assert (one.draws == two.draws).all()
    given = fixed.estimate(hc.Scored(pool), **QUICK | {"random_state": 3})
    assert (one.draws == given.draws).all()
    free = hc.PACC().fit(hc.Scored(training[0]), training[1])
    one, two = (free.estimate(hc.Scored(pool), **options) for _ in range(2))
    assert (one.draws == two.draws).all()


def test_options_are_parameters():
    for name in CALLS:
        known = inspect.signature(getattr(hc.PACC(), name)).parameters
        assert {"estimand", "prior", "replicates", "random_state"} <= set(known)
    with pytest.raises(TypeError, match="level"):
        hc.PACC().estimate([[0.0]], level=0.9)


# Many samples


def test_a_sample_is_estimated_as_if_it_were_alone(training, pool, samples):
    quantifier = hc.PACC().fit(hc.Scored(training[0]), training[1])
    many = quantifier.estimate_many(hc.Scored(pool), samples, **QUICK)
    assert [each.n_items for each in many] == [150, 250]
    for each, rows in zip(many, samples, strict=True):
        alone = quantifier.estimate(hc.Scored(pool[rows]), **QUICK)
        assert (each.draws == alone.draws).all()
        assert (each.raw == alone.raw).all()
    twice = quantifier.estimate_many(hc.Scored(pool), [*samples, *samples], **QUICK)
    for each, again in zip(many, twice[2:], strict=True):
        assert (each.draws == again.draws).all()
    whole = quantifier.estimate_many(hc.Scored(pool), None, **QUICK)
    assert (whole[0].draws == quantifier.estimate(hc.Scored(pool), **QUICK).draws).all()


def test_larger_samples_have_narrower_intervals(training, pool):
    quantifier = hc.PACC().fit(hc.Scored(training[0]), training[1])
    rows = [np.arange(n) for n in (20, 100, 400)]
    options = QUICK | {"replicates": 4000}
    widths = [
        (ends.high - ends.low).mean()
        for ends in (
            each.interval()
            for each in quantifier.estimate_many(hc.Scored(pool), rows, **options)
        )
    ]
    assert (np.diff(widths) < 0).all()


# Properties


@st.composite
def situations(draw):
    """Scores to learn from and to estimate, of any quality and any size."""
    K = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    strength = draw(st.sampled_from([0.0, 0.5, 1.5, 6.0]))
    codes = np.concatenate([np.arange(K), rng.integers(K, size=draw(st.integers(0, 150)))])
    shares = rng.dirichlet(np.full(K, draw(st.sampled_from([0.05, 1.0, 20.0]))))
    new = rng.choice(K, draw(st.sampled_from([1, 2, 17, 200])), p=shares)
    return (
        scores_of(codes, K, rng, strength),
        codes,
        scores_of(new, K, rng, strength),
    )


@given(
    situation=situations(),
    method=st.sampled_from([hc.PACC, hc.SLD, hc.CC, hc.KDEyML, hc.DM]),
    estimand=st.sampled_from(["realised", "expected"]),
)
@settings(max_examples=60)
def test_what_holds_for_every_estimate(situation, method, estimand):
    scores, codes, new = situation
    quantifier = method().fit(hc.Scored(scores), codes)
    options = {"replicates": 150, "random_state": 0}
    estimate = quantifier.estimate(hc.Scored(new), estimand=estimand, **options)
    for shares in (estimate.shares, estimate.draws):
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-9)
    ends = [estimate.interval(level) for level in (0.1, 0.5, 0.9, 0.95, 0.999)]
    for each in ends:
        assert (each.low >= 0).all()
        assert (each.high <= 1).all()
        assert (each.low <= estimate.shares).all()
        assert (estimate.shares <= each.high).all()
        # Never of zero width: half an item at least.
        assert (each.high - each.low >= 0.5 / len(new) - 1e-12).all()
    for narrow, wide in pairwise(ends):
        assert (wide.low <= narrow.low).all()
        assert (narrow.high <= wide.high).all()
    counts = estimate.counts()
    assert counts.count.sum() == pytest.approx(len(new))
    assert (counts.low <= counts.count).all()
    assert (counts.count <= counts.high).all()
    assert estimate.region(0.9).contains(estimate.shares)


@given(seed=st.integers(0, 10**4), order=st.permutations(range(3)))
@settings(max_examples=15, derandomize=True)  # as there is noise
def test_names_of_classes_permute_the_estimate(seed, order):
    rng, order = np.random.default_rng(seed), np.array(order)
    codes, new = rng.integers(3, size=300), rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    scores, pool = scores_of(codes, 3, rng), scores_of(new, 3, rng)
    options = {"replicates": 4000, "random_state": 0}
    one = hc.PACC().fit(hc.Scored(scores), codes).estimate(hc.Scored(pool), **options)
    renamed = hc.PACC().fit(hc.Scored(scores[:, order]), order.argsort()[codes])
    two = renamed.estimate(hc.Scored(pool[:, order]), **options)
    np.testing.assert_allclose(two.raw, one.raw[order], atol=1e-8)
    errors = one.draws.std(axis=0)[order]
    # Noise of 4,000 simulations: a small part of the standard error.
    assert (np.abs(two.shares - one.shares[order]) < 0.55 * errors + 0.003).all()
    assert two.draws.std(axis=0) == pytest.approx(errors, rel=0.4, abs=0.003)


@given(seed=st.integers(0, 10**4), n=st.sampled_from([5, 40, 400]))
@settings(max_examples=20, derandomize=True)  # as there is noise
def test_expected_shares_are_less_certain_than_realised_ones(seed, n):
    rng = np.random.default_rng(seed)
    codes, new = rng.integers(2, size=200), rng.integers(2, size=n)
    quantifier = hc.PACC().fit(hc.Scored(scores_of(codes, 2, rng)), codes)
    pool = scores_of(new, 2, rng)
    options = QUICK | {"replicates": 4000}
    here, behind = (
        quantifier.estimate(hc.Scored(pool), estimand=estimand, **options)
        for estimand in ("realised", "expected")
    )
    assert (here.shares == behind.shares).all()
    assert (behind.draws.var(axis=0) > here.draws.var(axis=0)).all()
    # Up to the noise of a thousand draws.
    width, wider = (each.interval().high - each.interval().low for each in (here, behind))
    assert (wider >= 0.92 * width).all()


def test_the_noise_of_a_sample_is_that_of_its_size():
    # Scores that are always right: realised shares are known but for errors that 200 items of a
    # class may not show; those behind them are not.
    codes = np.arange(400) % 2
    quantifier = hc.PACC().fit(hc.Scored(np.eye(2)[codes]), codes)
    for n in (50, 2000):
        shares = np.eye(2)[np.arange(n) % 2]
        here, behind = (
            quantifier.estimate(hc.Scored(shares), estimand=estimand, **QUICK)
            for estimand in ("realised", "expected")
        )
        assert here.draws[:, 0].std() < 0.01
        assert behind.draws[:, 0].std() == pytest.approx(0.5 / np.sqrt(n), rel=0.15)


# Priors


@pytest.mark.parametrize("as_draws", [False, True])
def test_a_concentrated_prior_wins_over_a_weak_sample(training, pool, n_classes, as_draws):
    scores, codes = training
    quantifier = hc.PACC().fit(hc.Scored(scores), codes)
    shares = np.array([0.9, 0.1]) if n_classes == 2 else np.array([0.7, 0.2, 0.1])
    prior = 2000 * shares
    if as_draws:
        prior = np.random.default_rng(0).dirichlet(prior, 500)
    weak = (scores + 9 / n_classes) / 10  # hardly apart, so that the noise is large
    unsure = hc.PACC().fit(hc.Scored(np.random.default_rng(0).permutation(weak)), codes)
    few = unsure.estimate(hc.Scored(weak[:10]), prior=prior, **QUICK)
    assert few.shares == pytest.approx(shares, abs=0.03)
    free = quantifier.estimate(hc.Scored(pool), **QUICK)
    assert np.abs(free.shares - shares).max() > 0.3
    sure = free.draws.std(axis=0)
    assert (
        quantifier.estimate(hc.Scored(pool), prior=prior, **QUICK).draws.std(axis=0) < sure
    ).all()


def test_a_weak_prior_gives_way_to_a_large_sample(training, pool, n_classes):
    quantifier = hc.PACC().fit(hc.Scored(training[0]), training[1])
    options = QUICK | {"replicates": 4000}
    flat, tilted = (
        quantifier.estimate(hc.Scored(pool), prior=prior, **options)
        for prior in (1.0, np.arange(1.0, n_classes + 1))
    )
    assert flat.shares == pytest.approx(tilted.shares, abs=0.03)


def test_numbers_are_the_same_prior_for_all_classes(training, pool, n_classes):
    quantifier = hc.PACC().fit(hc.Scored(training[0]), training[1])
    one, all_alike = (
        quantifier.estimate(hc.Scored(pool), prior=prior, **QUICK)
        for prior in (2.0, np.full(n_classes, 2.0))
    )
    assert (one.draws == all_alike.draws).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"estimand": "true"}, "estimand is 'true'"),
        ({"estimand": None}, "estimand is None"),
        ({"replicates": 99}, "replicates is 99"),
        ({"replicates": 2.5}, "replicates is 2.5"),
        ({"replicates": True}, "replicates is True"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"prior": 0}, "prior is 0"),
        ({"prior": -1.0}, "prior is -1.0"),
        ({"prior": np.inf}, "prior is inf"),
        ({"prior": "flat"}, "prior is 'flat'"),
        ({"prior": [1.0]}, "prior is "),
        ({"prior": [1.0] * 7}, "prior is "),
        ({"prior": [[0.5, 0.6, 0.7]]}, "prior is "),
        ({"prior": [[1.5, -0.5], [0.5, 0.5]]}, "prior is "),
        ({"prior": [[np.nan, np.nan]]}, "prior is "),
        ({"prior": np.empty((0, 2))}, "prior is "),
        ({"prior": np.ones((2, 2, 2))}, "prior is "),
    ],
)
def test_bad_options_are_named(options, named):
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=60)
    scores = scores_of(codes, 2, rng)
    quantifier = hc.PACC().fit(hc.Scored(scores), codes)
    for name, more in (("estimate", ()), ("estimate_many", ([[0, 1]],))):
        with pytest.raises(HeadcountError, match=f"^{named}") as caught:
            getattr(quantifier, name)(hc.Scored(scores), *more, **options)
        # One sentence.
        text = str(caught.value)
        assert text.endswith(".")
        assert ". " not in text.replace("0. ", "")


@pytest.mark.parametrize(
    "quantifier",
    [
        hc.CC(cv=None),
        hc.SLD(calibration=None, cv=None),
        hc.CDE(cv=None),
        hc.LEIP(threshold=0.7, cv=None),
        hc.OneVsRest(hc.CC(cv=None)),
        hc.Mean([hc.SLD(calibration=None), hc.PCC()], cv=None),
    ],
    ids=lambda q: type(q).__name__,
)
def test_without_folds_there_are_predictions_but_no_estimates(quantifier):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    X = y[:, None] + rng.normal(size=(60, 2))
    quantifier.fit(X, y)
    assert quantifier.predict(X).sum() == pytest.approx(1)
    with pytest.raises(HeadcountError, match=r"no out-of-fold scores .* set cv=5, .*\.$"):
        quantifier.estimate(X)


# Intervals, regions and counts


def test_intervals_are_a_mapping_of_classes(estimate):
    intervals = estimate.interval(0.9)
    assert list(intervals) == estimate.classes.tolist()
    assert len(intervals) == len(estimate.classes)
    assert intervals[1] == (intervals.low[1], intervals.high[1])
    assert 7 not in intervals
    with pytest.raises(KeyError):
        intervals[7]


def test_intervals_are_quantiles_of_the_draws():
    draws = about([0.2, 0.3, 0.5])
    ends = by_hand(draws.mean(axis=0), draws, n_items=10**6).interval(0.8)
    np.testing.assert_allclose(ends.low, np.quantile(draws, 0.1, axis=0), atol=1e-12)
    np.testing.assert_allclose(ends.high, np.quantile(draws, 0.9, axis=0), atol=1e-12)


def test_an_interval_holds_its_estimate_and_stays_within_0_and_1():
    estimate = by_hand([0.0, 1.0], np.tile([0.1, 0.9], (50, 1)), n_items=100)
    ends = estimate.interval()
    assert ends["a"] == pytest.approx((0.0, 0.1))
    assert ends["b"] == pytest.approx((0.9, 1.0))


def test_a_point_has_an_interval_of_one_item():
    estimate = by_hand([0.3, 0.7], np.tile([0.3, 0.7], (50, 1)), n_items=20)
    for level in (0.01, 0.99):
        assert estimate.interval(level)["a"] == pytest.approx((0.275, 0.325))
    at_the_end = by_hand([0.0, 1.0], np.tile([0.0, 1.0], (50, 1)), n_items=20)
    assert at_the_end.interval()["a"] == pytest.approx((0, 0.025))


@pytest.mark.parametrize("level", [0, 1, 1.5, "high", None, True])
def test_levels_are_between_0_and_1(estimate, level):
    for call in (estimate.interval, estimate.region, estimate.counts):
        with pytest.raises(HeadcountError, match="level"):
            call(level)


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
    estimate = by_hand([0.25, 0.35, 0.4], about([0.25, 0.35, 0.4]), estimand="expected")
    assert estimate.counts().count.tolist() == pytest.approx([2.5, 3.5, 4.0])


def test_a_region_holds_as_many_draws_as_its_level_says():
    draws = about([0.2, 0.3, 0.5])
    estimate = by_hand(draws.mean(axis=0), draws, n_items=10_000)
    for level in (0.5, 0.9):
        region = estimate.region(level)
        assert np.mean([region.contains(row) for row in draws]) == pytest.approx(
            level, abs=0.01
        )


def test_a_region_is_as_wide_for_every_class_in_standard_errors():
    draws = about([0.2, 0.3, 0.5])
    estimate = by_hand([0.2, 0.3, 0.5], draws, n_items=10_000)
    region, alone = estimate.region(0.95), estimate.interval(0.95)
    errors = estimate.draws.std(axis=0)
    assert (region.high - region.low) / errors == pytest.approx(2 * region.reach, rel=1e-3)
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


# How it is shown


def test_it_prints_as_a_table():
    draws = np.tile([0.25, 0.75], (50, 1))
    estimate = by_hand([0.25, 0.75], draws, n_items=2000, warnings=("mind the gap.",))
    assert str(estimate) == (
        "X: shares among these 2,000 items, with 95% intervals\n"
        "class  share   from     to  items\n"
        "a      25.0%  25.0%  25.0%    500\n"
        "b      75.0%  75.0%  75.0%  1,500\n"
        "note: mind the gap."
    )
    assert "behind these" in str(by_hand([0.25, 0.75], draws, estimand="expected"))


def test_frame_and_dict_say_the_same(estimate):
    frame, plain = estimate.to_frame(0.9), estimate.to_dict(0.9)
    assert json.loads(json.dumps(plain)) == plain
    assert frame.to_dicts() == plain["classes"]
    assert plain["level"] == 0.9
    assert plain["fit_test"]["p_value"] == estimate.fit_test.p_value
    assert frame.columns[:5] == ["class", "share", "raw", "low", "high"]


def test_it_survives_a_pickle(estimate):
    twin = pickle.loads(pickle.dumps(estimate))
    assert str(twin) == str(estimate)
    assert (twin.draws == estimate.draws).all()


def test_plots(estimate, n_classes):
    assert len(estimate.plot().patches) == n_classes
    if n_classes == 3:
        assert estimate.plot(kind="simplex").patches
    else:
        with pytest.raises(HeadcountError, match="three classes"):
            estimate.plot(kind="simplex")
    with pytest.raises(HeadcountError, match="kind"):
        estimate.plot(kind="pie")


# Who estimates


def test_a_search_estimates_with_what_it_chose(training):
    scores, codes = training
    protocol = hc.UPP(n_samples=20, size=50, random_state=0)
    search = hc.GridSearch(hc.DyS(), {"bins": [5, 10]}, protocol=protocol, random_state=0)
    if scores.shape[1] > 2:
        search = hc.GridSearch(hc.PACC(), {}, protocol=protocol, random_state=0)
    search.fit(hc.Scored(scores), codes)
    estimate = search.estimate(hc.Scored(scores), **QUICK)
    assert estimate.method == type(search.best_quantifier_).__name__
    assert (estimate.raw == search.predict(hc.Scored(scores))).all()
    chosen = search.best_quantifier_.estimate(hc.Scored(scores), **QUICK)
    assert (estimate.draws == chosen.draws).all()


def test_weights_make_training_less_certain(n_classes, pool):
    rng = np.random.default_rng(0)
    codes = np.arange(400) % n_classes
    scores = scores_of(codes, n_classes, rng)
    # A tenth of the items has nearly all the weight.
    weights = np.where(rng.random(400) < 0.1, 1.0, 0.001)
    options = QUICK | {"replicates": 2000}
    plain, weighted = (
        hc.PACC()
        .fit(hc.Scored(scores), codes, sample_weight=given)
        .estimate(hc.Scored(pool), **options)
        for given in (None, weights)
    )
    # Calibrated posteriors count for 20 items of each class, whose weights do not matter.
    assert (weighted.draws.std(axis=0) > 1.15 * plain.draws.std(axis=0)).all()


def test_draws_of_very_many_samples_are_not_kept(training, pool, monkeypatch):
    quantifier = hc.PACC().fit(hc.Scored(training[0]), training[1])
    samples = np.arange(60).reshape(3, 20)
    kept = quantifier.estimate_many(hc.Scored(pool), list(samples), **QUICK)
    monkeypatch.setattr(share_posteriors, "_MOST_KEPT", 0)
    repeated = quantifier.estimate_many(hc.Scored(pool), list(samples), **QUICK)
    for one, other in zip(kept, repeated, strict=True):
        assert type(other.posterior) is share_posteriors.RepeatedPosterior
        np.testing.assert_array_equal(one.shares, other.shares)
        np.testing.assert_array_equal(one.interval().low, other.interval().low)
        np.testing.assert_array_equal(one.posterior.weights, other.posterior.weights)
        again = pickle.loads(pickle.dumps(other))
        np.testing.assert_array_equal(again.interval().high, one.interval().high)
        with pytest.raises(AttributeError):
            _ = other.posterior.missing
