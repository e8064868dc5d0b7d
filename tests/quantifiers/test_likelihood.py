from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.conformance.cases import (
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)
from tests.oracle import likelihood, matching

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.samples.samples import Samples
from headcount.scores.calibration import CALIBRATIONS, fit_calibrator


def calibrated(n, K, shares, rng):
    """Items of a mixture of normal classes, scored by its own posteriors under equal shares."""
    centres = 1.5 * np.eye(K)
    codes = rng.choice(K, n, p=shares)
    points = centres[codes] + rng.normal(size=(n, K))
    logs = points @ centres.T
    scores = np.exp(logs - logs.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True), codes


def overconfident(scores, power=3):
    sharp = scores**power
    return sharp / sharp.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_calibration_mends_a_distorted_classifier(calibration, K):
    rng = np.random.default_rng(0)
    scores, y = calibrated(2000, K, np.full(K, 1 / K), rng)
    shares = np.array([0.2, 0.8]) if K == 2 else np.array([0.7, 0.1, 0.2])
    new, codes = calibrated(5000, K, shares, rng)
    true = np.bincount(codes) / len(codes)

    def error(quantifier):
        fitted = quantifier.fit(hc.Scored(overconfident(scores)), y)
        return np.abs(fitted.predict(hc.Scored(overconfident(new))) - true).mean()

    assert error(hc.SLD(calibration=calibration)) < 0.6 * error(hc.SLD(calibration=None))


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_calibration_is_learnt_on_out_of_fold_scores(calibration):
    X, y = labelled(2)
    scorer = hc.Scorer(random_state=0).fit(X, y)
    by_items = hc.SLD(calibration=calibration, random_state=0).fit(X, y)
    by_scores = hc.SLD(calibration=calibration).fit(hc.Scored(scorer.posteriors_), y)
    new = scorer.posteriors(pool(2))
    np.testing.assert_array_equal(
        by_items.predict_many(pool(2), samples()),
        by_scores.predict_many(hc.Scored(new), samples()),
    )
    plain = (
        hc.SLD(calibration=None).fit(hc.Scored(scorer.posteriors_), y).predict(hc.Scored(new))
    )
    assert np.abs(by_scores.predict(hc.Scored(new)) - plain).max() > 1e-6


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(class_weight="balanced"),
        make_pipeline(StandardScaler(), LogisticRegression(class_weight={0: 2.0})),
    ],
)
def test_class_weights_are_warned_of(classifier):
    with pytest.warns(HeadcountWarning, match=r"^classifier has a class_weight.*calibration"):
        hc.SLD(classifier, calibration=None).fit(*labelled(2))


@pytest.mark.parametrize(
    "quantifier",
    [
        hc.SLD(LogisticRegression(), calibration=None),
        hc.SLD(LogisticRegression(class_weight="balanced")),
    ],
)
def test_no_warning_where_there_is_no_harm(quantifier):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantifier.fit(*labelled(2))


def test_a_tolerance_and_a_limit_of_steps_are_kept():
    quantifier = hc.SLD(stop="classic", tol=0.02).fit(*labelled_scores(3))
    loose = quantifier.fitted_.solve_many(hc.Scored(scored_pool(3)), samples())
    assert (loose.iterations == 12).all()
    quantifier.set_params(tol=1e-7).fit(*labelled_scores(3))
    tight = quantifier.fitted_.solve_many(hc.Scored(scored_pool(3)), [np.arange(120)])
    assert tight.iterations[0] > 15
    quantifier.set_params(max_iter=15).fit(*labelled_scores(3))
    with pytest.warns(HeadcountWarning, match=r"^SLD did not converge on 1 of 1 samples"):
        stopped = quantifier.fitted_.solve_many(hc.Scored(scored_pool(3)), [np.arange(120)])
    assert stopped.iterations[0] == 15
    assert not stopped.converged[0]


def test_fewer_items_keep_the_estimate_nearer_to_the_training_shares():
    rng = np.random.default_rng(0)
    flat = overconfident(calibrated(300, 3, np.full(3, 1 / 3), rng)[0], power=0.3)
    y = rng.integers(0, 3, 300)
    new = overconfident(calibrated(12, 3, np.array([0.8, 0.1, 0.1]), rng)[0], power=0.3)
    sizes = [np.tile(np.arange(12), times) for times in (1, 4, 64)]

    def solution(quantifier, step=1):
        return quantifier.fit(hc.Scored(flat[::step]), y[::step]).fitted_.solve_many(
            hc.Scored(new), sizes
        )

    noise = hc.SLD(calibration=None, tol=0.2)
    by_noise, classic = (
        solution(quantifier) for quantifier in (noise, hc.SLD(calibration=None, stop="classic"))
    )
    assert (np.diff(by_noise.iterations) > 0).all()
    assert (by_noise.iterations < classic.iterations).all()
    moved = np.abs(by_noise.prevalence - np.bincount(y) / 300).sum(axis=1)
    assert (np.diff(moved) > 0).all()
    # Fewer training items stop it sooner, too.
    fewer = solution(noise, step=10).iterations
    assert (fewer <= by_noise.iterations).all()
    assert fewer[2] < by_noise.iterations[2]


