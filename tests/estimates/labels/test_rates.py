from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle import labels as oracle

from headcount.estimates.labels.judge_errors import Calibration, RateEstimate, rate_difference

Z = 1.959963984540054


def calibration(seed, n_classes=2, n_verdicts=2, size=60):
    """Calibration set whose verdicts tell the classes apart."""
    rng = np.random.default_rng(seed)
    rates = 0.3 * rng.dirichlet(np.ones(n_verdicts), n_classes)
    rates[np.arange(n_classes), np.arange(n_classes)] += 0.7
    counts = np.stack([rng.multinomial(size, row) for row in rates]).astype(float)
    return Calibration(counts, counts.sum(axis=1))


@given(st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_two_classes_are_those_of_rogan_and_gladen(seed, seen):
    learnt = calibration(seed)
    found = RateEstimate.of(learnt, np.array([1 - seen, seen]), 500)
    sensitivity, specificity = learnt.rates[1, 1], learnt.rates[0, 0]
    expected = oracle.rogan_gladen(seen, sensitivity, specificity)
    assert found.centre[1] == pytest.approx(expected, abs=1e-6)
    assert found.centre.sum() == pytest.approx(1)


@given(st.integers(0, 10**4), st.floats(0.25, 0.75))
def test_intervals_are_inverted_tests(seed, seen):
    learnt = calibration(seed)
    found = RateEstimate.of(learnt, np.array([1 - seen, seen]), 500)
    low, high = found.ends(0.95)
    right, wrong = learnt.counts[1, 1], learnt.counts[0, 1]
    expected = oracle.fieller(seen, 500, right, wrong, (60, 60), Z)
    np.testing.assert_allclose([low[1], high[1]], expected, atol=2e-3)
    np.testing.assert_allclose([1 - high[0], 1 - low[0]], [low[1], high[1]], atol=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(0, 2))
def test_the_truth_is_found_without_noise(seed, n_classes, more):
    learnt = calibration(seed, n_classes, n_classes + more, 400)
    shares = np.random.default_rng(seed).dirichlet(np.ones(n_classes))
    found = RateEstimate.of(learnt, shares @ learnt.rates, 10**6)
    np.testing.assert_allclose(found.centre, shares, atol=1e-3)
    low, high = found.ends(0.95)
    assert (low <= shares + 1e-3).all()
    assert (shares - 1e-3 <= high).all()
    inner = found.ends(0.5)
    assert (low <= inner[0]).all()
    assert (inner[1] <= high).all()


def test_more_calibration_makes_shorter_intervals():
    small, large = calibration(0, size=50), calibration(0, size=5000)
    seen = np.array([0.6, 0.4])
    widths = [np.subtract(*RateEstimate.of(c, seen, 10**5).ends(0.95)[::-1])[1]
              for c in (small, large)]  # fmt: skip
    assert widths[1] < widths[0] / 5


def test_verdicts_that_tell_nothing():
    useless = Calibration(np.array([[50.0, 50.0], [48.0, 52.0]]), np.array([100.0, 100.0]))
    found = RateEstimate.of(useless, np.array([0.5, 0.5]), 500)
    assert not found.informative
    low, high = found.ends(0.95)
    assert (low <= 0).all()
    assert (high >= 1).all()
    same = Calibration(np.array([[50.0, 50.0], [50.0, 50.0]]), np.array([100.0, 100.0]))
    nothing = RateEstimate.of(same, np.array([0.5, 0.5]), 500)
    assert not nothing.informative
    assert nothing.centre.tolist() == [0.5, 0.5]
    assert nothing.ends(0.95)[0].max() <= 0
    assert np.isfinite(nothing.covariance).all()
    assert rate_difference(nothing, nothing, 0.95)[1].tolist() == [-1, -1]


def test_rates_that_were_never_wrong_are_still_uncertain():
    perfect = Calibration(np.array([[40.0, 0.0], [0.0, 40.0]]), np.array([40.0, 40.0]))
    low, high = RateEstimate.of(perfect, np.array([0.9, 0.1]), 10**6).ends(0.95)
    assert high[1] - low[1] > 0.05
    ends = perfect.ends(0.95)
    assert ends[0][0, 0] == pytest.approx(0.912, abs=1e-3)
    assert ends[1][0, 1] == pytest.approx(0.088, abs=1e-3)


def test_clusters_and_weights_reduce_the_number_of_items():
    codes, verdicts = np.repeat([0, 1], 100), np.repeat([0, 1, 0, 1], [80, 20, 10, 90])
    plain = Calibration.of(codes, verdicts, 2, 2)
    assert plain.sizes.tolist() == [100, 100]
    clustered = Calibration.of(codes, verdicts, 2, 2, None, np.arange(200) // 10)
    np.testing.assert_allclose(clustered.sizes, 10)
    weighted = Calibration.of(codes, verdicts, 2, 2, np.where(np.arange(200) % 2, 1.0, 3.0))
    np.testing.assert_allclose(weighted.sizes, 80)
    np.testing.assert_allclose(weighted.rates, plain.rates)


def test_differences_share_the_noise_of_the_calibration_set():
    learnt = calibration(0, size=40)
    first = RateEstimate.of(learnt, np.array([0.7, 0.3]), 10**5)
    second = RateEstimate.of(learnt, np.array([0.69, 0.31]), 10**5)
    gap, low, high = rate_difference(first, second, 0.95)
    assert low[1] < gap[1] < high[1]
    alone = first.ends(0.95)
    assert high[1] - low[1] < (alone[1][1] - alone[0][1]) / 4
