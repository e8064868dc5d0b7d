from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap

import headcount as hc
from headcount.sampling import Samples
from headcount.uncertainty import Problem
from headcount.uncertainty.jackknife import accelerations
from headcount.uncertainty.rules import BCa


def problem_of(quantifier, scores, samples):
    items = quantifier._scored_items(scores)
    shares = quantifier._solve(items, samples).prevalence
    return Problem(
        quantifier.model_, quantifier._training, quantifier.info.shift, items, samples, shares
    )


def test_bca_of_a_mean_is_that_of_scipy():
    scores = np.random.default_rng(0).beta(0.5, 4, size=60)
    quantifier = hc.PCC().fit_scores([0.3, 0.6], [0, 1])
    problem = problem_of(quantifier, scores, Samples.whole(60))
    found = accelerations(problem, "expected", 0, np.random.default_rng(0))[0]
    theirs = bootstrap(
        (scores,), np.mean, method="BCa", confidence_level=0.9, n_resamples=2000, rng=0
    )
    draws = theirs.bootstrap_distribution
    rule = BCa(np.column_stack([1 - draws, draws]), problem.shares[0], found)
    low, high = rule.bounds(0.9)
    assert (low[1], high[1]) == pytest.approx(theirs.confidence_interval, abs=2e-5)
    assert (low[0], high[0]) == pytest.approx((1 - high[1], 1 - low[1]), abs=2e-5)


def test_blocks_of_many_items_see_the_skewness_of_each():
    values = np.random.default_rng(7).choice([0.02, 0.9], p=[0.97, 0.03], size=5000)
    quantifier = hc.PCC().fit_scores([0.3, 0.6], [0, 1])
    problem = problem_of(quantifier, values, Samples.whole(5000))
    away = values - values.mean()
    exact = (away**3).sum() / (away**2).sum() ** 1.5 / 6
    (found,) = accelerations(problem, "expected", 0, np.random.default_rng(0))
    assert found[1] == pytest.approx(exact, abs=0.015)
    assert found[0] == pytest.approx(-found[1])


def test_the_training_set_has_its_part(training, pool):
    quantifier = hc.PACC().fit_scores(*training)
    problem = problem_of(quantifier, pool, Samples.from_arrays([range(40)], n_pool=400))
    without, with_it = (
        accelerations(problem, "realised", n, np.random.default_rng(0))[0] for n in (0, 200)
    )
    assert (without != with_it).all()
    assert np.abs(with_it).max() < 0.2
    # What learns nothing from the training items has no such part.
    bare = replace(problem, learns=False)
    again = accelerations(bare, "realised", 200, np.random.default_rng(0))[0]
    assert (again == without).all()


def test_estimates_that_do_not_vary_have_no_skewness():
    scores = np.full(30, 0.5)
    quantifier = hc.PCC().fit_scores([0.3, 0.6], [0, 1])
    problem = problem_of(quantifier, scores, Samples.whole(30))
    found = accelerations(problem, "expected", 0, np.random.default_rng(0))
    assert np.abs(found).max() < 1e-3


def test_labels_that_nothing_is_known_of_have_no_jackknife():
    quantifier = hc.PCC().fit_scores([0.3, 0.6], [0, 1])
    problem = problem_of(quantifier, np.linspace(0.1, 0.5, 20), Samples.whole(20))
    assert accelerations(problem, "realised", 0, np.random.default_rng(0)) is None
