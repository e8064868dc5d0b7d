"""Variants of methods that papers compare: thresholds, exact solutions, distances, losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from tests.oracle import matching as oracle

import headcount as hc
from headcount.parts import EuclideanDistance, Histograms, Losses, MeanDistance
from headcount.parts.solvers import AdjustedCount, Divergence, nearest_shares
from headcount.parts.training import Training
from headcount.samples import Samples


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(1500, n_classes=3, n_informative=6, random_state=0)
    return X[:800], y[:800], X[800:]


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(1200, random_state=1)
    return X[:600], y[:600], X[600:]


def test_counting_above_a_threshold(two):
    X, y, new = two
    q = hc.CC(LogisticRegression(), threshold=0.3).fit(X, y)
    posteriors = LogisticRegression().fit(X, y).predict_proba(new)[:, 1]
    assert q.predict(new)[1] == pytest.approx((posteriors >= 0.3).mean())
    scored = hc.CC(threshold=0.8).fit(hc.Scored(np.linspace(0, 1, len(y))), y)
    assert scored.predict(hc.Scored(np.array([0.1, 0.5, 0.81, 0.9])))[1] == 0.5
    with pytest.raises(hc.HeadcountError, match=r"threshold is 1\.5"):
        hc.CC(threshold=1.5).fit(X, y)


def test_a_threshold_divides_two_classes(three):
    X, y, _ = three
    with pytest.raises(hc.HeadcountError, match="divides two classes, but y has 3"):
        hc.CC(threshold=0.3).fit(X, y)


@pytest.mark.parametrize("method", [hc.ACC, hc.PACC])
def test_exact_solutions_are_clipped_or_projected(method, three):
    X, y, new = three
    answers = {
        solution: method(LogisticRegression(), solution=solution).fit(X, y).predict(new)
        for solution in ("least-squares", "clip", "project")
    }
    for shares in answers.values():
        assert shares.sum() == pytest.approx(1)
    # Inside the simplex, all of them solve the equations.
    assert answers["clip"] == pytest.approx(answers["project"], abs=1e-6)
    assert answers["clip"] == pytest.approx(answers["least-squares"], abs=1e-5)
    with pytest.raises(hc.HeadcountError, match="solution is 'exact'; it must be one of"):
        method(solution="exact").fit(X, y)


def test_exact_solutions_outside_the_simplex():
    profiles = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    seen = np.array([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4]])
    exact = np.linalg.solve(profiles.T, seen.T).T
    assert exact[0].min() < 0
    clipped = np.maximum(exact, 0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    assert AdjustedCount("clip").solve(profiles, seen).prevalence == pytest.approx(clipped)
    nearest = [
        minimize(
            lambda p, point=point: ((p - point) ** 2).sum(), np.full(3, 1 / 3),
            bounds=[(0, 1)] * 3, constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        ).x
        for point in exact
    ]  # fmt: skip
    projected = AdjustedCount("project").solve(profiles, seen).prevalence
    assert projected == pytest.approx(np.array(nearest), abs=1e-5)
    assert nearest_shares(exact) == pytest.approx(projected)


def test_classes_that_are_predicted_alike_have_a_solution():
    profiles = np.full((3, 3), 1 / 3)
    shares = AdjustedCount("clip").solve(profiles, np.array([[0.2, 0.3, 0.5]])).prevalence
    assert shares == pytest.approx(np.full((1, 3), 1 / 3))


def test_several_numbers_of_bins(two):
    X, y, new = two
    each = [hc.DyS(LogisticRegression(), bins=n).fit(X, y).predict(new)[1] for n in (4, 10, 22)]
    q = hc.DyS(LogisticRegression(), bins=(4, 10, 22)).fit(X, y)
    assert q.predict(new)[1] == pytest.approx(np.median(each))


def test_cumulative_histograms(three):
    X, y, new = three
    model = LogisticRegression().fit(X, y)
    plain, cumulative = (
        hc.DM(FrozenEstimator(model), divergence="l2", cumulative=flag).fit(X, y)
        for flag in (False, True)
    )
    shares = cumulative.predict(new)
    assert not np.allclose(shares, plain.predict(new))
    training = cumulative.fitted_.training
    part = Histograms((8,), cumulative=True).fit(training)
    profiles = training.class_means(part.embed(np.asarray(training.items)))
    items = model.predict_proba(new)
    seen = part.embed(items).means(Samples.whole(len(new)))[0]
    others = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    losses = ((seen - np.vstack([shares, others]) @ profiles) ** 2).sum(axis=1)
    assert losses.argmin() == 0


@pytest.mark.parametrize("name", ["hellinger", "topsoe", "probsymm", "l1", "l2"])
@pytest.mark.parametrize("K", [2, 4])
def test_losses_of_a_name_are_the_divergences(name, K):
    rng = np.random.default_rng(K)
    profiles = rng.dirichlet(np.ones(9), K)
    seen = rng.dirichlet(np.ones(K), 5) @ profiles + rng.dirichlet(np.ones(9), 5) / 10
    exact, general = (
        Divergence(name).solve(profiles, seen),
        Losses([name]).solve(profiles, seen),
    )
    value = [
        getattr(oracle, name)(row, p @ profiles)
        for row, p in zip(seen, general.prevalence, strict=True)
    ]
    least = [
        getattr(oracle, name)(row, p @ profiles)
        for row, p in zip(seen, exact.prevalence, strict=True)
    ]
    tolerance = 1e-2 if name == "l1" and K > 2 else 1e-6  # l1 has edges
    assert np.array(value) == pytest.approx(np.array(least), abs=tolerance)


def test_a_divergence_of_ones_own(three):
    X, y, new = three

    def squares(seen, mixture):
        return float(((seen - mixture) ** 2).sum())

    own = hc.DM(LogisticRegression(), divergence=squares).fit(X, y).predict(new)
    named = hc.DM(LogisticRegression(), divergence="l2").fit(X, y).predict(new)
    assert own == pytest.approx(named, abs=1e-4)


def test_losses_add_up(three):
    X, y, new = three
    both = hc.Compose(
        Histograms((8,)), Losses([(0.5, "l2"), (2.0, "topsoe")]), LogisticRegression()
    )
    shares = both.fit(X, y).predict(new)
    ends = [
        hc.Compose(Histograms((8,)), Losses([name]), LogisticRegression())
        .fit(X, y)
        .predict(new)
        for name in ("l2", "topsoe")
    ]
    low, high = np.minimum(*ends) - 0.02, np.maximum(*ends) + 0.02
    assert ((low <= shares) & (shares <= high)).all()
    smooth = Losses(["l2"], smoothness=1e6).solve(np.eye(3), np.array([[0.7, 0.1, 0.2]]))
    assert np.diff(smooth.prevalence[0], 2) == pytest.approx([0], abs=1e-3)
    for wrong in ("l2", ["l3"], [(-1, "l2")], []):
        with pytest.raises(hc.HeadcountError, match=r"losses (is|has)"):
            Losses(wrong)


def test_distances_of_the_energy_distance(three):
    X, y, new = three
    q = hc.ED(distance="manhattan").fit(X, y)
    training = Training(X, y.astype(np.int64), 3)
    embedded = MeanDistance().fit(training).embed(new[:5]).values
    manhattan = np.stack(
        [[np.abs(row - X[y == j]).sum(axis=1).mean() for j in range(3)] for row in new[:5]]
    )
    assert embedded == pytest.approx(manhattan)
    assert q.predict(new).sum() == pytest.approx(1)
    assert not np.allclose(q.predict(new), hc.ED().fit(X, y).predict(new))
    euclidean = hc.EDy(LogisticRegression(), distance="euclidean").fit(X, y)
    other = hc.Compose(EuclideanDistance(), hc.parts.EnergyDistance(), LogisticRegression(),
                       input="posteriors")  # fmt: skip
    assert euclidean.predict(new) == pytest.approx(other.fit(X, y).predict(new))
    with pytest.raises(hc.HeadcountError, match="distance is 'cosine'"):
        hc.ED(distance="cosine").fit(X, y)
