from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.parts.binning import FeatureHistograms
from headcount.parts.classifier_outputs import Histograms, Posterior, PredictedClass
from headcount.parts.distances import EuclideanDistance, MeanDistance
from headcount.parts.kernel_density import KernelMeans
from headcount.parts.solvers import (
    AdjustedCount,
    Divergence,
    EnergyDistance,
    ExpectationMaximisation,
    KernelDistance,
    LeastSquares,
    MaximumLikelihood,
    Solution,
)
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.likelihood import PosteriorRatios
from headcount.testing.cases import labelled, labelled_scores, pool, samples, scored_pool
from headcount.testing.run import check_quantifier

PAIRS = {
    "ACC": (PredictedClass(), AdjustedCount(), hc.ACC()),
    "PACC": (Posterior(), AdjustedCount(), hc.PACC()),
    "GAC": (PredictedClass(), LeastSquares(), hc.GAC()),
    "GPAC": (None, None, hc.GPAC()),
    "DM": (Histograms((8,)), Divergence("hellinger"), hc.DM(bins=8, divergence="hellinger")),
    "EDy": (MeanDistance(), EnergyDistance(), hc.EDy()),
    "KMM": (KernelMeans(0.2), KernelDistance(), hc.KMM(bandwidth=0.2)),
    "SLD": (PosteriorRatios(), MaximumLikelihood(), hc.SLD(calibration=None, stop="converged")),
    "SLD, norm": (
        PosteriorRatios(),
        ExpectationMaximisation(1e-6, by_norm=True),
        hc.SLD(calibration=None, stop="norm"),
    ),
}


@pytest.mark.parametrize(("representation", "solver", "named"), PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("K", [2, 3])
def test_parts_of_methods_are_the_methods(representation, solver, named, K):
    scores, new = labelled_scores(K), hc.Scored(scored_pool(K))
    composed = hc.Compose(representation, solver)
    assert ScoringPlan(composed).takes == ScoringPlan(named).takes
    np.testing.assert_array_equal(
        composed.fit(*scores).predict_many(new, samples()),
        named.fit(*scores).predict_many(new, samples()),
    )


@pytest.mark.parametrize("representation", [FeatureHistograms(8), EuclideanDistance()])
def test_features_need_no_classifier(representation):
    solver = Divergence("hellinger") if isinstance(representation, FeatureHistograms) else None
    composed = hc.Compose(representation, solver)
    assert ScoringPlan(composed).takes == "features"
    assert ScoringPlan(composed).scorer() is None
    assert composed.fit(*labelled(2)).predict(pool(2)).shape == (2,)


@dataclass(frozen=True)
class Centred:
    """Features as they are."""

    def fit(self, training):
        return self

    def embed(self, items):
        from headcount.parts.training import Dense

        return Dense(np.asarray(items, dtype=float))


@dataclass(frozen=True)
class Even:
    """Equal shares."""

    def solve(self, profiles, seen):
        return Solution.closed_form(np.full((len(seen), len(profiles)), 1 / len(profiles)))


def test_parts_of_your_own():
    X, y = labelled(3)
    composed = hc.Compose(Centred(), LeastSquares(), input="features").fit(X, y)
    assert ScoringPlan(composed).takes == "features"
    expected = np.array([X[y == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(composed.fitted_.model.profiles, expected)
    even = hc.Compose(None, Even()).fit(*labelled_scores(3))
    np.testing.assert_allclose(even.predict(hc.Scored(scored_pool(3))), 1 / 3)


@pytest.mark.parametrize(
    ("representation", "solver"),
    [(PredictedClass(), AdjustedCount()), (PosteriorRatios(), MaximumLikelihood())],
)
def test_compositions_pass_the_checks(representation, solver):
    assert not check_quantifier(hc.Compose(representation, solver)).with_status("failed")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((3, None), "^representation is 3; it must have methods fit and embed"),
        ((Posterior, None), "^representation is <class"),
        ((LeastSquares(), None), "^representation is LeastSquares"),
        ((None, 3), "^solver is 3; it must be an object with a method solve"),
        ((None, LeastSquares), "^solver is <class"),
        ((None, Posterior()), r"^solver is Posterior\(\); it must be an object"),
        ((None, MaximumLikelihood()), "^solver is MaximumLikelihood, which takes likelihoods"),
        ((PosteriorRatios(), AdjustedCount()), "^solver is AdjustedCount, which takes means"),
        ((PosteriorRatios(), None), "^solver is LeastSquares, which takes means"),
    ],
)
def test_bad_parts(parts, message):
    with pytest.raises(HeadcountError, match=message):
        hc.Compose(*parts).fit(*labelled_scores(2))


@pytest.mark.parametrize("bad", ["foo", 3])
def test_bad_input(bad):
    with pytest.raises(HeadcountError, match=r"^input is .*posteriors"):
        hc.Compose(input=bad).fit(*labelled(2))


def test_it_can_be_searched():
    X, y = labelled(2)
    grid = {"representation": [Histograms((4,)), Histograms((8,))]}
    search = hc.GridSearch(
        hc.Compose(solver=Divergence("hellinger")), grid, random_state=0, progress=False
    ).fit(X, y)
    assert search.best_params_["representation"] in grid["representation"]
