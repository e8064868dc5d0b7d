from __future__ import annotations

from datetime import date
from math import fsum

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from tests.estimates.statistics.problems import digits, rows_of, scored_problem

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates import estimates as group_estimates
from headcount.estimates.statistics import stores as logit_cells
from headcount.estimates.statistics import stores as ratio_cells
from headcount.estimates.statistics import stores as sums
from headcount.estimates.statistics.needed_parts import fingerprint
from headcount.estimates.statistics.stores import Entries
from headcount.parts.training import Dense


def partition(rng, n):
    """Rows in random order, in parts of random sizes."""
    cuts = np.sort(rng.integers(1, n, size=rng.integers(1, 6)))
    return [part for part in np.split(rng.permutation(n), cuts) if len(part)]


def merged(statistics, rng):
    """All merged, two at random at a time."""
    left = list(statistics)
    while len(left) > 1:
        first, second = rng.choice(len(left), 2, replace=False)
        left[first].merge(left[second])
        del left[second]
    return left[0]


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("most", [1 << 16, 60])
@settings(max_examples=8)
@given(seed=st.integers(0, 999))
def test_partition_and_order_make_no_difference(monkeypatch_cells, K, most, seed):
    monkeypatch_cells(most)
    rng = np.random.default_rng(seed)
    training, y, new, groups = scored_problem(K, 300, seed % 7)
    # Equal rows, in one part or in several, count as often as they are given.
    rows = rng.integers(100, size=300)
    new, groups = new.take(rows), groups[rows]
    q = hc.Conditioned([hc.SLD(), hc.GPAC()], random_state=0).fit(training, y)
    whole = hc.Statistics(q).update(new, groups)
    parts = [
        hc.Statistics(q).update(new.take(part), groups[part]) for part in partition(rng, 300)
    ]
    found = merged(parts, rng)
    assert found.to_bytes() == whole.to_bytes()
    one_by_one = hc.Statistics(q)
    for part in partition(rng, 300):
        one_by_one.update(new.take(part), groups[part])
    assert one_by_one.to_bytes() == whole.to_bytes()
    assert hc.Statistics.from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes()
    together = hc.Statistics(q).update(new)
    assert found.pooled().to_bytes() == together.to_bytes()


@pytest.fixture
def monkeypatch_cells(monkeypatch):
    return lambda most: monkeypatch.setattr(ratio_cells, "_MOST_NUMBERS", most)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_make_no_difference(monkeypatch, threads):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
    for module in (logit_cells, sums):
        monkeypatch.setattr(module, "_GRAIN_ROWS", 64)
    training, y, new, groups = scored_problem(2, 2000, 0)
    q = hc.AutoQuantifier(random_state=0).fit(training, y)
    found = hc.Statistics(q).update(new, groups).to_bytes()
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "2")
    assert found == hc.Statistics(q).update(new, groups).to_bytes()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_batches_make_no_difference(monkeypatch, threads):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
    for K in (2, 4):
        training, y, new, groups = scored_problem(K, 2000, 0)
        q = hc.AutoQuantifier(random_state=0).fit(training, y)
        parts = np.array_split(np.arange(2000), 9)
        batches = [(new.take(rows), groups[rows]) for rows in parts]
        whole = hc.Statistics(q).update(new, groups).to_bytes()
        assert hc.Statistics(q).update_many(iter(batches)).to_bytes() == whole
        first = hc.Statistics(q).update(*batches[0])
        assert first.update_many(batches[1:]).to_bytes() == whole


def test_a_bad_batch_among_many_leaves_statistics_unchanged():
    training, y, new, groups = scored_problem(2, 300, 0)
    q = hc.ACC().fit(training, y)
    batches = [(new, groups), (new, groups[:5]), (new, groups)]
    for statistics in (hc.Statistics(q), hc.Statistics(q).update(new, groups)):
        before = statistics.n
        with pytest.raises(HeadcountError, match="groups has 5 values"):
            statistics.update_many(batches)
        with pytest.raises(HeadcountError, match="scores of one classifier, and these are dec"):
            statistics.update_many([(new, groups), (hc.Verdicts([0, 1]), None)])
        assert statistics.n == before


