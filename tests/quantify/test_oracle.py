"""Every method against its formula, written down plainly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from tests.oracle import quantifiers as oracle

import headcount as hc


@dataclass(frozen=True)
class ScoredItems:
    train: np.ndarray
    codes: np.ndarray
    pool: np.ndarray
    samples: list[np.ndarray]

    @property
    def n_classes(self):
        return self.train.shape[1]

    def fit(self, quantifier):
        return quantifier.fit(hc.Scored(self.train), self.codes)

    def fast(self, quantifier):
        return self.fit(quantifier).predict_many(hc.Scored(self.pool), self.samples)

    def slow(self, method, **parameters):
        return np.array(
            [
                method(self.train, self.codes, self.pool[index], **parameters)
                for index in self.samples
            ]
        )


def split(scores, codes, n_train, seed):
    """Training items, and samples of the others with shares of their own."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(codes))
    train, rest = order[:n_train], order[n_train:]
    K = scores.shape[1]
    samples = []
    for size in (60, 35, 50):
        chances = rng.dirichlet(np.ones(K))[codes[rest]]
        samples.append(rng.choice(len(rest), size, p=chances / chances.sum()))
    return ScoredItems(scores[train], codes[train], scores[rest], samples)


def real(K):
    X, y = (load_breast_cancer if K == 2 else load_wine)(return_X_y=True)
    X = X[:, 4:6] if K == 2 else X[:, :2]  # few enough features for some errors
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")
    return split(scores, y, 120, K)


def drawn(K):
    rng = np.random.default_rng(K)
    codes = rng.choice(K, 300, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())
    scores = np.exp(1.5 * np.eye(K)[codes] + rng.normal(size=(300, K)))
    return split(scores / scores.sum(axis=1, keepdims=True), codes, 120, K)


@pytest.fixture(scope="module", params=[real, drawn], ids=["real", "drawn"])
def two_classes(request):
    return request.param(2)


@pytest.fixture(scope="module", params=[real, drawn], ids=["real", "drawn"])
def three_classes(request):
    return request.param(3)


@pytest.fixture(
    scope="module",
    params=[(real, 2), (drawn, 2), (real, 3), (drawn, 3)],
    ids=["real-2", "drawn-2", "real-3", "drawn-3"],
)
def data(request):
    make, K = request.param
    return make(K)


def agree(fast, slow, tolerance):
    np.testing.assert_allclose(fast, slow, rtol=0, atol=tolerance)
    # Answers that were all alike would hide what the methods do.
    assert np.ptp(fast, axis=0).max() > 0.05


@pytest.mark.parametrize("name", ["CC", "PCC", "ACC", "PACC", "GAC", "GPAC", "FM"])
def test_counts(data, name):
    agree(data.fast(getattr(hc, name)()), data.slow(getattr(oracle, name.lower())), 1e-7)


@pytest.mark.parametrize("name", ["T50", "TMAX", "TX", "MS", "MS2"])
@pytest.mark.parametrize("decimals", [None, 2])
def test_thresholds(two_classes, name, decimals):
    fast = two_classes.fast(getattr(hc, name)(decimals=decimals))
    agree(fast, two_classes.slow(getattr(oracle, name.lower()), decimals=decimals), 1e-9)


@pytest.mark.parametrize("divergence", ["topsoe", "hellinger", "probsymm", "l2"])
@pytest.mark.parametrize("bins", [10, 7])
def test_dys(two_classes, divergence, bins):
    fast = two_classes.fast(hc.DyS(bins=bins, divergence=divergence))
    agree(fast, two_classes.slow(oracle.dys, bins=bins, divergence=divergence), 1e-5)


@pytest.mark.parametrize("bins", [tuple(range(10, 111, 10)), (8,), (5, 9)])
def test_hdy(two_classes, bins):
    agree(two_classes.fast(hc.HDy(bins=bins)), two_classes.slow(oracle.hdy, bins=bins), 1e-5)


@pytest.mark.parametrize("divergence", ["hellinger", "topsoe", "probsymm", "l2"])
def test_dm(data, divergence):
    fast = data.fast(hc.DM(bins=6, divergence=divergence))
    agree(fast, data.slow(oracle.dm, bins=6, divergence=divergence), 1e-4)


def test_least_absolute_difference(data):
    # It may be least on a whole stretch: the least values are compared, not the shares.
    cases = [(hc.DM(divergence="l1"), oracle.dm_cost, oracle.dm)]
    if data.n_classes == 2:
        cases.append((hc.DyS(divergence="l1"), oracle.dys_cost, oracle.dys))
    for quantifier, cost_of, method in cases:
        fast, slow = data.fast(quantifier), data.slow(method, divergence="l1")
        for index, mine, other in zip(data.samples, fast, slow, strict=True):
            cost = cost_of(data.train, data.codes, data.pool[index], divergence="l1")
            assert cost(mine) == pytest.approx(cost(other), abs=1e-6)


