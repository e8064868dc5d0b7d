from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount import HeadcountError
from headcount.estimates.labels.plan import (
    LabelPlan,
    PlanOptions,
    Strata,
    allocate,
    cut_by_uncertainty,
    make_plan,
    pool_key,
)
from headcount.estimates.labels.pool import PoolPosteriors


def pool_of(n=2000, share=0.1, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    alpha = np.full(n_classes, 2 * (1 - share) / (n_classes - 1))
    alpha[-1] = 2 * share
    return PoolPosteriors(rng.dirichlet(alpha / 2, n), 0.9)


def planned(pool=None, seed=0, **given):
    chosen = {"precision": None, "budget": None, "positive": None, "strata": 5}
    options = PlanOptions(**chosen | {"estimand": "realised", "level": 0.95} | given)
    pool = pool_of() if pool is None else pool
    key = pool_key(len(pool.values), pool.values)
    return make_plan(pool, key, options, np.random.default_rng(seed))


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_strata_have_equal_uncertainty(seed, n_strata):
    posteriors = np.random.default_rng(seed).dirichlet([0.5, 0.5, 0.5], 500)
    codes = cut_by_uncertainty(posteriors, n_strata)
    uncertainty = np.sqrt((posteriors * (1 - posteriors)).sum(axis=1))
    sums = np.bincount(codes, uncertainty)
    assert len(sums) == n_strata
    np.testing.assert_allclose(sums, uncertainty.sum() / n_strata, atol=1)
    # In the order of uncertainty.
    for h in range(n_strata - 1):
        assert uncertainty[codes == h].max() <= uncertainty[codes == h + 1].min()


@pytest.mark.parametrize("n", [50, 100, 300])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_no_allocation_that_is_as_careful_is_much_better(n, share):
    """Neither more or fewer strata nor more labels for certain items shorten intervals."""
    pool = pool_of(5000, share, seed=1)
    strata = Strata.of(pool, 5)
    own = strata.half_widths(strata.allocate(n, 0.95), 0.95)[1]
    for n_strata, unseen in product((1, 2, 3, 5), (8, 10, 20, 100)):
        other = Strata.of(pool, n_strata)
        counts = allocate(other.sizes, other.variances @ other.importance, n, unseen)
        assert own < 1.08 * other.half_widths(counts, 0.95)[1]


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_certain_items_keep_most_of_their_share_of_the_labels(share):
    """Errors among them are seen by their labels alone."""
    strata = Strata.of(pool_of(5000, share, seed=1), 5)
    for n in (50, 100, 300):
        weights = strata.sizes / strata.sizes.sum() / strata.allocate(n, 0.95)
        assert weights.max() < 2 / n


def test_a_plan_for_one_class_serves_it():
    pool = pool_of(share=0.05, n_classes=4)
    widths = {}
    for positive in (None, 3):
        strata = Strata.of(pool, 5, positive)
        widths[positive] = strata.half_widths(strata.allocate(300, 0.95), 0.95)
        plan = planned(pool, budget=300, positive=positive)
        wanted = widths[positive][[3] if positive else slice(None)].max()
        assert plan.precision == pytest.approx(wanted)
    assert widths[3][3] < 0.95 * widths[None][3]
    assert widths[3][:3].max() > widths[None][:3].max()
    # Fewer labels reach a precision for one class.
    few, many = (planned(pool, precision=0.02, positive=k).n for k in (3, None))
    assert few < many / 2


def test_a_table_with_a_row_twice_is_refused():
    table = planned(pool_of(), budget=40).to_frame()
    with pytest.raises(HeadcountError, match=r"row .* 2 times: keep each row once"):
        LabelPlan.from_frame(pl.concat([table, table[:1]]))


def test_the_class_of_a_plan_must_exist():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 50)
    X = rng.normal(size=(150, 2)) + np.arange(150)[:, None] // 50
    q = hc.SLD(random_state=0).fit(X, y)
    assert q.plan_labels(X, budget=30, positive="c").n == 30
    with pytest.raises(HeadcountError, match="positive"):
        q.plan_labels(X, budget=30, positive="d")


def test_certain_posteriors_make_one_stratum():
    assert not cut_by_uncertainty(np.eye(2)[[0, 1, 1]], 3).any()


@given(
    st.lists(st.integers(2, 60), min_size=1, max_size=5),
    st.floats(0, 10),
    st.integers(0, 10**6),
    st.data(),
)
def test_allocation_sums_up_within_bounds(sizes, unseen, seed, data):
    sizes = np.array(sizes)
    n = data.draw(st.integers(2 * len(sizes), int(sizes.sum())))
    counts = allocate(sizes, np.random.default_rng(seed).random(len(sizes)), n, unseen)
    assert counts.sum() == n
    assert (counts >= 2).all()
    assert (counts <= sizes).all()