@pytest.mark.parametrize(("method", "most"), [(hc.PACC, 30), (hc.KDEyHD, 10)])
def test_fewer_rows_of_a_wide_representation_are_embedded_at_once(monkeypatch, method, most):
    training, y, new, groups = scored_problem(2, 300, 0)
    q = method().fit(training, y)
    whole = hc.Statistics(q).update(new, groups).to_bytes()
    for name, rows in (("_NARROW_ROWS", 30), ("_WIDE_ROWS", 10)):
        monkeypatch.setattr(sums, name, rows)
    found, take = set(), sums._rows_of

    def noted(items, copies, chosen, own):
        found.add(chosen.stop - chosen.start)
        return take(items, copies, chosen, own)

    monkeypatch.setattr(sums, "_rows_of", noted)
    assert hc.Statistics(q).update(new, groups).to_bytes() == whole
    assert max(found) == most


def test_many_groups_have_the_same_cells_as_few():
    training, y, new, _ = scored_problem(2, 3000, 1)
    q = hc.SLD().fit(training, y)
    of_each = hc.Statistics(q).update(new, np.arange(3000))
    assert len(of_each.groups) == 3000
    assert of_each.pooled().to_bytes() == hc.Statistics(q).update(new).to_bytes()


def test_groups_in_one_array_have_the_same_cells_as_others(monkeypatch):
    monkeypatch.setattr(logit_cells, "_MOST_DENSE", 5)
    training, y, new, _ = scored_problem(2, 3000, 1)
    q = hc.SLD().fit(training, y)
    groups = np.random.default_rng(0).integers(12, size=3000)
    few = np.flatnonzero(groups < 4)[::2]
    # The first groups have cells in the array, and then among the entries as well.
    parts = hc.Statistics(q)
    for rows in (few, np.setdiff1d(np.arange(3000), few)):
        parts.update(hc.Scored(new.posteriors[rows]), groups[rows])
    assert parts.to_bytes() == hc.Statistics(q).update(new, groups).to_bytes()
    assert parts.sizes.tolist() == np.bincount(groups).tolist()


@pytest.mark.parametrize("items", [None, 5, (row for row in [[1.0]])])
def test_items_without_rows_are_refused(items):
    X = np.random.default_rng(0).normal(size=(60, 1))
    statistics = hc.Statistics(hc.SLD().fit(X, X[:, 0] > 0))
    with pytest.raises(HeadcountError, match="which has no rows: pass a table"):
        statistics.update(items)


# Solvers that iterate stop at a tolerance of their own.
TO_ROUNDING = {hc.PCC: 1e-14, hc.GPAC: 1e-12, hc.EDy: 1e-12, hc.KDEyHD: 1e-7, hc.RLLS: 1e-12}
SHARES = (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999)


@pytest.mark.parametrize("spread", [0.6, 2.0])
@pytest.mark.parametrize(
    "method",
    [
        hc.SLD(),
        hc.SLD(stop="converged"),
        hc.SLD(calibration="bcts"),
        hc.SLD(calibration="isotonic"),
        hc.KDEyML(),
        hc.KDEyML(stop="converged"),
        hc.RegularizedLikelihood(concentration=2.0),
    ],
    ids=lambda q: f"{type(q).__name__}-{q.get_params().get('calibration')}",
)
@pytest.mark.filterwarnings("ignore:the scores separate")
def test_two_classes_are_near_the_answer_in_memory(method, spread):
    for seed, share in enumerate(SHARES):
        training, y, new, groups = scored_problem(
            2, 20_000, seed, spread, [1 - share, share], n_training=2000
        )
        q = method.fit(training, y)
        estimates = q.estimate_statistics(hc.Statistics(q).update(new, groups), random_state=0)
        expected = q.predict_many(new, rows_of(groups))
        assert_allclose(estimates.raw, expected, atol=1e-4)
        # Expectation maximisation may stop one step earlier or later.
        step = 1e-4 if q.get_params().get("stop") == "noise" else 1e-8
        assert (np.abs(estimates.raw - expected) <= estimates.raw_error + step).all()


