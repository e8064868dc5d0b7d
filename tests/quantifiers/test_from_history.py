from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import headcount as hc


def dated(n_groups=8, size=150, seed=0, shift="features"):
    """Items of months: the class depends on the features as ever, or only the mix changes."""
    rng = np.random.default_rng(seed)
    month = np.repeat(np.arange(n_groups), size)
    if shift == "features":
        X = rng.normal(size=(len(month), 2)) + np.linspace(-1, 1, n_groups)[month][:, None]
        y = (rng.random(len(month)) < 1 / (1 + np.exp(-1.5 * X.sum(axis=1)))).astype(int)
    else:
        y = (rng.random(len(month)) < rng.uniform(0.1, 0.9, n_groups)[month]).astype(int)
        X = rng.normal(size=(len(month), 2)) + 0.9 * y[:, None]
    return X, y, month


@pytest.mark.parametrize(
    ("shift", "reading"), [("features", "mean posteriors"), ("mix", "prior shift")]
)
def test_the_reading_that_holds_is_found(shift, reading):
    X, y, month = dated(shift=shift)
    old, new = month < 7, month == 7
    q = hc.FromHistory(random_state=0).fit(X[old], y[old], groups=month[old])
    weights = q.backtest_.weights
    assert max(weights, key=weights.get) == reading
    estimate = q.estimate(X[new])
    assert estimate.basis == "history"
    assert "Weights of the readings, from 7 labelled groups: " in repr(estimate)
    ends = estimate.interval()
    assert ends.low[1] <= y[new].mean() <= ends.high[1]
    assert q.predict(X[new]) == pytest.approx(estimate.shares)


def test_months_are_estimated_from_earlier_ones_only():
    X, y, month = dated()
    dates = np.datetime64("2024-01-01") + 31 * month
    q = hc.FromHistory(random_state=0).fit(X, y, groups=dates)
    assert q.backtest_.ordered
    assert "last share" in q.backtest_.readings
    assert len(q.backtest_.truth) == 4
    changed = y.copy()
    changed[month == 7] = 1 - changed[month == 7]
    again = hc.FromHistory(random_state=0).fit(X, changed, groups=dates)
    frames = [each.backtest_.to_frame().filter(pl.col("group") < pl.col("group").max())
              for each in (q, again)]  # fmt: skip
    assert frames[0].equals(frames[1])


def test_sites_are_left_out_in_turn():
    X, y, month = dated()
    q = hc.FromHistory(random_state=0).fit(X, y, groups=[f"site {m}" for m in month])
    backtest = q.backtest_
    assert not backtest.ordered
    assert len(backtest.truth) == 8
    assert backtest.coverage() > 0.8
    frame = backtest.to_frame()
    columns = ["group", "class", "items", "truth", "share", "low", "high", "inside"]
    assert frame.columns == [*columns, *backtest.readings]
    truth = frame.filter(pl.col("class") == 1).sort("group")["truth"].to_numpy()
    np.testing.assert_allclose(truth, [y[month == m].mean() for m in range(8)])
    assert repr(backtest).startswith("Backtest on 8 labelled groups: 95% intervals contain")
    assert "mean posteriors" in backtest.sentence
    assert backtest.plot().get_ylabel() == "share of 1"


def test_statistics_give_the_same_estimates():
    X, y, month = dated()
    old, new = month < 7, month == 7
    q = hc.FromHistory(random_state=0).fit(X[old], y[old], groups=month[old])
    statistics = hc.Statistics(q).update(X[new])
    (by_statistics,) = q.estimate_statistics(statistics, random_state=0).values()
    by_items = q.estimate(X[new], random_state=0)
    assert by_statistics.shares == pytest.approx(by_items.shares, abs=1e-3)
    assert by_statistics.weights == pytest.approx(by_items.weights, abs=0.02)


def test_scores_made_elsewhere_have_a_history():
    X, y, month = dated(shift="mix")
    score = 1 / (1 + np.exp(-1.8 * (X.sum(axis=1) - 0.9)))
    old, new = month < 7, month == 7
    q = hc.FromHistory(hc.PACC(), random_state=0)
    q.fit(hc.Scored(score[old]), y[old], groups=month[old])
    assert q.estimate(hc.Scored(score[new])).basis == "history"


def test_labels_of_new_items_replace_the_history():
    X, y, month = dated()
    old, new = month < 7, month == 7
    q = hc.FromHistory(random_state=0).fit(X[old], y[old], groups=month[old])
    rows = np.arange(60)
    estimate = q.estimate(X[new], labelled=(rows, y[new][rows]))
    assert estimate.basis == "labels"
    assert estimate.under_shift.basis == "prior shift"


def test_a_class_that_early_months_lack():
    X, y, month = dated()
    y = y.copy()
    y[(month >= 6) & (np.arange(len(y)) % 5 == 0)] = 2
    q = hc.FromHistory(random_state=0).fit(X, y, groups=month, ordered=True)
    assert q.backtest_.truth.shape[1] == 3
    assert q.backtest_.to_frame()["prior shift"].is_finite().all()


def test_parameters_and_results_do_not_change():
    X, y, month = dated(4)
    q = hc.FromHistory(hc.SLD(), random_state=0)
    assert clone(q).get_params()["quantifier"].get_params() == hc.SLD().get_params()
    first = q.fit(X, y, groups=month).estimate(X[:100])
    second = clone(q).fit(X, y, groups=month).estimate(X[:100])
    np.testing.assert_array_equal(first.draws, second.draws)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "groups is missing"),
        (["one"] * 320, "two labelled groups with at least 20 items"),
        (["one"] * 300 + ["two"] * 20 + ["three"], "groups has 321 values"),
    ],
)
def test_groups_that_do_not_do(groups, message):
    X, y, _ = dated(4, 80)
    with pytest.raises(hc.HeadcountError, match=message):
        hc.FromHistory().fit(X, y, groups=groups)


def test_arguments_that_are_not_allowed():
    X, y, month = dated(4)
    with pytest.raises(hc.HeadcountError, match="ordered is 'yes'; it must be"):
        hc.FromHistory().fit(X, y, groups=month, ordered="yes")
    with pytest.raises(hc.HeadcountError, match="it must be a quantifier"):
        hc.FromHistory("SLD").fit(X, y, groups=month)
    with pytest.raises(hc.HeadcountError, match="label is 7; it must be one of the classes"):
        hc.FromHistory(random_state=0).fit(X, y, groups=month).backtest_.plot(label=7)
    with pytest.raises(hc.HeadcountError, match="needs items of two classes in earlier"):
        hc.FromHistory().fit(X, (month == 3).astype(int), groups=month, ordered=True)
