"""Accuracy from history: readings that held in labelled groups decide."""

from __future__ import annotations

import numpy as np
import pytest

import headcount as hc
from headcount.accuracy.history import usual_accuracy
from headcount.samples import Samples


def stream(shares, n=300, blur=0.0, seed=0):
    """Scores of groups with shares of class 1; `blur` of the labels are drawn anew."""
    rng = np.random.default_rng(seed)
    shares = np.asarray(shares)
    month = np.repeat(np.arange(len(shares)), n)
    y = (rng.random(len(month)) < shares[month]).astype(int)
    score = rng.beta(1.5 + 2 * y, 3.5 - 2 * y)
    again = rng.random(len(month)) < np.broadcast_to(blur, len(shares))[month]
    y = np.where(again, rng.random(len(month)) < score, y).astype(int)
    return hc.Scored(score), y, month


def split(scores, y, month, first):
    old, new = np.flatnonzero(month < first), np.flatnonzero(month >= first)
    return scores.take(old), y[old], month[old], scores.take(new), y[new], month[new]


def test_prior_shift_in_the_past_lets_the_method_decide():
    shares = [0.2, 0.7, 0.3, 0.8, 0.1, 0.6, 0.25, 0.75, 0.15, 0.85]
    old, y, month, new, truth, _ = split(*stream(shares, n=600), first=9)
    leap = hc.accuracy.LEAP().fit(old, y, groups=month, ordered=True)
    estimate = leap.estimate(new, random_state=0)
    assert estimate.basis == "history"
    assert estimate.n_groups == 5
    assert sum(estimate.weights.values()) == pytest.approx(1)
    assert estimate.readings["prior shift"] == pytest.approx(estimate.under_shift.value)
    right = np.mean((new.posteriors[:, 1] > 0.5) == truth)
    low, high = estimate.interval()
    assert low <= right <= high
    assert estimate.readings["past mean"] == pytest.approx(
        np.mean((old.posteriors[:, 1] > 0.5) == y)
    )
    last = month == 8
    assert estimate.readings["last share"] == pytest.approx(
        np.mean((old.posteriors[last, 1] > 0.5) == y[last])
    )


def test_drift_in_the_past_makes_intervals_wider():
    blur = [0.1, 0.8, 0.2, 0.9, 0.1, 0.9, 0.2, 0.8, 0.0, 0.9]
    old, y, month, new, _, _ = split(*stream([0.4] * 10, blur=blur, n=400), first=9)
    leap = hc.accuracy.LEAP().fit(old, y, groups=month, ordered=True)
    estimate = leap.estimate(new, random_state=0)
    assert np.ptp(estimate.interval()) > 1.5 * np.ptp(estimate.under_shift.interval())


def test_a_labelled_site_is_estimated_from_its_own_labels():
    scores, y, site = stream([0.4] * 8, blur=[0, 0, 0, 0, 0, 0, 0, 1.0], n=400)
    y = np.where(site == 7, (scores.posteriors[:, 1] < 0.5).astype(int), y)  # always wrong
    leap = hc.accuracy.LEAP().fit(scores, y, groups=site, ordered=False)
    wrong, other = leap.estimate_many(
        scores.take(np.flatnonzero(site >= 6)),
        Samples.by_code(7 - site[site >= 6], 2),
        random_state=0,
        groups=[7, "new"],
    )
    assert "last share" not in wrong.readings
    assert wrong.value < 0.4 < 0.6 < other.value


@pytest.mark.parametrize("metric", ["f1", "mcc", "auroc"])
def test_other_metrics(metric):
    old, y, month, new, _, _ = split(*stream([0.3, 0.6] * 4, n=400), first=7)
    leap = hc.accuracy.LEAP().fit(old, y, groups=month, ordered=True)
    estimate = leap.estimate(new, metric, random_state=0)
    low, high = estimate.interval()
    assert estimate.measure.low <= low <= estimate.value <= high <= estimate.measure.high
    assert ("mean posteriors" in estimate.readings) == (metric != "auroc")
    assert 0 < np.ptp([low, high]) < 0.8


def test_a_metric_without_a_range_follows_the_method():
    old, y, month, new, _, _ = split(*stream([0.3, 0.6] * 3), first=5)
    leap = hc.accuracy.LEAP().fit(old, y, groups=month, ordered=True)
    estimate = leap.estimate(new, lambda table: table[0, 1] - table[1, 0], random_state=0)
    assert estimate.basis == "prior shift"


def test_without_groups_intervals_allow_for_usual_drift():
    scores, y, month = stream([0.3, 0.3, 0.6], n=800)
    old, new = np.flatnonzero(month < 2), np.flatnonzero(month == 2)
    leap = hc.accuracy.LEAP().fit(scores.take(old), y[old])
    pool = leap.fitted_.source.items(scores.take(new))
    metric, samples = leap.fitted_.checked("accuracy"), Samples.whole(len(new))
    answers = leap.estimate_many(scores.take(new), None, random_state=0)
    (estimate,) = usual_accuracy(leap.fitted_, metric, answers, pool, samples)
    assert estimate.basis == "no history: two readings"
    assert estimate.value == answers[0].value
    assert np.ptp(estimate.interval()) > np.ptp(answers[0].interval())


def test_bad_groups():
    old, y, month, *_ = split(*stream([0.3, 0.6] * 3), first=5)
    leap = hc.accuracy.LEAP()
    with pytest.raises(hc.HeadcountError, match="groups has 3 values, but there are 1,500"):
        leap.fit(old, y, groups=month[:3])
    with pytest.raises(hc.HeadcountError, match="ordered is 'yes'; it must be"):
        leap.fit(old, y, groups=month, ordered="yes")
    with pytest.raises(hc.HeadcountError, match="needs two labelled groups"):
        leap.fit(old, y, groups=np.zeros(len(y)))