def test_early_stopping_takes_a_part_of_the_last_step():
    for seed in range(8):
        training, y, new, _ = scored_problem(2, 5000, seed, n_training=2000)
        q = hc.KDEyML().fit(training, y)
        found = q.estimate_statistics(hc.Statistics(q).update(new), random_state=0)
        assert_allclose(found.raw[0], q.predict(new), atol=1e-4)


@pytest.mark.parametrize("K", [3, 5, 10, 28])
@pytest.mark.filterwarnings("ignore:the scores separate")
def test_more_classes_are_within_the_bound(K):
    for seed, spread in enumerate([1.0, 2.5]):
        training, y, new, groups = scored_problem(K, 30_000, seed, spread, n_training=60 * K)
        methods = [hc.SLD(stop="converged"), hc.SLD(calibration="bcts", stop="converged")]
        if K <= 5:
            methods.append(hc.KDEyML(stop="converged"))
        for q in methods:
            q.fit(training, y)
            statistics = hc.Statistics(q).update(new, groups)
            estimates = q.estimate_statistics(statistics, random_state=0)
            expected = q.predict_many(new, rows_of(groups))
            assert (np.abs(estimates.raw - expected) <= estimates.raw_error + 1e-8).all()
            # Few classes are in cells, and nearly exact.
            assert K > 3 or np.abs(estimates.raw - expected).max() < 1e-3


@pytest.mark.parametrize("K", [10, 28])
@pytest.mark.filterwarnings("ignore:the scores separate")
def test_densities_of_many_classes_are_within_the_bound(K):
    training, y, new, groups = scored_problem(K, 20_000, 1, 1.5, n_training=20 * K)
    q = hc.KDEyML(stop="converged").fit(training, y)
    statistics = hc.Statistics(q).update(new, groups)
    estimates = q.estimate_statistics(statistics, random_state=0)
    assert estimates["a"].n_effective is not None  # there are too many cells
    gaps = np.abs(estimates.raw - q.predict_many(new, rows_of(groups)))
    assert gaps.max() > 1e-6
    assert (gaps <= estimates.raw_error + 1e-8).all()


def test_certain_items_are_never_sampled(monkeypatch_cells):
    monkeypatch_cells(200)
    training, y, new, _ = scored_problem(4, 5000, 3)
    sure = np.eye(4)[np.repeat([0, 1, 2, 3], [4000, 300, 30, 3])]
    q = hc.SLD(stop="converged").fit(training, y)
    both = hc.Scored(np.vstack([new.posteriors, sure]), range(4))
    statistics = hc.Statistics(q).update(both)
    estimates = q.estimate_statistics(statistics, random_state=0)
    assert estimates[None].n_effective is not None
    assert_allclose(estimates.raw[0], q.predict(both), atol=0.05)
    assert (np.abs(estimates.raw[0] - q.predict(both)) <= estimates.raw_error).all()


@pytest.mark.parametrize("method", [hc.PACC, hc.CC, hc.DyS, hc.HDx, hc.AutoQuantifier])
def test_items_are_scored_as_in_memory(method):
    X, y = digits()
    y = (y > 4).astype(int)
    q = method().fit(X[:500], y[:500])
    if "random_state" in q.get_params():
        q = method(random_state=0).fit(X[:500], y[:500])
    groups = np.arange(len(X) - 500) % 2
    statistics = hc.Statistics(q).update(X[500:], groups)
    estimates = q.estimate_statistics(statistics, random_state=0)
    expected = q.estimate_many(X[500:], rows_of(groups), random_state=0)
    for name, own in zip((0, 1), expected, strict=True):
        assert_allclose(estimates[name].raw, own.raw, atol=1e-5)
        assert_allclose(estimates[name].shares, own.shares, atol=1e-5)
        assert_allclose(estimates[name].interval().low, own.interval().low, atol=1e-4)
        assert (estimates[name].fit_test is None) == (own.fit_test is None)
        # A mean over all folds, where an item in memory has one at random.
        if own.fit_test is not None:
            assert abs(estimates[name].fit_test.p_value - own.fit_test.p_value) < 0.3


