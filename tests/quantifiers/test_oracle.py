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


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("T50", {}),
        ("MS", {}),
        ("TMAX", {"midpoints": True}),
        ("TMAX", {"midpoints": False}),
        ("TX", {}),
        ("MS2", {"thresholds": "scores"}),
    ],
)
@pytest.mark.parametrize("decimals", [None, 2])
def test_thresholds(two_classes, name, options, decimals):
    options = options | {"decimals": decimals}
    fast = two_classes.fast(getattr(hc, name)(**options))
    agree(fast, two_classes.slow(getattr(oracle, name.lower()), **options), 1e-9)


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_evenly_spaced_thresholds(two_classes, decimals):
    fast = two_classes.fast(hc.MS2(decimals=decimals))
    agree(fast, two_classes.slow(oracle.ms2, decimals=decimals), 1e-9)


@pytest.mark.parametrize("divergence", ["topsoe", "hellinger", "probsymm", "l2"])
@pytest.mark.parametrize("bins", [10, 7])
@pytest.mark.parametrize("balanced", [True, False])
def test_dys(two_classes, divergence, bins, balanced):
    options = {"bins": bins, "divergence": divergence, "balanced": balanced}
    agree(two_classes.fast(hc.DyS(**options)), two_classes.slow(oracle.dys, **options), 1e-5)


@pytest.mark.parametrize("bins", [tuple(range(10, 111, 10)), (8,), (5, 9)])
@pytest.mark.parametrize("balanced", [True, False])
def test_hdy(two_classes, bins, balanced):
    options = {"bins": bins, "balanced": balanced}
    agree(two_classes.fast(hc.HDy(**options)), two_classes.slow(oracle.hdy, **options), 1e-5)


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
    agree(data.fast(hc.SLD(calibration=None, stop="converged")), data.slow(oracle.sld), 1e-5)


def test_sld_stopped_early(data):
    converged, classic, by_norm = (
        data.fast(hc.SLD(calibration=None, stop=rule))
        for rule in ("converged", "classic", "norm")
    )
    agree(classic, data.slow(oracle.sld_classic), 1e-12)
    agree(by_norm, data.slow(oracle.sld_norm), 1e-12)
    agree(data.fast(hc.SLD(calibration=None)), data.slow(oracle.sld_noise), 1e-12)
    agree(
        data.fast(hc.SLD(calibration=None, tol=0.5)),
        data.slow(oracle.sld_noise, noise=0.5),
        1e-12,
    )
    assert 1e-5 < np.abs(classic - converged).max() < 0.05
    assert 0 < np.abs(by_norm - converged).max() < 0.005


@pytest.mark.parametrize("bandwidth", [0.1, 0.03])
def test_kdey_ml(data, bandwidth):
    fast = data.fast(hc.KDEyML(bandwidth=bandwidth, stop="converged"))
    agree(fast, data.slow(oracle.kdeyml, bandwidth=bandwidth), 1e-5)
    early = data.fast(hc.KDEyML(bandwidth=bandwidth))
    agree(early, data.slow(oracle.kdeyml_noise, bandwidth=bandwidth), 1e-10)


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


@pytest.mark.parametrize(("bandwidth", "shrinkage"), [(0.3, 0.0), (0.5, 0.2)])
def test_kernels_on_log_ratios(data, bandwidth, shrinkage):
    given = {"bandwidth": bandwidth, "kernel": "aitchison", "shrinkage": shrinkage}
    logs = ScoredItems(
        oracle.clr(data.train, shrinkage),
        data.codes,
        oracle.clr(data.pool, shrinkage),
        data.samples,
    )
    narrower = (1 - shrinkage) * bandwidth
    for quantifier, method in ((hc.KDEyML, oracle.kdeyml_noise), (hc.KDEyCS, oracle.kdeycs)):
        fast = data.fast(quantifier(**given))
        agree(fast, logs.slow(method, bandwidth=narrower), 1e-5)
        isometric = data.fast(quantifier(**given | {"kernel": "ilr"}))
        np.testing.assert_array_equal(isometric, fast)
    if data.n_classes == 2:
        along = np.linspace(-15, 15, 6001)
        slow = logs.slow(oracle.kdeyhd, bandwidth=narrower, along=along)
        agree(data.fast(hc.KDEyHD(**given)), slow, 1e-5)


