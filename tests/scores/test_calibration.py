from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from tests.oracle import calibration as oracle

from headcount.errors import HeadcountError, HeadcountWarning
from headcount.scores.calibration import CALIBRATIONS, fit_calibrator

SCALINGS = ("ts", "bcts", "vs", "nbvs", "vs-centred", "nbvs-centred")


def draw(rng, n, n_classes, slope=1.0, biases=0.0):
    """True posteriors, labels drawn from them, and distorted posteriors.

    ``log true = slope * log distorted + biases``, up to a constant.
    """
    true = rng.dirichlet(np.full(n_classes, 0.6), n).clip(1e-9)
    true /= true.sum(axis=1, keepdims=True)
    codes = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    distorted = softmax((np.log(true) - biases) / slope, axis=1)
    return true, codes, distorted


@pytest.fixture
def small():
    rng = np.random.default_rng(5)
    _, codes, scores = draw(rng, 60, 3, slope=0.5, biases=[0.5, 0.0, -0.5])
    return scores.clip(2e-3) / scores.clip(2e-3).sum(axis=1, keepdims=True), codes, rng


@pytest.mark.parametrize("method", SCALINGS)
def test_scalings_reach_the_optimum_of_the_oracle(method, small):
    scores, codes, rng = small
    weights = rng.integers(1, 4, len(codes)).astype(float)
    best = oracle.fit_scaled(method, scores, codes, weights)
    expected = oracle.log_loss(oracle.scaled(method, best, scores), codes, weights)
    posteriors = fit_calibrator(method, scores, codes, weights).transform(scores)
    assert oracle.log_loss(posteriors, codes, weights) == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(posteriors, oracle.scaled(method, best, scores), atol=1e-3)


def test_platt_matches_the_oracle_for_two_classes(small):
    scores, codes, rng = small
    second, codes = scores[:, 2], (codes == 2).astype(int)
    weights = rng.integers(1, 4, len(codes)).astype(float)
    best = oracle.fit_sigmoid(second, codes, weights)
    posteriors = fit_calibrator("platt", second, codes, weights).transform(second)
    targets = oracle.platt_targets(codes, weights)
    expected = oracle.soft_log_loss(oracle.sigmoid_rows(best, second), targets, weights)
    reached = oracle.soft_log_loss(posteriors, targets, weights)
    assert reached == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(posteriors, oracle.sigmoid_rows(best, second), atol=1e-4)


def test_platt_matches_the_oracle_for_three_classes(small):
    scores, codes, _ = small
    sigmoids = []
    for k in range(3):
        best = oracle.fit_sigmoid(scores[:, k], (codes == k).astype(int), np.ones(len(codes)))
        sigmoids.append([row[1] for row in oracle.sigmoid_rows(best, scores[:, k])])
    expected = np.transpose(sigmoids)
    expected /= expected.sum(axis=1, keepdims=True)
    posteriors = fit_calibrator("platt", scores, codes).transform(scores)
    np.testing.assert_allclose(posteriors, expected, atol=1e-4)


def test_isotonic_matches_the_oracle(small):
    scores, codes, rng = small
    scores = scores.round(2)
    scores /= scores.sum(axis=1, keepdims=True)
    weights = rng.integers(1, 4, len(codes)).astype(float)
    new = rng.dirichlet(np.ones(3), 50)
    posteriors = fit_calibrator("isotonic", scores, codes, weights).transform(new)
    expected = oracle.isotonic(scores.tolist(), codes, weights, new)
    np.testing.assert_allclose(posteriors, expected, atol=1e-9)


def test_isotonic_rows_of_zeros_become_uniform():
    scores = np.repeat([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]], 5, axis=0)
    calibrator = fit_calibrator("isotonic", scores, np.repeat([0, 1, 2], 5))
    np.testing.assert_allclose(
        calibrator.transform([[0.4, 0.4, 0.2], [0.2, 0.7, 0.1]]), [[1 / 3] * 3, [0, 1, 0]]
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", CALIBRATIONS)
def test_a_distortion_is_undone(method, n_classes):
    # Per-class temperatures and biases that the method can express exactly (isotonic and
    # one-vs-rest platt can for two classes, and come close for more).
    with_bias = method in ("bcts", "vs", "vs-centred", "platt")
    biases = np.linspace(-1, 1, n_classes) if with_bias else 0.0
    rng = np.random.default_rng(3)
    _, codes, scores = draw(rng, 20_000, n_classes, slope=0.4, biases=biases)
    calibrator = fit_calibrator(method, scores, codes)
    fresh_true, _, fresh = draw(rng, 2_000, n_classes, slope=0.4, biases=biases)
    before = np.abs(fresh - fresh_true).mean()
    after = np.abs(calibrator.transform(fresh) - fresh_true).mean()
    assert before > 0.05
    assert after < 0.25 * before


def test_vector_scaling_recovers_slopes_and_biases():
    rng = np.random.default_rng(0)
    slopes, biases = np.array([0.5, 1.0, 2.0]), np.array([0.7, -0.2, -0.5])
    scores = rng.dirichlet(np.ones(3), 50_000)
    true = softmax(slopes * np.log(scores) + biases, axis=1)
    codes = (true.cumsum(axis=1) > rng.random((len(true), 1))).argmax(axis=1)
    scaling = fit_calibrator("vs", scores, codes).rule.scaling
    np.testing.assert_allclose(scaling.slopes, slopes, atol=0.1)
    np.testing.assert_allclose(scaling.biases, biases, atol=0.05)


@pytest.mark.parametrize("method", CALIBRATIONS)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5))
def test_renaming_classes_renames_posteriors(method, seed, n_classes):
    rng = np.random.default_rng(seed)
    _, codes, scores = draw(rng, 300, n_classes, slope=0.7)
    new = rng.dirichlet(np.ones(n_classes), 40)
    order = rng.permutation(n_classes)
    plain = fit_calibrator(method, scores, codes).transform(new)
    renamed = fit_calibrator(method, scores[:, order], np.argsort(order)[codes])
    np.testing.assert_allclose(renamed.transform(new[:, order]), plain[:, order], atol=1e-7)