@pytest.mark.parametrize("K", [2, 3])
def test_moments_and_fit_test_are_exact_to_rounding(K):
    training, y, new, groups = scored_problem(K, 3000, 0)
    for method in (hc.PCC, hc.GPAC, hc.EDy, hc.KDEyHD, hc.RLLS):
        q = method().fit(training, y)
        statistics = hc.Statistics(q).update(new, groups)
        estimates = q.estimate_statistics(statistics, random_state=0)
        expected = q.estimate_many(new, rows_of(groups), random_state=0)
        assert estimates.raw_error is None
        for name, own in zip("abc", expected, strict=True):
            assert_allclose(estimates[name].raw, own.raw, rtol=0, atol=TO_ROUNDING[method])
            found, known = estimates[name].fit_test, own.fit_test
            assert_allclose(found.p_value, known.p_value, rtol=0, atol=1e-12)
            assert estimates[name].warnings == own.warnings
            assert estimates[name].reduction_error is None


def test_means_are_those_in_memory_to_rounding():
    rng = np.random.default_rng(0)
    # Small and large values, of either sign.
    values = rng.normal(size=(5000, 4)) * [1e-6, 0.1, 1.0, 100.0]
    groups = rng.integers(3, size=5000)
    whole = np.zeros((3, 2, 4), np.int64)
    Dense(values).add_sums(groups, whole)
    sizes = np.bincount(groups)
    found = sums.Sums(whole).means(slice(0, 3), sizes)
    exact = [
        [fsum(values[groups == group, j]) / sizes[group] for j in range(4)]
        for group in range(3)
    ]
    assert_allclose(found, exact, rtol=1e-14, atol=1e-18)


def test_counts_are_exact_to_the_last_bit():
    training, y, new, groups = scored_problem(3, 3000, 0)
    for method in (hc.CC, hc.GAC, hc.DM):
        q = method().fit(training, y)
        estimates = q.estimate_statistics(hc.Statistics(q).update(new, groups))
        assert_array_equal(estimates.raw, q.predict_many(new, rows_of(groups)))


def test_verdicts():
    rng = np.random.default_rng(0)
    judged, y = rng.choice(["ok", "bad"], 200), rng.choice(["ok", "bad"], 200)
    q = hc.ACC().fit(hc.Verdicts(judged), y)
    statistics = hc.Statistics(q).update(hc.Verdicts(["ok", "bad", "ok"] * 20))
    found = q.estimate_statistics(statistics, random_state=0)[None]
    assert_allclose(found.raw, q.predict(hc.Verdicts(["ok", "bad", "ok"] * 20)))
    with pytest.raises(HeadcountError, match="use one form for all"):
        statistics.update(hc.Scored([0.1, 0.9]))


def test_one_object_serves_several_methods():
    training, y, new, groups = scored_problem(2, 1000, 0)
    methods = [method().fit(training, y) for method in (hc.SLD, hc.GPAC, hc.DyS)]
    leap = hc.accuracy.LEAP(quantifier=hc.SLD()).fit(training, y)
    statistics = hc.Statistics([*methods, leap]).update(new, groups)
    for q in methods:
        alone = q.estimate_statistics(hc.Statistics(q).update(new, groups), random_state=0)
        assert_array_equal(q.estimate_statistics(statistics, random_state=0).raw, alone.raw)
    leap.estimate_statistics(statistics)
    calibrated = hc.SLD(calibration="bcts").fit(training, y)
    # The cells of SLD, and the same test.
    assert len(calibrated.estimate_statistics(statistics)) == 3
    with pytest.raises(HeadcountError, match="made with another model"):
        hc.CC().fit(training, y).estimate_statistics(statistics)


