from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headcount import metrics
from headcount.errors import HeadcountError
from tests.oracle import metrics as oracle

DISTANCES = ["hellinger", "topsoe", "jsd", "bray_curtis", "md", "cvm"]
PLAIN = ["ae", "tae", "nae", "se", "nmd", "rnod", *DISTANCES]
SMOOTHED = ["rae", "nrae", "kld", "nkld", "aitchison"]
BOUNDED = ["nae", "nrae", "nkld", "nmd", "hellinger", "jsd", "bray_curtis", "cvm"]
SYMMETRIC = ["ae", "tae", "se", "nmd", "aitchison", *DISTANCES]
UNORDERED = ["ae", "tae", "nae", "se", "rae", "nrae", "kld", "nkld", "aitchison"]
UNORDERED += ["hellinger", "topsoe", "jsd", "bray_curtis"]
SIZE = 50


def options(name):
    return {"size": SIZE} if name in SMOOTHED else {}


def value(name, p, q):
    return getattr(metrics, name)(p, q, **options(name))


def expected(name, p, q):
    if name in SMOOTHED:
        p, q = oracle.smooth(p, 1 / (2 * SIZE)), oracle.smooth(q, 1 / (2 * SIZE))
    return getattr(oracle, name)(p, q)


@st.composite
def shares(draw, n=2):
    # Counts, so that exact zeros, single classes and equal vectors come up often.
    K = draw(st.integers(2, 6))
    counts = st.lists(st.integers(0, 20), min_size=K, max_size=K).filter(any)
    return [np.array(each) / sum(each) for each in (draw(counts) for _ in range(n))]


invariant = settings(max_examples=40)
every_metric = pytest.mark.parametrize("name", PLAIN + SMOOTHED)


@every_metric
@invariant
@given(pair=shares())
def test_equals_the_oracle(name, pair):
    assert value(name, *pair) == pytest.approx(expected(name, *pair), rel=1e-9, abs=1e-12)


@invariant
@given(pair=shares())
def test_divergence_in_bits(pair):
    p, q = (np.array(oracle.smooth(each, 0.01)) for each in pair)
    bits = metrics.kld(*pair, eps=0.01, base=2)
    assert bits == pytest.approx(sum(p * np.log2(p / q)), abs=1e-12)
    power = np.exp(bits)
    brought = 2 * power / (1 + power) - 1
    assert metrics.nkld(*pair, eps=0.01, base=2) == pytest.approx(brought, abs=1e-12)


@pytest.mark.parametrize("base", [1, 0, -2, np.inf, np.nan, "2", True])
def test_a_base_that_is_none(base):
    with pytest.raises(HeadcountError, match=r"base is .* number above 1"):
        metrics.kld([0.5, 0.5], [0.4, 0.6], base=base)


@every_metric
@invariant
@given(pair=shares())
def test_zero_if_and_only_if_equal(name, pair):
    p, q = pair
    assert value(name, p, p) == pytest.approx(0, abs=1e-12)
    assume(np.abs(p - q).max() > 1e-3)
    assert value(name, p, q) > 1e-9


@pytest.mark.parametrize("name", SYMMETRIC)
@invariant
@given(pair=shares())
def test_symmetric(name, pair):
    p, q = pair
    assert value(name, p, q) == pytest.approx(value(name, q, p), abs=1e-12)


@pytest.mark.parametrize("name", BOUNDED)
@invariant
@given(pair=shares())
def test_within_zero_and_one(name, pair):
    assert 0 <= value(name, *pair) <= 1 + 1e-12


@pytest.mark.parametrize("name", UNORDERED)
@invariant
@given(pair=shares(), seed=st.integers(0, 99))
def test_order_of_classes_is_of_no_account(name, pair, seed):
    p, q = pair
    order = np.random.default_rng(seed).permutation(len(p))
    assert value(name, p[order], q[order]) == pytest.approx(value(name, p, q), abs=1e-12)


