from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracle import uncertainty as oracle

import headcount as hc
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.drawing import training_weights
from headcount.uncertainty.refitting import refits
from headcount.uncertainty.replicates import Problem, replicate


def problem_of(quantifier, pool, samples, training="own"):
    items = quantifier._scored_items(pool)
    return Problem(
        quantifier.model_,
        quantifier._training if training == "own" else training,
        quantifier.info.shift,
        items,
        samples,
        quantifier.predict_many_scores(pool, samples),
    )


def drawn(problem, target, n=600, n_training=60, seed=0):
    return replicate(problem, target, n, n_training, np.random.default_rng(seed))


@pytest.mark.parametrize("target", ["realised", "expected"])
def test_replicates_are_shares_about_the_estimate(training, pool, samples, target):
    problem = problem_of(hc.GPAC().fit_scores(*training), pool, samples)
    found = drawn(problem, target)
    assert found.shape == (2, 600, problem.shares.shape[1])
    assert np.allclose(found.sum(axis=2), 1)
    assert found.mean(axis=1) == pytest.approx(problem.shares, abs=0.03)


def test_shares_of_a_population_are_less_certain_than_those_of_its_sample(
    training, pool, samples
):
    problem = problem_of(hc.SLD(calibration="bcts").fit_scores(*training), pool, samples)
    spreads = {name: drawn(problem, name).var(axis=1) for name in ("realised", "expected")}
    shares = problem.shares
    labels = shares * (1 - shares) / samples.sizes[:, None]
    more = (spreads["expected"] - spreads["realised"]).sum(axis=1)
    assert more == pytest.approx(labels.sum(axis=1), rel=0.5)


def test_noise_of_training_is_added(training, pool, samples):
    problem = problem_of(hc.PACC().fit_scores(*training), pool, samples)
    with_training = drawn(problem, "realised").std(axis=1)
    without = drawn(problem, "realised", n_training=0).std(axis=1)
    assert (with_training > 1.1 * without).all()


@pytest.mark.parametrize("pieces", [1, 7, 600])
def test_any_number_of_training_sets_makes_the_replicates_asked_for(
    training, pool, samples, pieces
):
    problem = problem_of(hc.PACC().fit_scores(*training), pool, samples)
    assert drawn(problem, "realised", 601, pieces).shape[1] == 601


def test_without_training_items_classes_are_told_by_the_model(training, pool, samples):
    scores, codes = training
    quantifier = hc.SLD().fit_scores(scores, codes)
    bare = Training(None, codes, scores.shape[1])
    told = drawn(problem_of(quantifier, pool, samples, bare), "realised")
    known = drawn(problem_of(quantifier, pool, samples), "realised", n_training=0)
    assert told.mean(axis=1) == pytest.approx(known.mean(axis=1), abs=0.04)
    assert told.std(axis=1) == pytest.approx(known.std(axis=1), rel=0.3)


def test_else_the_spread_of_the_labels_is_taken_out(training, pool, samples):
    quantifier = hc.GPAC().fit_scores(*training)
    left = drawn(problem_of(quantifier, pool, samples, None), "realised")
    known = drawn(problem_of(quantifier, pool, samples), "realised", n_training=0)
    assert np.allclose(left.sum(axis=2), 1)
    assert left.std(axis=1) == pytest.approx(known.std(axis=1), rel=0.3)


def test_labels_are_drawn_for_methods_that_trust_the_posteriors():
    posteriors = np.array([[1.0, 0.0]] * 5 + [[0.5, 0.5]] * 4)
    quantifier = hc.PCC().fit_scores([[0.6, 0.4], [0.3, 0.7]], [0, 1])
    problem = problem_of(quantifier, posteriors, Samples.whole(9))
    counts = 9 * drawn(problem, "realised", 4000)[0, :, 1]
    assert np.allclose(counts, counts.round())
    assert counts.mean() == pytest.approx(2, abs=0.1)
    assert counts.var() == pytest.approx(1, abs=0.1)


