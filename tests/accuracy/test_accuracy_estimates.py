from __future__ import annotations

import json

import numpy as np
import pytest

import headcount as hc
from headcount import accuracy
from headcount.estimates import Estimates
from tests.accuracy.cases import QUICK, data, fitted


@pytest.fixture(scope="module")
def estimate():
    model, (X, y), (Z, _) = data(3)
    predictor = accuracy.LEAP(model, quantifier=hc.SLD()).fit(X, y)
    return predictor.estimate(Z, "f1", replicates=400, random_state=0)


def test_it_prints_and_goes_into_frames_and_json(estimate):
    text = repr(estimate)
    assert text.startswith("LEAP: f1 on these 260 items 0.")
    assert f"answer of LEAP itself: {estimate.raw:.3f}" in text
    assert "true \\ predicted" in text
    assert "95% interval" in text
    assert "90% interval" in estimate.to_text(0.9)
    facts = json.loads(json.dumps(estimate.to_dict(level=0.9)))
    assert (facts["low"], facts["high"]) == estimate.interval(0.9)
    assert facts["level"] == 0.9
    assert np.shape(facts["table"]) == (3, 3)
    frame = estimate.to_frame()
    assert frame.columns == [
        "method", "metric", "value", "raw", "low", "high", "level", "estimand",
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


def test_groups_are_estimates_with_one_table_print_and_plot():
    predictor, (_, _, (Z, _)) = fitted("LEAP", 2), data(2)
    statistics = hc.Statistics(predictor).update(Z, groups=["b"] * 130 + ["a"] * 130)
    groups = predictor.estimate_statistics(statistics, **QUICK)
    assert isinstance(groups, Estimates)
    low, high = groups["a"].interval()
    lines = repr(groups).split("\n")
    assert lines[0] == "LEAP: accuracy in 2 groups, with 95% intervals"
    assert lines[1].split() == ["group", "items", "accuracy"]
    assert lines[2].endswith(f"{groups['a'].value:.3f} ({low:.3f} to {high:.3f})")
    assert "<table" in groups._repr_html_()
    frame = groups.to_frame()
    assert frame["group"].to_list() == ["a", "b"]
    assert frame["items"].to_list() == [130, 130]
    np.testing.assert_array_equal(frame["raw"], groups.raw)
    assert frame["fit_p_value"][0] == groups["a"].fit_test.p_value
    ax = groups.plot()
    assert ax.get_ylabel() == "accuracy"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]


def test_more_items_make_narrower_intervals():
    predictor, (_, _, (Z, _)) = fitted("SLEAP", 2), data(2)
    few, many = predictor.estimate_many(
        Z, [np.arange(40), np.arange(260)], replicates=1000, random_state=0
    )
    assert np.diff(many.interval())[0] < np.diff(few.interval())[0]


def test_assumptions_are_reported():
    _, _, (Z, _) = data(2)
    assert fitted("LEAP", 2).estimate(Z, **QUICK).warnings == ()
    (text,) = fitted("Naive", 2).estimate(Z, **QUICK).warnings
    assert "does not depend on the sample" in text
    for name in ("CBPE", "ATC", "Mandoline"):
        (text,) = fitted(name, 2).estimate(Z, **QUICK).warnings
        assert "use the value raw" in text
    found = fitted("RCA", 2).estimate(Z[:20], **QUICK).warnings
    assert any("fewer than 30" in text for text in found)


def test_a_sample_that_is_no_mixture_is_reported():
    model, (X, y), _ = data(2)
    predictor = accuracy.SLEAP(model, quantifier=hc.SLD()).fit(X, y)
    odd = np.tile([[0.5, 0.5], [0.499, 0.501]], (100, 1))
    estimate = predictor.estimate(hc.Scored(odd), **QUICK)
    assert estimate.fit_test.p_value < 0.01
    assert any("does not look like a mixture" in text for text in estimate.warnings)
    usual = predictor.estimate(X[::2], **QUICK)
    assert not any("mixture" in text for text in usual.warnings)
    cbpe = accuracy.CBPE(model).fit(X, y).estimate(hc.Scored(odd), **QUICK)
    assert cbpe.fit_test.p_value == estimate.fit_test.p_value


def test_a_model_without_errors_is_reported():
    scored = hc.Scored(np.tile([[0.9, 0.1], [0.2, 0.8]], (40, 1)))
    naive = accuracy.Naive().fit(scored, np.tile([0, 1], 40))
    estimate = naive.estimate(scored, **QUICK)
    low, high = estimate.interval()
    assert (estimate.value, high) == pytest.approx((1, 1))
    assert low == pytest.approx(1 - 1 / 80)
    assert any("no errors on the labelled items" in text for text in estimate.warnings)