@pytest.mark.parametrize("name", ["nmd", "rnod", "md", "cvm"])
def test_order_of_classes_is_of_account(name):
    near, far = value(name, [1, 0, 0], [0, 1, 0]), value(name, [1, 0, 0], [0, 0, 1])
    assert near < far


@every_metric
@invariant
@given(rows=shares(n=6))
def test_a_batch_is_its_members_one_by_one(name, rows):
    p, q = np.stack(rows[:3]), np.stack(rows[3:])
    one_by_one = [value(name, a, b) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(value(name, p, q), one_by_one, rtol=0, atol=1e-12)
    table = value(name, p[:, None], q)
    assert table.shape == (3, 3)
    np.testing.assert_allclose(np.diagonal(table), one_by_one, rtol=0, atol=1e-12)


@every_metric
def test_one_pair_gives_a_number_and_a_batch_float64(name):
    assert isinstance(value(name, [0.5, 0.5], [0.4, 0.6]), float)
    assert value(name, [[0.5, 0.5]], [0.4, 0.6]).dtype == np.float64


def test_the_worst_estimate_reaches_one():
    p = [0.2, 0.3, 0.5]
    for name in ("nae", "nrae"):
        assert getattr(metrics, name)(p, [1, 0, 0]) == pytest.approx(1)
    assert metrics.nmd([1, 0, 0], [0, 0, 1]) == 1


def test_values_worked_out_by_hand():
    p, q = [0.5, 0.3, 0.2], [0.2, 0.4, 0.4]
    assert metrics.ae(p, q) == pytest.approx(0.2)
    assert metrics.tae(p, q) == pytest.approx(0.6)
    assert metrics.nae(p, q) == pytest.approx(0.6 / 1.6)
    assert metrics.rae(p, q) == pytest.approx((0.6 + 1 / 3 + 1) / 3)
    assert metrics.se(p, q) == pytest.approx(0.14 / 3)
    assert metrics.nmd(p, q) == pytest.approx((0.3 + 0.2) / 2)
    assert metrics.kld([0.5, 0.5], [0.25, 0.75]) == pytest.approx(0.5 * np.log(4 / 3))


def test_rnod_can_exceed_one():
    p, q = [0.01, 0.01, 0, 0, 0.98], [0, 0, 0, 1, 0]
    assert metrics.rnod(p, q) == pytest.approx(oracle.rnod(p, q))
    assert metrics.rnod(p, q) > 1


@invariant
@given(pair=shares())
def test_bias_is_signed_and_per_class(pair):
    p, q = pair
    np.testing.assert_allclose(metrics.bias(p, q), [b - a for a, b in zip(p, q, strict=True)])
    assert metrics.bias(np.stack(pair), q).shape == (2, len(p))


@invariant
@given(rows=shares(n=12), closed=st.booleans())
def test_macro_nmd_equals_the_oracle(rows, closed):
    p, q = np.stack(rows[:6]), np.stack(rows[6:])
    wanted = oracle.macro_nmd(p.tolist(), q.tolist(), closed)
    assert metrics.macro_nmd(p, q, last_bin_closed=closed) == pytest.approx(wanted, abs=1e-12)
    both = metrics.macro_nmd(np.stack([p, q]), q, last_bin_closed=closed)
    np.testing.assert_allclose(both, [wanted, 0], rtol=0, atol=1e-12)


def test_macro_nmd_leaves_out_a_mean_at_the_top_unless_told():
    top, low = [0, 0, 1], [1, 0, 0]
    assert metrics.macro_nmd([top], [low]) == 0
    assert metrics.macro_nmd([top], [low], last_bin_closed=True) == 0.5
    assert metrics.macro_nmd(low, top) == 0.5


def test_macro_nmd_bins_by_the_truth_and_weighs_bins_equally():
    p = [[1, 0, 0]] * 9 + [[0, 1, 0]]
    q = [[1, 0, 0]] * 9 + [[0, 0, 1]]
    assert metrics.macro_nmd(p, q) == pytest.approx(0.5 / 2)


def test_macro_nmd_puts_a_mean_on_an_edge_into_the_upper_bin_despite_rounding():
    on_edge, above = np.array([2, 1, 3, 3, 1]) / 10, [0, 0, 0.9, 0.1, 0]
    assert on_edge @ np.arange(5.0) / on_edge.sum() < 2  # which is 2 in exact arithmetic
    p, q = [on_edge, above], [on_edge, [0, 0, 0, 0.1, 0.9]]
    assert metrics.macro_nmd(p, q) == pytest.approx(metrics.nmd(p[1], q[1]) / 2 / 4)


def test_macro_nmd_bins_shares_that_sum_to_a_little_less_than_one():
    p, q = [[0, 0.9995, 0], [0, 0.5, 0.5]], [[0, 0.9995, 0], [0, 1, 0]]
    assert metrics.macro_nmd(p, q) == pytest.approx(0.25 / 2 / 2)


@invariant
@given(rows=shares(n=3))
def test_jaggedness_equals_the_oracle(rows):
    wanted = [oracle.jaggedness(row) for row in rows]
    np.testing.assert_allclose(metrics.jaggedness(np.stack(rows)), wanted, atol=1e-12)
    assert metrics.jaggedness(rows[0]) == pytest.approx(wanted[0], abs=1e-12)


def test_jaggedness_of_a_line_is_zero():
    assert metrics.jaggedness([0.1, 0.2, 0.3, 0.4]) == pytest.approx(0)
    assert metrics.jaggedness([0.3, 0.7]) == 0


def test_shift_is_the_absolute_error():
    p, train = [[0.1, 0.9], [0.5, 0.5]], [0.4, 0.6]
    np.testing.assert_array_equal(metrics.shift(p, train), metrics.ae(p, train))


@pytest.mark.parametrize("name", SMOOTHED)
def test_size_is_a_smoothing_of_half_an_item(name):
    metric = getattr(metrics, name)
    p, q = [1.0, 0.0], [0.7, 0.3]
    assert metric(p, q, size=10) == metric(p, q, eps=0.05)
    assert metric(p, q, size=10) != metric(p, q, size=20)


@pytest.mark.parametrize("name", SMOOTHED)
def test_sizes_may_differ_by_sample(name):
    metric = getattr(metrics, name)
    p, q = [[1.0, 0.0], [0.2, 0.8]], [[0.7, 0.3], [0.5, 0.5]]
    wanted = [metric(p[0], q[0], size=10), metric(p[1], q[1], size=99)]
    np.testing.assert_allclose(metric(p, q, size=[10, 99]), wanted)


@pytest.mark.parametrize("name", ["rae", "nrae"])
def test_a_true_share_of_zero_needs_smoothing(name):
    with pytest.raises(HeadcountError, match=f"p has a share of 0.*{name}.*size=.*eps="):
        getattr(metrics, name)([1, 0], [0.5, 0.5])


@pytest.mark.parametrize("name", ["kld", "nkld"])
def test_divergences_mind_zeros_of_the_estimate_only(name):
    assert getattr(metrics, name)([1, 0], [0.5, 0.5]) > 0
    assert getattr(metrics, name)([1, 0], [1, 0]) == 0
    with pytest.raises(HeadcountError, match=f"p_hat has a share of 0.*{name}.*size=.*eps="):
        getattr(metrics, name)([0.5, 0.5], [1, 0])


def test_tiny_shares_overflow_nothing():
    p, q = [1e-300, 1.0], [1.0, 0.0]
    assert metrics.nrae(p, q) == pytest.approx(1)
    assert metrics.nkld([0.5, 0.5], [1.0, 1e-300]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 10, "eps": 0.1}, "both given"),
        ({"size": 0}, "size must be finite and at least 1"),
        ({"size": np.nan}, "size must be finite"),
        ({"eps": -1e-3}, "eps must be finite and at least 0"),
        ({"size": "many"}, "size is not an array of numbers"),
        ({"size": [10, 20, 30]}, r"size \(3,\)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", SMOOTHED)