def test_training_shares_vary_with_the_training_set():
    y = np.array([0] * 30 + [1] * 70)
    quantifier = hc.MLPE().fit(np.zeros((100, 1)), y)
    estimate = quantifier.estimate(np.zeros((5, 1)), random_state=0)
    assert estimate.replicates[:, 0].std() == pytest.approx(np.sqrt(0.21 / 100), rel=0.25)


@pytest.mark.parametrize("own", [True, False])
def test_densities_of_many_training_sets_are_those_of_each(training, pool, own):
    scores, codes = (part[:60] for part in training)
    quantifier = hc.KDEyML(bandwidth=0.15).fit_scores(scores, codes)
    known = quantifier._training
    weights = training_weights(known, 3, np.random.default_rng(0))
    points = scores if own else pool[:20]
    items = None if own else points
    for row, (_, ratios) in zip(
        weights, refits(quantifier.model_, known, weights, items), strict=True
    ):
        slow = oracle.densities(scores, codes, row, points, 0.15, skip_self=own)
        assert _rows(ratios) == pytest.approx(_rows(slow), abs=1e-10)


@pytest.mark.parametrize("calibration", ["ts", "bcts", "vs", "nbvs"])
def test_recalibration_in_one_step_is_near_the_full_one(training, pool, calibration):
    scores, codes = training
    quantifier = hc.SLD(calibration=calibration).fit_scores(scores, codes)
    known = quantifier._training
    weights = training_weights(known, 4, np.random.default_rng(0))
    before = quantifier.model_.likelihood.calibrator.transform(pool)
    for row, (model, _) in zip(
        weights, refits(quantifier.model_, known, weights, pool), strict=True
    ):
        full = quantifier.model_.fit(replace(known, weights=row))
        wanted = full.likelihood.calibrator.transform(pool)
        found = model.likelihood.calibrator.transform(pool)
        assert np.abs(found - wanted).mean() < 0.4 * np.abs(before - wanted).mean()
        assert np.allclose(model.prior, full.prior)


def test_densities_are_moved_a_part_of_the_way_and_the_errors_scaled_up(
    training, pool, samples
):
    quantifier = hc.KDEyML(bandwidth=0.2).fit_scores(*training)
    problem = problem_of(quantifier, pool, samples)
    found = drawn(problem, "realised", 400, 100)
    alone = drawn(problem, "realised", 400, 0)
    assert np.allclose(found.sum(axis=2), 1)
    # Means are those of the samples alone: what training adds are errors about zero.
    assert found.mean(axis=1) == pytest.approx(alone.mean(axis=1), abs=0.01)
    known = quantifier._training
    weights = training_weights(known, 100, np.random.default_rng(5))
    whole = np.stack(
        [
            model.solve(items, samples).prevalence
            for model, items in refits(quantifier.model_, known, weights, pool)
        ]
    )
    # Wide kernels make smooth densities, with which there is no difference.
    added = found.var(axis=1) - alone.var(axis=1)
    assert added.sum(axis=1) == pytest.approx(whole.var(axis=0).sum(axis=1), rel=0.5)


def test_what_learns_nothing_is_tried_on_the_items_of_training_sets(training, pool, samples):
    quantifier = hc.SLD().fit_scores(*training)
    problem = problem_of(quantifier, pool, samples)
    fixed = drawn(problem, "realised").std(axis=1)
    loose = drawn(replace(problem, learns=False), "realised").std(axis=1)
    assert (loose.mean(axis=1) > 1.1 * fixed.mean(axis=1)).all()


def test_weighted_training_items_are_items_given_more_often(training, pool):
    scores, codes = training
    times = np.random.default_rng(0).integers(1, 4, len(codes))
    weighted = hc.PACC().fit_scores(scores, codes, times.astype(float))
    repeated = hc.PACC().fit_scores(np.repeat(scores, times, axis=0), np.repeat(codes, times))
    spreads = [
        drawn(problem_of(each, pool, Samples.whole(400)), "realised", n_training=0).std(axis=1)
        for each in (weighted, repeated)
    ]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.1)


def _rows(ratios):
    return ratios / ratios.sum(axis=1, keepdims=True)