# The folds of "auto" divide items, not weights.
@pytest.mark.parametrize("method", [m for m in CALIBRATIONS if m != "auto"])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 4))
def test_weights_are_repetitions(method, seed, n_classes):
    rng = np.random.default_rng(seed)
    _, codes, scores = draw(rng, 200, n_classes)
    times = rng.integers(0, 4, len(codes))
    times[[np.flatnonzero(codes == k)[0] for k in np.unique(codes)]] = 1
    weighted = fit_calibrator(method, scores, codes, times)
    repeated = fit_calibrator(method, scores.repeat(times, axis=0), codes.repeat(times))
    new = rng.dirichlet(np.ones(n_classes), 40)
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-7)


@pytest.mark.parametrize("method", SCALINGS)
def test_perfect_separation_stays_finite_and_is_said(method):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 30)
    scores = softmax(rng.normal(size=(90, 3)) * 0.1 + np.eye(3)[codes], axis=1)
    assert (scores.argmax(axis=1) == codes).all()
    with pytest.warns(HeadcountWarning, match="separate some classes perfectly"):
        calibrator = fit_calibrator(method, scores, codes)
    posteriors = calibrator.transform(scores)
    assert np.isfinite(calibrator.rule.scaling.slopes).all()
    np.testing.assert_allclose(posteriors[np.arange(90), codes], 1.0, atol=1e-3)
    assert np.abs(calibrator.rule.scaling.slopes).max() < 1e4


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_perfect_separation_needs_no_warning_without_divergence(method, n_classes):
    codes = np.repeat(np.arange(n_classes), 10)
    posteriors = fit_calibrator(method, np.eye(n_classes)[codes], codes).transform(
        np.eye(n_classes)
    )
    assert (np.diag(posteriors) > 0.8).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)


def test_platt_of_separated_scores_keeps_the_doubt_of_few_items():
    codes = np.repeat([0, 1], 4)
    posteriors = fit_calibrator("platt", np.eye(2)[codes], codes).transform(np.eye(2))
    np.testing.assert_allclose(posteriors, [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], atol=1e-6)


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_exact_zeros_and_ones_are_taken(method):
    rng = np.random.default_rng(1)
    true, codes, _ = draw(rng, 400, 3)
    votes = np.array([rng.multinomial(5, p) for p in true]) / 5
    assert (votes == 0).any()
    posteriors = fit_calibrator(method, votes, codes).transform(np.eye(3))
    assert np.isfinite(posteriors).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)
    assert (posteriors.argmax(axis=1) == np.arange(3)).all()


def test_a_vote_of_zero_does_not_ruin_the_temperature():
    # 0 of 10 votes says little: with a floor far below 0.1 the slope would shrink to make
    # up for the few zeros of true classes.
    rng = np.random.default_rng(2)
    true, codes, _ = draw(rng, 5_000, 4)
    votes = np.array([rng.multinomial(10, p) for p in true]) / 10
    calibrated = fit_calibrator("bcts", votes, codes).transform(votes)
    harsh = fit_calibrator("bcts", softmax(np.log(votes.clip(1e-12)), axis=1), codes)
    harsh = harsh.transform(softmax(np.log(votes.clip(1e-12)), axis=1))
    ones = np.ones(len(codes))
    assert oracle.log_loss(calibrated, codes, ones) < oracle.log_loss(harsh, codes, ones) - 0.01


def test_huge_logarithms_converge():
    rng = np.random.default_rng(4)
    _, codes, scores = draw(rng, 500, 3, slope=0.02)
    assert scores.min() < 1e-100
    posteriors = fit_calibrator("vs", scores, codes).transform(scores)
    assert -log_softmax(np.log(posteriors), axis=1)[np.arange(500), codes].mean() < 1.0


def test_a_class_without_items_gets_nothing():
    rng = np.random.default_rng(4)
    _, codes, scores = draw(rng, 300, 3)
    codes[codes == 2] = 0
    with pytest.warns(HeadcountWarning):
        posteriors = fit_calibrator("bcts", scores, codes).transform(scores)
    assert posteriors[:, 2].max() < 1e-4


