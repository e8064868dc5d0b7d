"""Elliptic regions, and the volumes of regions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Ellipse, Region

DRAWN = {
    "inside": (np.array([20.0, 30, 50]), 100),
    "border": (np.array([1.0, 1, 3]), 30),
    "two": (np.array([3.0, 7]), 50),
    "five": (np.full(5, 5.0), 100),
}


def regions(draws, n):
    return [
        Ellipse.of(draws, n, 0.9, logs=False),
        Ellipse.of(draws, n, 0.9, logs=True),
        Region.of(draws, draws.mean(axis=0), n, 0.9),
    ]


@pytest.mark.parametrize("name", DRAWN)
def test_volumes_are_fractions_of_the_simplex(name):
    concentration, n = DRAWN[name]
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(concentration, 1000)
    everywhere = rng.dirichlet(np.ones(len(concentration)), 4000)
    for region in regions(draws, n):
        inside = np.mean([region.contains(shares) for shares in everywhere])
        assert region.volume == pytest.approx(inside, abs=0.03)
        assert np.mean([region.contains(shares) for shares in draws]) == pytest.approx(
            0.9, abs=0.01
        )
        np.testing.assert_allclose(region.centre, draws.mean(axis=0), atol=0.1)
        assert region.centre.sum() == pytest.approx(1)


@pytest.mark.parametrize(("K", "concentration"), [(8, 0.3), (15, 1.0), (28, 1.0), (200, 1.0)])
def test_volumes_of_wide_regions_of_many_classes(K, concentration):
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.full(K, concentration), 1000)
    everywhere = rng.dirichlet(np.ones(K), 2000)
    for region in regions(draws, 200):
        inside = np.mean([region.contains(shares) for shares in everywhere])
        assert region.volume == pytest.approx(inside, abs=0.05)


def test_ellipses_are_those_of_the_normal_distribution_far_from_the_border():
    draws = np.random.default_rng(0).dirichlet([4000.0, 5000, 6000], 4000)
    for ellipse in regions(draws, 10**6)[:2]:
        assert ellipse.reach == pytest.approx(np.sqrt(chi2.ppf(0.9, 2)), rel=0.03)


def test_log_ratios_are_those_of_isometric_and_centred_coordinates():
    # Mahalanobis distances by centred log-ratios and a pseudo-inverse.
    n, draws = 1000, np.random.default_rng(0).dirichlet([20.0, 30, 50], 500)
    ellipse = Ellipse.of(draws, n, 0.9, logs=True)

    def clr(shares):
        logs = np.log(n * shares + 0.5)
        return logs - logs.mean(axis=-1, keepdims=True)

    away = clr(draws) - clr(draws).mean(axis=0)
    precision = np.linalg.pinv(np.cov(away.T, ddof=0))
    squares = np.einsum("ij,jk,ik->i", away, precision, away)
    assert ellipse.reach**2 == pytest.approx(np.quantile(squares, 0.9), rel=0.01)


def test_draws_that_are_all_alike_have_a_region_too():
    draws = np.tile([0.2, 0.3, 0.5], (100, 1))
    for region in regions(draws, 100):
        assert region.contains([0.2, 0.3, 0.5])
        assert not region.contains([0.25, 0.3, 0.45])
        assert region.volume < 0.01


def test_estimates_have_ellipses():
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 3
    scores = np.exp(2 * np.eye(3)[codes] + rng.normal(size=(300, 3)))
    scores /= scores.sum(axis=1, keepdims=True)
    estimate = hc.SLD(random_state=0).fit(hc.Scored(scores), codes).estimate(hc.Scored(scores))
    truth = np.full(3, 1 / 3)
    volumes = []
    for scale in ("log-ratios", "shares"):
        narrow, wide = (estimate.ellipse(level, scale=scale) for level in (0.5, 0.99))
        assert wide.contains(truth)
        assert 0 < narrow.volume < wide.volume < 1
        volumes.append(wide.volume)
    assert volumes[0] == pytest.approx(volumes[1], rel=0.3)
    with pytest.raises(HeadcountError, match="scale is 'clr'"):
        estimate.ellipse(scale="clr")
    with pytest.raises(HeadcountError, match="level"):
        estimate.ellipse(95)
    with pytest.raises(HeadcountError, match="shares is"):
        estimate.ellipse().contains([0.5, 0.5])
    with pytest.raises(HeadcountError, match="shares is"):
        estimate.ellipse().contains(["a", "b", "c"])
