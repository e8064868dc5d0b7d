"""Detector of changes: against the oracle, and its bound on false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.monitor.series import Restart, WatchedSeries, detect
from tests.oracle import detector as oracle


def series(values, streams=None, limits=None, size=100.0):
    values = np.asarray(values, float)
    C = values.shape[1]
    streams = np.zeros(C, int) if streams is None else np.asarray(streams)
    weights = 1 / np.bincount(streams)[streams]
    ones = np.ones_like(values)
    limits = np.full(C, np.nan) if limits is None else np.asarray(limits, float)
    return WatchedSeries(values, ones, size * ones, streams, np.arange(C), weights, limits)


def noise(seed, T, C=1):
    return np.random.default_rng(seed).normal(scale=0.1, size=(T, C))


def test_evidence_matches_the_oracle():
    values = noise(0, 9)
    found = detect(series(values), np.inf)
    assert found.evidence == pytest.approx(oracle.evidence(values[:, 0], 1.0, 100.0))


@pytest.mark.parametrize(("n_series", "n_streams"), [(1, 1), (4, 1), (2, 5)])
def test_false_alarms_are_at_least_as_rare_as_stated(n_series, n_streams):
    first = []
    for seed in range(25):
        values = noise(seed, 600, n_series * n_streams)
        found = detect(series(values, np.repeat(np.arange(n_streams), n_series)), 60)
        first.append(found.alarms[0].at + 1 if found.alarms else 600)
    # The mean is at least 60; a bound on times cut at 600, with three standard errors.
    assert np.mean(first) + 3 * np.std(first) / 5 > 60


@pytest.mark.parametrize(("change", "most"), [(1, 20), (2, 7), (3, 5)])
def test_changes_are_found_soon(change, most):
    delays = []
    for seed in range(15):
        values = noise(seed, 160)
        values[100:] += 0.1 * change
        alarms = detect(series(values), 365).alarms
        if not alarms or alarms[0].at >= 100:  # a false alarm may still be open
            delays.append(alarms[0].at - 99 if alarms else 60)
    assert len(delays) >= 13
    assert np.mean(delays) < most


def test_slow_drift_is_found():
    values = noise(1, 200)
    values[100:, 0] += 0.005 * np.arange(100)
    assert detect(series(values), 365).alarms


def test_alarm_has_change_point_level_before_and_end():
    values = noise(2, 120)
    values[50:80] += 0.5
    (alarm,) = detect(series(values), 365).alarms
    assert alarm.since == 50
    assert alarm.at in (50, 51)
    assert 80 <= alarm.end <= 84
    assert alarm.before[0] == pytest.approx(values[:50].mean())


def test_a_series_that_alarmed_is_quiet_until_it_is_back_or_restarted():
    values = noise(3, 120)
    values[50:] += 0.5
    assert len(detect(series(values), 365).alarms) == 1
    values[90:] += 0.5
    assert len(detect(series(values), 365).alarms) == 1
    found = detect(series(values), 365, [Restart(0, since=50, at=55)])
    assert [(each.since, each.end) for each in found.alarms] == [(50, 55), (90, None)]


def test_variation_between_values_is_learnt():
    rng = np.random.default_rng(4)
    values = rng.normal(scale=0.3, size=(300, 1))  # three times the noise of samples
    assert len(detect(series(values), 365).alarms) <= 2


def test_a_limit_is_one_sided():
    low = noise(5, 100) - 1
    assert not detect(series(low, limits=[0.0]), 365).alarms
    high = noise(5, 100)
    high[50:] += 0.5
    (alarm,) = detect(series(high, limits=[0.1]), 365).alarms
    assert 50 <= alarm.since <= alarm.at <= 54


def test_evidence_of_a_huge_change_is_finite():
    values = noise(2, 40)
    values[30:] += 1000
    found = detect(series(values), 365)
    assert np.isfinite(found.evidence).all()
    assert [(alarm.since, alarm.at) for alarm in found.alarms] == [(30, 30)]
    assert np.isfinite(detect(series(values), np.inf).evidence).all()


def test_missing_values_are_skipped():
    values = noise(6, 40)
    some = values.copy()
    some[[5, 6, 20]] = np.nan
    found = detect(series(some), np.inf).evidence
    kept = np.isfinite(some[:, 0])
    assert found[kept] == pytest.approx(detect(series(values[kept]), np.inf).evidence)


def test_an_alarm_names_the_stream_that_changed():
    values = noise(7, 100, 6)
    values[60:, 4] += 0.6
    (alarm,) = detect(series(values, [0, 0, 1, 1, 2, 2]), 365).alarms
    assert (alarm.stream, alarm.series) == (2, (4,))
