from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm
from tests.oracle import sweeps as oracle

import headcount as hc
from headcount.quantifiers import thresholds as sweeps

few = settings(max_examples=25)

# Means and standard deviations of the two classes' scores.
MODELS = {
    "alike": ([-0.5, 0.5], [1.0, 1.0]),
    "close": ([0.0, 0.2], [1.0, 1.1]),
    "far": ([-2.0, 3.0], [1.0, 0.5]),
    "wide and narrow": ([0.0, 0.3], [0.05, 3.0]),
    "narrow and wide": ([0.0, 1.0], [2.0, 0.5]),
}
each_model = pytest.mark.parametrize(("means", "sds"), MODELS.values(), ids=MODELS)


def posteriors(scores):
    """Of equally frequent classes."""
    positive = expit(scores)
    return np.column_stack([expit(-scores), positive])


def quantiles(mean, sd, n):
    """A sample that is as normal as n items can be."""
    return norm(mean, sd).ppf((np.arange(n) + 0.5) / n)


def fit_on(scores, codes, **parameters):
    """Fitted on scores of two classes of the same size, which are the log-odds."""
    return hc.ContinuousSweep(**parameters).fit(hc.Scored(posteriors(scores)), codes)


def two_normals(gap, n, rng):
    """Scores of normal classes that are their own log-odds."""
    codes = np.arange(n) % 2
    return gap**2 * (codes - 0.5) + gap * rng.normal(size=n), codes


@pytest.mark.parametrize("p_delta", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("gap", "spread"), [(1.0, 1.0), (2.0, 0.5), (1.0, 2.0)])
def test_the_mean_over_thresholds_of_adjusted_counts(gap, spread, p_delta):
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    scores = gap * (codes - 0.5) + np.where(codes, spread, 1.0) * rng.normal(size=200)
    quantifier = fit_on(scores, codes, p_delta=p_delta)
    means = [scores[codes == j].mean() for j in (0, 1)]
    sds = [scores[codes == j].std() for j in (0, 1)]
    left, right = oracle.barriers(means, sds, p_delta)
    new = rng.normal(size=60)
    samples = [np.arange(60), [3], [5, 5, 9]]
    for shares, index in zip(
        quantifier.predict_many(hc.Scored(posteriors(new)), samples), samples, strict=True
    ):
        expected = oracle.mean_adjusted_count(new[index], means, sds, left, right)
        assert shares[1] == pytest.approx(np.clip(expected, 0, 1), abs=1e-9)


@few
@given(
    gap=st.floats(0.01, 6),
    sds=st.tuples(st.floats(0.05, 3), st.floats(0.05, 3)),
    part=st.floats(0.02, 0.9),
    seed=st.integers(0, 1000),
)
def test_integrals_are_exact(gap, sds, part, seed):
    means = [0.0, gap]
    false, true = oracle.rates(means, sds)
    best = oracle.best_threshold(means, sds)
    p_delta = part * float(true(best) - false(best))
    assume(p_delta > 1e-3)
    plan = sweeps._plan(np.array(means), np.array(sds), p_delta)
    left, right = oracle.barriers(means, sds, p_delta)
    np.testing.assert_allclose([plan.left, plan.right], [left, right], rtol=0, atol=1e-9)
    scores = np.random.default_rng(seed).normal(gap / 2, max(sds), 5)
    expected = oracle.mean_adjusted_count(scores, means, sds, left, right)
    found = plan.contributions(scores).mean()
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@each_model
def test_variances_are_those_of_the_counts(means, sds):
    rates = sweeps._NormalRates(np.array(means), np.array(sds))
    peak = rates.peak()
    assert rates.spread(peak) >= rates.spread(oracle.best_threshold(means, sds)) - 1e-12
    left, right = rates.barriers(peak, rates.spread(peak) * np.array([0.05, 0.3, 0.8]))
    edges = rates.edges(left, right)
    integral = sweeps._antiderivative(edges, lambda t: 1 / rates.spread(t))
    found = sweeps._variances(rates, edges, integral, left, right)
    # One half is what all shares of the positive class give on average.
    expected = [
        np.mean([oracle.variance(means, sds, *ends, share) for share in (0.1, 0.9)])
        for ends in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=5e-3)


@each_model
def test_the_stretch_chosen_has_the_least_variance(means, sds):
    plan = sweeps._plan(np.array(means), np.array(sds), None)
    chosen = oracle.variance(means, sds, plan.left, plan.right, 0.5)
    false, true = oracle.rates(means, sds)
    best = oracle.best_threshold(means, sds)
    for part in (0.02, 0.1, 0.25, 0.5, 0.75, 0.95):
        ends = oracle.barriers(means, sds, part * (true(best) - false(best)))
        assert chosen <= 1.002 * oracle.variance(means, sds, *ends, 0.5)


