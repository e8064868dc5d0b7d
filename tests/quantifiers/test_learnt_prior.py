"""Maximum likelihood with a prior of learnt strength."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import headcount as hc
from headcount.parts.solvers import MaximumLikelihood
from headcount.quantifiers.likelihood import _STRENGTHS, _log_evidence
from headcount.samples.samples import Samples

PRIOR = np.array([0.3, 0.7])


def scores(share, n, rng, sharpness=1.5):
    """Posteriors under training shares PRIOR, of a sample with another share."""
    y = (np.arange(n) < round(share * n)).astype(int)
    z = rng.normal(size=n) + sharpness * (2 * y - 1)
    odds = PRIOR[1] / PRIOR[0] * np.exp(2 * sharpness * z)
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)])


def integrated(ratios, alpha):
    """Likelihood with the shares integrated out, by brute force."""
    p = (np.arange(100_000) + 0.5) / 100_000
    logs = (alpha[0] - 1) * np.log(1 - p) + (alpha[1] - 1) * np.log(p) - betaln(*alpha)
    for first, second in ratios:
        logs += np.log(first * (1 - p) + second * p)
    return logsumexp(logs) - np.log(len(p))


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_evidence_is_the_integral(share):
    ratios = scores(share, 60, np.random.default_rng(0)) / PRIOR
    whole = Samples.whole(60)
    found, exact = [], []
    for t in (4.0, 32.0, 256.0):
        solver = MaximumLikelihood(concentration=1 + t * PRIOR)
        mode = solver.solve(ratios, whole).prevalence[0]
        found.append(_log_evidence(ratios, None, 1, t * PRIOR, mode))
        exact.append(integrated(ratios, t * PRIOR))
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=0.05)


def test_predictions_are_means_of_modes_by_hand():
    rng = np.random.default_rng(1)
    training, new = scores(0.7, 200, rng), scores(0.4, 50, rng)
    y = (np.arange(200) < 140).astype(int)
    quantifier = hc.HierarchicalLikelihood().fit(hc.Scored(training), y)
    ratios = new / PRIOR
    logs, modes = [], []
    for t in _STRENGTHS:
        grid = np.linspace(1e-6, 1 - 1e-6, 200_001)
        value = np.log(np.outer(ratios[:, 0], 1 - grid) + np.outer(ratios[:, 1], grid)).sum(0)
        value += t * (PRIOR[0] * np.log(1 - grid) + PRIOR[1] * np.log(grid))
        modes.append(grid[value.argmax()])
        logs.append(integrated(ratios, t * PRIOR))
    expected = np.exp(logs - logsumexp(logs)) @ modes
    assert quantifier.predict(hc.Scored(new))[1] == pytest.approx(expected, abs=0.005)


def test_the_strength_adapts():
    rng = np.random.default_rng(2)
    y = (np.arange(2000) < 1400).astype(int)
    training = hc.Scored(scores(0.7, 2000, rng, 0.7))
    learnt, plain = (
        method.fit(training, y)
        for method in (hc.HierarchicalLikelihood(), hc.SLD(stop="converged"))
    )

    def answers(share):
        drawn = (hc.Scored(scores(share, 200, rng, 0.7)) for _ in range(30))
        return np.array([[q.predict(new)[1] for q in (learnt, plain)] for new in drawn])

    same, other = answers(0.7), answers(0.1)
    errors = np.abs(same - 0.7).mean(axis=0)
    assert errors[0] < 0.6 * errors[1]
    assert np.abs(other - 0.1).mean(axis=0)[0] < 0.06