@pytest.mark.parametrize("levels", [100, 13])
def test_fmm(two_classes, levels):
    fast = two_classes.fast(hc.FMM(bins=levels))
    agree(fast, two_classes.slow(oracle.fmm, levels=levels), 1e-5)


def test_smm_is_pacc_of_two_classes(two_classes):
    fast = two_classes.fast(hc.SMM())
    agree(fast, two_classes.slow(oracle.smm), 1e-6)
    np.testing.assert_array_equal(fast, two_classes.fast(hc.PACC()))


def test_sld(data):
    agree(data.fast(hc.SLD(stop="converged")), data.slow(oracle.sld), 1e-5)


def test_sld_stopped_early(data):
    converged, classic, by_norm = (
        data.fast(hc.SLD(stop=rule)) for rule in ("converged", "classic", "norm")
    )
    agree(classic, data.slow(oracle.sld_classic), 1e-12)
    agree(by_norm, data.slow(oracle.sld_norm), 1e-12)
    agree(data.fast(hc.SLD()), data.slow(oracle.sld_noise), 1e-12)
    agree(data.fast(hc.SLD(tol=0.2)), data.slow(oracle.sld_noise, noise=0.2), 1e-12)
    assert 1e-5 < np.abs(classic - converged).max() < 0.05
    assert 0 < np.abs(by_norm - converged).max() < 0.005


@pytest.mark.parametrize("bandwidth", [0.1, 0.03])
def test_kdey_ml(data, bandwidth):
    fast = data.fast(hc.KDEyML(bandwidth=bandwidth))
    agree(fast, data.slow(oracle.kdeyml, bandwidth=bandwidth), 1e-5)


@pytest.mark.parametrize("bandwidth", [0.1, 0.03])
def test_kdey_hd(two_classes, bandwidth):
    fast = two_classes.fast(hc.KDEyHD(bandwidth=bandwidth))
    agree(fast, two_classes.slow(oracle.kdeyhd, bandwidth=bandwidth), 1e-5)


def test_kdey_hd_by_chance(three_classes):
    # Drawn points stand in for the integral: right on average, not to the last digit.
    fast = three_classes.fast(hc.KDEyHD(n_points=20_000, random_state=0))
    agree(fast, three_classes.slow(oracle.kdeyhd), 0.02)


@pytest.mark.parametrize("bandwidth", [0.1, 0.03])
def test_kdey_cs(data, bandwidth):
    fast = data.fast(hc.KDEyCS(bandwidth=bandwidth))
    agree(fast, data.slow(oracle.kdeycs, bandwidth=bandwidth), 1e-5)


@pytest.mark.parametrize("bandwidth", [0.2, 0.05])
def test_kmm(data, bandwidth):
    fast = data.fast(hc.KMM(bandwidth=bandwidth))
    agree(fast, data.slow(oracle.kmm, bandwidth=bandwidth), 1e-7)


@pytest.mark.parametrize("name", ["EDy", "CvMy"])
def test_distances(data, name):
    agree(data.fast(getattr(hc, name)()), data.slow(getattr(oracle, name.lower())), 1e-5)


def test_cde(two_classes):
    agree(two_classes.fast(hc.CDE()), two_classes.slow(oracle.cde), 1e-12)


@pytest.mark.parametrize("name", ["DyS", "MS2", "CDE", "SLD", "KMM"])
def test_one_vs_rest(three_classes, name):
    method = oracle.sld_noise if name == "SLD" else getattr(oracle, name.lower())

    def slow(train, codes, sample):
        return oracle.one_vs_rest(method, train, codes, sample)

    fast = three_classes.fast(hc.OneVsRest(getattr(hc, name)()))
    agree(fast, three_classes.slow(slow), 1e-5)


@pytest.mark.parametrize("name", ["CC", "ACC", "GAC"])
def test_one_vs_rest_of_predicted_classes(three_classes, name):
    # An item is called a class or not: its posterior need not exceed one half for that.
    def slow(train, codes, sample):
        called, new = map(oracle.one_hot_predictions, (train, sample))
        return oracle.one_vs_rest(getattr(oracle, name.lower()), called, codes, new)

    fast = three_classes.fast(hc.OneVsRest(getattr(hc, name)()))
    agree(fast, three_classes.slow(slow), 1e-7)