@given(st.integers(0, 10**6))
def test_allocation_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    sizes, variances, n = rng.integers(30, 200, 3), rng.uniform(0.01, 0.25, 3), 20

    def variance(counts):
        return float((sizes**2 * variances / np.array(counts)).sum())

    every = [(a, b, n - a - b) for a, b in product(range(2, 17), repeat=2) if n - a - b >= 2]
    best = min(map(variance, every))
    assert variance(allocate(sizes, variances, n, 0.0)) <= 1.05 * best


def test_unseen_errors_make_the_allocation_proportional():
    sizes, variances = np.array([900, 100]), np.array([0.001, 0.25])
    few = allocate(sizes, variances, 100, 0.0)[0]
    many = allocate(sizes, variances, 100, 1000.0)[0]
    assert few < 60
    assert many == 90


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_are_drawn_once_from_their_strata(n_classes):
    pool = pool_of(n_classes=n_classes)
    plan = planned(pool, budget=200)
    assert plan.n == 200
    assert len(set(plan.rows.tolist())) == 200
    codes = Strata.of(pool, 5).codes
    assert (codes[plan.rows] == plan.strata).all()
    assert plan.sizes.tolist() == np.bincount(codes).tolist()
    assert plan.n_pool == 2000
    # Rows come in random order, so that the first ones are from all strata.
    assert len(set(plan.strata[:80].tolist())) == 5


def test_every_row_of_a_stratum_is_drawn_equally_often():
    pool = pool_of(60)
    drawn = np.zeros(60)
    for seed in range(2000):
        drawn[planned(pool, seed, budget=20).rows] += 1
    plan = planned(pool, budget=20)
    expected = (np.bincount(plan.strata) / plan.sizes)[Strata.of(pool, 2).codes] * 2000
    assert ((drawn - expected) ** 2 / (expected * (1 - expected / 2000))).mean() < 1.5


def test_labels_for_a_precision_reach_it_and_one_label_less_does_not():
    pool = pool_of()
    plan = planned(pool, precision=0.03)
    assert plan.precision <= 0.03
    assert planned(pool, budget=plan.n - 1).precision > 0.03
    assert planned(pool, precision=0.01).n > plan.n
    assert planned(pool, precision=0.03, level=0.99).n > plan.n
    assert planned(pool, precision=0.03, estimand="expected").n > plan.n


def test_budgets_list_the_precision():
    plan = planned(budget=150)
    found = {each.n: each.precision for each in plan.budgets}
    assert found[150] == plan.precision
    assert sorted(found.values(), reverse=True) == [found[n] for n in sorted(found)]


def test_one_stratum_is_a_simple_random_sample():
    plan = planned(budget=100, strata=1)
    assert plan.sizes.tolist() == [2000]
    np.testing.assert_allclose(plan.weights, 20.0)
    useless = PoolPosteriors.none(500, np.array([0.3, 0.7]))
    assert planned(useless, budget=50).sizes.tolist() == [500]


def test_all_items_may_be_planned():
    plan = planned(pool_of(100), budget=100)
    assert sorted(plan.rows.tolist()) == list(range(100))
    assert planned(pool_of(100), precision=0.005).n <= 100


def test_frame_and_back(tmp_path):
    plan = planned(budget=120)
    frame = plan.to_frame()
    assert frame.columns == ["row", "stratum", "weight", "label", "pool"]
    assert frame["label"].null_count() == 120
    assert frame["weight"].sum() == pytest.approx(2000)
    frame.write_csv(tmp_path / "plan.csv")
    for table in (frame, frame.to_pandas(), pl.read_csv(tmp_path / "plan.csv")):
        again = LabelPlan.from_frame(table)
        assert again.rows.tolist() == plan.rows.tolist()
        assert again.strata.tolist() == plan.strata.tolist()
        assert again.sizes.tolist() == plan.sizes.tolist()
        assert again.pool == plan.pool


def test_prints_what_each_budget_buys():
    plan = planned(budget=200)
    text = repr(plan).splitlines()
    assert text[0].startswith("Plan: label 200 of 2,000 items, drawn from 5 strata, for shares")
    assert text[1].split() == ["labels", "shares", "within"]
    assert any("200*" in line for line in text)
    html = plan._repr_html_()
    assert "<table" in html
    assert "Plan: label 200" in html
    assert len(plan.to_dict()["budgets"]) == len(plan.budgets)
    assert plan.plot().get_xlabel() == "labels"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Pass either `precision`, such as 0.01, or `budget`, such as 200"),
        ({"precision": 0.1, "budget": 100}, "Pass either `precision`"),
        ({"precision": 0}, "`precision` is 0; it must be a number between 0 and 1"),
        ({"budget": 3}, "`budget` is 3; it must be a whole number of at least 4"),
        ({"budget": 3000}, "`budget` is 3,000, but there are 2,000 items"),
        ({"budget": 100, "strata": 0}, "strata is 0"),
        ({"budget": 100, "level": 95}, "level is 95"),
        ({"budget": 100, "estimand": "mean"}, "estimand is 'mean'"),
        ({"precision": 0.001, "estimand": "expected"}, "even labels for all 2,000 items give"),
    ],
)
def test_bad_calls(given, message):
    with pytest.raises(HeadcountError, match=message):
        planned(**given)


