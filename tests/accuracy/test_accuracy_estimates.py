from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import headcount as hc
from headcount import accuracy
from tests.accuracy.cases import QUICK, data, fitted


@pytest.fixture(scope="module")
def estimate():
    model, (X, y), (Z, _) = data(3)
    predictor = accuracy.LEAP(model, quantifier=hc.SLD()).fit(X, y)
    return predictor.estimate(Z, "f1", replicates=200, reference_replicates=20, random_state=0)


def test_it_prints_and_goes_into_frames_and_json(estimate):
    text = repr(estimate)
    assert text.startswith("LEAP: f1 on these 260 items 0.")
    assert "true \\ predicted" in text
    assert "95% interval" in text
    assert "90% interval" in estimate.to_text(0.9)
    facts = json.loads(json.dumps(estimate.to_dict(level=0.9)))
    assert (facts["low"], facts["high"]) == estimate.interval(0.9)
    assert facts["level"] == 0.9
    assert np.shape(facts["table"]) == (3, 3)
    frame = estimate.to_frame()
    assert frame.columns == [
        "method", "metric", "value", "low", "high", "level", "size", "target",
    ]  # fmt: skip
    assert frame["value"][0] == estimate.value


def test_it_draws_the_table_or_the_value_alone(estimate):
    ax = estimate.plot()
    assert ax.get_title().startswith(f"f1 {estimate.value:.3f} (")
    assert len(ax.texts) == 9
    assert [label.get_text() for label in ax.get_xticklabels()] == ["ant", "bee", "cat"]
    _, _, (Z, _) = data(2)
    alone = fitted("DoC", 2).estimate(Z, **QUICK).plot()
    assert alone.get_xlabel() == "accuracy"


def test_more_items_make_narrower_intervals():
    predictor, (_, _, (Z, _)) = fitted("SLEAP", 2), data(2)
    few, many = predictor.estimate_many(
        Z,
        [np.arange(40), np.arange(260)],
        replicates=300,
        reference_replicates=30,
        random_state=0,
    )
    assert np.diff(many.interval())[0] < np.diff(few.interval())[0]


def test_what_is_left_out_is_said():
    _, _, (Z, _) = data(2)
    said = fitted("LEAP", 2).estimate(Z, replicates=20, reference_replicates=0).warnings
    assert any("reference_replicates is 0" in text for text in said)
    said = fitted("Naive", 2).estimate(Z, **QUICK).warnings
    assert any("does not correct for a shift" in text for text in said)
    said = fitted("CBPE", 2).estimate(Z, **QUICK).warnings
    assert any("right if only the inputs have changed" in text for text in said)
    said = fitted("ATC", 2).estimate(Z, **QUICK).warnings
    assert any("rule of thumb" in text for text in said)
    said = fitted("RCA", 2).estimate(Z[:20], **QUICK).warnings
    assert any("cannot be drawn anew" in text for text in said)
    assert any("fewer than 30" in text for text in said)


def test_a_sample_that_is_no_mixture_is_reported():
    model, (X, y), _ = data(2)
    predictor = accuracy.SLEAP(model, quantifier=hc.SLD()).fit(X, y)
    odd = np.tile([[0.5, 0.5], [0.499, 0.501]], (100, 1))
    estimate = predictor.estimate_scores(odd, **QUICK)
    assert estimate.fit_test.p_value < 0.01
    assert any("does not look like a mixture" in text for text in estimate.warnings)
    usual = predictor.estimate(X[::2], **QUICK)
    assert not any("mixture" in text for text in usual.warnings)
    assert accuracy.CBPE(model).fit(X, y).estimate_scores(odd, **QUICK).fit_test is None


def test_a_model_without_errors_is_reported():
    scores = np.tile([[0.9, 0.1], [0.2, 0.8]], (40, 1))
    naive = accuracy.Naive().fit_scores(scores, np.tile([0, 1], 40))
    estimate = naive.estimate_scores(scores, **QUICK)
    assert estimate.interval() == pytest.approx((1.0, 1.0))
    assert any("never off" in text for text in estimate.warnings)


@pytest.mark.parametrize("target", ["realised", "expected"])
@pytest.mark.parametrize("method", ["SLEAP", "CBPE", "Naive"])
def test_intervals_hold_the_truth_as_often_as_they_say(target, method):
    """Few and small ones: benchmarks have the table."""
    rng = np.random.default_rng(0)
    shares = {"SLEAP": 0.7}.get(method, 0.3)

    def draw(n, share):
        codes = (rng.random(n) < share).astype(int)
        logits = 2 * (codes - 0.5) + 1.0 * rng.normal(size=n)
        # The true posteriors, of a reference with 30% of the second class.
        return 1 / (1 + np.exp(-2 * logits - np.log(0.3 / 0.7))), codes

    held, population = 0, draw(100_000, shares)
    truth = np.mean((population[0] > 0.5) == population[1])
    for trial in range(40):
        V, U = draw(300, 0.3), draw(200, shares)
        predictor = {
            "SLEAP": accuracy.SLEAP(quantifier=hc.PACC()),
            "CBPE": accuracy.CBPE(calibration="bcts"),
            "Naive": accuracy.Naive(),
        }[method].fit_scores(*V)
        low, high = predictor.estimate_scores(
            U[0], target=target, replicates=120, reference_replicates=60, random_state=trial
        ).interval(0.9)
        wanted = np.mean((U[0] > 0.5) == U[1]) if target == "realised" else truth
        held += low <= wanted <= high
    assert 0.77 <= held / 40 <= 0.99


def test_a_bias_seen_in_replicates_widens_the_interval(estimate):
    plain = replace(estimate, errors=estimate.errors - estimate.errors.mean())
    biased = replace(estimate, errors=plain.errors + 2 * plain.errors.std())
    mirrored = replace(estimate, errors=plain.errors - 2 * plain.errors.std())
    assert biased.interval() == pytest.approx(mirrored.interval())
    narrow, wide = (np.diff(each.interval())[0] for each in (plain, biased))
    assert wide == pytest.approx(np.sqrt(5) * narrow)