@pytest.mark.parametrize("K", [2, 3])
def test_accuracy(K):
    training, y, new, groups = scored_problem(K, 3000, 0)
    for predictor in (
        hc.accuracy.CBPE(),
        hc.accuracy.ATC(),
        hc.accuracy.DoC(random_state=0),
        hc.accuracy.LEAP(),
        hc.accuracy.OLEAP(quantifier=hc.ACC()),
        hc.accuracy.Naive(),
    ):
        predictor.fit(training, y)
        statistics = hc.Statistics(predictor).update(new, groups)
        found = predictor.estimate_statistics(statistics, random_state=0)
        expected = predictor.estimate_many(new, rows_of(groups), random_state=0)
        for name, own in zip("abc", expected, strict=True):
            assert found[name].raw == pytest.approx(own.raw, abs=2e-4)
            assert found[name].value == pytest.approx(own.value, abs=2e-3)
            assert found[name].fit_test.p_value == pytest.approx(own.fit_test.p_value, abs=1e-6)
            assert found[name].n_items == own.n_items
            error = found[name].reduction_error
            assert abs(found[name].raw - own.raw) <= (error or 0) + 1e-8


def test_accuracy_of_a_classifier():
    X, y = digits()
    model = LogisticRegression(max_iter=500).fit(X[:500], y[:500])
    predictor = hc.accuracy.CBPE(model).fit(X[500:900], y[500:900])
    statistics = hc.Statistics(predictor).update(X[900:])
    found = predictor.estimate_statistics(statistics, random_state=0)[None]
    assert found.raw == pytest.approx(predictor.predict(X[900:]), abs=1e-8)


@pytest.mark.parametrize("method", [hc.MS, hc.CDE])
def test_methods_that_need_the_items_are_refused_by_name(method):
    training, y, new, _ = scored_problem(2, 100, 0)
    with pytest.raises(HeadcountError, match=f"{method.__name__} needs all items"):
        hc.Statistics(method().fit(training, y)).update(new)
    with pytest.raises(HeadcountError, match="QuAcc needs all items"):
        hc.Statistics(hc.accuracy.QuAcc().fit(training, y)).update(new)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([3, 1, 3], [1, 3]),
        (["x", None, "x"], ["x", None]),
        ([0.5, float("nan"), 0.5], [0.5, None]),
        (
            [date(2024, 1, 2), date(2024, 1, 1), None],
            [date(2024, 1, 1), date(2024, 1, 2), None],
        ),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["a", "b"]),
        ([True, False, True], [False, True]),
        (np.array(["2024-05", "2024-04"], "datetime64[M]")[[0, 1, 0]], None),
        (None, [None]),
    ],
)
def test_names_of_groups(groups, expected):
    training, y, new, _ = scored_problem(2, 3, 0)
    q = hc.PACC().fit(training, y)
    statistics = hc.Statistics(q).update(new, groups)
    if expected is not None:
        assert statistics.groups == expected
    again = hc.Statistics.from_bytes(statistics.to_bytes())
    assert again.groups == statistics.groups
    assert again.n == 3
    assert again.merge(statistics).n == 6


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "groups has 2 values, but there are 3"),
        ([["a"], ["b"], ["c"]], "one text, number or date"),
        ([1, 2, 3], "of the kind 'text' here and 'whole' there"),
    ],
)
def test_bad_groups_leave_the_statistics_unchanged(groups, message):
    training, y, new, _ = scored_problem(2, 3, 0)
    q = hc.SLD().fit(training, y)
    statistics = hc.Statistics(q).update(new, ["a", "b", "a"])
    before = statistics.to_bytes()
    with pytest.raises(HeadcountError, match=message):
        statistics.update(new, groups)
    assert statistics.to_bytes() == before


def test_bad_items_leave_the_statistics_unchanged():
    training, y, new, groups = scored_problem(3, 50, 0)
    q = hc.SLD().fit(training, y)
    statistics = hc.Statistics(q).update(new, groups)
    before = statistics.to_bytes()
    with pytest.raises(HeadcountError):
        statistics.update(hc.Scored([0.2, 0.3]), ["a", "b"])
    assert statistics.to_bytes() == before