def test_tables_that_are_no_plan():
    frame = planned(budget=50).to_frame()
    with pytest.raises(HeadcountError, match="has no column 'stratum'"):
        LabelPlan.from_frame(frame.drop("stratum"))
    with pytest.raises(HeadcountError, match="keep all rows of the plan in the table"):
        LabelPlan.from_frame(frame.head(30))
    other = planned(pool_of(seed=1), budget=50).to_frame()
    with pytest.raises(HeadcountError, match="read the table of a single plan"):
        LabelPlan.from_frame(pl.concat([frame, other]))


def test_key_tells_pools_apart():
    posteriors = pool_of().values
    assert pool_key(2000, posteriors) == pool_key(2000, posteriors + 1e-13)
    assert pool_key(2000, posteriors) != pool_key(2000, posteriors[::-1])
    assert pool_key(2000, None) == "2000"


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1500)
    X = rng.normal(size=(1500, 2)) + 2 * y[:, None]
    return hc.SLD(random_state=0).fit(X[:500], y[:500]), X[500:], y[500:]


def test_plan_of_another_pool_is_refused(fitted):
    q, X, y = fitted
    plan = q.plan_labels(X, budget=50)
    rows = plan.rows
    q.estimate(X, labelled=(rows, y[rows]), design=plan)
    read = LabelPlan.from_frame(plan.to_frame())
    q.estimate(X, labelled=(rows, y[rows]), design=read)
    for other in (X[:-1], X[::-1], X + 0.1):
        kept = rows[rows < len(other)]
        with pytest.raises(HeadcountError, match="plan is for another pool"):
            q.estimate(other, labelled=(kept, y[kept]), design=plan)


def test_a_plan_warns_if_more_than_the_mix_has_changed(fitted):
    q, X, _ = fitted
    assert q.plan_labels(X, budget=100).warnings == ()
    moved = X + np.array([1.5, 0.0])
    plan = q.plan_labels(moved, budget=100)
    (text,) = plan.warnings
    assert text.startswith("The items do not look like the training items, whatever the mix (p")
    # Half the width of an interval of a share of one half, from 100 labels.
    assert text.endswith("100 labels without a classifier give 9.8 points at most.")
    assert repr(plan).endswith(f"warning: {text}")
    assert "labels without a classifier give 9.8 points" in plan._repr_html_()
    assert plan.to_dict()["warnings"] == [text]
    groups = np.repeat([0, 1], 500)
    mixed = np.vstack([X[:500], moved[500:]])
    (text,) = q.plan_labels(mixed, budget=50, groups=groups).warnings
    assert text.startswith("The items of 1 of 2 groups do not look")
    assert "50 labels without a classifier give 14 points" in text


def test_labels_outside_of_the_plan_are_refused(fitted):
    q, X, y = fitted
    plan = q.plan_labels(X, budget=50)
    foreign = int(np.setdiff1d(np.arange(1000), plan.rows)[0])
    rows = np.append(plan.rows, foreign)
    with pytest.raises(HeadcountError, match=f"has row {foreign}, which is not in the plan"):
        q.estimate(X, labelled=(rows, y[rows]), design=plan)


def test_plans_may_be_labelled_in_part(fitted):
    q, X, y = fitted
    plan = q.plan_labels(X, budget=100, random_state=0)
    rows = plan.rows[:60]
    estimate = q.estimate(X, labelled=(rows, y[rows]), design=plan)
    assert "60 of 100 planned rows have a label" in estimate.warnings[0]
    first = plan.rows[plan.strata == 0]
    with pytest.raises(
        HeadcountError, match="stratum 2 of the plan has 0 labels, but at least 2"
    ):
        q.estimate(X, labelled=(first, y[first]), design=plan)


def test_seed_of_the_quantifier(fitted):
    q, X, _ = fitted
    assert (
        q.plan_labels(X, budget=30).rows.tolist() == q.plan_labels(X, budget=30).rows.tolist()
    )
    other = q.plan_labels(X, budget=30, random_state=1)
    assert other.rows.tolist() != q.plan_labels(X, budget=30).rows.tolist()