def test_many_items_are_fitted_by_the_classic_rule():
    scores, y = scored(3)
    scores, y = np.tile(scores, (30, 1)), np.tile(y, 30)
    large = [np.tile(np.arange(120), 100)]
    by_noise, classic = (
        quantifier.fit(hc.Scored(scores), y).fitted_.solve_many(
            hc.Scored(scored_pool(3)), large
        )
        for quantifier in (hc.SLD(), hc.SLD(stop="classic"))
    )
    assert by_noise.iterations == classic.iterations
    # They differ by a part of the last step, which is small.
    np.testing.assert_allclose(by_noise.prevalence, classic.prevalence, rtol=0, atol=3e-4)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_posteriors_refer_to_their_mean_over_the_training_items(calibration, weighted):
    rng = np.random.default_rng(0)
    scores, y = calibrated(400, 3, np.array([0.6, 0.3, 0.1]), rng)
    weights = rng.uniform(1, 2, len(y)) if weighted else None
    fitted = hc.SLD(calibration=calibration, stop="converged").fit(
        hc.Scored(scores), y, weights
    )
    calibrator = fit_calibrator(calibration, scores, y, weights)
    mean = np.average(calibrator.transform(scores), axis=0, weights=weights)
    np.testing.assert_allclose(fitted.fitted_.model.likelihood.prior, mean, rtol=1e-12)
    own = np.abs(mean - fitted.prior_).max()
    with_bias = calibration in ("bcts", "vs", "vs-centred")
    assert own < 1e-6 if with_bias else own > 1e-4
    new = calibrated(200, 3, np.full(3, 1 / 3), rng)[0]
    best = likelihood.maximise(calibrator.transform(new) / mean)
    np.testing.assert_allclose(fitted.predict(hc.Scored(new)), best, atol=1e-4)


def test_warnings_point_at_the_line_that_called():
    weighted = hc.SLD(LogisticRegression(class_weight="balanced"), calibration=None)
    scorer = hc.Scorer(weighted.classifier).fit(*labelled(2))
    hurried = hc.SLD(max_iter=1).fit(*labelled_scores(3))
    new = scored_pool(3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        weighted.fit(*labelled(2))
        weighted.fit_scorer(scorer)
        weighted.fit(*labelled_scores(2))
        hurried.predict(hc.Scored(new))
        hurried.predict_many(hc.Scored(new), [np.arange(120)])
        hurried.fitted_.solve_many(hc.Scored(new), [np.arange(120)])
    assert [warning.filename for warning in found] == [__file__] * 6


def test_steps_of_the_exact_solver_are_limited_too():
    quantifier = hc.SLD(stop="converged", max_iter=1).fit(*labelled_scores(3))
    with pytest.warns(HeadcountWarning, match="^SLD did not converge on 1 of 1 samples"):
        quantifier.predict(hc.Scored(scored_pool(3)))


def test_the_maximum_is_likelier_than_its_surroundings():
    scores, y = scored(3)
    quantifier = hc.SLD(calibration=None, stop="converged").fit(hc.Scored(scores), y)
    p = quantifier.predict(hc.Scored(scored_pool(3)))
    ratios = scored_pool(3) / (np.bincount(y) / len(y))
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(3), 200):
        nearby = 0.999 * p + 0.001 * other
        assert np.log(ratios @ nearby).mean() <= np.log(ratios @ p).mean() + 1e-12


# Likelihood with a belief


