"""Methods for ordered classes, on ratings whose shares are smooth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta
from tests.conformance.cases import labelled_scores, samples, scored, scored_pool
from tests.oracle import matching as oracle

import headcount as hc
from headcount.errors import HeadcountError

PAIRS = {
    "OrdinalACC": hc.GAC,
    "OrdinalPACC": hc.GPAC,
    "OrdinalSLD": partial(hc.SLD, calibration=None, stop="converged"),
}
each = pytest.mark.parametrize("name", PAIRS)
SMOOTHED = [
    hc.GAC(smoothness=0.02),
    hc.GPAC(smoothness=0.02),
    hc.FM(smoothness=0.02),
    hc.DM(smoothness=0.02),
    hc.DM(divergence="topsoe", smoothness=0.02),
    hc.DM(divergence="l2", smoothness=0.02),
    hc.EDy(smoothness=0.02),
    hc.CvMy(smoothness=0.02),
    hc.KMM(smoothness=0.02),
    hc.OrdinalACC(),
    hc.OrdinalPACC(),
    hc.OrdinalSLD(),
    hc.RUN(),
    hc.RegularizedLikelihood(flatness=0.02),
    hc.RegularizedLikelihood(smoothness=0.02),
]
each_smoothed = pytest.mark.parametrize("quantifier", SMOOTHED, ids=str)


@dataclass(frozen=True)
class Ratings:
    """Five ratings that overlap, scored by their own posteriors under equal shares."""

    scores: np.ndarray
    codes: np.ndarray
    pool: np.ndarray
    samples: list[np.ndarray]
    shares: np.ndarray

    def errors(self, quantifier):
        """Normalised match distance of each sample."""
        fitted = quantifier.fit(hc.Scored(self.scores), self.codes)
        found = fitted.predict_many(hc.Scored(self.pool), self.samples)
        return hc.metrics.nmd(self.shares, found)


def posteriors(codes, rng):
    seen = codes + rng.normal(scale=1.0, size=len(codes))
    likelihoods = np.exp(-0.5 * (seen[:, None] - np.arange(5)) ** 2)
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(5), 400)
    pool_codes = np.repeat(np.arange(5), 1000)
    edges = np.linspace(0, 1, 6)
    drawn = []
    for _ in range(150):
        # One hump, or heaps at both ends, anywhere along the ratings.
        centre, spread = rng.uniform(0.15, 0.85), rng.uniform(1.5, 6)
        wanted = np.diff(beta.cdf(edges, centre * spread, (1 - centre) * spread))
        counts = rng.multinomial(200, wanted / wanted.sum())
        drawn.append(
            np.concatenate([1000 * j + rng.integers(0, 1000, c) for j, c in enumerate(counts)])
        )
    shares = np.array([np.bincount(pool_codes[index], minlength=5) / 200 for index in drawn])
    return Ratings(posteriors(codes, rng), codes, posteriors(pool_codes, rng), drawn, shares)


@each
def test_smooth_shares_are_found_better_when_they_are_expected(ratings, name):
    smooth = ratings.errors(getattr(hc, name)())
    rough = ratings.errors(PAIRS[name]())
    assert smooth.mean() < 0.75 * rough.mean()
    assert np.mean(smooth < rough) > 0.6


@each
def test_without_smoothness_they_are_what_they_are_named_after(ratings, name):
    plain = PAIRS[name]().fit(hc.Scored(ratings.scores), ratings.codes)
    ordinal = getattr(hc, name)(smoothness=0).fit(hc.Scored(ratings.scores), ratings.codes)
    np.testing.assert_array_equal(
        ordinal.predict_many(hc.Scored(ratings.pool), ratings.samples[:20]),
        plain.predict_many(hc.Scored(ratings.pool), ratings.samples[:20]),
    )


def solve(quantifier, scores, y, pool):
    return quantifier.fit(hc.Scored(scores), y).fitted_.solve_many(hc.Scored(pool), samples())


def test_the_same_methods_by_other_names():
    scores, y = scored(3)
    for one, other in (
        (hc.OrdinalACC(smoothness=0.1), hc.GAC(smoothness=0.1)),
        (hc.OrdinalPACC(smoothness=0.1), hc.GPAC(smoothness=0.1)),
        (hc.OrdinalSLD(smoothness=0.1), hc.RegularizedLikelihood(smoothness=0.1)),
        (
            hc.OrdinalSLD(smoothness=0.1, calibration="bcts"),
            hc.RegularizedLikelihood(smoothness=0.1, calibration="bcts"),
        ),
    ):
        np.testing.assert_array_equal(
            solve(one, scores, y, scored_pool(3)).prevalence,
            solve(other, scores, y, scored_pool(3)).prevalence,
        )


def without(quantifier):
    """The same quantifier with no wish for smooth shares."""
    names = {"smoothness", "flatness"} & quantifier.get_params().keys()
    return type(quantifier)(**quantifier.get_params() | dict.fromkeys(names, 0.0))


def penalty(quantifier, p):
    weights = quantifier.get_params()
    jumps = weights.get("flatness", 0.0) * oracle.jumps(p)
    return weights["smoothness"] / 2 * oracle.bends(p) + jumps / 2


@each_smoothed
def test_what_is_minimised_is_the_plain_objective_plus_the_penalty(quantifier):
    # At the two optima, either is at least as good as the other on its own terms.
    scores, y = scored(3)
    smooth = solve(quantifier, scores, y, scored_pool(3))
    plain = solve(without(quantifier), scores, y, scored_pool(3))
    for s in range(len(samples())):
        own = smooth.objective[s] - penalty(quantifier, smooth.prevalence[s])
        assert own >= plain.objective[s] - 1e-9
        other = plain.objective[s] + penalty(quantifier, plain.prevalence[s])
        assert smooth.objective[s] <= other + 1e-9
    assert np.abs(smooth.prevalence - plain.prevalence).max() > 1e-4


@each_smoothed
def test_the_direction_of_the_order_makes_no_difference(quantifier):
    scores, y = scored(3)
    one = solve(quantifier, scores, y, scored_pool(3))
    other = solve(quantifier, scores[:, ::-1], 2 - y, scored_pool(3)[:, ::-1])
    np.testing.assert_allclose(other.prevalence[:, ::-1], one.prevalence, rtol=0, atol=1e-6)


@each_smoothed
def test_the_order_is_that_of_the_classes_given(quantifier):
    scores, y = scored(3)
    names = np.array(["bad", "so so", "good"])
    one = solve(quantifier, scores, y, scored_pool(3)).prevalence
    named = quantifier.fit(hc.Scored(scores, classes=names), names[y])
    np.testing.assert_array_equal(named.classes_, names)
    np.testing.assert_array_equal(named.predict_many(hc.Scored(scored_pool(3)), samples()), one)
    # Sorted, "good" would be in the middle.
    order = np.argsort(names)
    by_letters = quantifier.fit(hc.Scored(scores[:, order]), names[y])
    found = by_letters.predict_many(hc.Scored(scored_pool(3)[:, order]), samples())
    assert np.abs(found - one[:, order]).max() > 1e-4


# Two classes may still differ, which flatness penalises.
@pytest.mark.parametrize(
    "quantifier", [q for q in SMOOTHED if not q.get_params().get("flatness")], ids=str
)
def test_two_classes_have_no_bends(quantifier):
    scores, y = scored(2)
    np.testing.assert_array_equal(
        solve(quantifier, scores, y, scored_pool(2)).prevalence,
        solve(without(quantifier), scores, y, scored_pool(2)).prevalence,
    )


def test_the_absolute_difference_cannot_be_smooth():
    with pytest.raises(HeadcountError, match=r"^smoothness is 0\.1, but .*'l1'"):
        hc.DM(divergence="l1", smoothness=0.1).fit(*labelled_scores(3))
    hc.DM(divergence="l1").fit(*labelled_scores(3))


@each
def test_they_are_known_as_ordinal(name):
    info = getattr(hc, name).info
    assert info.family == "ordinal"
    assert "Bunse" in info.reference
    assert hc.method(name.replace("Ordinal", "o-")) is getattr(hc, name)
