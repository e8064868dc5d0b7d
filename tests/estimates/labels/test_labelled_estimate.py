from __future__ import annotations

import json

import numpy as np
import pytest

import headcount as hc
from headcount import HeadcountError
from headcount.estimates import LabelPlan
from headcount.estimates.labels.difference import Difference
from headcount.estimates.labels.from_labels import LabelledEstimate, agreement_of


def world(seed=0, n_classes=2, n=3000, moved=False):
    """Training items, and a pool in which half of the last class may look like the first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    looks = y.copy()
    if moved:
        looks[600:][(y[600:] == n_classes - 1) & (rng.random(n - 600) < 0.5)] = 0
    X = rng.normal(size=(n, n_classes)) + 2 * np.eye(n_classes)[looks]
    return X[:600], y[:600], X[600:], y[600:]


@pytest.fixture(scope="module")
def two():
    X, y, new, truth = world()
    return hc.SLD(random_state=0).fit(X, y), new, truth


@pytest.fixture(scope="module")
def three():
    X, y, new, truth = world(1, 3)
    return hc.PACC(random_state=0).fit(X, y), new, truth


def rows_of(n, n_pool, seed=0):
    return np.random.default_rng(seed).choice(n_pool, n, replace=False)


def test_labels_are_the_basis(two):
    q, X, y = two
    rows = rows_of(200, len(X))
    estimate = q.estimate(X, labelled=(rows, y[rows]))
    assert isinstance(estimate, LabelledEstimate)
    assert estimate.basis == "labels"
    assert estimate.guarantee == "approximate"
    assert estimate.n_labels == 200
    assert estimate.n_items == len(X)
    assert sum(estimate.prevalence.values()) == pytest.approx(1)
    under = q.estimate(X)
    assert under.basis == "prior shift"
    assert estimate.under_shift.prevalence == under.prevalence
    assert estimate.agreement.p_value > 0.001
    for label, share in estimate.prevalence.items():
        low, high = estimate.interval()[label]
        assert low < share < high
        assert low < np.mean(y == label) < high


def test_intervals_are_shorter_than_without_scores(two):
    q, X, y = two
    rows = rows_of(200, len(X))
    ends = q.estimate(X, labelled=(rows, y[rows])).interval()
    alone = hc.HDx().fit(*world()[:2]).estimate(X, labelled=(rows, y[rows]))
    assert alone.difference.covariance[0, 0] > 0
    assert (ends.high - ends.low < 0.8 * (alone.interval().high - alone.interval().low)).all()
    np.testing.assert_allclose(alone.shares, np.bincount(y[rows]) / 200)


def test_labels_find_the_truth_where_the_assumption_is_broken():
    X, y, new, truth = world(2, moved=True)
    q = hc.SLD(random_state=0).fit(X, y)
    plan = q.plan_labels(new, budget=400, random_state=0)
    estimate = q.estimate(new, labelled=(plan.rows, truth[plan.rows]), design=plan)
    low, high = estimate.under_shift.interval()[1]
    assert not low <= truth.mean() <= high
    low, high = estimate.interval(0.99)[1]
    assert low <= truth.mean() <= high
    assert estimate.agreement.rejects()
    assert "The labels disagree with the estimate under prior shift (p < 0.001)." in repr(
        estimate
    )


@pytest.mark.parametrize("guarantee", ["approximate", "exact"])
@pytest.mark.parametrize("estimand", ["realised", "expected"])
def test_levels_and_regions_are_nested(three, guarantee, estimand):
    q, X, y = three
    rows = rows_of(150, len(X))
    estimate = q.estimate(X, labelled=(rows, y[rows]), guarantee=guarantee, estimand=estimand)
    assert estimate.guarantee == guarantee
    inner, outer = estimate.interval(0.8), estimate.interval(0.99)
    assert (outer.low <= inner.low).all()
    assert (outer.high >= inner.high).all()
    region, single = estimate.region(), estimate.interval()
    assert (region.low <= single.low + 1e-9).all()
    assert (region.high >= single.high - 1e-9).all()
    assert region.contains(estimate.shares)
    assert estimate.draws.shape == (1000, 3)
    np.testing.assert_allclose(estimate.draws.sum(axis=1), 1)


def test_region_of_two_classes_is_their_interval(two):
    q, X, y = two
    rows = rows_of(100, len(X))
    estimate = q.estimate(X, labelled=(rows, y[rows]))
    region, single = estimate.region(), estimate.interval()
    farther = np.maximum(single.high - estimate.shares, estimate.shares - single.low)
    np.testing.assert_allclose(estimate.shares - region.low, farther)


def test_expected_shares_are_less_certain(two):
    q, X, y = two
    rows = rows_of(300, len(X))
    here = q.estimate(X, labelled=(rows, y[rows])).interval()
    behind = q.estimate(X, labelled=(rows, y[rows]), estimand="expected").interval()
    assert (behind.high - behind.low > here.high - here.low).all()


def test_exact_is_that_of_the_labels_alone_or_by_betting(two):
    q, X, y = two
    rows = rows_of(60, len(X))
    estimate = q.estimate(X, labelled=(rows, y[rows]), guarantee="exact")
    assert not estimate.bounds.bets.any()
    assert "with exact 95% intervals" in repr(estimate)
    many = rows_of(1000, len(X))
    ends = q.estimate(X, labelled=(many, y[many]), guarantee="exact").interval()
    assert ends.low[1] <= y.mean() <= ends.high[1]
    shuffled = many[::-1]
    again = q.estimate(X, labelled=(shuffled, y[shuffled]), guarantee="exact").interval()
    assert again.low.tolist() == ends.low.tolist()


def test_all_items_labelled(two):
    q, X, y = two
    rows = np.arange(len(X))
    estimate = q.estimate(X, labelled=(rows, y))
    assert estimate.prevalence[1] == pytest.approx(y.mean())
    ends = estimate.interval()
    assert ends.high - ends.low == pytest.approx(1 / len(X))


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_leave_an_interval(two, label):
    q, X, y = two
    rows = np.flatnonzero(y == label)[:50]
    estimate = q.estimate(X, labelled=(rows, y[rows]))
    ends = estimate.interval()
    assert (ends.high > ends.low).all()
    # They were not drawn at random, which shows in their scores.
    assert any("other scores than the rest" in text for text in estimate.warnings)


def test_consecutive_rows_are_suspicious(two):
    q, X, y = two
    estimate = q.estimate(X, labelled=(np.arange(50), y[:50]))
    assert "rows 0 to 49 in a row" in estimate.warnings[0]
    assert estimate.warnings[0].endswith("for instance by plan_labels (headcount label).")
    rows = rows_of(50, len(X))
    assert q.estimate(X, labelled=(rows, y[rows])).warnings == ()


def test_text_table_frame_and_dict(three):
    q, X, y = three
    rows = rows_of(90, len(X))
    estimate = q.estimate(X, labelled=(rows, y[rows]))
    lines = repr(estimate).splitlines()
    assert lines[0] == "90 labels and PACC: shares among 2,400 items, with 95% intervals"
    assert lines[1].split() == ["class", "share", "from", "to", "items", "prior", "shift"]
    assert lines[5].startswith("The labels agree with")
    frame = estimate.to_frame(0.9)
    assert frame["share"].sum() == pytest.approx(1)
    assert {"low", "high", "raw", "shift_share", "shift_low", "shift_high"} <= {*frame.columns}
    plain = json.loads(json.dumps(estimate.to_dict()))
    assert plain["basis"] == "labels"
    assert plain["n_labels"] == 90
    assert plain["under_shift"]["n_items"] == 2400
    assert set(plain["agreement"]) == {"statistic", "df", "p_value"}
    assert "The labels agree" in estimate._repr_html_()
    assert estimate.counts().count.sum() == 2400
    assert estimate.plot() is not None


@pytest.mark.parametrize(
    "method", [hc.SLD, hc.PACC, hc.ACC, hc.DyS, hc.KDEyML, hc.CC, hc.AutoQuantifier, hc.HDx]
)
def test_every_kind_of_method(method):
    X, y, new, truth = world(3)
    given = {} if method is hc.HDx else {"random_state": 0}
    q = method(**given).fit(X, y)
    plan = q.plan_labels(new, budget=100, random_state=0)
    estimate = q.estimate(
        new, labelled=(plan.rows, truth[plan.rows]), design=plan, replicates=500
    )
    low, high = estimate.interval(0.9999)[1]
    assert low <= truth.mean() <= high


def test_scores_and_verdicts():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    score = 1 / (1 + np.exp(-rng.normal(3 * y - 1.5)))
    rows = rows_of(100, 1500)
    labels = y[500:][rows]
    q = hc.SLD().fit(hc.Scored(score[:500]), y[:500])
    estimate = q.estimate(hc.Scored(score[500:]), labelled=(rows, labels))
    verdict = np.where(score > 0.5, 1, 0)
    judged = hc.ACC().fit(hc.Verdicts(verdict[:500]), y[:500])
    plan = judged.plan_labels(hc.Verdicts(verdict[500:]), budget=100, random_state=0)
    found = judged.estimate(
        hc.Verdicts(verdict[500:]), labelled=(plan.rows, y[500:][plan.rows]), design=plan
    )
    for each in (estimate, found):
        assert each.interval(0.9999)[1][0] <= y[500:].mean() <= each.interval(0.9999)[1][1]
        assert each.difference.covariance[0, 0] < 0.25 / 100 / 2


def test_agreement_is_a_distance_in_units_of_the_errors():
    labels = Difference(
        np.array([0.3, 0.7]), np.array([[0.01, -0.01], [-0.01, 0.01]]), 10**9, *np.zeros((4, 2))
    )
    found = agreement_of(labels, np.array([0.5, 0.5]), np.zeros((2, 2)))
    assert found.statistic == pytest.approx(4)
    assert found.p_value == pytest.approx(0.0455, abs=1e-3)
    far = agreement_of(labels, np.array([0.5, 0.5]), np.full((2, 2), 0.03) * [[1, -1], [-1, 1]])
    assert far.statistic == pytest.approx(1)


def test_agreement_where_no_error_was_seen():
    labels = Difference(np.array([0.5, 0.5]), np.zeros((2, 2)), 99, *np.full((4, 2), 0.01))
    found = agreement_of(labels, np.array([0.49, 0.51]), np.zeros((2, 2)))
    assert found.p_value > 0.3


@pytest.mark.parametrize("option", ["weights", "clusters"])
def test_weights_and_clusters(two, option):
    q, X, y = two
    n = len(X)
    rows = rows_of(300, n)
    plain = q.estimate(X, labelled=(rows, y[rows]))
    if option == "weights":
        # Twice as much weight on the second class.
        given = np.where(y == 1, 2.0, 1.0)
        share = given[y == 1].sum() / given.sum()
        estimate = q.estimate(X, labelled=(rows, y[rows]), weights=given)
        low, high = estimate.interval(0.999)[1]
        assert low < share < high
        assert estimate.prevalence[1] > plain.prevalence[1] + 0.1
        equal = q.estimate(X, labelled=(rows, y[rows]), weights=np.ones(n))
        np.testing.assert_allclose(equal.shares, plain.shares, atol=2e-3)
    else:
        estimate = q.estimate(X, labelled=(rows, y[rows]), clusters=y)
        assert estimate.difference.df == 1
        apart = q.estimate(X, labelled=(rows, y[rows]), clusters=np.arange(n))
        np.testing.assert_allclose(apart.difference.covariance, plain.difference.covariance)


def test_weights_and_clusters_without_labels(two):
    q, X, y = two
    n = len(X)
    plain = q.estimate(X)
    equal = q.estimate(X, weights=np.full(n, 3.0))
    np.testing.assert_allclose(equal.shares, plain.shares, atol=1e-6)
    assert equal.n_effective == pytest.approx(n)
    heavy = q.estimate(X, weights=np.where(y == 1, 2.0, 1.0))
    share = 2 * y.sum() / (n + y.sum())
    low, high = heavy.interval(0.999)[1]
    assert low < share < high
    assert heavy.n_effective < n
    clustered = q.estimate(X, clusters=np.argsort(np.argsort(X[:, 0])) // 10)
    assert clustered.n_effective < n / 3
    width = [e.interval().high[1] - e.interval().low[1] for e in (clustered, plain)]
    assert width[0] > width[1]
    features = hc.HDx().fit(*world()[:2])
    assert features.estimate(X, clusters=np.arange(n) // 10).n_effective == n / 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labelled": ([1, 1, 2], [0, 1, 1])}, "has row 1 2 times"),
        ({"labelled": ([1, 9999], [0, 1])}, "has 9,999, but X has 2,400 items"),
        ({"labelled": ([1, 2], [0, 5])}, "labels of labelled has labels that are not among"),
        ({"labelled": ([1, 2], [0, None])}, "labels of labelled misses 1 of 2 labels"),
        ({"labelled": ([1], [0])}, "has 1 label for 2 classes: label at least 2 items"),
        ({"labelled": ([1, 2, 3], [0, 1])}, "labelled has 3 rows and 2 labels"),
        ({"labelled": [1, 2, 3]}, "labelled is a list; it must be a pair of rows and labels"),
        ({"labelled": ([1, 2], [0, 1]), "design": "srs"}, "design is a str; it must be the"),
        ({"labelled": ([1, 2], [0, 1]), "guarantee": "sure"}, "guarantee is 'sure'"),
        ({"design": object()}, "design and guarantee are for labels of some items"),
        ({"guarantee": "exact"}, "design and guarantee are for labels of some items"),
        ({"weights": [1.0, 2.0]}, "weights has the shape"),
        ({"clusters": ["a"]}, "clusters has 1 values, but there are 2,400 items"),
        ({"labelled": ([1, 2], [0, 1]), "clusters": ["a"] * 2400}, "from one cluster"),
    ],
)
def test_bad_calls(two, given, message):
    q, X, _ = two
    with pytest.raises(HeadcountError, match=message):
        q.estimate(X, replicates=100, **given)


def test_fewer_labels_than_classes(three):
    q, X, _ = three
    with pytest.raises(HeadcountError, match="has 2 labels for 3 classes: label at least 3"):
        q.estimate(X, labelled=([0, 5], [0, 1]), replicates=100)


def test_exact_needs_a_simple_random_sample(two):
    q, X, y = two
    plan = q.plan_labels(X, budget=100)
    rows = plan.rows
    for given, reason in (
        ({"design": plan}, r"strata: make it with plan_labels\(X, ..., strata=1\)"),
        ({"weights": np.ones(len(X))}, "there are weights"),
        ({"clusters": np.arange(len(X))}, "there are clusters"),
    ):
        with pytest.raises(HeadcountError, match=reason):
            q.estimate(X, labelled=(rows, y[rows]), guarantee="exact", replicates=100, **given)
    simple = q.plan_labels(X, budget=100, strata=1)
    rows = simple.rows
    q.estimate(X, labelled=(rows, y[rows]), design=simple, guarantee="exact", replicates=100)


def test_unfitted_quantifiers_plan_nothing():
    with pytest.raises(Exception, match="not fitted"):
        hc.SLD().plan_labels(np.zeros((5, 2)), budget=4)


def test_groups_are_estimated_from_their_own_labels():
    X, y, new, truth = world(3, moved=True)
    q = hc.SLD(random_state=0).fit(X, y)
    groups = np.arange(len(new)) % 3
    plan = q.plan_labels(new, budget=150, groups=groups, random_state=0)
    assert plan.n == 450
    assert plan.n_groups == 3
    assert "in 3 groups" in repr(plan)
    assert "labels per group" in repr(plan)
    plan = LabelPlan.from_frame(plan.to_frame())
    samples = [np.flatnonzero(groups == g) for g in (2, 0, 1)]
    labelled = (plan.rows, truth[plan.rows])
    found = q.estimate_many(new, samples, labelled=labelled, design=plan)
    for estimate, rows in zip(found, samples, strict=True):
        assert estimate.n_labels == 150
        assert estimate.n_items == len(rows)
        low, high = estimate.interval()[1]
        assert low < truth[rows].mean() < high
    whole = q.estimate(new, labelled=labelled, design=plan)
    assert whole.n_labels == 450
    low, high = whole.interval()[1]
    assert low < truth.mean() < high
    with pytest.raises(HeadcountError, match="was not made for these groups"):
        q.estimate_many(new, [np.arange(1000)], labelled=labelled, design=plan)


def test_order_of_the_items_of_a_sample_does_not_matter(two):
    q, X, y = two
    plan = q.plan_labels(X, budget=200, random_state=0)
    labelled = (plan.rows, y[plan.rows])
    here = q.estimate(X, labelled=labelled, design=plan)
    backwards = [np.arange(len(X))[::-1]]
    [there] = q.estimate_many(X, backwards, labelled=labelled, design=plan)
    np.testing.assert_allclose(here.shares, there.shares)
    np.testing.assert_allclose(here.interval().low, there.interval().low)


def test_a_simple_random_sample_serves_any_sample(two):
    q, X, y = two
    rows = rows_of(300, len(X))
    halves = [np.arange(1000), np.arange(1000, len(X))]
    plan = q.plan_labels(X, budget=300, strata=1, random_state=0)
    for labelled, design in (((rows, y[rows]), None), ((plan.rows, y[plan.rows]), plan)):
        found = q.estimate_many(X, halves, labelled=labelled, design=design)
        assert sum(estimate.n_labels for estimate in found) == 300
        for estimate, half in zip(found, halves, strict=True):
            low, high = estimate.interval()[1]
            assert low < y[half].mean() < high
    few = np.concatenate([[5], 1000 + np.arange(50)])
    with pytest.raises(HeadcountError, match="a sample has 1 label for 2 classes"):
        q.estimate_many(X, halves, labelled=(few, y[few]))
    with pytest.raises(HeadcountError, match="a sample has an item twice"):
        q.estimate_many(X, [np.array([5, 5, 6])], labelled=(rows, y[rows]))


def test_samples_with_weights_and_clusters(two):
    q, X, _ = two
    halves = [np.arange(1000), np.arange(1000, len(X))]
    clusters, weights = np.arange(len(X)) // 10, np.linspace(1, 3, len(X))
    found = q.estimate_many(X, halves, weights=weights, clusters=clusters)
    alone = q.estimate(X[:1000], weights=weights[:1000], clusters=clusters[:1000])
    assert found[0].n_items == 1000
    np.testing.assert_allclose(found[0].raw, alone.raw)
    assert found[0].n_effective == pytest.approx(alone.n_effective)