def test_without_a_belief_it_is_maximum_likelihood():
    for K in (2, 3):
        plain = hc.SLD(calibration=None, stop="converged").fit(*labelled_scores(K))
        quantifier = hc.RegularizedLikelihood(smoothness=0).fit(*labelled_scores(K))
        np.testing.assert_array_equal(
            quantifier.predict_many(hc.Scored(scored_pool(K)), samples()),
            plain.predict_many(hc.Scored(scored_pool(K)), samples()),
        )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "belief",
    [
        {"flatness": 0.3, "smoothness": 0.0},
        {"smoothness": 0.2},
        {"smoothness": 0.0, "concentration": 3.0},
        {"flatness": 0.1, "smoothness": 0.1, "concentration": [1.5, 4.0, 1.0]},
    ],
    ids=str,
)
def test_a_belief_is_weighed_against_the_sample(belief, K):
    if isinstance(belief.get("concentration"), list):
        belief = belief | {"concentration": belief["concentration"][:K]}
    scores, y = scored(K)
    quantifier = hc.RegularizedLikelihood(**belief).fit(hc.Scored(scores), y)
    solution = quantifier.fitted_.solve_many(hc.Scored(scored_pool(K)), samples())
    prior = np.bincount(y) / len(y)
    a = np.full(K, 1.0) * belief.get("concentration", 1.0)
    for s, index in enumerate(samples()):
        ratios = scored_pool(K)[index] / prior
        f = matching.penalised(
            lambda p, ratios=ratios: likelihood.with_prior(ratios, a, p),
            belief["smoothness"],
            belief.get("flatness", 0.0),
        )
        found, best = solution.prevalence[s], matching.minimise_on_simplex(f, K)
        assert f(found) <= f(best) + 1e-9
        np.testing.assert_allclose(found, best, rtol=0, atol=1e-4)
        np.testing.assert_allclose(solution.objective[s], f(found), rtol=1e-10, atol=1e-10)


def test_a_belief_matters_less_the_more_has_been_seen():
    quantifier = hc.RegularizedLikelihood(smoothness=0, concentration=[1.0, 1.0, 21.0])
    quantifier.fit(*labelled_scores(3))
    uncalibrated = hc.SLD(calibration=None, stop="converged").fit(*labelled_scores(3))
    plain = uncalibrated.predict(hc.Scored(scored_pool(3)))
    sizes = [np.tile(np.arange(120), times) for times in (1, 4, 16, 256)]
    shifts = quantifier.predict_many(hc.Scored(scored_pool(3)), sizes)[:, 2] - plain[2]
    assert shifts[0] > 0.02
    assert (np.diff(shifts) < 0).all()
    assert 0 < shifts[-1] < 0.1 * shifts[0]


def test_a_belief_for_another_number_of_classes_is_refused():
    quantifier = hc.RegularizedLikelihood(concentration=[1, 2])
    message = (
        "^concentration has 2 values, but there are 3 classes: pass one number, or one per"
    )
    with pytest.raises(HeadcountError, match=message):
        quantifier.fit(*labelled_scores(3))
    with pytest.raises(HeadcountError, match=message):
        quantifier.fit(*labelled(3))
    quantifier.fit(*labelled_scores(2)).predict(hc.Scored(scored_pool(2)))


def test_a_belief_in_zeros_is_refused():
    with pytest.raises(HeadcountError, match=r"^concentration is 0\.5; .* at least 1"):
        hc.RegularizedLikelihood(concentration=0.5).fit(*labelled_scores(3))


def test_the_steps_of_a_belief_are_limited_too():
    quantifier = hc.RegularizedLikelihood(max_iter=1).fit(*labelled_scores(3))
    with pytest.warns(HeadcountWarning, match="^RegularizedLikelihood did not converge on 1"):
        quantifier.predict(hc.Scored(scored_pool(3)))


@pytest.mark.parametrize("method", [hc.RegularizedLikelihood, hc.OrdinalSLD])
def test_class_weights_are_warned_of_by_all_likelihoods(method):
    weighted = LogisticRegression(class_weight="balanced")
    with pytest.warns(HeadcountWarning, match=r"^classifier has a class_weight.*calibration"):
        method(weighted).fit(*labelled(2))
    method(weighted, calibration="bcts", random_state=0).fit(*labelled(2))


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("method", [hc.SLD, hc.KDEyML])
def test_repeated_items_of_large_simulated_samples_are_counted(method, K):
    """Samples larger than the training set are solved by the numbers of their items."""
    rng = np.random.default_rng(K)
    y = np.arange(60) % K
    posteriors = rng.dirichlet(np.ones(K), 60) + 1.5 * np.eye(K)[y]
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    q = method(random_state=0).fit(hc.Scored(posteriors), y)
    drawn = [rng.choice(60, size, p=rng.dirichlet(np.ones(60))) for size in (61, 200, 999)]
    large = Samples.from_arrays(drawn, n_pool=60)
    found = q.fitted_.model.solve_training(q.fitted_.training, large)
    expected = q.fitted_.model.solve(q.fitted_.training.items, large)
    assert_allclose(found.prevalence, expected.prevalence, atol=1e-9)
    assert_allclose(found.objective, expected.objective, atol=1e-9)