@pytest.mark.parametrize("p_delta", [None, 0.1])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.85, 1.0])
def test_shares_of_normal_classes_are_exact(share, p_delta):
    codes = np.arange(40_000) // 20_000
    scores = np.concatenate([quantiles(-0.5, 1, 20_000), quantiles(0.5, 1, 20_000)])
    quantifier = fit_on(scores, codes, p_delta=p_delta)
    n = round(20_000 * share)
    mixed = [quantiles(0.5, 1, n)] * (n > 0) + [quantiles(-0.5, 1, 20_000 - n)] * (n < 20_000)
    found = quantifier.predict(hc.Scored(posteriors(np.concatenate(mixed))))
    np.testing.assert_allclose(found, [1 - share, share], atol=2e-4)


def test_names_of_classes_make_no_difference():
    scores, codes = two_normals(1.5, 300, np.random.default_rng(1))
    new, _ = two_normals(1.5, 80, np.random.default_rng(2))
    one = fit_on(scores, codes).predict(hc.Scored(posteriors(new)))
    other = fit_on(-scores, 1 - codes).predict(hc.Scored(posteriors(-new)))
    np.testing.assert_allclose(one, other[::-1], atol=1e-9)


def test_scores_the_wrong_way_round_are_turned():
    scores, codes = two_normals(1.5, 300, np.random.default_rng(1))
    new, _ = two_normals(1.5, 80, np.random.default_rng(2))
    right = fit_on(scores, codes).predict(hc.Scored(posteriors(new)))
    turned = fit_on(-scores, codes).predict(hc.Scored(posteriors(-new)))
    np.testing.assert_allclose(turned, right, atol=1e-9)


def test_posteriors_of_nought_and_one_lie_one_beyond_the_others():
    scores, codes = two_normals(1.5, 300, np.random.default_rng(1))
    extreme = np.argsort(scores)[[0, 1, -2, -1]]
    given, meant = posteriors(scores), scores.copy()
    given[extreme] = [[1, 0], [1, 0], [0, 1], [0, 1]]
    rest = np.delete(scores, extreme)
    meant[extreme] = [rest.min() - 1] * 2 + [rest.max() + 1] * 2
    new = np.concatenate([posteriors(scores[:50]), np.eye(2)])
    np.testing.assert_allclose(
        hc.ContinuousSweep().fit(hc.Scored(given), codes).predict(hc.Scored(new)),
        fit_on(meant, codes).predict(hc.Scored(new)),
        atol=1e-9,
    )


def test_scores_that_tell_nothing_are_counted():
    scores = np.tile([-1.0, 0.5, 2.0], 20)
    quantifier = fit_on(scores, np.arange(60) // 30)
    assert quantifier.fitted_.model.sweep is None
    found = quantifier.predict(hc.Scored(posteriors(np.array([-3.0, 0.1, 0.2, 0.0]))))
    assert found.tolist() == [0.5, 0.5]


def test_classes_of_one_score_each_are_counted():
    quantifier = fit_on(np.repeat([-1.0, 2.0], 5), np.arange(10) // 5)
    found = quantifier.predict(hc.Scored(posteriors(np.array([-1.0, 2.0, 2.0, 9.0, -7.0]))))
    np.testing.assert_allclose(found, [0.4, 0.6], atol=1e-7)
    # Between the two, an item is a positive for the thresholds below it.
    found = quantifier.predict(hc.Scored(posteriors(np.array([0.5]))))
    np.testing.assert_allclose(found, [0.5, 0.5], atol=1e-7)


@few
@given(
    train=st.lists(
        st.tuples(st.sampled_from([0.0, 1e-300, 1e-9, 0.2, 0.5, 0.500001, 0.9, 1.0]),
                  st.booleans()),
        min_size=2,
        max_size=12,
    ),
    p_delta=st.sampled_from([None, 1e-4, 0.5, 0.999]),
)  # fmt: skip
def test_there_is_always_an_answer(train, p_delta):
    scores, codes = (np.array(column) for column in zip(*train, strict=True))
    assume(0 < codes.sum() < len(codes))
    quantifier = hc.ContinuousSweep(p_delta=p_delta).fit(hc.Scored(scores), codes)
    grid = np.concatenate([[0.0, 1.0, 1e-300], np.linspace(0, 1, 41), scores])
    shares = quantifier.predict_many(hc.Scored(grid), [[i] for i in range(len(grid))])
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize(("gap", "at_most"), [(0.8, 1.0), (1.5, 1.0), (2.5, 1.03)])
def test_on_normal_scores_it_is_as_good_as_the_median_sweep(gap, at_most):
    rng = np.random.default_rng(0)
    pool, truth = two_normals(gap, 4000, rng)
    samples = hc.UPP(n_samples=300, size=100, random_state=0).draw(truth)
    error = np.zeros(2)
    for _ in range(8):
        scores, codes = two_normals(gap, 120, rng)
        for i, method in enumerate(
            (hc.MS2(thresholds="scores", decimals=None), hc.ContinuousSweep())
        ):
            method.fit(hc.Scored(posteriors(scores)), codes)
            shares = method.predict_many(hc.Scored(posteriors(pool)), samples)
            error[i] += np.abs(shares - samples.prevalence).mean()
    assert error[1] < at_most * error[0]
