"""Estimates from the posterior under a method's own likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from tests.conformance.cases import labelled, labelled_scores, pool, scored_pool
from tests.oracle import posterior as oracle

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.estimation import EstimateOptions, conditioning
from headcount.estimates.posterior_draws import temperatures
from headcount.quantifiers.registry import quantifiers

WITH = [name for name, method in quantifiers().items() if method.posterior_kind]
each = pytest.mark.parametrize("name", WITH)


def made(name, K):
    quantifier = getattr(hc, name)(GaussianNB(), random_state=0)
    if K > 2 and quantifier.info.multiclass == "one-vs-rest":
        pytest.skip("two classes")
    if "smoothness" in quantifier.get_params():
        quantifier.set_params(smoothness=0.0)
    if name == "SLD":  # these scores are not calibrated
        quantifier.set_params(calibration="bcts")
    return quantifier


def test_the_methods_of_the_documentation_have_one():
    assert {"ACC", "PACC", "GAC", "GPAC", "DyS", "HDy", "SLD", "KDEyML"} <= set(WITH)


@each
@pytest.mark.parametrize("K", [2, 3])
def test_posteriors_of_items_and_of_scores(name, K):
    X = pool(K)
    quantifier = made(name, K).fit(*labelled(K))
    samples = [np.arange(60), np.arange(40, 120)]
    estimates = quantifier.estimate_many(X, samples, posterior=True, random_state=0)
    for estimate, rows in zip(estimates, samples, strict=True):
        assert estimate.draws.shape == (1000, K)
        np.testing.assert_allclose(estimate.draws.sum(axis=1), 1)
        np.testing.assert_allclose(estimate.shares, estimate.point("ae"), atol=1e-9)
        np.testing.assert_array_equal(estimate.raw, quantifier.predict_many(X, [rows])[0])
        assert estimate.ellipse().contains(estimate.shares)
        again = quantifier.estimate_many(X, [rows], posterior=True, random_state=0)[0]
        np.testing.assert_array_equal(again.draws, estimate.draws)
    scored = made(name, K).fit(*labelled_scores(K))
    given = scored.estimate(hc.Scored(scored_pool(K)), posterior=True, random_state=0)
    default = scored.estimate(hc.Scored(scored_pool(K)), random_state=0)
    assert np.abs(given.shares - default.shares).max() < 0.12
    assert (given.interval().high - given.interval().low < 0.6).all()


def test_sld_is_the_posterior_of_its_ratios():
    (scores, y), new = labelled_scores(2), scored_pool(2)
    quantifier = hc.SLD(calibration=None).fit(scores, y)
    estimate = quantifier.estimate(
        hc.Scored(new), posterior=True, prior=[3.0, 2.0], random_state=0
    )
    fitted, prior = quantifier.fitted_, np.array([3.0, 2.0])
    shares = conditioning(fitted, fitted.model, EstimateOptions(random_state=0))
    (warmth,) = temperatures(
        fitted.model.likelihood, shares, prior, np.array([len(new)]), shares.seed
    )
    assert warmth > 1  # naive Bayes is too sure
    mean, spread = oracle.of_two_classes(new / quantifier.prior_, prior, temperature=warmth)
    assert estimate.point("mean")[1] == pytest.approx(mean, abs=0.15 * spread)
    assert estimate.draws[:, 1].std() == pytest.approx(spread, rel=0.12)


def test_the_temperature_makes_intervals_of_likelihoods_hold():
    hits = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.permutation(60) % 2
        codes = (rng.random(150) < rng.uniform()).astype(int)
        X, new = (rng.normal(size=(len(c), 1)) + 1.5 * c[:, None] for c in (y, codes))
        fitted = hc.SLD(GaussianNB(), random_state=0).fit(X, y)
        interval = fitted.estimate(new, posterior=True, random_state=0).interval()
        low, high = interval[1]
        hits.append(low <= codes.mean() <= high)
    # 67% if the classifier, fitted on 60 items, is taken as known.
    assert np.mean(hits) >= 0.82


def test_pacc_is_the_posterior_of_counts_between_quartiles():
    (scores, y), new = labelled_scores(2), scored_pool(2)
    estimate = hc.PACC().fit(scores, y).estimate(hc.Scored(new), posterior=True, random_state=0)
    train = scores.posteriors_of(np.unique(y))[:, 1]
    cuts = np.sort(train)[[len(train) * q // 4 - 1 for q in (1, 2, 3)]]
    known = [
        np.bincount(np.searchsorted(cuts, train[y == j]), minlength=4).astype(float)
        for j in np.unique(y)
    ]
    seen = np.bincount(np.searchsorted(cuts, new[:, 1]), minlength=4)
    mean, spread = oracle.of_counts(np.array(known), seen, (1.0, 1.0))
    assert estimate.point("mean")[1] == pytest.approx(mean, abs=0.2 * spread)
    assert estimate.draws[:, 1].std() == pytest.approx(spread, rel=0.12)


def test_strong_priors_win():
    quantifier = hc.ACC(GaussianNB(), random_state=0).fit(*labelled(2))
    for prior, share in (([9e5, 1e5], 0.1), ([1e5, 9e5], 0.9)):
        estimate = quantifier.estimate(pool(2)[:20], posterior=True, prior=prior)
        expected = quantifier.estimate(
            pool(2)[:20], posterior=True, prior=prior, estimand="expected"
        )
        assert abs(expected.shares[1] - share) < 0.35
        low, high = estimate.interval()[estimate.classes[1]]
        assert low <= estimate.shares[1] <= high


def test_weighted_training_items_count_as_often():
    (scores, y), new = labelled_scores(2), scored_pool(2)
    for quantifier in (hc.PACC(), hc.SLD(), hc.KDEyML()):
        twice = hc.Scored(np.repeat(scores.posteriors_of(np.unique(y)), 2, axis=0))
        one = quantifier.fit(twice, np.repeat(y, 2)).estimate(
            hc.Scored(new), posterior=True, random_state=0
        )
        other = quantifier.fit(twice, np.repeat(y, 2), np.full(2 * len(y), 3.0)).estimate(
            hc.Scored(new), posterior=True, random_state=0
        )
        np.testing.assert_allclose(one.shares, other.shares, atol=0.02)


def test_refusals():
    X, y = labelled(2)
    for quantifier in (hc.EDy(), hc.Conditioned(hc.PACC()), hc.GPAC(smoothness=0.1)):
        with pytest.raises(HeadcountError, match="posterior is True, but"):
            quantifier.fit(X, y).estimate(X, posterior=True)
    quantifier = hc.PACC().fit(X, y)
    with pytest.raises(HeadcountError, match="weights or clusters"):
        quantifier.estimate(X, posterior=True, weights=np.arange(1.0, 1 + len(X)))
    with pytest.raises(HeadcountError, match="posterior is 'yes'"):
        quantifier.estimate(X, posterior="yes")
    with pytest.raises(HeadcountError, match="prior holds draws"):
        quantifier.estimate(X, posterior=True, prior=[[0.5, 0.5]])