def test_vector_of_scores_and_pickling():
    rng = np.random.default_rng(4)
    _, codes, scores = draw(rng, 300, 2)
    for method in CALIBRATIONS:
        calibrator = pickle.loads(pickle.dumps(fit_calibrator(method, scores[:, 1], codes)))
        np.testing.assert_allclose(
            calibrator.transform(scores),
            fit_calibrator(method, scores, codes).transform(scores),
        )


def test_well_calibrated_scores_do_not_warn_and_hardly_change():
    rng = np.random.default_rng(4)
    true, codes, scores = draw(rng, 20_000, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in SCALINGS:
            posteriors = fit_calibrator(method, scores, codes).transform(scores)
            # Where one posterior is tiny, the centred logs of the others are large.
            atol = 0.07 if method.endswith("-centred") else 0.03
            np.testing.assert_allclose(posteriors, true, atol=atol)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sigmoid", [[0.5, 0.5]], [0]), "'sigmoid' is unknown: choose one of 'auto', 'platt'"),
        (("ts", [[0.5, 0.4]], [0]), "sum to 1"),
        (("ts", [[0.5, 0.5]], [0, 1]), r"shape \(2,\), but must hold 1 integers"),
        (("ts", [[0.5, 0.5]], ["a"]), "must hold 1 integers"),
        (("ts", [[0.5, 0.5]], [2]), "between 2 and 2, but scores has 2 columns"),
        (("ts", [[0.5, 0.5]], [-1]), "between -1 and -1"),
        (("ts", [[0.5, 0.5]], [0], [1.0, 1.0]), "one weight per item"),
        (("ts", [[0.5, 0.5]], [0], [-1.0]), "not negative"),
        (("ts", 0.5, [0]), "0 dimensions"),
    ],
)
def test_bad_calls_are_refused(arguments, message):
    with pytest.raises(HeadcountError, match=message):
        fit_calibrator(*arguments)


def test_transform_checks_the_columns():
    rng = np.random.default_rng(4)
    _, codes, scores = draw(rng, 300, 3)
    calibrator = fit_calibrator("ts", scores, codes)
    with pytest.raises(HeadcountError, match="2 columns, but there are 3 classes"):
        calibrator.transform([[0.5, 0.5]])


def test_auto_matches_the_oracle(small):
    scores, codes, rng = small
    weights = rng.integers(1, 4, len(codes)).astype(float)
    best = oracle.fit_drawn_together(scores, codes, weights, (0.03, 0.1, 0.3), (0.2, 0.6))
    scaling = fit_calibrator("auto", scores, codes, weights).rule.scaling
    np.testing.assert_allclose([*scaling.slopes, *scaling.biases], best, atol=2e-3)


def test_auto_draws_classes_together_unless_the_items_say_otherwise():
    rng = np.random.default_rng(0)
    slopes, biases = np.array([0.7, 1.0, 1.3]), np.array([0.5, 0.0, -0.5])
    scores = rng.dirichlet(np.ones(3), 20_000)
    true = softmax(slopes * np.log(scores) + biases, axis=1)
    codes = (true.cumsum(axis=1) > rng.random((len(true), 1))).argmax(axis=1)
    scaling = fit_calibrator("auto", scores, codes).rule.scaling
    np.testing.assert_allclose(np.diff(scaling.slopes), np.diff(slopes), atol=0.1)
    np.testing.assert_allclose(np.diff(scaling.biases), np.diff(biases), atol=0.1)
    _, codes, scores = draw(rng, 100, 5, slope=0.3)
    scaling = fit_calibrator("auto", scores, codes).rule.scaling
    free = fit_calibrator("vs", scores, codes).rule.scaling
    assert np.ptp(scaling.slopes) < 0.2 * np.ptp(free.slopes)
    assert np.ptp(scaling.biases) < 0.5 * np.ptp(free.biases)


def test_auto_has_nearly_the_least_log_loss_of_the_scalings():
    for seed, n in [(1, 100), (2, 400), (3, 3000)]:
        rng = np.random.default_rng(seed)
        _, codes, scores = draw(rng, n, 4, slope=0.5, biases=np.linspace(-0.3, 0.3, 4))
        _, new_codes, new = draw(rng, 5000, 4, slope=0.5, biases=np.linspace(-0.3, 0.3, 4))
        ones = np.ones(len(new))
        losses = {
            method: oracle.log_loss(
                fit_calibrator(method, scores, codes).transform(new), new_codes, ones
            )
            for method in ("auto", *SCALINGS)
        }
        assert losses["auto"] < min(losses.values()) + 0.02
        assert losses["auto"] < oracle.log_loss(new, new_codes, ones)


def test_the_order_of_the_items_does_not_change_auto():
    rng = np.random.default_rng(5)
    _, codes, scores = draw(rng, 150, 3, slope=0.6)
    order = rng.permutation(len(codes))
    first, second = (
        fit_calibrator("auto", scores[rows], codes[rows]).transform(scores)
        for rows in (slice(None), order)
    )
    np.testing.assert_allclose(first, second, atol=1e-9)
