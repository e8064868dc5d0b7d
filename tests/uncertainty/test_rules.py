from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import uncertainty as oracle

import headcount as hc
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.delta import delta_rule
from headcount.uncertainty.posterior import CountPosterior
from headcount.uncertainty.profile import Profile
from headcount.uncertainty.replicates import Problem, replicate
from headcount.uncertainty.rules import BCa, Centred, Normal, Percentile


def skewed(n=400):
    rng = np.random.default_rng(0)
    shares = rng.beta(2, 12, n)
    return np.column_stack([shares, 1 - shares])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_bca_is_that_of_the_textbook(level):
    draws, estimate = skewed(), np.array([0.11, 0.89])
    low, high = BCa(draws, estimate).bounds(level)
    for j in (0, 1):
        assert (low[j], high[j]) == pytest.approx(oracle.bca(draws[:, j], estimate[j], level))


def test_bca_of_symmetric_unbiased_draws_is_the_percentile_interval():
    shares = np.linspace(0.2, 0.6, 401)
    draws = np.column_stack([shares, 1 - shares])
    bca = BCa(draws, np.array([0.4, 0.6])).bounds(0.9)
    assert np.allclose(bca, Percentile(draws).bounds(0.9), atol=1e-3)


def test_centred_replicates_have_the_estimate_in_their_middle():
    draws, shares = skewed(), np.array([0.3, 0.7])
    low, high = Centred(draws, shares).bounds(0.9)
    usual = Percentile(draws).bounds(0.9)
    assert low - usual[0] == pytest.approx(shares - draws.mean(axis=0))
    assert high - low == pytest.approx(usual[1] - usual[0])


@pytest.mark.parametrize("rule", [BCa, Centred, lambda draws, shares: Percentile(draws)])
def test_draws_that_are_all_alike_give_a_point(rule):
    draws = np.tile([0.0, 1.0], (50, 1))
    low, high = rule(draws, np.array([0.0, 1.0])).bounds(0.95)
    assert low.tolist() == high.tolist() == [0.0, 1.0]


def test_normal_ends_stay_within_the_simplex():
    low, high = Normal(np.array([0.02, 0.98]), np.array([0.1, 0.1])).bounds(0.95)
    assert low[0] == 0
    assert high[1] == 1


@pytest.mark.parametrize("K", [2, 3])
def test_profile_matches_a_search(K):
    rng = np.random.default_rng(K)
    codes = rng.choice(K, 60, p=np.arange(1, K + 1) / sum(range(1, K + 1)))
    ratios = np.exp(1.2 * np.eye(K)[codes] + rng.normal(size=(60, K)))
    shares = hc.SLD().fit_scores(np.full((K, K), 1 / K), np.arange(K))
    posteriors = ratios / ratios.sum(axis=1, keepdims=True)
    best = shares.predict_scores(posteriors)
    rule = Profile(posteriors, best, np.ones(K))
    implied = np.array([rule._implied_error(j) for j in range(K)])
    low, high = Profile(posteriors, best, implied).bounds(0.9)
    for j in range(K):
        assert (low[j], high[j]) == pytest.approx(oracle.profile(posteriors, j, 0.9), abs=0.004)


def test_profile_stretches_with_the_errors():
    rng = np.random.default_rng(0)
    ratios = np.exp(rng.normal(size=(100, 2)))
    shares = np.array([0.5, 0.5])
    narrow = Profile(ratios, shares, np.array([0.02, 0.02])).bounds(0.95)
    wide = Profile(ratios, shares, np.array([0.1, 0.1])).bounds(0.95)
    assert wide[0][0] < narrow[0][0]
    assert narrow[1][0] < wide[1][0]


def test_posterior_of_counts_is_the_exact_one():
    table, counts = np.array([[18.0, 4.0], [3.0, 11.0]]), np.array([9, 8])
    exact = oracle.realised_posterior(table, counts)
    draws = CountPosterior(table, counts, np.array([0.5, 0.5]), True, 0).draws()
    found = np.bincount(np.round(draws[:, 1] * 17).astype(int), minlength=18) / len(draws)
    assert np.abs(np.cumsum(found) - np.cumsum(exact)).max() < 0.04


def test_posterior_of_the_population_is_wider_than_that_of_the_sample():
    table, counts = np.array([[95.0, 5.0], [5.0, 95.0]]), np.array([60, 40])
    half = np.array([0.5, 0.5])
    spreads = [
        CountPosterior(table, counts, half, each, 0).draws()[:, 0].std() for each in (1, 0)
    ]
    assert spreads[0] < 0.7 * spreads[1]


@pytest.mark.parametrize("target", ["realised", "expected"])
@pytest.mark.parametrize("method", [hc.PACC, hc.GAC, hc.FM])
def test_delta_method_agrees_with_resampling(method, target, training, pool):
    quantifier = method().fit_scores(*training)
    items = quantifier._scored_items(pool)
    shares = quantifier.predict_scores(pool)[None]
    problem = Problem(
        quantifier.model_, quantifier._training, "prior", items, Samples.whole(400), shares
    )
    drawn = replicate(problem, target, 1500, 1500, np.random.default_rng(0))[0]
    assert delta_rule(problem, 0, target).errors == pytest.approx(drawn.std(axis=0), rel=0.12)


def test_delta_method_is_for_linear_equations_only(training, pool):
    quantifier = hc.KDEyML().fit_scores(*training)
    problem = Problem(
        quantifier.model_, quantifier._training, "prior", pool, Samples.whole(400),
        quantifier.predict_scores(pool)[None],
    )  # fmt: skip
    assert delta_rule(problem, 0, "realised") is None


def test_training_without_items_has_no_delta():
    training = Training(None, np.array([0, 1]), 2)
    quantifier = hc.PACC().fit_scores([[0.8, 0.2], [0.2, 0.8]], [0, 1])
    problem = Problem(quantifier.model_, training, "prior", None, None, None)
    assert delta_rule(problem, 0, "realised") is None