def test_smoothing_is_checked(name, given, message):
    with pytest.raises(HeadcountError, match=message):
        getattr(metrics, name)([[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2, **given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0.5, 0.6], "has shares that sum to 1.1"),
        ([[0.5, 0.5], [0.2, 0.2]], "has shares that sum to 0.4"),
        ([3, 7], "has the value 7"),
        ([-0.5, 1.5], "has the value -0.5"),
        ([np.nan, 1.0], "missing or infinite"),
        ([np.inf, 0.0], "missing or infinite"),
        ([1.0], "at least 2 classes"),
        (1.0, "at least 2 classes"),
        (np.empty((0, 2)), "at least 2 classes"),
        (["a", "b"], "not an array of numbers"),
        ([[0.5, 0.5], [1.0]], "not an array of numbers"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", [*metrics.METRICS, "shift", "jaggedness"])
def test_shares_are_checked_and_the_argument_named(name, wrong, message):
    metric, good = getattr(metrics, name), [0.5, 0.5]
    if name == "jaggedness":
        with pytest.raises(HeadcountError, match=f"^p .*{message}"):
            metric(wrong)
        return
    with pytest.raises(HeadcountError, match=f"^p .*{message}"):
        metric(wrong, good)
    second = "p_train" if name == "shift" else "p_hat"
    with pytest.raises(HeadcountError, match=f"^{second} .*{message}"):
        metric(good, wrong)


def test_shapes_must_agree():
    with pytest.raises(HeadcountError, match="p_hat has 3 classes, but p has 2"):
        metrics.ae([0.5, 0.5], [0.5, 0.5, 0.0])
    with pytest.raises(HeadcountError, match=r"p \(2,\), p_hat \(3,\)"):
        metrics.ae([[0.5, 0.5]] * 2, [[0.5, 0.5]] * 3)


def test_rounding_is_tolerated():
    assert metrics.ae([1 + 1e-9, -1e-9], [1, 0]) == pytest.approx(0, abs=1e-8)
    assert metrics.kld([0.3335, 0.6667], [0.3333, 0.6667]) >= 0
    assert metrics.kld([0.333, 0.667], [0.3335, 0.6675]) == 0
    assert metrics.rnod([1 + 1e-9, -1e-9], [0.5, 0.5]) == metrics.rnod([1, 0], [0.5, 0.5])


def test_frames_are_shares_too():
    assert metrics.ae(pl.DataFrame({"a": [0.5], "b": [0.5]}), [0.25, 0.75]) == 0.25


def test_metrics_are_found_by_name():
    for name in metrics.METRICS:
        assert metrics.by_name(name) is getattr(metrics, name)
    assert set(SMOOTHED) == metrics.SMOOTHED
    with pytest.raises(HeadcountError, match="'xae': choose one of ae, tae, nae"):
        metrics.by_name("xae")
    with pytest.raises(TypeError):
        metrics.METRICS["mae"] = metrics.ae


# Distances that need more than two vectors, and measures of intervals


@invariant
@given(triple=shares(3))
def test_squared_ratio_error_equals_the_oracle(triple):
    p, q, train = triple
    train = np.array(oracle.smooth(train, 0.1))
    assert metrics.sre(p, q, train) == pytest.approx(oracle.sre(p, q, train), abs=1e-12)
    np.testing.assert_allclose(metrics.sre([p, q], q, train)[1], 0, atol=1e-12)


def test_squared_ratio_error_needs_all_classes_in_training():
    with pytest.raises(HeadcountError, match=r"^p_train has a share of 0"):
        metrics.sre([0.5, 0.5], [0.4, 0.6], [1.0, 0.0])
    with pytest.raises(HeadcountError, match=r"^p_train has 3 classes"):
        metrics.sre([0.5, 0.5], [0.4, 0.6], [0.2, 0.3, 0.5])


@pytest.mark.parametrize(("p", "q"), [([1.0, 0.0], [0.5, 0.5]), ([0.5, 0.5], [1.0, 0.0])])
def test_aitchison_minds_zeros_on_both_sides(p, q):
    with pytest.raises(HeadcountError, match=r"has a share of 0, for which aitchison"):
        metrics.aitchison(p, q)
    assert metrics.aitchison(p, q, size=10) > 0


def test_aitchison_depends_on_ratios_alone():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])
    factor = np.array([1.0, 4.0, 0.5])
    moved = [each * factor / (each * factor).sum() for each in (p, q)]
    assert metrics.aitchison(*moved) == pytest.approx(metrics.aitchison(p, q))