def test_kdey_hd_on_log_ratios_by_chance(three_classes):
    # Drawn points stand in for the integral: two seeds agree.
    given = {"kernel": "aitchison", "bandwidth": 0.5, "n_points": 20_000}
    first, second = (three_classes.fast(hc.KDEyHD(**given, random_state=s)) for s in (0, 1))
    agree(first, second, 0.02)


@pytest.mark.parametrize("steps", [1, 3])
def test_elsa(data, steps):
    agree(data.fast(hc.ELSA(steps=steps)), data.slow(oracle.elsa, steps=steps), 1e-6)


def test_elsa_varies_less_than_gpac_where_shares_have_changed():
    rng, shares = np.random.default_rng(0), np.array([0.8, 0.15, 0.05])
    errors = {hc.GPAC: [], hc.ELSA: []}
    for _ in range(40):
        codes = [rng.choice(3, 1000, p=p) for p in (np.full(3, 1 / 3), shares)]
        odds = [np.exp(1.2 * (1.2 * np.eye(3)[c] + rng.normal(size=(1000, 3)))) for c in codes]
        train, new = (hc.Scored(o / o.sum(axis=1, keepdims=True)) for o in odds)
        for method, found in errors.items():
            found.append(method().fit(train, codes[0]).predict(new) - shares)
    usual, efficient = (np.sqrt(np.mean(np.square(found))) for found in errors.values())
    assert efficient < 0.9 * usual


def test_debias(two_classes):
    agree(two_classes.fast(hc.DeBias()), two_classes.slow(oracle.debias), 1e-9)


def test_debias_of_calibrated_posteriors_is_pacc():
    # Three kinds of items, in each of which the posteriors are the shares of the classes.
    counts = np.array([[6, 3, 1], [2, 6, 4], [1, 1, 8]])
    kind, codes = (np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices((3, 3)))
    scores = (counts / counts.sum(axis=1, keepdims=True))[kind]
    new = ScoredItems(scores, codes, scores, [np.arange(10), np.arange(5, 32)])
    np.testing.assert_allclose(new.fast(hc.DeBias()), new.fast(hc.GPAC()), atol=1e-9)


def test_run(data):
    agree(data.fast(hc.RUN(smoothness=0)), data.slow(oracle.run), 1e-4)


def test_sord(two_classes):
    agree(two_classes.fast(hc.SORD()), two_classes.slow(oracle.sord), 1e-6)


def test_quanty(two_classes):
    fast = two_classes.fast(hc.QUANTy(tol=1e-9))
    agree(fast, two_classes.slow(oracle.quanty), 1e-5)
    one = two_classes.fast(hc.QUANTy(n_quantiles=1, tol=1e-9))
    agree(one, two_classes.fast(hc.PACC()), 1e-7)


@pytest.mark.parametrize("distance", ["emd", "hellinger", "l2"])
def test_ordinal_pdf(data, distance):
    # Least values are compared, as they may be reached on a whole stretch.
    fast = data.fast(hc.OrdinalPDF(bins=4, distance=distance))
    for index, mine in zip(data.samples, fast, strict=True):
        cost = oracle.ordinal_pdf_cost(
            data.train, data.codes, data.pool[index], bins=4, distance=distance
        )
        best = oracle.least_on_simplex(cost, data.n_classes)
        assert cost(mine) == pytest.approx(cost(best), abs=1e-5)


def test_ordinal_pdf_of_two_classes_is_fmm(two_classes):
    np.testing.assert_allclose(
        two_classes.fast(hc.OrdinalPDF(bins=20)), two_classes.fast(hc.FMM(bins=20)), atol=1e-9
    )


