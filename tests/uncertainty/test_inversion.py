from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tests.uncertainty.conftest import scores_of

import headcount as hc
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution
from headcount.uncertainty import Problem
from headcount.uncertainty.drawing import onto_simplex
from headcount.uncertainty.inversion import inverted
from headcount.uncertainty.replicates import _followed, replicate

QUICK = {"replicates": 200, "training_replicates": 20, "random_state": 0}


@dataclass(frozen=True)
class Halfway:
    """Says what is halfway between the mean of the items and even shares."""

    def fit(self, training):
        return self

    def solve(self, items, samples):
        means = np.array([items[rows].mean(axis=0) for rows in samples])
        return Solution.closed_form(0.5 * means + 0.5 / items.shape[1])


@dataclass(frozen=True)
class MovedByTraining:
    """The same, moved by thrice what an even mix of the training items is off."""

    even: np.ndarray | None = None

    def fit(self, training):
        K = training.n_classes
        means = [
            np.average(
                training.items[training.codes == j],
                axis=0,
                weights=training.weights[training.codes == j],
            )
            for j in range(K)
        ]
        return MovedByTraining(1.5 * np.mean(means, axis=0) - 1 / K)

    def solve(self, items, samples):
        means = np.array([items[rows].mean(axis=0) for rows in samples])
        return Solution.closed_form(0.5 * means + self.even)


def made(shares, n=300, model=None, **options):
    # Items tell their class, but for noise that sums to zero.
    rng = np.random.default_rng(0)
    K = len(shares)
    noise = rng.normal(scale=0.3, size=(600, K))
    items = np.eye(K)[np.arange(600) % K] + noise - noise.mean(axis=1, keepdims=True)
    known = Training(items, np.arange(600) % K, K, np.ones(600))
    model = (Halfway() if model is None else model).fit(known)
    said = 0.5 * np.asarray(shares)[None] + getattr(model, "even", 0.5 / K)
    return Problem(model, known, "prior", items[:n], Samples.whole(n), said, **options)


def inverted_draws(problem, target, n):
    rng = np.random.default_rng(0)
    drawn = replicate(problem, target, 100, 20, rng)
    return inverted(problem, target, n, 100, drawn, rng)[0]


@pytest.mark.parametrize("shares", [[0.3, 0.7], [0.2, 0.3, 0.5]])
@pytest.mark.parametrize(
    "options",
    [
        {"learns": False},
        {"model": MovedByTraining(), "consistent": False},
    ],
    ids=["learns nothing", "learns its bias"],
)
def test_what_was_there_is_found_behind_what_is_said(shares, options):
    # What the model learns of its bias moves its answers on all items alike, those of which
    # the truth is known too: it is no error.
    problem = made(shares, **options)
    draws = inverted_draws(problem, "realised", 800)
    assert draws.sum(axis=1) == pytest.approx(np.ones(800))
    assert draws.mean(axis=0) == pytest.approx(shares, abs=0.04)
    # The mean of 300 items has this error, of which half is seen; that of 200 or 300 training
    # items adds to it by the shares' squares.
    K = len(shares)
    noise = 0.3**2 * (1 - 1 / K)
    due = noise / 300 + noise * (np.square(shares).sum()) / (600 / K)
    assert draws.std(axis=0) == pytest.approx(np.full(K, np.sqrt(due)), rel=0.25)


def test_the_population_is_less_certain_by_the_labels():
    problem = made([0.3, 0.7], learns=False)
    of_sample, of_all = (
        inverted_draws(problem, target, 2000)[:, 0].var() for target in ("realised", "expected")
    )
    assert of_all - of_sample == pytest.approx(0.21 / 300, rel=0.2)


def test_one_against_the_rest_is_inverted():
    # The rest of three classes is another rest once their mix has changed.
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=900)
    quantifier = hc.OneVsRest(hc.DyS()).fit_scores(scores_of(y, 3, rng), y)
    truth = np.array([0.7, 0.25, 0.05])
    codes = np.repeat([0, 1, 2], (truth * 2000).astype(int))
    samples = Samples.from_arrays([rng.permutation(2000)[:1000] for _ in range(2)], n_pool=2000)
    estimate = quantifier.estimate_many_scores(scores_of(codes, 3, rng), samples, **QUICK)[0]
    assert estimate.interval_methods[0] == "inverted"
    right = np.bincount(codes[samples[0]], minlength=3) / 1000
    assert np.abs(estimate.replicates.mean(axis=0) - right).max() < 0.05
    assert estimate.region().contains(right)
    two = hc.OneVsRest(hc.DyS()).fit_scores(scores_of(y % 2, 2, rng), y % 2)
    assert "inverted" not in two.estimate_scores(scores_of(y % 2, 2, rng), **QUICK).rules


def test_sld_on_scores_makes_up_for_what_they_are_wrong_by():
    rng = np.random.default_rng(2)

    def overconfident(codes):
        logits = 1.5 * (2 * codes - 1) + 1.2 * rng.normal(size=len(codes)) + 0.8
        positive = 1 / (1 + np.exp(-3 * logits))
        return np.column_stack([1 - positive, positive])

    y = rng.integers(2, size=800)
    quantifier = hc.SLD().fit_scores(overconfident(y), y)
    codes = np.repeat([0, 1], [700, 300])
    estimate = quantifier.estimate_scores(overconfident(codes), **QUICK)
    low, high = estimate.rules["inverted"].bounds(0.95)
    assert low[1] < 0.3 < high[1]
    assert abs(estimate.shares[1] - 0.3) > 0.5 * (high[1] - low[1])
    assert "the intervals make up for it" in " ".join(estimate.warnings)
    # How it fares on a class is known from the labelled items alone.
    surer = quantifier.estimate_scores(
        overconfident(codes), **QUICK | {"training_replicates": 0}
    )
    assert surer.replicates.std(axis=0)[1] < estimate.replicates.std(axis=0)[1]


def test_calibrated_posteriors_are_inverted():
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=600)
    scores = scores_of(y, 3, rng)
    estimate = hc.SLD(calibration="bcts").fit_scores(scores, y).estimate_scores(scores, **QUICK)
    assert estimate.interval_methods[0] == "inverted"
    assert estimate.region().contains(np.bincount(y) / 600)
    # The noise of training is left out, and with it what is small beside it.
    sure = QUICK | {"training_replicates": 0}
    plain = hc.SLD(calibration="bcts").fit_scores(scores, y).estimate_scores(scores, **sure)
    assert "inverted" not in plain.rules


@pytest.mark.parametrize("K", [2, 4])
def test_how_far_answers_follow(K):
    problem = made(np.full(K, 1 / K))
    assert _followed(problem, np.random.default_rng(0)) == pytest.approx(0.5, abs=0.03)


def test_onto_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(0)
    points = rng.normal(scale=0.5, size=(20, 4))
    found = onto_simplex(points)
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx(np.ones(20))
    others = rng.dirichlet(np.ones(4), 500)
    for point, nearest in zip(points, found, strict=True):
        best = ((others - point) ** 2).sum(axis=1).min()
        assert ((nearest - point) ** 2).sum() <= best + 1e-12