@invariant
@given(triple=shares(3), level=st.sampled_from([0.5, 0.9, 0.95]))
def test_winkler_equals_the_oracle(triple, level):
    p, a, b = triple
    low, high = np.minimum(a, b), np.maximum(a, b)
    given_score = metrics.winkler(p, low, high, level=level)
    assert given_score == pytest.approx(oracle.winkler(p, low, high, level), abs=1e-9)
    inside = (low - 1e-9 <= p) & (p <= high + 1e-9)
    assert metrics.coverage(p, low, high) == pytest.approx(inside.mean())
    assert metrics.width(p, low, high) == pytest.approx((high - low).mean())
    many = metrics.winkler(np.tile(p, (3, 1)), low, high, level=level)
    np.testing.assert_allclose(many, [given_score] * 3)
    assert metrics.width(np.tile(p, (3, 1)), low, high).shape == (3,)


def test_winkler_is_least_for_the_true_quantiles():
    rng = np.random.default_rng(0)
    shares_ = rng.beta(5, 5, 20_000)
    p = np.column_stack([shares_, 1 - shares_])
    scores = []
    for tail in (0.005, 0.025, 0.1):
        low, high = np.quantile(shares_, [tail, 1 - tail])
        scores.append(metrics.winkler(p, [low, 1 - high], [high, 1 - low]).mean())
    assert scores[1] == min(scores)