@pytest.mark.parametrize("target", ["realised", "expected"])
@pytest.mark.parametrize("method", ["SLEAP", "CBPE", "DoC", "Naive"])
def test_intervals_cover_under_prior_shift(target, method):
    """Few and small ones: benchmarks have the table."""
    rng = np.random.default_rng(0)

    def draw(n, share):
        codes = (rng.random(n) < share).astype(int)
        logits = 2 * (codes - 0.5) + 1.0 * rng.normal(size=n)
        return 1 / (1 + np.exp(-2 * logits - np.log(0.3 / 0.7))), codes

    covered = 0
    for trial in range(60):
        share = rng.random()
        V, U = draw(300, 0.3), draw(200, share)
        predictor = {
            "SLEAP": accuracy.SLEAP(quantifier=hc.PACC()),
            "CBPE": accuracy.CBPE(calibration="bcts"),
            "DoC": accuracy.DoC(random_state=0),
            "Naive": accuracy.Naive(),
        }[method].fit(hc.Scored(V[0]), V[1])
        found = predictor.estimate(
            hc.Scored(U[0]), estimand=target, replicates=1000, random_state=trial
        )
        P, y = U if target == "realised" else draw(20_000, share)
        low, high = found.interval(0.9)
        covered += low <= np.mean((P > 0.5) == y) <= high
    assert 0.8 <= covered / 60 <= 0.99


def test_biased_answers_are_corrected():
    """The mean confidence is far from the accuracy if scores are far too sure."""
    rng = np.random.default_rng(0)

    def draw(n, share):
        codes = (rng.random(n) < share).astype(int)
        return 1 / (1 + np.exp(-8 * (codes - 0.5 + rng.normal(size=n)))), codes

    scores, codes = draw(2000, 0.5)
    cbpe = accuracy.CBPE(calibration=None).fit(hc.Scored(scores), codes)
    scores, codes = draw(1000, 0.5)
    truth = np.mean((scores > 0.5) == codes)
    estimate = cbpe.estimate(hc.Scored(scores), random_state=0)
    assert estimate.raw > truth + 0.1
    assert estimate.value == pytest.approx(truth, abs=0.03)


def test_a_prior_narrows_the_interval():
    model, (X, y), (Z, _) = data(2)
    naive = accuracy.Naive(model).fit(X, y)
    free = naive.estimate(Z, random_state=0)
    known = naive.estimate(Z, prior=[300, 600], random_state=0)
    assert np.diff(known.interval())[0] < np.diff(free.interval())[0]


def test_samples_of_the_largest_sizes_share_simulations():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    codes = (rng.random(200_000) < scores).astype(int)
    pool = hc.Scored(scores)
    sleap = accuracy.SLEAP(quantifier=hc.PACC())
    sleap.fit(pool.take(np.arange(20_000)), codes[:20_000])
    some, more = sleap.estimate_many(
        pool, [np.arange(20_000), np.arange(200_000)], replicates=1000, random_state=0
    )
    assert more.draws.std() < 0.85 * some.draws.std()


def test_options_have_no_aliases():
    model, (X, y), (Z, _) = data(2)
    with pytest.raises(TypeError, match="repeats"):
        accuracy.Naive(model).fit(X, y).estimate(Z, repeats=2)


def test_calibration_is_cross_fitted():
    """Isotonic calibration is perfect on its own items, even on scores that mean nothing."""
    rng = np.random.default_rng(0)
    scored, codes = hc.Scored(rng.random(300)), rng.integers(2, size=300)
    cbpe = accuracy.CBPE().fit(scored, codes)
    of_new, of_reference = cbpe.fitted_.model.cross_fitted()
    outputs = cbpe.fitted_.training.items

    def likelihood(model):
        return np.log(model.posteriors(outputs)[np.arange(300), codes].clip(1e-6)).mean()

    assert likelihood(of_reference) < likelihood(of_new)
    plain = accuracy.CBPE(calibration=None).fit(scored, codes).fitted_.model
    assert plain.cross_fitted() == (plain, plain)
    codes[:] = np.arange(300) == 7
    alone = accuracy.CBPE(correction="prior").fit(scored, codes)
    assert 0 < alone.estimate(scored.take(np.arange(50)), **QUICK).value <= 1