def test_values_too_large_for_sums_are_refused():
    rng = np.random.default_rng(0)
    X, y = 1e6 * rng.normal(size=(60, 2)), rng.integers(2, size=60)
    q = hc.ED().fit(X, y)
    with pytest.raises(HeadcountError, match="scale the features"):
        hc.Statistics(q).update(X)


def test_empty_and_wrong_objects():
    training, y, new, _ = scored_problem(2, 50, 0)
    q = hc.SLD().fit(training, y)
    empty = hc.Statistics(q)
    assert repr(empty) == "Statistics without items"
    assert empty.n == 0
    with pytest.raises(HeadcountError, match="no items yet"):
        empty.to_bytes()
    with pytest.raises(HeadcountError, match="no items yet"):
        q.estimate_statistics(empty)
    full = hc.Statistics(q).update(new)
    assert full.merge(empty).n == 50
    assert empty.merge(full).to_bytes() == full.to_bytes()
    with pytest.raises(HeadcountError, match="must be Statistics"):
        full.merge("file")
    with pytest.raises(HeadcountError, match="same object"):
        full.merge(full)
    with pytest.raises(HeadcountError, match="must be a fitted quantifier"):
        hc.Statistics("SLD")
    with pytest.raises(HeadcountError, match="at least one"):
        hc.Statistics([])


def test_other_models_are_refused():
    training, y, new, _ = scored_problem(2, 500, 0)
    other_training, other_y, _, _ = scored_problem(2, 50, 1)
    q, other = hc.SLD().fit(training, y), hc.SLD().fit(other_training, other_y)
    statistics = hc.Statistics(q).update(new)
    before = statistics.to_bytes()
    with pytest.raises(HeadcountError, match="different models"):
        statistics.merge(hc.Statistics(other).update(new))
    with pytest.raises(HeadcountError, match="different models"):
        hc.Statistics(other).merge(statistics)
    with pytest.raises(HeadcountError, match="another model"):
        other.estimate_statistics(statistics)
    with pytest.raises(HeadcountError, match="another model"):
        hc.Statistics.from_bytes(before, other)
    assert statistics.to_bytes() == before
    read = hc.Statistics.from_bytes(before)
    with pytest.raises(HeadcountError, match="without their model"):
        read.update(new)
    assert hc.Statistics.from_bytes(before, q).update(new).n == 1000


def test_printed_and_as_frames():
    training, y, new, _ = scored_problem(2, 600, 0)
    q = hc.SLD(random_state=0).fit(training, y)
    groups = np.arange(600) % 12
    statistics = hc.Statistics(q).update(new, groups)
    assert "2 more" in repr(statistics)
    assert "<table" in statistics._repr_html_()
    assert statistics.to_frame()["items"].to_list() == [50] * 12
    estimates = q.estimate_statistics(statistics)
    assert repr(estimates).startswith("SLD: shares in 12 groups, with 95% intervals\ngroup")
    assert "<table" in estimates._repr_html_()
    frame = estimates.to_frame()
    assert frame.columns == [
        "group", "items", "class", "share", "raw", "low", "high", "count", "count_low",
        "count_high", "error", "fit_p_value",
    ]  # fmt: skip
    assert len(frame) == 24
    with pytest.raises(KeyError):
        estimates[99]


@pytest.mark.parametrize("scored", [True, False])
def test_two_classes_take_at_most_32_kilobytes_per_group(scored):
    rng = np.random.default_rng(0)
    # Every cell of every group is occupied, by many items.
    logits = rng.uniform(-16, 16, 300_000)
    groups = np.arange(300_000) % 3
    if scored:
        training, y, _, _ = scored_problem(2, 10, 0)
        q = hc.AutoQuantifier(random_state=0).fit(training, y)
        new: object = hc.Scored(1 / (1 + np.exp(logits)), [0, 1])
    else:
        X = rng.normal(size=(600, 1))
        y = (X[:, 0] + 0.5 * rng.normal(size=600) > 0).astype(int)
        q = hc.AutoQuantifier(random_state=0).fit(X, y)
        new = logits[:, None] / q.members_[0].fitted_.scorer.classifier_.coef_[0, 0]
    content = hc.Statistics(q).update(new, groups).to_bytes()
    assert len(content) < 3 * 32 * 1024