@pytest.mark.parametrize("name", ["winkler", "coverage", "width"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5], [0.4], [0.6, 0.6]), r"^low has shape \(1,\), but p has 2 classes"),
        (([0.5, 0.5], [0.4, 0.4], 0.6), r"^high has shape \(\)"),
        (([0.5, 0.5], [0.6, 0.4], [0.4, 0.6]), "^low is above high"),
        (([0.5, 0.5], [np.nan, 0.4], [0.4, 0.6]), "^low is above high, or one of them is"),
        (([0.5, 0.5], ["a", "b"], [0.6, 0.6]), "^low is not an array of numbers"),
        (([0.5, 0.5], [0.4, 0.4], [[0.6], [0.6, 0.7]]), "^high is not an array of numbers"),
        (([0.5, 0.6], [0.4, 0.4], [0.6, 0.6]), "^p has shares that sum to 1.1"),
        (([[0.5, 0.5]] * 2, [[0.4, 0.4]] * 3, [0.6, 0.6]), "^p, low and high have the shapes"),
    ],
)
def test_intervals_are_checked(name, arguments, message):
    with pytest.raises(HeadcountError, match=message):
        getattr(metrics, name)(*arguments)


@pytest.mark.parametrize("level", [0, 1, "x", np.nan])
def test_level_of_winkler(level):
    with pytest.raises(HeadcountError, match=r"^level is"):
        metrics.winkler([0.5, 0.5], [0.4, 0.4], [0.6, 0.6], level=level)


def test_metrics_have_the_names_that_people_type():
    for alias, name in metrics.ALIASES.items():
        assert alias not in metrics.METRICS
        assert metrics.by_name(alias) is metrics.by_name(alias.upper()) is metrics.METRICS[name]
    assert metrics.by_name("MRAE") is metrics.rae
    p, p_hat = np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[0.4, 0.6], [0.7, 0.3]])
    assert metrics.mae(p, p_hat) == metrics.ae(p, p_hat).mean() == pytest.approx(0.15)
    assert metrics.mrae(p, p_hat, size=10) == metrics.rae(p, p_hat, size=10).mean()