@pytest.mark.parametrize("name", ["PACC", "ACC", "DyS"])
def test_frank_hall(three_classes, name):
    # Decisions are posteriors of zeros and ones.
    method = {"PACC": oracle.pacc, "ACC": oracle.pacc, "DyS": oracle.dys}[name]
    fast = three_classes.fast(hc.FrankHall(getattr(hc, name)()))
    if name == "ACC":
        train, pool = (_one_hot(s) for s in (three_classes.train, three_classes.pool))
        decided = ScoredItems(train, three_classes.codes, pool, three_classes.samples)
        slow = decided.slow(lambda *given: oracle.frank_hall(method, *given))
    else:
        slow = three_classes.slow(lambda *given: oracle.frank_hall(method, *given))
    agree(fast, slow, 1e-5)


def test_frank_hall_of_two_classes_is_the_method_itself(two_classes):
    fast = two_classes.fast(hc.FrankHall(hc.PACC()))
    np.testing.assert_allclose(fast, two_classes.fast(hc.PACC()), atol=1e-12)


def test_the_ratio_estimator_is_pacc(two_classes):
    assert hc.method("ratio estimator") is hc.PACC
    fast, g = two_classes.fast(hc.PACC()), two_classes.train[:, 1]
    low, high = (g[two_classes.codes == j].mean() for j in (0, 1))
    for index, shares in zip(two_classes.samples, fast, strict=True):
        mean = two_classes.pool[index, 1].mean()
        assert shares[1] == pytest.approx(np.clip((mean - low) / (high - low), 0, 1))


def test_fourier_features_approximate_kernel_mean_matching(data):
    given = {"n_projections": 20_000, "bandwidth": 0.5, "random_state": 0}
    fast = hc.KMMx(**given).fit(data.train, data.codes).predict_many(data.pool, data.samples)
    agree(fast, data.slow(oracle.kmm, bandwidth=0.5), 0.01)


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
    if name == "SLD":
        method, base = oracle.sld_noise, hc.SLD(calibration=None)
    else:
        method, base = getattr(oracle, name.lower()), getattr(hc, name)()

    def slow(train, codes, sample):
        return oracle.one_vs_rest(method, train, codes, sample)

    fast = three_classes.fast(hc.OneVsRest(base))
    agree(fast, three_classes.slow(slow), 1e-5)


@pytest.mark.parametrize("name", ["DyS", "PACC", "CDE"])
def test_one_vs_one(three_classes, name):
    fast = three_classes.fast(hc.OneVsOne(getattr(hc, name)()))
    method = getattr(oracle, name.lower())
    slow = three_classes.slow(lambda *given: oracle.one_vs_one(method, *given))
    agree(fast, slow, 1e-4)


def test_one_vs_one_of_two_classes_is_the_method_itself(two_classes):
    fast = two_classes.fast(hc.OneVsOne(hc.DyS()))
    np.testing.assert_allclose(fast, two_classes.fast(hc.DyS()), atol=1e-9)


def test_quadapt(two_classes):
    overlaps = (0.2, 0.5, 0.8)
    fast = two_classes.fast(hc.QuaDapt(overlaps=overlaps))
    slow = two_classes.slow(lambda *given: oracle.quadapt(*given, overlaps))
    agree(fast, slow, 1e-5)


@pytest.mark.parametrize("name", ["CC", "ACC", "GAC"])
def test_one_vs_rest_of_predicted_classes(three_classes, name):
    # An item is called a class or not: its posterior need not exceed one half for that.
    def slow(train, codes, sample):
        called, new = map(oracle.one_hot_predictions, (train, sample))
        return oracle.one_vs_rest(getattr(oracle, name.lower()), called, codes, new)

    fast = three_classes.fast(hc.OneVsRest(getattr(hc, name)()))
    agree(fast, three_classes.slow(slow), 1e-7)


def _one_hot(scores):
    return np.eye(scores.shape[1])[scores.argmax(axis=1)]


@pytest.mark.parametrize("decimals", [None, 0, 5])
def test_evenly_spaced_thresholds_have_a_few_decimals(two_classes, decimals):
    with pytest.raises(hc.HeadcountError, match=r"decimals is .* 1 to 4.*'scores'"):
        two_classes.fast(hc.MS2(decimals=decimals))