def test_fingerprints_depend_on_content():
    training, y, _, _ = scored_problem(2, 10, 0)
    first, second = (hc.KDEyHD(random_state=0).fit(training, y) for _ in range(2))
    assert fingerprint(first.fitted_.model) == fingerprint(second.fitted_.model)
    other = hc.KDEyHD(random_state=1, bandwidth=0.2).fit(training, y)
    assert fingerprint(first.fitted_.model) != fingerprint(other.fitted_.model)
    loop: list = [1]
    loop.append(loop)
    assert fingerprint(loop) == fingerprint(loop)
    assert fingerprint({1, 2}) == fingerprint({2, 1})
    assert fingerprint(np.arange(3)) != fingerprint(np.arange(3.0))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("most", [1 << 16, 60])
@pytest.mark.parametrize("combined", [False, True])
def test_all_groups_together_are_those_read_by_name(monkeypatch_cells, K, most, combined):
    monkeypatch_cells(most)
    training, y, new, groups = scored_problem(K, 300, 0)
    q = hc.Conditioned([hc.SLD(), hc.GPAC()], random_state=0) if combined else hc.GPAC()
    q.fit(training, y)
    found = q.estimate_statistics(hc.Statistics(q).update(new, groups), random_state=0)
    together = list(found.values())
    assert len(together) == len(found) == len(set(groups)) > 1
    for place, (name, estimate) in enumerate(zip(found, together, strict=True)):
        alone = found[name]
        assert_array_equal(estimate.shares, alone.shares)
        assert_array_equal(estimate.raw, found.raw[place])
        assert_array_equal(alone.raw, found.raw[place])
        # The draws of those read together were released, and are computed again.
        assert_array_equal(estimate.draws, alone.draws)
        assert_array_equal(estimate.posterior.weights, alone.posterior.weights)
        if not combined:
            assert_allclose(estimate.fit_test.p_value, alone.fit_test.p_value, rtol=1e-9)
        assert estimate.warnings == alone.warnings
        if alone.reduction_error is not None:
            assert_allclose(estimate.reduction_error, alone.reduction_error, atol=1e-15)
    if combined:
        assert_array_equal(
            found.raw, q.fitted_.model.shares.points(found.answered.answers.values, found.sizes)
        )


def test_few_draws_are_kept_while_groups_are_read(monkeypatch):
    monkeypatch.setattr(group_estimates, "_AT_ONCE", 5)
    training, y, new, _ = scored_problem(2, 60, 0)
    q = hc.GPAC().fit(training, y)
    found = q.estimate_statistics(hc.Statistics(q).update(new, np.arange(60) // 3))
    kept = [each.posterior for each in found.values()]
    assert len(kept) == 20
    assert all(posterior._posterior is None for posterior in kept)


@pytest.mark.parametrize("most", [5, 1 << 17])
def test_order_of_entries(most):
    """Numbers of groups beyond 16 bits are sorted in another way, to the same order."""
    rng = np.random.default_rng(0)
    groups = rng.integers(most, size=500)
    keys = rng.integers(9, size=500).astype(np.uint64)
    entries = Entries(
        groups, keys, np.ones(500, np.int64), np.ones((500, 1), np.int64), np.empty((500, 0))
    )
    found = Entries.gather([entries])
    pairs, counts = np.unique(np.column_stack([groups, keys]), axis=0, return_counts=True)
    assert_array_equal(np.column_stack([found.groups, found.keys]), pairs)
    assert_array_equal(found.counts, counts)
    assert_array_equal(found.sums[:, 0], counts)
